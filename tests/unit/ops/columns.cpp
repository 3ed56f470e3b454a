// Columns of rows that tell the planner what an op does: held to what its kernel computes.
#include <doctest/doctest.h>

#include <cstring>

#include "runtime/plan/node.hpp"
#include "samples.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// The elements of a layout in `memory`, in row-major order of its shape.
Array gathered(const Array& memory, const StridedLayout& at) {
  Array out(memory.dtype(), at.shape);
  const size_t width = size_of(memory.dtype());
  for (int64_t i = 0; i < out.size(); ++i) {
    int64_t rest = i, from = at.offset;
    for (size_t axis = at.shape.size(); axis-- > 0; rest /= at.shape[axis])
      from += rest % at.shape[axis] * at.strides[axis];
    std::memcpy(out.mutable_raw() + static_cast<size_t>(i) * width, memory.raw() + static_cast<size_t>(from) * width,
                width);
  }
  return out;
}

}  // namespace

TEST_CASE("rows that say where their elements lie compute what lies there") {
  int rows = 0;
  for (const OpRow* row : op_table()) {
    if (!row->layout && !row->view) continue;
    CAPTURE(row->name);
    const Sample sample = sample_for(*row, DType::float32);
    Ir ir;
    GraphOpBuilder graph(ir.main());
    const auto made =
        graph.emit(*row, arguments(*row, sample, [&](Array a) { return graph.of(ir.main().add_variable(a, "v")); }));
    const Values values = run_graph(ir.main(), {});
    const Op* op = made[0].tensor()->producer;
    if (!op) continue;  // an identity that made none
    ++rows;
    REQUIRE(op->row == row);
    const Array& operand = op->inputs[0]->data;
    for (size_t j = 0; j < made.size(); ++j) {
      const std::optional<StridedLayout> layout = layout_of(*op, j, contiguous(operand.shape()));
      REQUIRE(layout);
      CHECK(identical(gathered(operand, *layout), values.at(made[j].tensor())));
    }
  }
  CHECK(rows >= 4);
}

TEST_CASE("rows that are products plan the product that they infer") {
  int rows = 0;
  for (const OpRow* row : op_table()) {
    if (!row->product) continue;
    CAPTURE(row->name);
    ++rows;
    const Sample sample = sample_for(*row, DType::float32);
    Ir ir;
    GraphOpBuilder graph(ir.main());
    const auto made =
        graph.emit(*row, arguments(*row, sample, [&](Array a) { return graph.of(ir.main().add_variable(a, "v")); }));
    const OpContextStorage storage(*made[0].tensor()->producer);
    CHECK(row->product(storage.site).out == made[0].spec().shape);
  }
  CHECK(rows >= 1);
}
