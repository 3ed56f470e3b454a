#include "runtime/transform/loops/repeat_while.hpp"

#include <fmt/format.h>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/call_operands.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/transform/loops/scan.hpp"

namespace pxl {

namespace {

class WhileBuilder {
 public:
  WhileBuilder(Graph& graph, const WhileForm& form)
      : form_(form),
        graph_(graph),
        body_(graph.ir().create_graph(form.step->title() + "_while")),
        outside_(graph),
        inside_(body_) {}

  Op* build(const std::vector<Tensor*>& of_step, const std::vector<Tensor*>& of_condition) {
    const size_t states = form_.step->declared_outputs();
    check_condition();
    std::vector<Tensor*> step, condition;  // operands in the body
    for (size_t i = 0; i < states; ++i) step.push_back(add_input(*form_.step->inputs()[i], of_step[i]));
    std::vector<Tensor*> first = of_condition;
    for (size_t i = 0; i < first.size(); ++i)
      if (const auto state = form_.condition_state[i]) first[i] = of_step[*state];
    Tensor* none = outside_.constant(Array::scalar<int32_t>(0), "t").tensor();
    add_input({{}, DType::boolean, {}}, "goes_on", goes_on(outside_, first, none, form_.count));
    Tensor* index = add_input(none->spec, "iterations", none);
    for (size_t i = states; i < of_step.size(); ++i) step.push_back(add_input(*form_.step->inputs()[i], of_step[i]));

    const Op* call = body_.add_call(*form_.step, step);
    for (size_t i = 0; i < of_condition.size(); ++i) {
      const auto state = form_.condition_state[i];
      condition.push_back(state ? call->outputs[*state] : add_input(*form_.condition->inputs()[i], of_condition[i]));
    }
    Tensor* count = form_.count ? add_input(none->spec, "count", form_.count) : nullptr;
    const Expr next = inside_.of(index) + inside_.constant(Array::scalar<int32_t>(1), "t");
    Tensor* more = goes_on(inside_, condition, next.tensor(), count);
    for (size_t i = 0; i < states; ++i) body_.add_output(call->outputs[i]);
    body_.add_output(more);
    body_.add_output(next.tensor());
    return add_loop(graph_, body_, std::move(inputs_), form_.bound.value_or(no_bound), states);
  }

 private:
  void check_condition() const {
    if (!form_.condition) return;
    const Graph& graph = *form_.condition;
    const bool fits = graph.declared_outputs() == 1 && graph.outputs()[0]->spec.dtype == DType::boolean &&
                      graph.outputs()[0]->spec.size() == 1;
    if (!fits)
      throw Error(fmt::format("the condition of a loop gives one bool, and {} gives {}", graph.title(),
                              graph.declared_outputs() == 1 ? text(graph.outputs()[0]->spec)
                                                            : fmt::format("{} tensors", graph.declared_outputs())),
                  {"compare the states: `(i, x) => i < 10`; `any(...)` and `all(...)` make one bool of several"})
          .as(codes::dtype);
    for (const Tensor* input : graph.inputs())
      if (input->by_ref)
        throw Error(fmt::format("the condition of a loop changes `{}` in place: it only reads", input->name))
            .as(codes::in_place);
  }

  Tensor* add_input(const TensorSpec& spec, const std::string& name, Tensor* operand, bool by_ref = false) {
    inputs_.push_back(operand);
    return body_.add_input(spec, name, by_ref);
  }
  Tensor* add_input(const Tensor& like, Tensor* operand) {
    return add_input(like.spec, like.name, operand, like.by_ref);
  }

  Tensor* goes_on(GraphOpBuilder& at, std::vector<Tensor*> operands, Tensor* iterations, Tensor* count) {
    if (count) return at.one("less", {at.of(iterations), at.of(count)}).tensor();
    const Op* call = at.graph().add_call(*form_.condition, std::move(operands));
    return reshape(at.of(call->outputs[0]), {}).tensor();
  }

  const WhileForm& form_;
  Graph &graph_, &body_;
  GraphOpBuilder outside_, inside_;
  std::vector<Tensor*> inputs_;  ///< of the loop
};

}  // namespace

Op* add_while(Graph& graph, const WhileForm& form, const std::vector<Tensor*>& of_step,
              const std::vector<Tensor*>& of_condition) {
  return WhileBuilder(graph, form).build(of_step, of_condition);
}

Tensor* iterations_of(const Op& loop) { return loop.outputs.at(*loop_condition(loop) + 1); }

}  // namespace pxl
