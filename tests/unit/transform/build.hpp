// Building graphs with real ops, for the tests of transforms.
#pragma once

#include <string>

#include "runtime/graph/ir.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/graph/verify.hpp"
#include "runtime/transform/autodiff.hpp"
#include "tests/unit/support/arrays.hpp"
#include "tests/unit/support/errors.hpp"
#include "tests/unit/support/ops.hpp"

namespace pxl::test {

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

inline Tensor* variable(Ir& ir, Shape shape, const std::vector<float>& values, const std::string& name) {
  return ir.main().add_variable(floats(std::move(shape), values), name);
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

}  // namespace pxl::test
