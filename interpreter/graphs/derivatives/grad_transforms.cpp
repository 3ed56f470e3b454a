// Functions of the language that transform gradient graphs: accumulation and recomputation.
#include <numeric>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/derivatives/derivatives.hpp"
#include "interpreter/graphs/derivatives/gradients.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/transform/accumulate.hpp"
#include "runtime/transform/recompute.hpp"
#include "runtime/transform/sparse_gradient.hpp"

namespace pxl {
namespace {

/// A factory of zeros for an input that a transform added.
Value zeros_factory(const Tensor& input) {
  auto f = make_ref<VariableFactoryObject>();
  f->name = input.key;
  f->spec = input.spec;
  f->init = Value(int64_t{0});
  f->by_ref = input.by_ref;
  return f;
}

Value accumulation(Interpreter& in, const Arguments& args) {
  ArgReader a("autodiff_with_accumulation", args,
              {"graph", "tensors", "grads_provided", "grads_required", "called_graphs_grad_info"});
  const auto graph = to_graph(a.value("graph"), "autodiff_with_accumulation");
  const std::vector<Tensor*> tensors = to_tensors(in, a.value("tensors"), "autodiff_with_accumulation");
  std::optional<std::vector<Tensor*>> provided;
  if (a.has("grads_provided")) provided = to_tensors(in, a.value("grads_provided"), "grads_provided");
  std::vector<Tensor*> required;
  if (a.has("grads_required")) required = to_tensors(in, a.value("grads_required"), "grads_required");
  stamp(in, *graph->ir);
  const Accumulation made = autodiff_with_accumulation(*graph->graph, tensors, std::move(provided), required,
                                                       to_grad_infos(a.value_or("called_graphs_grad_info", {})));
  TreePtr factories = make_tree(TreeKind::factories);
  factories->insert(made.counter->key, zeros_factory(*made.counter));
  for (const Tensor* t : made.accumulators) factories->insert(t->key, zeros_factory(*t));
  GraphFacts facts;
  for (const auto& [name, leaf] : factories->leaves()) facts.with_factory.insert(name);
  graphs_of(in).world().of(graph->ir).graphs[made.info->graph] = std::move(facts);
  return make_tuple({Value(factories), grad_graph_value(graph->ir, made.info)});
}

Value recomputation(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  const Value given = a.value("grad_graph");
  auto* grad = given.as<GradGraphObject>();
  if (!grad)
    type_error("recompute_graph takes a gradient graph, got " + with_article(given.type_name()) +
               ": `autodiff(graph)` makes one");
  stamp(in, *grad->ir);
  const GradGraphInfoPtr made = recompute_graph(*grad->info);
  auto& graphs = graphs_of(in).world().of(grad->ir).graphs;
  GraphFacts facts;
  facts.with_factory = facts_of(in, grad->ir, grad->info->graph).with_factory;
  for (const std::string& name : facts_of(in, grad->ir, grad->info->forward_graph).with_factory)
    facts.with_factory.insert(name);
  graphs[made->graph] = std::move(facts);
  return grad_graph_value(grad->ir, made);
}

Value rows_of_gradient(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  const Value given = a.value("gradient");
  Tensor* gradient = reached(in, as_tensor(given));
  if (!gradient) misuse_error("sparse_gradient takes a tensor, got " + with_article(given.type_name()), given);
  const BuildTarget target = graphs_of(in).target();
  check_in_effect("sparse_gradient", *gradient);
  if (gradient->graph != target.graph)
    throw Error("sparse_gradient: `" + shown_name(*gradient) + "` is not in the graph that is being built")
        .as(codes::other_graph);
  stamp(in, *target.ir);
  const SparseGradient found = sparse_gradient(*gradient);
  return make_tuple({tensor_value(target.ir, found.indices), tensor_value(target.ir, found.rows)});
}

}  // namespace

namespace {

/// A call of a function as a graph. The gradients of the graph compute it again.
Value build_recomputed(Interpreter& in, const DerivativeObject& d, LiftedArguments& lifted) {
  const Callable f = graph_of_function(in, d.function, lifted.args);
  std::vector<size_t> results(result_outputs(*f.graph));
  std::iota(results.begin(), results.end(), size_t{0});
  const Callable made = with_results(in, f, results);
  std::vector<std::string> save;
  for (const Value& name : elements_of(in, d.parts[0])) save.push_back(*name.as_string());
  recompute_in_gradients(*made.graph, std::move(save));
  Arguments call;
  call.span = lifted.args.span;
  for (const FunctionCall::Given& g : tensors_given(in, d.function, lifted.args)) call.positional.push_back(g.tensor);
  return call_result(in, made.ir, *emit_call(in, made.ir, *made.graph, made.inputs, call));
}

Value make_recompute(const Value& f, const Value& save) {
  if (!f.is_object() || !f.object()->callable())
    type_error("recompute takes a function of tensors, got " + with_article(f.type_name()));
  auto d = make_ref<DerivativeObject>();
  d->key = d->title = "recompute";
  d->function = f;
  d->parameters = parameters_of(f);
  std::vector<Value> names;
  if (save.as_string())
    names.push_back(save);
  else if (auto* list = save.as<SequenceObject>())
    names = list->items;
  else if (!save.is_none())
    type_error("recompute: `save` is a list of names, got " + with_article(save.type_name()));
  for (const Value& name : names) {
    if (!name.as_string()) type_error("recompute: `save` is a list of names, got " + with_article(name.type_name()));
    d->key += " " + *name.as_string();
  }
  d->parts = {make_tuple(std::move(names))};
  d->build = build_recomputed;
  return Value(d);
}

}  // namespace

void bind_gradient_builtins(Scope& p) {
  define(p, no_effects,
         {"autodiff(graph, grads_provided = none, grads_required = none, called_graphs_grad_info = none)",
          "The graph of a graph's gradients: it takes gradients of outputs and returns gradients of inputs.",
          R"(def square(x) { return x ** 2.0 }
graph = ir.create_graph(square, float32[3])
autodiff(graph).graph.outputs)"},
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a("autodiff", args, {"graph", "grads_provided", "grads_required", "called_graphs_grad_info"});
           return make_autodiff(in, a.value("graph"), args);
         });
  define(
      p, no_effects,
      {"autodiff_with_accumulation(graph, tensors, grads_provided = none, grads_required = none, "
       "called_graphs_grad_info = none)",
       "Factories of accumulators, and a gradient graph whose calls keep the running mean of the tensors' gradients.",
       R"(from nn import Linear
facts, graph = Linear(3).create_graph(float32[2, 4])
accumulators, gradient = autodiff_with_accumulation(graph, graph.args.tensors)
list(accumulators.keys_flat()))"},
      [](Interpreter& in, Arguments args) { return accumulation(in, args); });
  define(
      p, no_effects,
      {"recompute(f, save = none)",
       "f as a function whose gradients keep its arguments alone, and compute what else they need again. save: names "
       "of values that are kept too, in which `*` stands for any text.",
       "grad(recompute((x) => sum(exp(x) ** 2)))([0.0, 1.0])"},
      [](Interpreter&, Arguments args) -> Value {
        ArgReader a(args);
        return make_recompute(a.value("f"), a.value_or("save", {}));
      });
  define(p, no_effects,
         {"recompute_graph(grad_graph)",
          "A gradient graph that computes the forward pass again, so that no activation is kept for it.",
          R"(from nn import Linear
facts, graph = Linear(3).create_graph(float32[2, 4])
gradient = autodiff(graph)
len(recompute_graph(gradient).graph.inputs), len(gradient.graph.inputs))"},
         [](Interpreter& in, Arguments args) { return recomputation(in, args); });
  define(
      p, no_effects,
      {"sparse_gradient(gradient)",
       "The rows of a table's gradient, where it is that of gathers along axis 0 alone: a tuple of the rows' indices, "
       "int32, each once and in ascending order, then -1, and of their gradients, 0 where the index is -1. Both have "
       "as many rows as the gathers have indices. The table's gradient is not computed unless it has other uses.",
       R"(program p {
  table = variable(ones([5, 2]))
  graph = ir.create_graph((table, x) => gather(table, x), table, int32[3])
  info = graph.call_with_info(table, constant([4, 1, 4]))
  indices, rows = sparse_gradient(info.backward(1.0, [table])[table])
  stream out where = indices
  stream out what = rows
}
result = Session(p()).run()
result.where, result.what)"},
      [](Interpreter& in, Arguments args) { return rows_of_gradient(in, args); });
}

}  // namespace pxl
