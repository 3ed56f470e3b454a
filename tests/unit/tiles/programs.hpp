// Programs for the tests of the tile model.
#pragma once

#include <string>

#include "runtime/graph/ir.hpp"
#include "runtime/tiles/estimate.hpp"
#include "tests/unit/support/ops.hpp"

namespace pxl::tiles::test {

inline TensorSpec spec(Shape shape, DType dtype = DType::float16) { return {std::move(shape), dtype, {}}; }

using pxl::test::op;

inline Tensor* variable(Ir& ir, Shape shape, const std::string& name, DType dtype = DType::float16) {
  return ir.main().add_variable(Array::zeros(dtype, std::move(shape)), name);
}

/// Layers x -> gelu(x w + b) [rows, width], unrolled or as calls of one graph.
inline Tensor* layers(Ir& ir, Tensor* x, int count, bool outlined) {
  const int64_t width = x->spec.shape.back();
  Graph* body = nullptr;
  if (outlined) {
    body = &ir.create_graph("Layer");
    Tensor* in = body->add_input(x->spec, "x");
    Tensor* w = body->add_input(spec({width, width}), "w");
    Tensor* b = body->add_input(spec({width}), "b");
    body->add_output(op("gelu", {op("add", {op("matmul", {in, w}), b})}));
  }
  for (int i = 0; i < count; ++i) {
    Tensor* w = variable(ir, {width, width}, "w" + std::to_string(i));
    Tensor* b = variable(ir, {width}, "b" + std::to_string(i));
    x = outlined ? ir.main().add_call(*body, {x, w, b})->outputs[0]
                 : op("gelu", {op("add", {op("matmul", {x, w}), b})});
  }
  return x;
}

inline Report report(const Ir& ir, std::string_view machine = "mk2", int64_t permille = 600) {
  EstimateOptions options;
  options.machine = parse_machine(machine);
  options.candidates.available_memory_permille = permille;
  return estimate(ir.main(), options);
}

}  // namespace pxl::tiles::test
