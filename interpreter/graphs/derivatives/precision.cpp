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

PrecisionForm to_form(Interpreter& in, const ArgReader& a) {
  PrecisionForm form;
  form.dtype = to_dtype(a.value("dtype"), "precision");
  if (!is_narrow(form.dtype))
    throw Error(fmt::format("precision: `dtype` is float16 or bfloat16, not {}", name(form.dtype))).as(codes::dtype);
  if (!a.has("keep")) return form;
  for (const Value& v : elements_of(in, a.value("keep"))) {
    const std::string* op = v.as_string();
    if (!op) type_error("precision: `keep` has the names of ops, got " + with_article(v.type_name()));
    const OpRow* row = find_op(*op);
    if (!row)
      throw Error("precision: no op is called `" + *op + "`",
                  {did_you_mean(*op, op_names()), "`keep` has the names of ops: `[\"softmax\", \"matmul\"]`"})
          .as(codes::unknown_name);
    if (row->role == Role::composite)
      throw Error("precision: `" + *op + "` is made of other ops, which are in the graph in its place",
                  {"name those: the schedule of the graph has them"})
          .as(codes::value);
    form.keep.push_back(*op);
  }
  return form;
}

/// The graph in mixed precision, bound as the given one is.
Callable lowered(Interpreter& in, Callable f, const PrecisionForm& form) {
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
  Callable made{f.ir, &lower_precision(*f.graph, form, leaves), {}, f.vars};
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const auto at = f.inputs.find(inputs[i]); at != f.inputs.end())
      made.inputs.emplace(made.graph->inputs()[i], at->second);
  facts.captured.clear();
  facts.names.clear();
  facts.differentiable.reset();
  graphs_of(in).world().of(f.ir).graphs[made.graph] = std::move(facts);
  return made;
}

Value build_lowered(Interpreter& in, const DerivativeObject& d, LiftedArguments& lifted, const PrecisionForm& form) {
  const Callable made = lowered(in, graph_of_function(in, d.function, lifted.args), form);
  Arguments call;
  call.span = lifted.args.span;
  for (const FunctionCall::Given& g : tensors_given(in, d.function, lifted.args)) call.positional.push_back(g.tensor);
  return call_result(in, made.ir, *emit_call(in, made.ir, *made.graph, made.inputs, call));
}

Value in_precision(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  const Value f = a.value("f");
  const PrecisionForm form = to_form(in, a);
  if (auto* g = f.as<GraphObject>()) {
    const Callable made = lowered(in, {g->ir, g->graph, g->captured, nullptr}, form);
    return graph_value(made.ir, made.graph, made.inputs);
  }
  if (auto* b = f.as<BoundGraphObject>()) {
    const Callable made = lowered(in, {b->graph->ir, b->graph->graph, b->all_inputs(), b->vars}, form);
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
  d->title = fmt::format("precision({}, {})", title_of(f), name(form.dtype));
  d->key = fmt::format("precision {} {}", name(form.dtype), join_texts(form.keep, " "));
  d->function = f;
  d->parameters = parameters_of(f);
  d->build = [form](Interpreter& i, const DerivativeObject& made, LiftedArguments& lifted) {
    return build_lowered(i, made, lifted, form);
  };
  return Value(d);
}

}  // namespace

void bind_precision_builtin(Scope& p) {
  define(p, no_effects,
         {"precision(f, dtype, keep = none)",
          "A graph, a bound graph or a function that multiplies in float16 or bfloat16. Casts precede products and "
          "convolutions, and elementwise ops after them stay in `dtype`. Sums, norms, softmax, losses, and the ops "
          "that `keep` names, keep their dtype. Params, inputs and results keep theirs.",
          "precision((x) => x @ x.T, bfloat16)(array([[1.01, 2.0]]))"},
         [](Interpreter& in, Arguments args) { return in_precision(in, args); });
}

}  // namespace pxl
