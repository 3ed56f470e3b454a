// Rows of a table at a list of indices: sums of rows with equal indices, and rows written in place. Indices are one
// axis of any integer dtype. Negative ones count from the end, and one out of range is a run-time Error (index.hpp);
// with ignore_out_of_range they do not, and rows of indices out of range are skipped.
#pragma once

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// in: indices [n], rows [n, ...] of a floating dtype. out: int32 [n]: each index that occurs, once, in ascending
/// order, then -1; sums like rows: for each of these the rows with that index, added to 0 in their order (float16 in
/// float32, rounded once), and 0 where the index is -1. `extent` is that of the table, at most max_table_rows.
Kernel sum_duplicates_kernel(const TensorSpec& indices, const TensorSpec& rows, int64_t extent,
                             bool ignore_out_of_range);
inline constexpr int64_t max_table_rows = INT32_MAX;

/// in: t, indices [n], values [n, t.shape[1:]] of t's dtype. out: t with values as its rows at the indices; the last of
/// duplicates wins. out may be t's memory, of which other rows are then neither read nor written.
Kernel index_copy_kernel(const TensorSpec& t, const TensorSpec& indices, bool ignore_out_of_range);

}  // namespace pxl
