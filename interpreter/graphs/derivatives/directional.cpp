// `vjp`, `jvp`, `hvp` and `jacobian`: derivatives in directions.
#include "interpreter/graphs/derivatives/wanted.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/derivatives/gradients.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/modules/tensor_trees.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/ops.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/transform/autodiff.hpp"
#include "runtime/transform/functions/pushforward.hpp"

namespace pxl {
namespace {

// ---- vjp, jvp, hvp, jacobian

/// The operands made from the tensors of all arguments.
std::vector<Wanted> all_arguments(const FunctionCall& call) {
  std::vector<Wanted> wanted;
  for (const FunctionCall::Given& g : call.given) {
    if (!is_floating(as_tensor(g.tensor)->spec.dtype)) continue;
    const std::string name = g.argument.empty() ? std::to_string(g.position) : g.argument;
    const auto below = [&](const std::string& top) { return g.path.empty() ? top : top + "." + g.path; };
    wanted.push_back({below(name), below(std::to_string(g.position)), as_tensor(g.tensor), {g.slot}});
  }
  return wanted;
}

/// Gradients given for the results of a call, as tensors of the graph that is being built.
std::vector<Tensor*> output_gradients(Interpreter& in, const FunctionCall& call, const Value& dy, const char* where) {
  const Graph& graph = *call.callable.graph;
  std::vector<Value> given;
  if (dy.as<DictObject>())
    given = gradients_by_path(in, call.callable.ir, graph, dy, where);
  else if (result_outputs(graph) == 1)
    given = {dy};
  else
    for (auto& [path, leaf] : tree_leaves(in, dy)) given.push_back(leaf);
  if (given.size() != result_outputs(graph))
    throw Error(fmt::format("{}: the function has {} results, but {} gradients are given", where, result_outputs(graph),
                            given.size()))
        .as(codes::gradient);
  std::vector<Tensor*> out;
  for (size_t i = 0; i < given.size(); ++i) {
    const TensorSpec& spec = graph.outputs()[i]->spec;
    const std::string what = fmt::format("{}: the gradient of result {}", where, i);
    Value v = given[i];
    if (v.is_none()) {
      out.push_back(nullptr);
      continue;
    }
    if (v.is_number()) v = Value(Array::repeated(to_array(in, v, spec.dtype, what), spec.shape));
    out.push_back(to_operand(in, v, spec, what));
  }
  return out;
}

/// The states of the graph that is being built, if there is one.
std::shared_ptr<StateMoment> moment_of(Interpreter& in) {
  return graphs_of(in).has_target() ? std::make_shared<StateMoment>(in) : nullptr;
}
/// Calls read the states of a moment, and write none: a function of functions advances states once.
std::unique_ptr<AtMoment> at_moment(Interpreter& in, const std::shared_ptr<StateMoment>& moment) {
  return moment ? std::make_unique<AtMoment>(in, *moment) : nullptr;
}

/// The arguments without their last, which is returned.
Value take_last(Arguments& args) {
  Value last = std::move(args.positional.back());
  args.positional.pop_back();
  args.spans.clear();
  return last;
}

/// A function of (*args, dy): the gradients of f's arguments.
Ref<DerivativeObject> pullback(const Value& f) {
  auto d = derivative("vjp", f, [](Interpreter& i, const DerivativeObject& self, LiftedArguments& lifted) {
    Arguments args = lifted.args;
    const Value dy = take_last(args);
    const FunctionCall call = call_function(i, self.function, args);
    const std::vector<Wanted> wanted = all_arguments(call);
    if (wanted.empty()) throw Error("vjp: no argument is a float tensor").as(codes::gradient);
    std::vector<Value> gradients =
        gradients_of_call(i, call, output_gradients(i, call, dy, "vjp"), wanted, Unused::zero);
    note_numbers(lifted, wanted, gradients);
    const std::vector<Value> parts =
        in_form(call.callable.ir, wanted, std::move(gradients), false).as<GradientsObject>()->parts();
    return parts.size() == 1 ? parts[0] : make_tuple(parts);
  });
  d->all_differentiated = true;
  d->parameters.emplace_back("dy");
  return d;
}

/// f itself, as a function that computes at once or adds a call.
Ref<DerivativeObject> as_graph(const Value& f) {
  auto d = derivative("value", f, [](Interpreter& i, const DerivativeObject& self, LiftedArguments& lifted) {
    const FunctionCall call = call_function(i, self.function, lifted.args);
    return call_result(i, call.callable.ir, *call.op);
  });
  d->all_differentiated = true;
  return d;
}

/// The function `back` that `vjp` returns: it turns gradients of results into gradients of arguments.
struct PullbackObject final : Object {
  Ref<DerivativeObject> back;
  Arguments args;
  std::shared_ptr<StateMoment> before;

  std::string type_name() const override { return "function"; }
  std::string repr(Interpreter&) override { return "<function back>"; }
  bool callable() const override { return true; }
  Value call(Interpreter& in, Arguments given) override {
    ArgReader a("back", given, {"dy"});
    Arguments all = args;
    all.span = given.span;
    all.positional.push_back(a.value("dy"));
    const auto then = at_moment(in, before);
    return back->call(in, std::move(all));
  }
  std::optional<Value> member(Interpreter& in, std::string_view name) override {
    if (name != "graph") return std::nullopt;
    if (!graphs_of(in).has_target() || !needs_graph(in, *back, args))
      throw Error("back.graph: this `vjp` computes at once, without a graph",
                  {"its graph is made where an argument or a capture is a tensor"})
          .as(codes::gradient);
    const LiftedArguments specs = lift_arguments(in, *back, args, [](const Array& a) { return Value(a.spec()); });
    const Callable f = graph_of_function(in, back->function, specs.args);
    std::vector<Tensor*> provided, required;
    for (size_t j = 0; j < result_outputs(*f.graph); ++j)
      if (is_floating(f.graph->outputs()[j]->spec.dtype)) provided.push_back(f.graph->outputs()[j]);
    for (Tensor* t : differentiable_inputs(*f.graph, provided))
      if (!f.inputs.count(t)) required.push_back(t);
    return grad_graph_value(f.ir, autodiff(*f.graph, provided, required));
  }
  std::vector<std::string> member_names() const override { return {"graph"}; }
  void references(References& to) const override { to.add(Value(back)); }
};

Value make_vjp(Interpreter& in, Arguments args) {
  if (args.positional.size() < 2) throw Error("vjp takes a function, then its arguments").as(codes::arguments);
  const Value f = args.positional.front();
  args.positional.erase(args.positional.begin());
  args.spans.clear();
  const auto before = moment_of(in);
  const Value y = as_graph(f)->call(in, args);
  auto back = make_ref<PullbackObject>();
  back->back = pullback(f);
  back->args = args;
  back->before = before;
  return make_tuple({y, Value(back)});
}

// ---- jvp

/// The direction for a tensor among the arguments; null if it has none.
Tensor* tangent_for(Interpreter& in, const FunctionCall::Given& g, const Value& given, const std::string& where) {
  const TensorSpec& spec = as_tensor(g.tensor)->spec;
  if (!is_floating(spec.dtype) || given.is_none()) return nullptr;
  Value found = given;
  if (!g.path.empty()) {
    const std::vector<TreeLeaf> leaves = tree_leaves(in, given);
    const auto at = std::ranges::find(leaves, g.path, &TreeLeaf::first);
    if (at == leaves.end()) throw Error(where + ": no tangent is given for `" + g.path + "`").as(codes::gradient);
    found = at->second;
    if (found.is_none()) return nullptr;
  }
  Tensor* t = to_operand(in, found, spec, where + ": a tangent");
  if (t->spec != spec)
    throw Error(where + ": a tangent is " + text(t->spec) + ", but its argument is " + text(spec)).as(codes::gradient);
  return t;
}

/// Calls the graph that has both values and tangents. Returns the results, and their tangents in the same form.
Value build_jvp(Interpreter& in, const DerivativeObject& self, LiftedArguments& lifted) {
  const size_t count = lifted.args.positional.size() / 2;
  Arguments args;
  args.span = lifted.args.span;
  args.positional.assign(lifted.args.positional.begin(),
                         lifted.args.positional.begin() + static_cast<std::ptrdiff_t>(count));
  FunctionCall call = prepared_call(in, self.function, args);
  Graph& graph = *call.callable.graph;
  if (result_outputs(graph) == 0) throw Error("jvp: the function returns no tensor").as(codes::gradient);
  std::vector<bool> given(graph.inputs().size(), false);
  std::vector<Tensor*> tangents(given.size(), nullptr);
  for (const FunctionCall::Given& g : call.given) {
    tangents[g.slot] = tangent_for(in, g, lifted.args.positional[count + g.position], "jvp");
    given[g.slot] = tangents[g.slot] != nullptr;
  }
  const Pushforward made = pushforward(graph, given);
  for (Tensor* t : tangents)
    if (t) call.operands.tensors.push_back(t);
  const Op* op = add_call(in, *made.graph, call.operands);
  std::vector<Value> ys, dys;
  for (size_t j = 0; j < result_outputs(graph); ++j) {
    const TensorSpec& spec = op->outputs[j]->spec;
    ys.push_back(tensor_value(call.callable.ir, op->outputs[j]));
    if (made.tangent[j])
      dys.push_back(tensor_value(call.callable.ir, op->outputs[*made.tangent[j]]));
    else
      dys.push_back(is_floating(spec.dtype) ? zeros_like(in, spec) : Value());
  }
  return make_tuple({in_result_form(in, call.callable.ir, graph, std::move(ys)),
                     in_result_form(in, call.callable.ir, graph, std::move(dys))});
}

/// A function of (*args, *tangents): f's result and its tangent.
Ref<DerivativeObject> pushforward_of(const Value& f) {
  auto d = derivative("jvp", f, build_jvp);
  d->all_differentiated = true;
  d->parameters.clear();
  return d;
}

/// The arguments in a list or tuple, or a single one. A list of numbers is one array for a function of one
/// parameter.
std::vector<Value> arguments_in(const Value& f, const Value& v) {
  if (auto* t = v.as<TupleObject>()) return t->items;
  auto* list = v.as<ListObject>();
  const bool is_array = list && !list->items.empty() && list->items[0].is_number() && parameters_of(f).size() == 1;
  if (list && !is_array) return list->items;
  return {v};
}

/// Whether a list of one argument has a tensor of rank 0: a list of one number has its tangent, and is no array.
bool is_list_of_number(const Value& args) {
  const auto* list = args.as<ListObject>();
  if (!list || list->items.size() != 1) return false;
  if (const Tensor* t = as_tensor(list->items[0])) return t->spec.shape.empty();
  return list->items[0].as_array() && list->items[0].as_array()->shape().empty();
}

Value make_jvp(Interpreter& in, const Arguments& given) {
  ArgReader a(given);
  Arguments args;
  args.span = given.span;
  args.positional = arguments_in(a.value("f"), a.value("args"));
  const auto* list = a.value("tangents").as<ListObject>();
  const std::vector<Value> tangents =
      list && is_list_of_number(a.value("args")) ? list->items : arguments_in(a.value("f"), a.value("tangents"));
  if (tangents.size() != args.positional.size())
    throw Error(fmt::format("jvp: {} arguments, but {} tangents", args.positional.size(), tangents.size()))
        .as(codes::arguments);
  if (!args.positional.empty() && std::ranges::all_of(args.positional, [](const Value& v) { return v.is_int(); }))
    refuse_int("jvp", args, 0, "");
  args.positional.insert(args.positional.end(), tangents.begin(), tangents.end());
  return pushforward_of(a.value("f"))->call(in, std::move(args));
}

/// The gradient of <grad f, v>: a Hessian's product with a vector, without the matrix.
Value make_hvp(Interpreter& in, const Arguments& given) {
  ArgReader a(given);
  auto d = derivative("hvp", a.value("f"), [](Interpreter& i, const DerivativeObject& self, LiftedArguments& l) {
    Arguments args = l.args;
    const Value v = take_last(args);
    const FunctionCall call = call_function(i, make_grad(self.function, Value(), {}), args);
    std::vector<Tensor*> dys;
    for (const FunctionCall::Given& g : call.given)
      if (is_floating(as_tensor(g.tensor)->spec.dtype)) dys.push_back(tangent_for(i, g, v, "hvp"));
    const auto is_float = [](const Value& t) { return is_floating(as_tensor(t)->spec.dtype); };
    if (std::ranges::count(dys, nullptr) > 0 ||
        std::ranges::count_if(tensors_in(i, v), is_float) != static_cast<std::ptrdiff_t>(dys.size()))
      throw Error("hvp: `v` has the form of `x`").as(codes::gradient);
    const std::vector<Wanted> wanted = all_arguments(call);
    std::vector<Value> products = gradients_of_call(i, call, dys, wanted, Unused::zero);
    note_numbers(l, wanted, products);
    size_t next = 0;
    return map_tree(i, args.positional[0], [&](const Value& leaf, const std::string&) {
      const Tensor* t = as_tensor(leaf);
      return t && is_floating(t->spec.dtype) ? products[next++] : leaf;
    });
  });
  d->differentiated = {Value(int64_t{0}), Value(int64_t{1})};
  Arguments args;
  args.span = given.span;
  args.positional = {a.value("x"), a.value("v")};
  return d->call(in, std::move(args));
}

/// The unit vectors of a tensor's elements, one in each slice along the first axis.
Array unit_vectors(const TensorSpec& spec) {
  const int64_t n = element_count(spec.shape);
  std::vector<double> elements(static_cast<size_t>(n * n), 0.0);
  for (int64_t i = 0; i < n; ++i) elements[static_cast<size_t>(i * n + i)] = 1.0;
  Shape shape{n};
  shape.insert(shape.end(), spec.shape.begin(), spec.shape.end());
  return Array::from<double>(shape, elements).cast(spec.dtype);
}

Value shape_list(const Shape& shape) { return make_list(std::vector<Value>(shape.begin(), shape.end())); }

Value make_jacobian(const Arguments& given) {
  ArgReader a(given);
  const bool reverse = a.boolean("reverse");
  auto d = derivative(
      "jacobian", a.value("f"), [reverse](Interpreter& i, const DerivativeObject& self, LiftedArguments& l) -> Value {
        const auto moment = moment_of(i);
        const FunctionCall call = call_function(i, self.function, l.args);
        const auto then = at_moment(i, moment);
        const Tensor* x = call.given.empty() ? nullptr : as_tensor(call.given[0].tensor);
        if (!x || result_outputs(*call.callable.graph) != 1)
          throw Error("jacobian: the function takes a tensor first, and returns one tensor").as(codes::gradient);
        if (!is_floating(x->spec.dtype))
          throw Error(fmt::format("jacobian: the argument is {}; only floats have derivatives", text(x->spec)),
                      {"`cast(x, float32)` converts integers"})
              .as(codes::gradient);
        const Tensor* y = call.op->outputs[0];
        const TensorSpec& over = reverse ? y->spec : x->spec;
        const int64_t n = element_count(over.shape);
        const Value basis(unit_vectors(over));
        const Arguments args = l.args;
        const Value f = self.function;
        const Value step =
            make_method(no_effects, "step", [reverse, args, f](Interpreter& k, Arguments slice) -> Value {
              const auto here = moment_of(k);
              const auto unchanged = at_moment(k, here);
              Arguments more = args;
              more.span = slice.span;
              if (reverse) {
                more.positional.push_back(slice.positional.at(0));
                const Value all = pullback(f)->call(k, std::move(more));
                return all.as<TupleObject>() ? all.as<TupleObject>()->items[0] : all;
              }
              more.positional.resize(2 * args.positional.size());
              more.positional[args.positional.size()] = slice.positional.at(0);
              const Value both = pushforward_of(f)->call(k, std::move(more));
              return both.as<TupleObject>()->items[1];
            });
        Arguments scan;
        scan.span = l.args.span;
        scan.positional = {step, make_list({}), basis};
        const Value stacked = make_scan(i, std::move(scan));
        Shape shape = y->spec.shape;
        shape.insert(shape.end(), x->spec.shape.begin(), x->spec.shape.end());
        if (reverse) return op_by_name(i, "reshape", {stacked, shape_list(shape)});
        const Value flat = op_by_name(i, "reshape", {stacked, shape_list({n, element_count(y->spec.shape)})});
        return op_by_name(i, "reshape", {op_by_name(i, "transpose", {flat}), shape_list(shape)});
      });
  d->key += reverse ? "r" : "f";
  d->differentiated = {Value(int64_t{0})};
  return Value(d);
}

}  // namespace

void bind_directional_builtins(Scope& p) {
  define(p, no_effects,
         {"vjp(f, *args)", "f's result, and a function from its gradient to the gradients of the arguments.",
          R"(y, back = vjp((x) => x * x, [1.0, 2.0])
back([1.0, 0.5]))"},
         [](Interpreter& in, Arguments args) { return make_vjp(in, std::move(args)); });
  define(p, no_effects,
         {"jvp(f, args, tangents)",
          "f's results, and their derivatives in the direction of the tangents, one for each argument, or none. The "
          "mode is forward: loops need no bound.",
          "jvp((x) => x * x, [1.0, 2.0], [1.0, 0.5])"},
         [](Interpreter& in, Arguments args) { return make_jvp(in, args); });
  define(p, no_effects,
         {"hvp(f, x, v)", "The product of f's Hessian at x with v, which has the form of x. f returns one number.",
          "hvp((x) => sum(x ** 3), [1.0, 2.0], [1.0, 0.5])"},
         [](Interpreter& in, Arguments args) { return make_hvp(in, args); });
  define(p, no_effects,
         {"jacobian(f, reverse = false)",
          "A function that returns the derivatives of f's result by its first argument, element by element, with the "
          "axes of the result first. `jvp` computes columns, or `vjp` rows if `reverse`.",
          "jacobian((x) => x * x)([1.0, 2.0])"},
         [](Interpreter&, Arguments args) { return make_jacobian(args); });
}

}  // namespace pxl
