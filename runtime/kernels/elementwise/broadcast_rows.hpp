// Binary functions over two loops: rows of operands that step by rows and by columns.
#pragma once

#include "runtime/kernels/block/block.hpp"

namespace pxl {

/// Elements of a row: `inner` columns. Operand strides are in elements; along columns they are 0 or 1, and not both 0.
struct BroadcastRows {
  int64_t inner;
  int64_t outer_stride[2];
  int64_t inner_stride[2];
};

/// The function's form if one operand may be a single element.
inline BinaryFn form_of(const BinaryBlock& fns, int64_t step_a, int64_t step_b) {
  return step_a != 0 ? (step_b != 0 ? fns.vv : fns.vs) : fns.sv;
}

/// Computes elements [begin, end) of the result. The sizes of operand and result elements are in bytes.
void run_rows(const BroadcastRows& rows, const BinaryBlock& fns, const std::byte* a, const std::byte* b, std::byte* out,
              size_t width, size_t out_width, int64_t begin, int64_t end);

}  // namespace pxl
