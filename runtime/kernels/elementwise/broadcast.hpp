// Loop nests over broadcast operands. Dimensions that all operands traverse with compatible strides are merged
// (dimension collapsing). Most kernels then see one or two loops, the inner one with stride 0 or 1.
#pragma once

#include <array>

#include "runtime/tensor/shape.hpp"

namespace pxl {

/// Strides, in elements, that read a row-major operand with shape `from` as shape `to`; 0 along broadcast axes. Throws
/// Error if `from` does not broadcast to `to`.
Shape broadcast_strides(const Shape& from, const Shape& to);

/// Merged extents, outermost first, and each operand's strides. Never empty: a scalar is one extent of 1.
struct LoopNest {
  Shape extents;
  std::vector<Shape> strides;

  int64_t inner() const { return extents.back(); }
  int64_t inner_stride(size_t operand) const { return strides[operand].back(); }
  int64_t size() const { return element_count(extents); }
};
/// `strides[k]` has one entry per extent. Drops extents of 1 and merges adjacent loops where possible.
LoopNest make_loop_nest(const Shape& extents, const std::vector<Shape>& strides);
/// The loops around the innermost one; a single loop with one iteration if there are none.
LoopNest without_innermost(LoopNest nest);
LoopNest broadcast_loop_nest(const std::vector<Shape>& operands, const Shape& out);

/// Calls f(offsets, n) for each run of the innermost loop whose outermost index is in [begin, end). offsets[k] is
/// operand k's offset in elements, n the innermost extent. A nest with one loop is one call.
template <size_t operands, class F>
void for_each_run(const LoopNest& nest, int64_t begin, int64_t end, F&& f) {
  std::array<int64_t, operands> offset{};
  const size_t outer = nest.extents.size() - 1;
  if (begin >= end) return;
  for (int64_t extent : nest.extents) {
    if (extent == 0) return;
  }
  for (size_t k = 0; k < operands; ++k) offset[k] = begin * nest.strides[k][0];
  if (outer == 0) {
    f(offset, end - begin);
    return;
  }
  std::array<int64_t, 16> small{};
  std::vector<int64_t> large;
  int64_t* at = small.data();
  if (outer > small.size()) {
    large.resize(outer);
    at = large.data();
  }
  at[0] = begin;
  while (true) {
    f(offset, nest.inner());
    size_t d = outer;
    while (d > 0) {
      --d;
      for (size_t k = 0; k < operands; ++k) offset[k] += nest.strides[k][d];
      if (++at[d] < (d == 0 ? end : nest.extents[d])) break;
      if (d == 0) return;
      for (size_t k = 0; k < operands; ++k) offset[k] -= nest.strides[k][d] * nest.extents[d];
      at[d] = 0;
    }
  }
}

template <size_t operands, class F>
void for_each_run(const LoopNest& nest, F&& f) {
  for_each_run<operands>(nest, 0, nest.extents[0], f);
}

}  // namespace pxl
