// `build_grad`: gradients of a module's graph that the module's author writes.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/derivatives/gradients.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/transform/build_state.hpp"

namespace pxl {
namespace {

/// The first argument of `build_grad`: the tensors bound to names of the build, as the gradient graph sees them.
struct ForwardObject final : Object {
  std::shared_ptr<Ir> ir;
  Graph* made = nullptr;
  const std::map<std::string, Tensor*>* names = nullptr;
  std::unordered_map<Tensor*, Tensor*> values;

  std::string type_name() const override { return "forward tensors"; }
  std::optional<Value> member(Interpreter&, std::string_view name) override {
    const auto found = names ? names->find(std::string(name)) : std::map<std::string, Tensor*>::const_iterator{};
    if (!names || found == names->end()) return std::nullopt;
    Tensor* t = found->second;
    auto [at, fresh] = values.emplace(t, nullptr);
    if (fresh)
      at->second =
          t->kind == TensorKind::constant ? made->add_constant(t->data, t->name) : made->add_input(t->spec, t->name);
    return tensor_value(ir, at->second);
  }
  std::vector<std::string> member_names() const override {
    std::vector<std::string> out;
    if (names)
      for (const auto& [name, t] : *names) out.push_back(name);
    return out;
  }
};

/// The results of `build_grad`, by input of the forward graph; null for an input without a gradient.
std::vector<Tensor*> gradients_of(Interpreter& in, const Graph& forward, const Graph& made, const Value& result,
                                  const std::string& what) {
  const auto& inputs = forward.inputs();
  std::vector<Value> given(inputs.size());
  if (auto* d = result.as<DictObject>()) {
    std::vector<std::string> names;
    for (const Tensor* t : inputs) names.push_back(input_name(*t));
    for (const auto& [key, v] : d->items) {
      const std::string* name = key.as_string();
      const auto at = name ? std::find(names.begin(), names.end(), *name) : names.end();
      if (at == names.end()) {
        const std::string hint = name ? did_you_mean(*name, names) : std::string();
        throw Error(what + ": " + repr_of(in, key) + " is no input of " + shown_name(forward) +
                    (hint.empty() ? "" : "; " + hint))
            .as(codes::gradient);
      }
      given[static_cast<size_t>(at - names.begin())] = v;
    }
  } else {
    std::vector<Value> items{result};
    if (result.as<SequenceObject>()) items = elements_of(in, result);
    if (items.size() > inputs.size())
      throw Error(fmt::format("{} gives {} gradients, but {} has {} inputs", what, items.size(), shown_name(forward),
                              inputs.size()))
          .as(codes::gradient);
    std::copy(items.begin(), items.end(), given.begin());
  }
  std::vector<Tensor*> out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (given[i].is_none()) {
      out.push_back(nullptr);
      continue;
    }
    const std::string name = what + ": the gradient of `" + input_name(*inputs[i]) + "`";
    Tensor* t = to_operand(in, given[i], inputs[i]->spec, name);
    if (!made.contains(t))
      throw Error(name + ", `" + shown_name(*t) + "`, is not made in build_grad",
                  {"reach tensors of the build through the first argument"})
          .as(codes::gradient);
    if (t->spec != inputs[i]->spec)
      throw Error(name + " must be " + text(inputs[i]->spec) + ", as the input is; it is " + text(t->spec))
          .as(codes::gradient);
    out.push_back(t);
  }
  return out;
}

GradGraphInfoPtr run_build_grad(Interpreter& in, const std::shared_ptr<Ir>& ir, Graph& forward,
                                const std::vector<Tensor*>& provided, const std::vector<Tensor*>& required) {
  const GraphFacts facts = facts_of(in, ir, &forward);
  const auto instance = static_ref_cast<ModuleInstance>(facts.differentiable);
  const std::string what = instance->code->name + ".build_grad";
  const BuildStateGuard guard(*ir);
  Graph& made = ir->create_gradient_graph(forward);
  std::unordered_map<const Tensor*, Tensor*> dys;
  for (const Tensor* t : provided) dys.emplace(t, made.add_input(t->spec, "Gradient___" + t->name));
  for (size_t i = 0; i < result_outputs(forward); ++i) {
    const auto& outputs = forward.outputs();
    dys.emplace(outputs[i], nullptr);
  }
  auto fwd = make_ref<ForwardObject>();
  fwd->ir = ir;
  fwd->made = &made;
  fwd->names = &facts.names;
  Arguments args;
  args.span = position_of(in).here;
  args.positional.push_back(Value(fwd));
  for (size_t i = 0; i < result_outputs(forward); ++i) {
    Tensor* dy = dys.at(forward.outputs()[i]);
    args.positional.push_back(dy ? tensor_value(ir, dy) : Value());
  }
  std::vector<std::pair<Tensor*, Tensor*>> gradients;
  {
    const TargetScope target(in, ir, &made);
    const BuildScope scope(in, std::make_shared<BuildState>());  // no params are allowed here
    const Value method = member_of(in, Value(instance), "build_grad", position_of(in).here);
    const std::vector<Tensor*> found = gradients_of(in, forward, made, invoke(in, method, std::move(args)), what);
    const TensorSet before = tensors_before(forward, provided);  // these must have a gradient
    for (Tensor* t : required) {
      const auto& inputs = forward.inputs();
      const auto at = std::find(inputs.begin(), inputs.end(), t);
      Tensor* g = at == inputs.end() ? nullptr : found[static_cast<size_t>(at - inputs.begin())];
      if (!g && !before.count(t)) continue;
      if (!g)
        throw Error(what + " gives no gradient of `" + input_name(*t) + "`, which is needed",
                    {"return a tuple in the order of the graph's inputs, or a dict by their names"})
            .as(codes::gradient);
      gradients.emplace_back(t, g);
    }
  }
  fwd->names = nullptr;  // a value may still refer to the object
  return finish_gradient_graph(forward, made, provided, gradients, fwd->values);
}

}  // namespace

void use_build_grad(Interpreter& in, const std::shared_ptr<Ir>& ir, Graph& graph) {
  // The function looks the Ir up, since the Ir must not own itself.
  auto gradient = [&in, weak = std::weak_ptr<Ir>(ir)](Graph& forward, const std::vector<Tensor*>& provided,
                                                      const std::vector<Tensor*>& required) {
    return run_build_grad(in, weak.lock(), forward, provided, required);
  };
  set_custom_gradient(graph, std::move(gradient), true);
}

}  // namespace pxl
