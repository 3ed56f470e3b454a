// Methods of a module that take the place of transforms: `build_grad` for gradients, `build_jvp` for tangents,
// `build_batch` for a batch.
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
#include "runtime/ops/op_builder.hpp"
#include "runtime/transform/build_state.hpp"
#include "runtime/transform/differentiator.hpp"
#include "runtime/transform/functions/pushforward.hpp"
#include "runtime/transform/vectorise.hpp"

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
    return tensor_value(ir, value(found->second));
  }
  /// A tensor of the forward graph in the gradient graph.
  Tensor* value(Tensor* t) {
    auto [at, fresh] = values.emplace(t, nullptr);
    if (fresh)
      at->second =
          t->kind == TensorKind::constant ? made->add_constant(t->data, t->name) : made->add_input(t->spec, t->name);
    return at->second;
  }
  std::vector<std::string> member_names() const override {
    std::vector<std::string> out;
    if (names)
      for (const auto& [name, t] : *names) out.push_back(name);
    return out;
  }
};

/// A method returns a value for each of these tensors, or a dict by their names. `none` is null here.
/// `noun`: "gradient"; `like`: what the values' specs are.
std::vector<Tensor*> returned_for(Interpreter& in, const Graph& forward, const std::vector<Tensor*>& tensors,
                                  const std::vector<TensorSpec>& like, const Graph& made, const Value& result,
                                  const std::string& what, const char* noun) {
  std::vector<Value> given(tensors.size());
  if (auto* d = result.as<DictObject>()) {
    std::vector<std::string> names;
    for (const Tensor* t : tensors) names.push_back(input_name(*t));
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
    if (items.size() > tensors.size())
      throw Error(fmt::format("{} gives {} {}s, but {} has {} {}", what, items.size(), noun, shown_name(forward),
                              tensors.size(), tensors == forward.inputs() ? "inputs" : "results"))
          .as(codes::gradient);
    std::copy(items.begin(), items.end(), given.begin());
  }
  std::vector<Tensor*> out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (given[i].is_none()) {
      out.push_back(nullptr);
      continue;
    }
    const std::string name = what + ": the " + noun + " of `" + input_name(*tensors[i]) + "`";
    Tensor* t = to_operand(in, given[i], like[i], name);
    if (!made.contains(t))
      throw Error(name + ", `" + shown_name(*t) + "`, is not made in " + what.substr(what.rfind('.') + 1),
                  {"reach tensors of the build through the first argument"})
          .as(codes::gradient);
    if (t->spec != like[i])
      throw Error(name + " must be " + text(like[i]) + ", not " + text(t->spec)).as(codes::gradient);
    out.push_back(t);
  }
  return out;
}

std::vector<TensorSpec> specs_of(const std::vector<Tensor*>& tensors) {
  std::vector<TensorSpec> specs;
  for (const Tensor* t : tensors) specs.push_back(t->spec);
  return specs;
}

/// A method of the module from which a graph was made.
struct MethodOfGraph {
  Ref<ModuleInstance> instance;
  const char* name;
  std::string what;

  MethodOfGraph(Interpreter& in, const std::shared_ptr<Ir>& ir, const Graph& forward, const char* method)
      : instance(static_ref_cast<ModuleInstance>(facts_of(in, ir, &forward).differentiable)),
        name(method),
        what(instance->code->name + "." + method) {}
  /// The number of arguments that it accepts; unbounded if a parameter collects the rest.
  size_t parameters() const {
    const auto& all = instance->method(name)->parameters;
    const bool rest = std::any_of(all.begin(), all.end(), [](const ast::Parameter& p) { return p.rest; });
    return rest ? SIZE_MAX : all.size();
  }
  Value call(Interpreter& in, Arguments args) const {
    return invoke(in, member_of(in, Value(instance), name, position_of(in).here), std::move(args));
  }
};

/// A graph that a method builds, which reaches tensors of the forward graph through its first argument.
class ByHand {
 public:
  ByHand(Interpreter& in, const std::shared_ptr<Ir>& ir, Graph& forward, const std::vector<Tensor*>& provided,
         const char* name, const char* prefix)
      : in_(in),
        ir_(ir),
        forward_(forward),
        provided_(provided),
        facts_(facts_of(in, ir, &forward)),
        method_(in, ir, forward, name),
        made_(ir->create_gradient_graph(forward)),
        fwd_(make_ref<ForwardObject>()) {
    for (const Tensor* t : provided) given_.emplace(t, made_.add_input(t->spec, prefix + t->name));
    fwd_->ir = ir;
    fwd_->made = &made_;
    fwd_->names = &facts_.names;
  }

  /// Calls the method with the given tensors, and `none` for the others. Returns its values for the others.
  std::vector<Tensor*> call(const std::vector<Tensor*>& with, const std::vector<Tensor*>& others, const char* noun) {
    Arguments args;
    args.span = position_of(in_).here;
    args.positional.push_back(Value(fwd_));
    for (const Tensor* t : with) {
      const auto at = given_.find(t);
      args.positional.push_back(at == given_.end() ? Value() : tensor_value(ir_, at->second));
    }
    const TargetScope target(in_, ir_, &made_);
    const BuildScope scope(in_, std::make_shared<BuildState>());  // no params are allowed here
    return returned_for(in_, forward_, others, specs_of(others), made_, method_.call(in_, std::move(args)),
                        method_.what, noun);
  }
  /// Adds gradients of the ops: those of tensors that are no results, but values which another gradient kept.
  void add_of_ops(const std::vector<Tensor*>& kept, const std::vector<Tensor*>& required, std::vector<Tensor*>& to) {
    const GradGraphInfoPtr info = Differentiator(forward_, kept, required, {}).run();
    if (info->expected_outputs.empty()) return;
    std::vector<Tensor*> operands;
    for (const ExpectedConnection& c : info->expected_inputs)
      operands.push_back(c.type == ConnectionType::fwd ? fwd_->value(c.fwd_tensor) : given_.at(c.fwd_tensor));
    const std::vector<Tensor*> found = made_.add_call(*info->graph, std::move(operands))->outputs;
    GraphOpBuilder at(made_);
    for (size_t k = 0; k < info->expected_outputs.size(); ++k) {
      Tensor*& total = to.at(index_in(forward_.inputs(), info->expected_outputs[k].fwd_tensor));
      total = total ? (at.of(total) + at.of(found[k])).tensor() : found[k];
    }
  }
  GradGraphInfoPtr finish(const std::vector<std::pair<Tensor*, Tensor*>>& results) {
    fwd_->names = nullptr;  // a value may still refer to the object
    return finish_gradient_graph(forward_, made_, provided_, results, fwd_->values);
  }
  const MethodOfGraph& method() const { return method_; }

 private:
  Interpreter& in_;
  const std::shared_ptr<Ir>& ir_;
  Graph& forward_;
  const std::vector<Tensor*>& provided_;
  GraphFacts facts_;
  MethodOfGraph method_;
  Graph& made_;
  Ref<ForwardObject> fwd_;
  std::unordered_map<const Tensor*, Tensor*> given_;
};

std::vector<Tensor*> results_of(const Graph& graph) {
  return {graph.outputs().begin(), graph.outputs().begin() + static_cast<std::ptrdiff_t>(result_outputs(graph))};
}

GradGraphInfoPtr run_build_grad(Interpreter& in, const std::shared_ptr<Ir>& ir, Graph& forward,
                                const std::vector<Tensor*>& provided, const std::vector<Tensor*>& required) {
  const BuildStateGuard guard(*ir);
  ByHand hand(in, ir, forward, provided, "build_grad", "Gradient___");
  const std::vector<Tensor*> results = results_of(forward);
  std::vector<Tensor*> of_results, kept;
  for (Tensor* t : provided) (index_in(results, t) < results.size() ? of_results : kept).push_back(t);
  std::vector<Tensor*> found(forward.inputs().size(), nullptr);
  if (!of_results.empty()) found = hand.call(results, forward.inputs(), "gradient");
  if (!kept.empty()) hand.add_of_ops(kept, required, found);
  const TensorSet before = tensors_before(forward, of_results);  // these must have a gradient
  std::vector<std::pair<Tensor*, Tensor*>> gradients;
  for (Tensor* t : required) {
    const auto& inputs = forward.inputs();
    const auto at = std::find(inputs.begin(), inputs.end(), t);
    Tensor* g = at == inputs.end() ? nullptr : found[static_cast<size_t>(at - inputs.begin())];
    if (!g && !before.count(t)) continue;
    if (!g)
      throw Error(hand.method().what + " gives no gradient of `" + input_name(*t) + "`, which is needed",
                  {"return a tuple in the order of the graph's inputs, or a dict by their names"})
          .as(codes::gradient);
    gradients.emplace_back(t, g);
  }
  return hand.finish(gradients);
}

/// The tensors that a method receives: the graph's inputs, without params if it accepts no more.
std::vector<Tensor*> inputs_for(const Graph& forward, size_t parameters) {
  std::vector<Tensor*> taken;
  for (const bool params : {false, true})
    for (Tensor* t : forward.inputs())
      if (t->key.empty() != params && taken.size() < parameters) taken.push_back(t);
  return taken;
}

GradGraphInfoPtr run_build_jvp(Interpreter& in, const std::shared_ptr<Ir>& ir, Graph& forward,
                               const std::vector<Tensor*>& provided) {
  const BuildStateGuard guard(*ir);
  ByHand hand(in, ir, forward, provided, "build_jvp", "tangent_");
  const std::vector<Tensor*> inputs = inputs_for(forward, hand.method().parameters() - 1);
  for (const Tensor* t : provided)
    if (std::find(inputs.begin(), inputs.end(), t) == inputs.end())
      throw Error(hand.method().what + " takes no tangent of `" + input_name(*t) + "`, which has one",
                  {"its parameters are `fwd`, then a tangent for each input of the build, then for each param"})
          .as(codes::gradient);
  const std::vector<Tensor*> results = results_of(forward), found = hand.call(inputs, results, "tangent");
  std::vector<std::pair<Tensor*, Tensor*>> tangents;
  for (size_t j = 0; j < results.size(); ++j)
    if (found[j] && is_floating(results[j]->spec.dtype)) tangents.emplace_back(results[j], found[j]);
  return hand.finish(tangents);
}

/// A graph with the inputs and results of the forward graph, each with a further first axis.
Graph& run_build_batch(Interpreter& in, const std::shared_ptr<Ir>& ir, Graph& forward, int64_t size) {
  const BuildStateGuard guard(*ir);
  const MethodOfGraph method(in, ir, forward, "build_batch");
  Graph& made = ir->create_graph(forward.title() + "_batch");
  const auto batched = [&](TensorSpec spec) {
    spec.shape.insert(spec.shape.begin(), size);
    return spec;
  };
  std::unordered_map<const Tensor*, Tensor*> here;
  for (const Tensor* t : forward.inputs()) here[t] = made.add_input(batched(t->spec), t->name);
  Arguments args;
  args.span = position_of(in).here;
  for (const Tensor* t : inputs_for(forward, method.parameters()))
    args.positional.push_back(tensor_value(ir, here.at(t)));
  const TargetScope target(in, ir, &made);
  const BuildScope scope(in, std::make_shared<BuildState>());
  const std::vector<Tensor*> results = results_of(forward);
  std::vector<TensorSpec> like;
  for (const Tensor* t : results) like.push_back(batched(t->spec));
  for (Tensor* t :
       returned_for(in, forward, results, like, made, method.call(in, std::move(args)), method.what, "result")) {
    if (!t) throw Error(method.what + " returns all results of the build").as(codes::gradient);
    made.add_output(t);
  }
  return made;
}

}  // namespace

void use_methods_of_graph(Interpreter& in, const std::shared_ptr<Ir>& ir, Graph& graph) {
  const auto instance = static_ref_cast<ModuleInstance>(facts_of(in, ir, &graph).differentiable);
  // The functions look the Ir up, since the Ir must not own itself.
  const std::weak_ptr<Ir> weak = ir;
  using Tensors = const std::vector<Tensor*>&;
  if (instance->method("build_grad"))
    set_custom_gradient(
        graph,
        [&in, weak](Graph& forward, Tensors provided, Tensors required) {
          return run_build_grad(in, weak.lock(), forward, provided, required);
        },
        true);
  if (instance->method("build_jvp"))
    set_custom_tangent(graph, [&in, weak](Graph& forward, Tensors provided, Tensors) {
      return run_build_jvp(in, weak.lock(), forward, provided);
    });
  if (instance->method("build_batch"))
    set_custom_batch(graph, [&in, weak](Graph& forward, int64_t size) -> Graph& {
      return run_build_batch(in, weak.lock(), forward, size);
    });
}

}  // namespace pxl
