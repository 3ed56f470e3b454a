// Binary functions over two loops: rows of operands that step by rows and by columns.
#pragma once

#include "runtime/kernels/block.hpp"

namespace pxl {

/// Elements of `inner` columns; strides of the operands in elements, along columns 0 or 1 and not both 0.
struct BroadcastRows {
  int64_t inner;
  int64_t outer_stride[2];
  int64_t inner_stride[2];
};

/// The function for operands of which one may be a single element.
inline BinaryFn form_of(const BinaryBlock& fns, int64_t step_a, int64_t step_b) {
  return step_a != 0 ? (step_b != 0 ? fns.vv : fns.vs) : fns.sv;
}

/// Elements [begin, end) of the result; sizes of an operand's and of a result's element in bytes.
void run_rows(const BroadcastRows& rows, const BinaryBlock& fns, const std::byte* a, const std::byte* b, std::byte* out,
              size_t width, size_t out_width, int64_t begin, int64_t end);

}  // namespace pxl
