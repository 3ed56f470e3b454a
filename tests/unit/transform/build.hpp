// Building graphs with real ops, for the tests of transforms.
#pragma once

#include <string>

#include "runtime/graph/ir.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/graph/verify.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/transform/autodiff.hpp"

namespace pxl::test {

inline TensorSpec f32(Shape shape) { return {std::move(shape), DType::float32, {}}; }

inline Tensor* op(std::string_view name, std::vector<Tensor*> operands,
                  std::initializer_list<std::pair<std::string_view, Attr>> attrs = {}) {
  GraphOpBuilder builder(*operands.at(0)->graph);
  std::vector<OpArg> args;
  for (Tensor* t : operands) args.emplace_back(builder.of(t));
  return builder.one(name, std::move(args), attrs).tensor();
}

/// y = x w + b, or gelu of it; inputs x, w, b.
inline Graph& linear(Ir& ir, bool gelu = false, int64_t n = 2, int64_t d = 2, int64_t m = 2) {
  Graph& g = ir.create_graph("Linear");
  Tensor* x = g.add_input(f32({n, d}), "x");
  Tensor* w = g.add_input(f32({d, m}), "W");
  Tensor* b = g.add_input(f32({m}), "b");
  Tensor* y = op("add", {op("matmul", {x, w}), b});
  g.add_output(gelu ? op("gelu", {y}) : y);
  return g;
}

inline Array array(Shape shape, std::vector<float> values) { return Array::from<float>(std::move(shape), values); }
inline Tensor* variable(Ir& ir, Shape shape, std::vector<float> values, const std::string& name) {
  return ir.main().add_variable(array(std::move(shape), std::move(values)), name);
}

/// The op names of a graph, as scheduled.
inline std::string ops_of(const Graph& graph) {
  std::string names;
  for (const Op* o : schedule_order(graph)) {
    if (!names.empty()) names += ' ';
    names += o->row->name;
  }
  return names;
}

inline std::string inputs_of(const GradGraphInfo& info) {
  std::string names;
  for (const ExpectedConnection& c : info.expected_inputs)
    names += (names.empty() ? "" : " ") + c.fwd_tensor->name + (c.type == ConnectionType::fwd ? "" : ":grad");
  return names;
}
inline std::string outputs_of(const GradGraphInfo& info) {
  std::string names;
  for (const ExpectedConnection& c : info.expected_outputs) names += (names.empty() ? "" : " ") + c.fwd_tensor->name;
  return names;
}

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    std::string text = e.what();
    for (const std::string& note : e.first().notes) text += "\n" + note;
    return text;
  }
  return {};
}
inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace pxl::test
