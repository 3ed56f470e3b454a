// Gather, scatter and one-hot. Indices have any integer dtype; negative ones count from the end, except where indices
// out of range are ignored or give zeros. An index out of range is a run-time Error that states the index, its position
// and the extent.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// Reads n indices of an integer dtype. Those of uint64 from 2^63 on become the largest int64, which no axis has.
void read_indices(DType dtype, const std::byte* in, int64_t n, int64_t* to);
/// Such an index for messages: the largest int64 stands for itself and for what is beyond it.
std::string index_text(int64_t index);
/// Throws that run-time Error unless 0 <= index < extent; `position` counts the indices row by row.
void check_index(int64_t index, int64_t position, int64_t axis, int64_t extent);
/// An index where -1 is the last element, as a position; the same Error unless -extent <= index < extent.
inline int64_t wrapped_index(int64_t index, int64_t position, int64_t axis, int64_t extent) {
  if (index < 0 && index >= -extent) return index + extent;
  if (index < 0 || index >= extent) check_index(index, position, axis, extent);
  return index;
}

/// numpy.take: data.shape[:axis] + indices.shape[batch:] + data.shape[axis+1:]. The first `batch` axes are shared by
/// data and indices (grouped gather; batch <= axis).
Shape gather_shape(const Shape& data, const Shape& indices, int64_t axis, int64_t batch = 0);
/// in: data, indices. With zero_out_of_range, indices out of range yield 0 instead of an Error.
Kernel gather_kernel(const TensorSpec& data, const TensorSpec& indices, int64_t axis, bool zero_out_of_range = false,
                     int64_t batch = 0);
/// The gradient of gather. in: dy [gather_shape], indices. out: zeros of `data` plus dy at the indices, duplicates
/// added in index order (float16 in float32, rounded once). With ignore_out_of_range, indices out of range are skipped.
Kernel scatter_add_kernel(const TensorSpec& data, const TensorSpec& indices, int64_t axis,
                          bool ignore_out_of_range = false, int64_t batch = 0);

/// Operand slots of a sparse update.
struct SparseUpdateSlots {
  static constexpr size_t max_operands = 16;
  size_t t = 0, x = 1;  ///< of the update: the tensor that it changes, and the sum of rows
  size_t count = 2;     ///< of all operands
};
/// A scatter_add_kernel whose result is x, or added to x. Its operands' slots are in no operand of the update.
struct ScatteredRows {
  size_t dy = 0, indices = 0;
  TensorSpec of_indices;
  int64_t axis = 0, batch = 0;
  bool ignore_out_of_range = false;
};
/// Elements of the operands t and x of a sparse update's probe.
inline constexpr int64_t sparse_update_probe = 4;
/// Whether an update by zeros changes no t, but the sign of a zero. `probe` is the update's kernel, in place, for
/// operands `t`, of a floating dtype, and `x` of sparse_update_probe elements; `workspace` has what it needs, or none.
bool keeps_where_zero(const Kernel& probe, std::span<const std::byte* const> operands, size_t t, size_t x, DType dtype,
                      const Buffers& workspace);
/// The update of a tensor by the sum x of results of scatter_add_kernel along one axis, which are not stored: only rows
/// that occur among the indices are read and written. out: t, in place. `row` is the update's kernel for a row (t and x
/// have the extents of `data` after the axis; other operands are the same for all rows). Where an update by zeros
/// changes t, which `probe` tells at run time (keeps_where_zero), all other rows are updated by zeros. Bits are those
/// of the kernels one by one, but for the signs of zeros in rows that do not occur. A float16 x is not a sum.
Kernel sparse_update_kernel(const TensorSpec& t, const TensorSpec& x, const SparseUpdateSlots& slots,
                            std::span<const ScatteredRows> terms, Kernel row, Kernel probe);

/// ScatterElements. in: t, indices, values (both of one shape, rank of t, extents <= t's off the axis). out: t with
/// out[.. indices[..] ..] = values; the last of duplicates wins. out may be t's memory.
Kernel scatter_kernel(const TensorSpec& t, const TensorSpec& indices, int64_t axis);
/// in: t, indices (rank of t). out[i...] = t[.. indices[i...] ..], as numpy.take_along_axis.
Kernel take_along_kernel(const TensorSpec& t, const TensorSpec& indices, int64_t axis);
/// in: t, indices. t with zeros at the indices: the gradient of scatter with respect to t.
Kernel scatter_zero_kernel(const TensorSpec& t, const TensorSpec& indices, int64_t axis);

enum class ScatterReduction : uint8_t {
#define PXL_SCATTER_REDUCTION(NAME, ...) NAME,
#include "runtime/kernels/scatter_reduction_table.inc"
};
/// By name; null for another name.
std::optional<ScatterReduction> scatter_reduction(std::string_view name);
/// The names, in order.
std::span<const std::string_view> scatter_reduction_names();

/// in: data, indices, [initial: slot 2]. out: data's shape with `axis_size` at the axis. Indices have data's shape, or
/// one axis (one index per slice of data along the axis: broadcast). Without initial values untouched elements are 0
/// (sum, none) or the dtype's lowest (max) or highest (min) value; -inf/inf are not used.
Kernel scatter_reduce_kernel(ScatterReduction op, const TensorSpec& data, const TensorSpec& indices, int64_t axis,
                             int64_t axis_size, bool has_initial);
/// The gradient of a scatter_reduce sum or none. in: dy [axis_size at axis], indices. out: data's shape.
Kernel scatter_reduce_grad_kernel(const TensorSpec& data, const TensorSpec& indices, int64_t axis, int64_t axis_size);

/// in: indices, values [off, on] (dtype of the result). out: indices.shape with `depth` inserted at `axis` (negative:
/// counted in the result's rank). An index outside 0..depth-1 yields a row of `off`.
Kernel onehot_kernel(const TensorSpec& indices, int64_t depth, DType values, int64_t axis);
/// in: dy, indices. out: [2]: sums of dy where off and where on.
Kernel onehot_grad_kernel(const TensorSpec& indices, int64_t depth, DType values, int64_t axis);

}  // namespace pxl
