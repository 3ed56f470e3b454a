// `precision(f, dtype, keep)`: a graph, a bound graph or a function that multiplies in float16 or bfloat16.
#include <fmt/format.h>

#include <numeric>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/derivatives/derivatives.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/modules/states.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/operations.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/transform/differentiator.hpp"
#include "runtime/transform/precision/lower.hpp"

namespace pxl {
namespace {

/// What `precision` is asked for. An entry of `keep` is the name of an op, the path of a module, or a module.
struct AskedPrecision {
  PrecisionForm form;
  std::vector<std::string> paths;
  std::vector<Ref<ModuleObject>> modules;

  /// A text that tells entries apart.
  std::string key() const {
    std::string text =
        fmt::format("precision {} {} | {} |", name(form.dtype), join_texts(form.keep, " "), join_texts(paths, " "));
    for (const auto& m : modules) text += fmt::format(" {} {}", m->code->name, fmt::ptr(&*m->code));
    return text;
  }
};

AskedPrecision asked_precision(Interpreter& in, const ArgReader& a) {
  AskedPrecision asked;
  PrecisionForm& form = asked.form;
  form.dtype = to_dtype(a.value("dtype"), "precision");
  if (!is_narrow(form.dtype))
    throw Error(fmt::format("precision: `dtype` is float16 or bfloat16, not {}", name(form.dtype))).as(codes::dtype);
  if (!a.has("keep")) return asked;
  for (const Value& v : elements_of(in, a.value("keep"))) {
    const std::string* text = v.as_string();
    if (v.as<ModuleObject>())
      asked.modules.push_back(v.ptr<ModuleObject>());
    else if (!text)
      type_error("precision: `keep` has names of ops, paths of modules, and modules, got " +
                 with_article(v.type_name()));
    else if (const OpRow* row = find_op(*text); row && row->role != Role::composite)
      form.keep.push_back(*text);
    else
      asked.paths.push_back(*text);
  }
  return asked;
}

/// Lowers a graph. Each path and module of `keep` must have ops in it.
Graph& lower_as_asked(Interpreter& in, const Callable& f, const AskedPrecision& asked,
                      const std::vector<bool>& leaves) {
  PrecisionForm form = asked.form;
  std::vector<bool> paths_found(asked.paths.size()), modules_found(asked.modules.size());
  const auto& modules = graphs_of(in).world().of(f.ir).modules;
  const auto keeps = [&](const Op& op, const std::string& path) {
    bool kept = false;
    const auto keep = [&](std::vector<bool>& found, size_t i) { found[i] = kept = true; };
    for (size_t i = 0; i < asked.paths.size(); ++i)
      if (("." + path + ".").find("." + asked.paths[i] + ".") != std::string::npos) keep(paths_found, i);
    if (asked.modules.empty() || op.outputs.empty()) return kept;
    // The modules around the op, innermost first.
    std::string scope = op.outputs.front()->name;
    do {
      scope.erase(scope.find_last_of('/') == std::string::npos ? 0 : scope.find_last_of('/'));
      const auto at = modules.find({op.graph, scope});
      for (size_t i = 0; at != modules.end() && i < asked.modules.size(); ++i)
        if (&*at->second == &*asked.modules[i]->code) keep(modules_found, i);
    } while (!scope.empty());
    return kept;
  };
  if (!asked.paths.empty() || !asked.modules.empty()) form.keeps_module = keeps;
  Graph& made = lower_precision(*f.graph, form, leaves);
  for (size_t i = 0; i < asked.paths.size(); ++i) {
    const std::string& text = asked.paths[i];
    if (paths_found[i]) continue;
    if (find_op(text))
      throw Error("precision: `" + text + "` is made of other ops, which are in the graph in its place",
                  {"name those: the schedule of the graph has them"})
          .as(codes::value);
    throw Error("precision: no op is called `" + text + "`, and no module of the graph is at this path",
                {did_you_mean(text, op_names()),
                 "`keep` has names of ops, paths of modules, and modules: `[\"softmax\", \"blocks.0\", LayerNorm]`"})
        .as(codes::unknown_name);
  }
  for (size_t i = 0; i < asked.modules.size(); ++i)
    if (!modules_found[i])
      throw Error(fmt::format("precision: no op of the graph is in a module {}", asked.modules[i]->code->name))
          .as(codes::value);
  return made;
}

/// The graph in mixed precision, bound as the given one is.
Callable lowered(Interpreter& in, Callable f, const AskedPrecision& asked) {
  if (has_custom_gradient(*f.graph)) {  // which belongs to the unchanged graph: a graph around it calls it
    std::vector<size_t> results(result_outputs(*f.graph));
    std::iota(results.begin(), results.end(), size_t{0});
    f = with_results(in, f, results);
  }
  GraphFacts facts = facts_of(in, f.ir, f.graph);
  for (const auto& [input, outer] : facts.captured) f.inputs.emplace(input, tensor_value(f.ir, outer));
  const auto& inputs = f.graph->inputs();
  std::vector<bool> leaves;
  for (const Tensor* input : inputs) {
    const auto at = f.inputs.find(input);
    const Tensor* outer = at == f.inputs.end() ? nullptr : as_tensor(at->second);
    leaves.push_back(outer && (outer->kind == TensorKind::variable || !outer->key.empty()));
  }
  stamp(in, *f.ir);
  Callable made{f.ir, &lower_as_asked(in, f, asked, leaves), {}, f.vars};
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const auto at = f.inputs.find(inputs[i]); at != f.inputs.end())
      made.inputs.emplace(made.graph->inputs()[i], at->second);
  facts.captured.clear();
  facts.names.clear();
  facts.differentiable.reset();
  graphs_of(in).world().of(f.ir).graphs[made.graph] = std::move(facts);
  return made;
}

Value build_lowered(Interpreter& in, const DerivativeObject& d, LiftedArguments& lifted, const AskedPrecision& asked) {
  const Callable made = lowered(in, graph_of_function(in, d.function, lifted.args), asked);
  Arguments call;
  call.span = lifted.args.span;
  for (const FunctionCall::Given& g : tensors_given(in, d.function, lifted.args)) call.positional.push_back(g.tensor);
  return call_result(in, made.ir, *emit_call(in, made.ir, *made.graph, made.inputs, call));
}

Value in_precision(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  const Value f = a.value("f");
  const AskedPrecision asked = asked_precision(in, a);
  if (auto* g = f.as<GraphObject>()) {
    const Callable made = lowered(in, {g->ir, g->graph, g->captured, nullptr}, asked);
    return graph_value(made.ir, made.graph, made.inputs);
  }
  if (auto* b = f.as<BoundGraphObject>()) {
    const Callable made = lowered(in, {b->graph->ir, b->graph->graph, b->all_inputs(), b->vars}, asked);
    auto bound = make_ref<BoundGraphObject>();
    bound->graph = graph_value(made.ir, made.graph).ptr<GraphObject>();
    bound->graph->origin = b->graph->origin;
    bound->vars = b->vars;
    bound->states = b->states;
    bound->inputs = made.inputs;
    return Value(bound);
  }
  if (!f.is_object() || !f.object()->callable())
    type_error("precision takes a graph, a net or a function of tensors, got " + with_article(f.type_name()));
  auto d = make_ref<DerivativeObject>();
  d->title = fmt::format("precision({}, {})", title_of(f), name(asked.form.dtype));
  d->key = asked.key();
  d->function = f;
  d->parameters = parameters_of(f);
  d->build = [asked](Interpreter& i, const DerivativeObject& made, LiftedArguments& lifted) {
    return build_lowered(i, made, lifted, asked);
  };
  return Value(d);
}

}  // namespace

void bind_precision_builtin(Scope& p) {
  define(
      p, no_effects,
      {"precision(f, dtype, keep = none)",
       "A graph, a bound graph or a function that multiplies in float16 or bfloat16. Casts precede products and "
       "convolutions, and elementwise ops after them stay in `dtype`. Sums, norms, softmax and losses keep their "
       "dtype. So does what `keep` names: ops, paths of modules, and modules. Params, inputs and results keep theirs.",
       "precision((x) => x @ x.T, bfloat16)(array([[1.01, 2.0]]))"},
      [](Interpreter& in, Arguments args) { return in_precision(in, args); });
}

}  // namespace pxl
