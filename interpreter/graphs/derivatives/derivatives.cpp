// Derivatives of functions, and of tensors of the graph that is being built.
#include "interpreter/graphs/derivatives/derivatives.hpp"

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

namespace pxl {
namespace {

/// What a derivative is taken of: an operand of a call, and how the result names it.
struct Wanted {
  std::string name;
  Tensor* tensor = nullptr;
  std::vector<size_t> slots;  ///< of the call; several hold a captured tensor
};

enum class Unused : uint8_t { error, zero, none };

Unused to_unused(const ArgReader& a) {
  const std::string text = a.string_or("unused", "error");
  if (text == "error") return Unused::error;
  if (text == "zero") return Unused::zero;
  if (text == "none") return Unused::none;
  throw Error("grad: `unused` is \"error\", \"zero\" or \"none\", got \"" + text + "\"").as(codes::value);
}

bool is_selector(const Value& v) { return v.as_string() || (v.is_int() && !v.is_bool()); }

/// Whether `wrt` names arguments, rather than tensors.
bool selects_arguments(const Value& wrt) {
  if (is_selector(wrt)) return true;
  auto* list = wrt.as<SequenceObject>();
  return list && !list->items.empty() && std::all_of(list->items.begin(), list->items.end(), is_selector);
}

/// The tensors of `wrt`, by name. A bound graph has its variables.
std::vector<TreeLeaf> wanted_leaves(Interpreter& in, const Value& wrt) {
  std::vector<TreeLeaf> leaves;
  if (auto* b = wrt.as<BoundGraphObject>())
    leaves = b->vars->leaves();
  else
    leaves = tree_leaves(in, wrt);
  const bool by_name = wrt.as<TreeObject>() || wrt.as<DictObject>() || wrt.as<BoundGraphObject>();
  for (auto& [name, leaf] : leaves)
    if (Tensor* t = as_tensor(leaf); t && !by_name) name = t->name;
  return leaves;
}

/// The operands of a call that `wrt` selects. `whole` tells whether `wrt` is one tensor.
std::vector<Wanted> resolve(Interpreter& in, const FunctionCall& call, const Value& f, const Value& wrt, bool& whole) {
  std::vector<Wanted> wanted;
  whole = false;
  const bool of_vars = wrt.is_none() && f.as<BoundGraphObject>() && !f.as<BoundGraphObject>()->vars->items.empty();
  const bool of_params = wrt.is_none() && f.as<ModuleInstance>();
  if (of_params) {
    for (const auto& [input, outer] : call.callable.inputs)
      if (Tensor* t = as_tensor(outer); t && !t->key.empty() && !is_state(in, t)) wanted.push_back({t->key, t, {}});
    std::sort(wanted.begin(), wanted.end(), [](const Wanted& x, const Wanted& y) { return x.name < y.name; });
  } else if (wrt.is_none() ? !of_vars : selects_arguments(wrt)) {
    std::vector<Value> selectors;
    if (wrt.is_none())
      selectors.emplace_back(int64_t{0});
    else if (wrt.as<SequenceObject>())
      selectors = elements_of(in, wrt);
    else
      selectors.push_back(wrt);
    for (const Value& s : selectors) {
      const size_t before = wanted.size();
      for (const FunctionCall::Given& g : call.given) {
        const bool meant = s.is_int() ? static_cast<size_t>(s.as_int()) == g.position : *s.as_string() == g.argument;
        if (!meant) continue;
        const std::string name = g.argument.empty() ? std::to_string(g.position) : g.argument;
        const bool alone = selectors.size() == 1;
        wanted.push_back({g.path.empty() ? name : alone ? g.path : name + "." + g.path, as_tensor(g.tensor), {g.slot}});
        whole = alone && g.path.empty();
      }
      if (wanted.size() > before) continue;
      std::vector<std::string> names;
      for (const FunctionCall::Given& g : call.given) names.push_back(g.argument);
      const std::string text = repr_of(in, s);
      const std::string hint = s.as_string() ? did_you_mean(*s.as_string(), names) : std::string();
      throw Error("grad: no tensor was given for the argument " + text + (hint.empty() ? "" : "; " + hint),
                  {"a gradient is of tensors, arrays and floats"})
          .as(codes::gradient);
    }
    return wanted;
  } else {
    whole = as_tensor(wrt) != nullptr;
    for (auto& [name, leaf] : wanted_leaves(in, of_vars ? f : wrt)) {
      Tensor* t = as_tensor(leaf);
      if (!t)
        type_error("grad: `wrt` takes names or positions of arguments, or tensors, got " +
                   with_article(leaf.type_name()));
      wanted.push_back({name, t, {}});
    }
  }
  for (Wanted& w : wanted) {
    w.tensor = reached(in, w.tensor);
    for (size_t slot = 0; slot < call.op->inputs.size(); ++slot) {
      const auto is_given = [&](const FunctionCall::Given& g) { return g.slot == slot; };
      const bool argument = std::any_of(call.given.begin(), call.given.end(), is_given);
      if (!argument && call.op->inputs[slot] == w.tensor) w.slots.push_back(slot);
    }
  }
  return wanted;
}

/// The result of the function that is differentiated: one number.
const Tensor& loss_of(const FunctionCall& call, bool aux, const char* where) {
  const Graph& graph = *call.callable.graph;
  const size_t n = result_outputs(graph);
  if (n == 0) throw Error(std::string(where) + ": the function returns no tensor").as(codes::gradient);
  const Tensor& y = *graph.outputs()[0];
  if (n > 1 && !aux)
    throw Error(fmt::format("{}: the function returns {} tensors; a gradient is of one number", where, n),
                {"`value_and_grad(f, aux = true)` differentiates the first, and gives the others"})
        .as(codes::gradient);
  if (element_count(y.spec.shape) != 1)
    throw Error(fmt::format("{}: `{}` is {}; a gradient is of one number", where, shown_name(y), text(y.spec)),
                {fmt::format("write `sum({})`, or give a gradient for it: `vjp`", shown_name(y))})
        .as(codes::gradient);
  if (!is_floating(y.spec.dtype))
    throw Error(fmt::format("{}: the function returns {}, and only floats have gradients", where, text(y.spec)))
        .as(codes::gradient);
  return y;
}

[[noreturn]] void no_path(const std::string& name, const Tensor& inner, const Tensor& loss) {
  throw Error("grad: `" + name + "` has no path to `" + shown_name(loss) + "`",
              notes_on_lost_gradient(inner, loss, "`unused = \"zero\"` gives zeros, `unused = \"none\"` none"))
      .as(codes::gradient);
}

Tensor* ones_for(Interpreter& in, const Tensor& y) {
  const BuildTarget target = graphs_of(in).target();
  stamp(in, *target.ir);
  Array one = Array::repeated(Array::scalar(1.0).cast(y.spec.dtype), y.spec.shape);
  return target.graph->add_constant(std::move(one), "t");
}

Value zeros_like(Interpreter& in, const TensorSpec& spec) {
  const BuildTarget target = graphs_of(in).target();
  stamp(in, *target.ir);
  return tensor_value(target.ir, target.graph->add_constant(Array::zeros(spec.dtype, spec.shape), "zeros"));
}

/// Adds the gradient of a call for operands; `output_grads` is parallel to the declared outputs.
std::vector<Value> gradients_of_call(Interpreter& in, const FunctionCall& call,
                                     const std::vector<Tensor*>& output_grads, const std::vector<Wanted>& wanted,
                                     Unused unused) {
  Graph& graph = *call.callable.graph;
  std::vector<Tensor*> provided;
  for (size_t i = 0; i < output_grads.size(); ++i)
    if (output_grads[i]) provided.push_back(graph.outputs()[i]);
  const std::vector<Tensor*> reachable = differentiable_inputs(graph, provided);
  std::vector<size_t> slots;
  std::vector<std::vector<size_t>> terms(wanted.size());
  for (size_t w = 0; w < wanted.size(); ++w)
    for (size_t slot : wanted[w].slots)
      if (std::find(reachable.begin(), reachable.end(), graph.inputs()[slot]) != reachable.end()) {
        terms[w].push_back(slots.size());
        slots.push_back(slot);
      }
  const bool floats =
      std::any_of(wanted.begin(), wanted.end(), [](const Wanted& w) { return is_floating(w.tensor->spec.dtype); });
  for (size_t w = 0; w < wanted.size(); ++w) {
    const bool is_float = is_floating(wanted[w].tensor->spec.dtype);
    if (!is_float && !floats)
      throw Error("grad: `" + wanted[w].name + "` is " + text(wanted[w].tensor->spec) + ": only floats have gradients")
          .as(codes::gradient);
    if (is_float && terms[w].empty() && unused == Unused::error) {
      if (wanted[w].slots.empty())
        throw Error("grad: the function does not use `" + wanted[w].name + "`",
                    {"`unused = \"zero\"` gives zeros, `unused = \"none\"` none"})
            .as(codes::gradient);
      no_path(wanted[w].name, *graph.inputs()[wanted[w].slots[0]], *provided[0]);
    }
  }
  std::vector<Tensor*> gradients;
  if (!slots.empty()) gradients = backward_by_slot(*call.op, output_grads, slots).gradients;
  std::vector<Value> out;
  for (size_t w = 0; w < wanted.size(); ++w) {
    if (terms[w].empty()) {
      const bool zero = unused == Unused::zero && is_floating(wanted[w].tensor->spec.dtype);
      out.push_back(zero ? zeros_like(in, wanted[w].tensor->spec) : Value());
      continue;
    }
    Value total = tensor_value(call.callable.ir, gradients[terms[w][0]]);
    for (size_t i = 1; i < terms[w].size(); ++i)
      total = op_by_name(in, "add", total, tensor_value(call.callable.ir, gradients[terms[w][i]]));
    out.push_back(std::move(total));
  }
  return out;
}

/// Gradients in the form of what they are of.
Value in_form(const std::shared_ptr<Ir>& ir, const std::vector<Wanted>& wanted, std::vector<Value> gradients,
              bool whole) {
  if (whole) return gradients[0];
  auto out = make_ref<GradientsObject>();
  out->ir = ir;
  for (const Wanted& w : wanted) {
    out->wanted.push_back(w.tensor);
    out->names.push_back(w.name);
  }
  out->gradients = std::move(gradients);
  return Value(out);
}

void note_numbers(LiftedArguments& lifted, const std::vector<Wanted>& wanted, const std::vector<Value>& gradients) {
  for (size_t i = 0; i < wanted.size(); ++i)
    if (lifted.numbers.count(wanted[i].tensor) && as_tensor(gradients[i]))
      lifted.number_results.insert(as_tensor(gradients[i]));
}

// ---- grad and value_and_grad

struct GradOptions {
  Unused unused = Unused::error;
  bool value = false, aux = false;
};

Value build_grad_call(Interpreter& in, const DerivativeObject& d, LiftedArguments& lifted, GradOptions options) {
  const char* where = options.value ? "value_and_grad" : "grad";
  const FunctionCall call = call_function(in, d.function, lifted.args);
  const Value result = call_result(in, call.callable.ir, *call.op);
  const Tensor& loss = loss_of(call, options.aux, where);
  std::vector<Tensor*> dys(result_outputs(*call.callable.graph), nullptr);
  dys[0] = ones_for(in, loss);
  bool whole = false;
  const std::vector<Wanted> wanted = resolve(in, call, d.function, d.parts[0], whole);
  if (wanted.empty()) throw Error(std::string(where) + ": no tensor is wanted").as(codes::gradient);
  std::vector<Value> gradients = gradients_of_call(in, call, dys, wanted, options.unused);
  note_numbers(lifted, wanted, gradients);
  Value grads = in_form(call.callable.ir, wanted, std::move(gradients), whole);
  if (!options.value) return grads;
  if (!options.aux) return make_tuple({result, std::move(grads)});
  std::vector<Value> parts = elements_of(in, result);
  if (parts.size() < 2)
    throw Error("value_and_grad: with `aux` the function returns more than a number").as(codes::gradient);
  const Value value = parts[0];
  parts.erase(parts.begin());
  return make_tuple({value, parts.size() == 1 ? parts[0] : make_tuple(std::move(parts)), std::move(grads)});
}

Ref<DerivativeObject> derivative(std::string name, const Value& f, DerivativeObject::Build build) {
  if (!f.is_object() || !f.object()->callable())
    type_error(name + " takes a function of tensors, got " + with_article(f.type_name()));
  auto d = make_ref<DerivativeObject>();
  d->key = name;
  d->title = std::move(name);
  d->function = f;
  d->parameters = parameters_of(f);
  d->build = std::move(build);
  return d;
}

Value make_grad(const Value& f, const Value& wrt, GradOptions options) {
  auto d = derivative(options.value ? "value_and_grad" : "grad", f,
                      [options](Interpreter& i, const DerivativeObject& self, LiftedArguments& lifted) {
                        return build_grad_call(i, self, lifted, options);
                      });
  d->key += fmt::format("{}{}", static_cast<int>(options.unused), options.aux);
  d->parts = {wrt};
  if (wrt.is_none())
    d->differentiated = {Value(int64_t{0})};
  else if (selects_arguments(wrt))
    d->differentiated = wrt.as<SequenceObject>() ? wrt.as<SequenceObject>()->items : std::vector<Value>{wrt};
  return Value(d);
}

/// `grad(loss(w))`, `grad(net.vars, loss)`: what the call is to be.
[[noreturn]] void refuse_operand(const Value& f, const Arguments& args) {
  Error e("grad takes a function of tensors, got " + with_article(f.type_name()));
  if (!args.spans.empty() && args.spans[0]) {
    const Span at = args.spans[0];
    const std::string_view text = at.text();
    const size_t open = text.find('(');
    if (f.as<TreeObject>() && args.spans.size() == 2 && as_tensor(args.positional[1])) {
      const std::string tree(text), loss(args.spans[1].text());
      e.first().notes.push_back(fmt::format("the loss comes first: `grad({}, {})`", loss, tree));
      e.first().fixes.push_back({"Exchange the arguments", {{at, loss}, {args.spans[1], tree}}});
    } else if (open != text.npos && text.ends_with(')') && args.spans.size() == 1 && args.named.empty()) {
      const std::string called = fmt::format("grad({}){}", text.substr(0, open), text.substr(open));
      e.first().notes.push_back(fmt::format("`grad` takes the function, not its result: `{}`", called));
      e.offer(args.span, called);
    }
    e.locate(at, nullptr);
  }
  throw std::move(e).as(codes::type);
}

// ---- tensors of the graph that is being built

Value grad_of_tensor(Interpreter& in, const Value& given, const Value& wrt, Unused unused) {
  Tensor* loss = reached(in, as_tensor(given));
  const BuildTarget target = graphs_of(in).target();
  check_in_effect("grad", *loss);
  if (target.ir->frozen)
    throw Error("the program `" + target.ir->name() + "` belongs to a session already: nothing can be added to it")
        .as(codes::complete);
  if (loss->graph != target.graph)
    throw Error("grad: `" + shown_name(*loss) + "` is not in the graph that is being built").as(codes::other_graph);
  if (element_count(loss->spec.shape) != 1)
    throw Error(fmt::format("grad: `{}` is {}; a gradient is of one number", shown_name(*loss), text(loss->spec)),
                {fmt::format("write `grad(sum({}), ...)`, or give a gradient for it: `vjp`", shown_name(*loss))})
        .as(codes::gradient);
  if (!is_floating(loss->spec.dtype))
    throw Error(fmt::format("grad: `{}` is {}, and only floats have gradients", shown_name(*loss), text(loss->spec)))
        .as(codes::gradient);
  if (wrt.is_none())
    throw Error("grad: of a tensor's gradient, say what it is for: `grad(loss, w)`",
                {"the gradient of a function is for its first argument by default"})
        .as(codes::arguments);
  std::vector<Wanted> wanted;
  for (auto& [name, leaf] : wanted_leaves(in, wrt)) {
    if (!as_tensor(leaf)) type_error("grad: a gradient is for tensors, got " + with_article(leaf.type_name()));
    wanted.push_back({name, reached(in, as_tensor(leaf)), {}});
  }
  if (wanted.empty()) throw Error("grad: no tensor is wanted").as(codes::gradient);
  std::vector<Tensor*> distinct;
  for (const Wanted& w : wanted)
    if (std::find(distinct.begin(), distinct.end(), w.tensor) == distinct.end()) distinct.push_back(w.tensor);
  Tensor* one = ones_for(in, *loss);
  stamp(in, *target.ir);
  const Backward made = gradients_within(*loss, *one, distinct);
  std::vector<Value> gradients;
  for (const Wanted& w : wanted) {
    Tensor* g =
        made.gradients[static_cast<size_t>(std::find(distinct.begin(), distinct.end(), w.tensor) - distinct.begin())];
    if (!g && unused == Unused::error) no_path(w.name, *w.tensor, *loss);
    if (g)
      gradients.push_back(tensor_value(target.ir, g));
    else
      gradients.push_back(unused == Unused::zero ? zeros_like(in, w.tensor->spec) : Value());
  }
  return in_form(target.ir, wanted, std::move(gradients), as_tensor(wrt) != nullptr);
}

// ---- vjp, jvp, hvp, jacobian

/// The operands that the tensors of all arguments became.
std::vector<Wanted> all_arguments(const FunctionCall& call, size_t first = 0) {
  std::vector<Wanted> wanted;
  for (const FunctionCall::Given& g : call.given) {
    if (g.position < first || !is_floating(as_tensor(g.tensor)->spec.dtype)) continue;
    const std::string name = g.argument.empty() ? std::to_string(g.position) : g.argument;
    wanted.push_back({g.path.empty() ? name : name + "." + g.path, as_tensor(g.tensor), {g.slot}});
  }
  return wanted;
}

/// Gradients given for the results of a call, as tensors of the graph that is being built.
std::vector<Tensor*> output_gradients(Interpreter& in, const FunctionCall& call, const Value& dy, const char* where) {
  const Graph& graph = *call.callable.graph;
  std::vector<Value> given;
  if (result_outputs(graph) == 1)
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

Value one_or_all(const std::vector<Value>& values) { return values.size() == 1 ? values[0] : make_tuple(values); }

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
    return one_or_all(gradients);
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

Value make_vjp(Interpreter& in, Arguments args) {
  if (args.positional.size() < 2) throw Error("vjp takes a function, then its arguments").as(codes::arguments);
  const Value f = args.positional.front();
  args.positional.erase(args.positional.begin());
  args.spans.clear();
  const auto before = moment_of(in);
  const Value y = as_graph(f)->call(in, args);
  const Ref<DerivativeObject> back = pullback(f);
  return make_tuple({y, make_method(no_effects, "back", [back, args, before](Interpreter& i, Arguments given) -> Value {
                       ArgReader a("back", given, {"dy"});
                       Arguments all = args;
                       all.span = given.span;
                       all.positional.push_back(a.value("dy"));
                       const auto then = at_moment(i, before);
                       return back->call(i, std::move(all));
                     })});
}

/// A function of (*args, *tangents): the tangent of f's result. The gradient of a gradient for the gradient that it is
/// given is linear in the tangents: the transposed gradient.
Ref<DerivativeObject> pushforward(const Value& f) {
  auto d = derivative("jvp", f, [](Interpreter& i, const DerivativeObject& self, LiftedArguments& lifted) {
    const auto middle = static_cast<std::ptrdiff_t>(lifted.args.positional.size() / 2);
    Arguments args;
    args.span = lifted.args.span;
    args.positional.assign(lifted.args.positional.begin(), lifted.args.positional.begin() + middle);
    const auto before = moment_of(i);
    const FunctionCall call = call_function(i, self.function, args);
    const auto then = at_moment(i, before);
    const Graph& graph = *call.callable.graph;
    if (result_outputs(graph) != 1) throw Error("jvp: the function returns one tensor").as(codes::gradient);
    const TensorSpec& spec = graph.outputs()[0]->spec;
    Arguments back = args;
    back.positional.push_back(zeros_like(i, spec));
    const Ref<DerivativeObject> pull = pullback(self.function);
    const FunctionCall linear = call_function(i, Value(pull), back);
    std::vector<Tensor*> tangents;
    size_t next = static_cast<size_t>(middle);
    for (const FunctionCall::Given& g : linear.given) {
      if (g.position + 1 == back.positional.size() || !is_floating(as_tensor(g.tensor)->spec.dtype)) continue;
      const TensorSpec& of = as_tensor(g.tensor)->spec;
      tangents.push_back(to_operand(i, lifted.args.positional.at(next++), of, "jvp: a tangent"));
      if (tangents.back()->spec != of)
        throw Error("jvp: a tangent is " + text(tangents.back()->spec) + ", but its argument is " + text(of))
            .as(codes::gradient);
    }
    const Wanted cotangent{"dy", as_tensor(linear.given.back().tensor), {linear.given.back().slot}};
    return gradients_of_call(i, linear, tangents, {cotangent}, Unused::zero)[0];
  });
  d->all_differentiated = true;
  d->parameters.clear();
  return d;
}

/// The arguments that a list or tuple gives, or a single one. A list of numbers is one array for a function of one
/// parameter.
std::vector<Value> arguments_in(const Value& f, const Value& v) {
  if (auto* t = v.as<TupleObject>()) return t->items;
  auto* list = v.as<ListObject>();
  const bool is_array = list && !list->items.empty() && list->items[0].is_number() && parameters_of(f).size() == 1;
  if (list && !is_array) return list->items;
  return {v};
}

Value make_jvp(Interpreter& in, const Arguments& given) {
  ArgReader a("jvp", given, {"f", "args", "tangents"});
  Arguments args;
  args.span = given.span;
  args.positional = arguments_in(a.value("f"), a.value("args"));
  const std::vector<Value> tangents = arguments_in(a.value("f"), a.value("tangents"));
  if (tangents.size() != args.positional.size())
    throw Error(fmt::format("jvp: {} arguments, but {} tangents", args.positional.size(), tangents.size()))
        .as(codes::arguments);
  const auto before = moment_of(in);
  const Value y = as_graph(a.value("f"))->call(in, args);
  const auto then = at_moment(in, before);
  args.positional.insert(args.positional.end(), tangents.begin(), tangents.end());
  return make_tuple({y, pushforward(a.value("f"))->call(in, std::move(args))});
}

/// The gradient of <grad f, v>: a Hessian's product with a vector, of which no matrix is made.
Value make_hvp(Interpreter& in, const Arguments& given) {
  ArgReader a("hvp", given, {"f", "x", "v"});
  auto d = derivative("hvp", a.value("f"), [](Interpreter& i, const DerivativeObject& self, LiftedArguments& l) {
    Arguments args = l.args;
    const Value v = take_last(args);
    const FunctionCall call = call_function(i, make_grad(self.function, Value(), {}), args);
    std::vector<Tensor*> dys;
    const std::vector<Value> vs = tensors_in(i, v);
    for (size_t k = 0; k < vs.size(); ++k) dys.push_back(reached(i, as_tensor(vs[k])));
    if (dys.size() != result_outputs(*call.callable.graph))
      throw Error("hvp: `v` has the form of `x`").as(codes::gradient);
    const std::vector<Wanted> wanted = all_arguments(call);
    std::vector<Value> products = gradients_of_call(i, call, dys, wanted, Unused::zero);
    note_numbers(l, wanted, products);
    size_t next = 0;
    return map_tree(i, args.positional[0],
                    [&](const Value& leaf, const std::string&) { return as_tensor(leaf) ? products[next++] : leaf; });
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
  ArgReader a("jacobian", given, {"f", "reverse"});
  const bool reverse = a.boolean_or("reverse", false);
  auto d = derivative(
      "jacobian", a.value("f"), [reverse](Interpreter& i, const DerivativeObject& self, LiftedArguments& l) -> Value {
        const auto moment = moment_of(i);
        const FunctionCall call = call_function(i, self.function, l.args);
        const auto then = at_moment(i, moment);
        const Tensor* x = call.given.empty() ? nullptr : as_tensor(call.given[0].tensor);
        if (!x || result_outputs(*call.callable.graph) != 1)
          throw Error("jacobian: the function takes a tensor first, and returns one tensor").as(codes::gradient);
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
              const std::vector<Value> before = more.positional;
              for (size_t j = 0; j < before.size(); ++j)
                if (as_tensor(before[j]) && is_floating(as_tensor(before[j])->spec.dtype))
                  more.positional.push_back(j == 0 ? slice.positional.at(0)
                                                   : zeros_like(k, as_tensor(before[j])->spec));
              return pushforward(f)->call(k, std::move(more));
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

void bind_derivative_builtins(Scope& p) {
  define(p, no_effects, "grad", "grad(f, wrt = none, unused = \"error\")",
         "A function that gives the gradient of f's result, one number, for `wrt`: names or positions of arguments, "
         "tensors, or a tree of tensors; by default for the first argument, and for the variables of a bound graph. "
         "`grad(loss, wanted)` of a tensor adds its gradient to the graph that is being built. `unused`: what a tensor "
         "without a path gets, an \"error\", \"zero\" or \"none\".",
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a("grad", args, {"f", "wrt", "unused"});
           const Value f = a.value("f");
           if (f.as_array() || f.is_number() || f.as<TreeObject>()) refuse_operand(f, args);
           if (as_tensor(f)) return grad_of_tensor(in, f, a.value_or("wrt", {}), to_unused(a));
           return make_grad(f, a.value_or("wrt", {}), {to_unused(a), false, false});
         });
  define(p, no_effects, "value_and_grad", "value_and_grad(f, wrt = none, aux = false, unused = \"error\")",
         "A function that gives f's result and its gradient. With `aux` f returns more: the result is (value, more, "
         "gradient).",
         [](Interpreter&, Arguments args) -> Value {
           ArgReader a("value_and_grad", args, {"f", "wrt", "aux", "unused"});
           return make_grad(a.value("f"), a.value_or("wrt", {}), {to_unused(a), true, a.boolean_or("aux", false)});
         });
  define(p, no_effects, "vjp", "vjp(f, *args)",
         "f's result, and a function from its gradient to the gradients of the arguments.",
         [](Interpreter& in, Arguments args) { return make_vjp(in, std::move(args)); });
  define(p, no_effects, "jvp", "jvp(f, args, tangents)",
         "f's result, and its derivative in the direction of the tangents, one for each argument.",
         [](Interpreter& in, Arguments args) { return make_jvp(in, args); });
  define(p, no_effects, "hvp", "hvp(f, x, v)",
         "The product of the Hessian of f at x and v, which has the form of x. f returns one number.",
         [](Interpreter& in, Arguments args) { return make_hvp(in, args); });
  define(p, no_effects, "jacobian", "jacobian(f, reverse = false)",
         "A function that gives the derivatives of all elements of f's result by all elements of its first argument, "
         "with the axes of the result first. By columns with `jvp`, or by rows with `vjp` if `reverse`.",
         [](Interpreter&, Arguments args) { return make_jacobian(args); });
}

}  // namespace pxl
