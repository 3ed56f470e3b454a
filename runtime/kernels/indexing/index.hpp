// Gather, scatter and one-hot. Indices have any integer dtype. Negative indices count from the end, except where
// out-of-range indices are ignored or give zeros. An out-of-range index is a run-time Error that states the index, its
// position and the extent.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// Reads n indices of an integer dtype. uint64 indices from 2^63 become the largest int64, which no axis has.
void read_indices(DType dtype, const std::byte* in, int64_t n, int64_t* to);
/// An index for messages. The largest int64 means itself or a larger index.
std::string index_text(int64_t index);
/// Throws a run-time Error unless 0 <= index < extent. `position` counts the indices row by row.
void check_index(int64_t index, int64_t position, int64_t axis, int64_t extent);
/// Converts an index, in which -1 is the last element, to a position. Throws the same Error unless -extent <= index <
/// extent.
inline int64_t wrapped_index(int64_t index, int64_t position, int64_t axis, int64_t extent) {
  if (index < 0 && index >= -extent) return index + extent;
  if (index < 0 || index >= extent) check_index(index, position, axis, extent);
  return index;
}

/// numpy.take: data.shape[:axis] + indices.shape[batch:] + data.shape[axis+1:]. data and indices share the first
/// `batch` axes (grouped gather; batch <= axis).
Shape gather_shape(const Shape& data, const Shape& indices, int64_t axis, int64_t batch = 0);
/// in: data, indices. zero_out_of_range: out-of-range indices yield 0 instead of an Error.
Kernel gather_kernel(const TensorSpec& data, const TensorSpec& indices, int64_t axis, bool zero_out_of_range = false,
                     int64_t batch = 0);
/// The gradient of gather. in: dy [gather_shape], indices. out: zeros like `data`, plus dy at the indices. Duplicates
/// are added in index order (float16 in float32, rounded once). ignore_out_of_range: out-of-range indices are skipped.
Kernel scatter_add_kernel(const TensorSpec& data, const TensorSpec& indices, int64_t axis,
                          bool ignore_out_of_range = false, int64_t batch = 0);

/// Operand slots of a sparse update.
struct SparseUpdateSlots {
  static constexpr size_t max_operands = 16;
  size_t t = 0, x = 1;  ///< the tensor that the update changes, and the sum of rows
  size_t count = 2;     ///< number of operands
};
/// A scatter_add_kernel whose result is x, or is added to x. The update reads none of its operands.
struct ScatteredRows {
  size_t dy = 0, indices = 0;
  TensorSpec of_indices;
  int64_t axis = 0, batch = 0;
  bool ignore_out_of_range = false;
};
/// Elements in the operands t and x when a sparse update is probed.
inline constexpr int64_t sparse_update_probe = 4;
/// Whether an update by zeros leaves every t unchanged, except for the sign of a zero. `probe` is the update's in-place
/// kernel for `t`, of a floating dtype, and `x`, with sparse_update_probe elements. `workspace` has what `probe` needs,
/// or none.
bool keeps_where_zero(const Kernel& probe, std::span<const std::byte* const> operands, size_t t, size_t x, DType dtype,
                      const Buffers& workspace);
/// Updates a tensor by x, the sum of scatter_add_kernel results along one axis. x is not stored: only rows that occur
/// among the indices are read and written. out: t, in place. `row` is the update's kernel for a row. There, t and x
/// have the extents of `data` after the axis; other operands are the same for all rows. If an update by zeros changes t
/// (keeps_where_zero, which `probe` decides at run time), all other rows are updated by zeros. The bits are those of
/// separate kernels, except for the signs of zeros in rows that do not occur. A float16 x is not a sum.
Kernel sparse_update_kernel(const TensorSpec& t, const TensorSpec& x, const SparseUpdateSlots& slots,
                            std::span<const ScatteredRows> terms, Kernel row, Kernel probe);

/// ScatterElements. in: t, indices, values; the latter two have one shape, the rank of t, and extents <= t's off the
/// axis. out: t with out[.. indices[..] ..] = values; the last duplicate wins. out may be t's memory.
Kernel scatter_kernel(const TensorSpec& t, const TensorSpec& indices, int64_t axis);
/// numpy.take_along_axis. in: t, indices (rank of t). out[i...] = t[.. indices[i...] ..].
Kernel take_along_kernel(const TensorSpec& t, const TensorSpec& indices, int64_t axis);
/// The gradient of scatter with respect to t. in: t, indices. out: t with zeros at the indices.
Kernel scatter_zero_kernel(const TensorSpec& t, const TensorSpec& indices, int64_t axis);

enum class ScatterReduction : uint8_t {
#define PXL_SCATTER_REDUCTION(NAME, ...) NAME,
#include "runtime/kernels/indexing/scatter_reduction_table.inc"
};
/// The reduction with this name; null for another name.
std::optional<ScatterReduction> scatter_reduction(std::string_view name);
/// The names, in order.
std::span<const std::string_view> scatter_reduction_names();

/// in: data, indices, [initial: slot 2]. out: data's shape with `axis_size` at the axis. Indices have data's shape, or
/// one axis (broadcast: one index for each slice of data along the axis). Without initial values, untouched elements
/// are 0 (sum, none), or the dtype's lowest (max) or highest (min) value; -inf/inf are not used.
Kernel scatter_reduce_kernel(ScatterReduction op, const TensorSpec& data, const TensorSpec& indices, int64_t axis,
                             int64_t axis_size, bool has_initial);
/// The gradient of scatter_reduce for sum and none. in: dy [axis_size at axis], indices. out: data's shape.
Kernel scatter_reduce_grad_kernel(const TensorSpec& data, const TensorSpec& indices, int64_t axis, int64_t axis_size);

/// in: indices, values [off, on] (dtype of the result). out: indices.shape with `depth` inserted at `axis` (negative:
/// counted in the result's rank). An index outside 0..depth-1 yields a row of `off`.
Kernel onehot_kernel(const TensorSpec& indices, int64_t depth, DType values, int64_t axis);
/// in: dy, indices. out: [2]: the sum of dy at off elements and at on elements.
Kernel onehot_grad_kernel(const TensorSpec& indices, int64_t depth, DType values, int64_t axis);

}  // namespace pxl
