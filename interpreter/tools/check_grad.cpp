// Compares gradients of autodiff with central differences. The check calls the graph in the graph's own program, and
// then rolls this addition back.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/derivatives/derivatives.hpp"
#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/tools/debug.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/kernels/random/draws.hpp"
#include "runtime/transform/autodiff.hpp"

namespace pxl {
namespace {

/// Temporarily extends an Ir, which a session may own.
struct TemporaryIrScope {
  Interpreter& in;
  std::shared_ptr<Ir> ir;
  std::shared_ptr<const Ir::Mark> mark;
  TemporaryIrScope(Interpreter& i, std::shared_ptr<Ir> r) : in(i), ir(std::move(r)), mark(ir->mark()) {
    ir->frozen = false;
  }
  ~TemporaryIrScope() {
    ir->rollback(*mark);
    graphs_of(in).forget_dropped(*ir);
  }
  TemporaryIrScope(const TemporaryIrScope&) = delete;
  TemporaryIrScope& operator=(const TemporaryIrScope&) = delete;
};

struct Problem {
  std::unique_ptr<Session> session;
  std::vector<Tensor*> variables;                 ///< the graph's inputs as variables
  std::vector<Stream*> outputs;                   ///< streams of the floating-point outputs
  std::vector<Array> cotangents;                  ///< cotangents of the outputs, by output
  std::vector<std::pair<size_t, Stream*>> grads;  ///< input numbers and the streams of their gradients
};

/// The differentiated function: the sum over all outputs of output times cotangent, in double.
double loss(Problem& p) {
  const auto results = p.session->run({});
  double sum = 0;
  for (size_t o = 0; o < p.outputs.size(); ++o) {
    const Array& y = results.at(p.outputs[o]);
    for (int64_t i = 0; i < y.size(); ++i) sum += y.number(i) * p.cotangents[o].number(i);
  }
  return sum;
}

Array with_element(const Array& a, int64_t i, double value) {
  Array b = a.clone();
  if (a.dtype() == DType::float64)
    b.mutable_data<double>()[i] = value;
  else
    b.mutable_data<float>()[i] = static_cast<float>(value);
  return b;
}

Problem prepare(Interpreter& in, const std::shared_ptr<Ir>& ir, Graph& graph, Random& random) {
  Problem p;
  Graph& main = ir->main();
  for (const Tensor* t : graph.inputs()) {
    Array value = is_floating(t->spec.dtype) ? random.normal(t->spec.dtype, t->spec.shape, 0, 1)
                                             : Array::zeros(t->spec.dtype, t->spec.shape);
    p.variables.push_back(main.add_variable(std::move(value), "check_grad_" + t->name));
  }
  stamp(in, *ir);
  Op* call = main.add_call(graph, p.variables);
  std::vector<Tensor*> seeds;
  for (size_t o = 0; o < result_outputs(graph); ++o) {
    Tensor* y = call->outputs[o];
    seeds.push_back(nullptr);
    if (!is_floating(y->spec.dtype)) continue;
    p.cotangents.push_back(random.normal(y->spec.dtype, y->spec.shape, 0, 1));
    seeds.back() = main.add_constant(p.cotangents.back().clone(), "check_grad_seed");
    p.outputs.push_back(&ir->add_stream(y->spec, "check_grad_out", false));
    main.add_host_store(*p.outputs.back(), y);
  }
  if (p.outputs.empty()) throw Error("check_grad: the graph has no floating-point output").as(codes::gradient);
  const std::vector<Tensor*> differentiable = inputs_with_gradient(graph);
  std::vector<Tensor*> wanted;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (std::find(differentiable.begin(), differentiable.end(), graph.inputs()[i]) == differentiable.end()) continue;
    wanted.push_back(p.variables[i]);
    p.grads.emplace_back(i, nullptr);
  }
  if (wanted.empty()) throw Error("check_grad: no input of the graph can have a gradient").as(codes::gradient);
  const Backward back = backward(*call, seeds, wanted);
  for (size_t i = 0; i < wanted.size(); ++i) {
    p.grads[i].second = &ir->add_stream(back.gradients[i]->spec, "check_grad_grad", false);
    main.add_host_store(*p.grads[i].second, back.gradients[i]);
  }
  p.session = std::make_unique<Session>(ir, "cpu");
  return p;
}

}  // namespace

Value check_grad(Interpreter& in, Arguments args) {
  if (args.positional.empty())
    throw Error("check_grad: expected a graph, or a module or function and its specs").as(codes::arguments);
  const ArgReader a(args);
  const Value what = args.positional.front();
  Random random(static_cast<uint64_t>(a.integer("seed")));

  const bool build = !is_graph_value(what) && what.is_object() && what.object()->callable();
  Ref<GraphObject> given = build ? nullptr : to_graph(what, "check_grad");
  const std::shared_ptr<Ir> ir = build ? std::make_shared<Ir>("check_grad") : given->ir;
  const TemporaryIrScope aside(in, ir);
  if (build) {
    const TargetScope target(in, ir, &ir->main());
    Arguments rest;
    rest.span = args.span;
    rest.positional.assign(args.positional.begin() + 1, args.positional.end());
    GraphSource source = what.as<ModuleInstance>() ? source_of(what) : source_of_function(what, rest);
    given = make_ref<GraphObject>(ir, build_graph(in, std::move(source), std::move(rest)).graph);
  }
  Graph& graph = *given->graph;
  Problem p = prepare(in, ir, graph, random);
  const auto analytic = p.session->run({});

  auto d = make_ref<DictObject>();
  std::vector<std::string> notes;
  bool failed = false;
  for (const auto& [input, stream] : p.grads) {
    const Tensor* t = graph.inputs()[input];
    const bool wide = t->spec.dtype == DType::float64;
    if (!wide && t->spec.dtype != DType::float32)
      throw Error("check_grad: `" + t->name + "` is " + text(t->spec) + "; use float32 or float64").as(codes::gradient);
    const double eps = a.number_or("eps", wide ? 1e-6 : 1e-2), rtol = a.number_or("rtol", wide ? 1e-6 : 2e-2);
    const Array& gradient = analytic.at(stream);
    const Array value = p.session->get_tensor_data(p.variables[input]);
    double largest = 0;  // scale of the gradient, to which errors are relative
    for (int64_t i = 0; i < gradient.size(); ++i) largest = std::max(largest, std::abs(gradient.number(i)));
    double worst = 0, by_autodiff = 0, by_difference = 0;
    int64_t where = 0;
    const Array order = random.permutation(value.size());
    for (int64_t k = 0; k < std::min<int64_t>(order.size(), 24); ++k) {
      const int64_t i = order.data<int64_t>()[k];
      const double x = value.number(i);
      const Array up = with_element(value, i, x + eps), down = with_element(value, i, x - eps);
      p.session->write_variable_data(p.variables[input], up);
      const double high = loss(p);
      p.session->write_variable_data(p.variables[input], down);
      const double low = loss(p);
      const double difference = (high - low) / (up.number(i) - down.number(i));
      const double error = std::abs(difference - gradient.number(i)) / std::max({largest, std::abs(difference), 1e-3});
      // This form treats a NaN as the largest error.
      if (!(error <= worst)) {
        worst = error;
        by_autodiff = gradient.number(i);
        by_difference = difference;
        where = i;
      }
    }
    p.session->write_variable_data(p.variables[input], value);
    const std::string name = t->key.empty() ? t->name : t->key;
    d->put(Value(name), Value(worst));
    if (worst <= rtol) continue;
    failed = true;
    notes.push_back(fmt::format(
        "{} {}, element {}: {:.6g} by autodiff, {:.6g} by differences, relative error {:.2g} (at most {:.2g})", name,
        text(t->spec), where, by_autodiff, by_difference, worst, rtol));
  }
  if (failed)
    throw run_error("check_grad: gradients of " + graph.id() + " differ", std::move(notes)).as(codes::assertion);
  return d;
}

}  // namespace pxl
