// `grad` and `value_and_grad` of functions, and `grad` of tensors in the graph that is being built.
#include "interpreter/graphs/derivatives/derivatives.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/derivatives/gradients.hpp"
#include "interpreter/graphs/derivatives/wanted.hpp"
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

// ---- grad and value_and_grad

Value build_grad_call(Interpreter& in, const DerivativeObject& d, LiftedArguments& lifted, GradOptions options) {
  const char* where = options.value ? "value_and_grad" : "grad";
  const FunctionCall call = call_function(in, d.function, lifted.args);
  const Value result = call_result(in, call.callable.ir, *call.op);
  const Tensor& loss = loss_of(call, options.aux, where);
  std::vector<Tensor*> dys(result_outputs(*call.callable.graph), nullptr);
  dys[0] = ones_for(in, loss);
  bool whole = false;
  const std::vector<Wanted> wanted = resolve_wanted(in, call, d.function, d.parts[0], whole);
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

/// The call that is meant by `grad(loss(w))` or `grad(net.vars, loss)`.
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
  std::vector<Wanted> wanted = wanted_tensors(in, wrt, "grad");
  for (Wanted& w : wanted) w.tensor = reached(in, w.tensor);
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
    if (!g && unused == Unused::error) refuse_without_path(w.name, *w.tensor, *loss);
    if (g)
      gradients.push_back(tensor_value(target.ir, g));
    else
      gradients.push_back(unused == Unused::zero ? zeros_like(in, w.tensor->spec) : Value());
  }
  return in_form(target.ir, wanted, std::move(gradients), as_tensor(wrt) != nullptr);
}

}  // namespace

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

void bind_derivative_builtins(Scope& p) {
  define(
      p, no_effects,
      {"grad(f, wrt = none, unused = \"error\")",
       "A function that gives the gradient of f's result, one number, for `wrt`: names or positions of arguments, "
       "tensors, or a tree of tensors; by default for the first argument, and for the variables of a bound graph. "
       "`grad(loss, wanted)` of a tensor adds its gradient to the graph that is being built. `unused`: what a tensor "
       "without a path gets, an \"error\", \"zero\" or \"none\".",
       "grad((x) => sum(x ** 2))([1.0, 2.0])"},
      [](Interpreter& in, Arguments args) -> Value {
        ArgReader a(args);
        const Value f = a.value("f");
        if (f.as_array() || f.is_number() || f.as<TreeObject>()) refuse_operand(f, args);
        if (as_tensor(f)) return grad_of_tensor(in, f, a.value_or("wrt", {}), to_unused(a));
        return make_grad(f, a.value_or("wrt", {}), {to_unused(a), false, false});
      });
  define(p, no_effects,
         {"value_and_grad(f, wrt = none, aux = false, unused = \"error\")",
          "A function that returns f's result and its gradient. If `aux` is true, f returns more, and the result is "
          "(value, more, gradient).",
          "value_and_grad((x) => sum(x ** 2))([1.0, 2.0])"},
         [](Interpreter&, Arguments args) -> Value {
           ArgReader a(args);
           return make_grad(a.value("f"), a.value_or("wrt", {}), {to_unused(a), true, a.boolean("aux")});
         });
}

}  // namespace pxl
