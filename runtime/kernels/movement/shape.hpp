// Data movement kernels, for all dtypes. Offsets are computed when the kernel is made.
#pragma once

#include <vector>

#include "runtime/kernels/elementwise/elementwise.hpp"
#include "runtime/tensor/layout.hpp"

namespace pxl {

/// The same elements in the same order (reshape, identity, detach). No-op if input and output are the same buffer.
Kernel copy_kernel(const TensorSpec& spec);
/// Output axis i is input axis permutation[i]. Throws Error unless `permutation` permutes the axes.
Kernel transpose_kernel(const TensorSpec& in, const std::vector<int64_t>& permutation);
/// out[i...] = in[start + i * step...]. One start, step (may be negative, not 0) and extent per axis. Throws Error if
/// an element is outside.
Kernel slice_kernel(const TensorSpec& in, const std::vector<int64_t>& starts, const std::vector<int64_t>& steps,
                    const Shape& out);
/// The gradient of slice. in: dy; out: zeros with shape `out`, and in[i...] at start + i * step.
Kernel slice_grad_kernel(const TensorSpec& dy, const std::vector<int64_t>& starts, const std::vector<int64_t>& steps,
                         const Shape& out);
/// Copies the elements of in[1] with layout `from` to out[0] with layout `to`; out[0] is in[0]'s memory. Both layouts
/// have one shape. The elements of `to` are distinct; strides may be negative. in[1] and out[0] must not overlap.
Kernel write_back_kernel(DType dtype, const StridedLayout& from, const StridedLayout& to);
/// Constant padding: `before` and `after` count the elements per axis, 0 or more.
Kernel pad_kernel(const TensorSpec& in, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
                  const Element& value);
/// The inputs one after another along `axis`; specs agree elsewhere.
Kernel concat_kernel(const std::vector<TensorSpec>& in, int64_t axis);
/// One output per size. The sizes add up to the extent.
Kernel split_kernel(const TensorSpec& in, const std::vector<int64_t>& sizes, int64_t axis);
Kernel broadcast_to_kernel(DType dtype, const Shape& from, const Shape& to);
/// Reverses the axes.
Kernel flip_kernel(const TensorSpec& in, const std::vector<int64_t>& axes);
/// Rolls by `shift` along `axis`, as numpy.roll does.
Kernel roll_kernel(const TensorSpec& in, int64_t shift, int64_t axis);

/// Throws a run-time Error unless a window may begin at `start`, in [0, `last`].
void check_dynamic_start(int64_t start, int64_t axis, int64_t last);
/// in: t, index (int32/uint32/int64/uint64, one per entry of `axes`). out: t with extent sizes[j] at axes[j], from
/// index[j]. Throws a run-time Error if the window leaves t.
Kernel dynamic_slice_kernel(const TensorSpec& t, const TensorSpec& index, const std::vector<int64_t>& axes,
                            const std::vector<int64_t>& sizes);
/// in: t, index, update. out: t with the window replaced; may be t's memory.
Kernel dynamic_update_kernel(const TensorSpec& t, const TensorSpec& index, const TensorSpec& update,
                             const std::vector<int64_t>& axes);
/// The gradient of dynamic_slice. in: dy, index. out: zeros with shape `out`, and dy at the window.
Kernel dynamic_slice_grad_kernel(const TensorSpec& dy, const TensorSpec& index, const std::vector<int64_t>& axes,
                                 const Shape& out);

}  // namespace pxl
