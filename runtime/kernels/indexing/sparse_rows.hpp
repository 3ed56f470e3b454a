// Table rows at a list of indices: sums of rows with equal indices, and rows written in place. Indices are one axis of
// any integer dtype. Negative indices count from the end, and an out-of-range index is a run-time Error (index.hpp).
// ignore_out_of_range: negative indices are out of range, and out-of-range indices are skipped with their rows.
#pragma once

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// in: indices [n], rows [n, ...] of a floating dtype. out 0: int32 [n]: each occurring index once, in ascending order,
/// then -1. out 1: the sums, shaped like rows: for each index the rows with that index, added to 0 in their order
/// (float16 in float32, rounded once), and 0 for -1. `extent` is the table's, at most max_table_rows.
Kernel sum_duplicates_kernel(const TensorSpec& indices, const TensorSpec& rows, int64_t extent,
                             bool ignore_out_of_range);
inline constexpr int64_t max_table_rows = INT32_MAX;

/// in: t, indices [n], values [n, t.shape[1:]] of t's dtype. out: t with values as its rows at the indices; the last
/// duplicate wins. out may be t's memory; its other rows are then neither read nor written.
Kernel index_copy_kernel(const TensorSpec& t, const TensorSpec& indices, bool ignore_out_of_range);

}  // namespace pxl
