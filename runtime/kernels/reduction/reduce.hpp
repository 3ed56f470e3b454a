// Reductions, cumulative sums, arg-reductions, sorting. The order of operations is fixed. Floating sums accumulate in
// float64 and are rounded once to the output's dtype.
#pragma once

#include <vector>

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// l1: sum |x|; l2: sqrt(sum x^2); logsum: ln(sum x); logsumexp: ln(sum e^x), stable. variance: the mean of squared
/// deviations from the mean, which is a float64; deviation: its root. max and min propagate NaN.
/// Integers wrap in their own width (sums in 64 bits, then cast); an integer mean truncates toward zero. max of bool is
/// any, min is all; sum and mean of bool need a wider `out`.
enum class Reduction : uint8_t {
#define PXL_REDUCTION(NAME, ...) NAME,
#include "runtime/kernels/reduction/reduction_table.inc"
};

std::string_view name(Reduction op);

/// `in` without `axes` (negative axes wrap), or with extent 1 there. Throws Error for a repeated or out-of-range axis.
Shape reduced_shape(const Shape& in, const std::vector<int64_t>& axes, bool keepdims);

/// in: x; out 0: [reduced], with dtype `out` (usually in's). Empty `axes` reduces nothing (a per-element function
/// remains). Throws Error for max and min over 0 elements, and for logsum, logsumexp, l2, variance and deviation on
/// integers.
Kernel reduce_kernel(Reduction op, const TensorSpec& in, const std::vector<int64_t>& axes, DType out);
/// Whether reduce_kernel, if it has results, returns them one after another.
bool reduces_in_order(Reduction op, const TensorSpec& in, const std::vector<int64_t>& axes, DType out);

/// out 0: the lower median, element (n-1)/2 of the sorted values. out 1: its int32 index among the reduced elements,
/// row-major over the reduced axes; the first on ties. NaN sorts last. out 1 may be null.
Kernel median_kernel(const TensorSpec& in, const std::vector<int64_t>& axes);

/// out 0: int32 index along `axis` of the largest (or smallest) element: the first on ties, the first NaN if any.
Kernel arg_kernel(bool largest, const TensorSpec& in, int64_t axis);

/// Inclusive running sum along `axis`; reverse sums from the end (the gradient).
Kernel cumsum_kernel(const TensorSpec& in, int64_t axis, bool exclusive = false, bool reverse = false);
/// The running product, likewise.
Kernel cumprod_kernel(const TensorSpec& in, int64_t axis, bool exclusive = false, bool reverse = false);

/// out 0: the k largest (or smallest) along `axis`; out 1: int32 indices. Ordered best first, ties by index; NaN counts
/// as the largest. out 1 may be null. Throws Error unless k is in 0..extent.
Kernel topk_kernel(const TensorSpec& in, int64_t axis, int64_t k, bool largest);
/// Stable sort along `axis`: out 0 values, out 1 int32 indices (may be null).
Kernel sort_kernel(const TensorSpec& in, int64_t axis, bool descending);

/// in: x; out: uint32[levels + 1], counts over all elements: below levels[0], ..., from the last level upward.
/// `absolute` counts |x|. Throws Error unless the levels increase.
Kernel histogram_kernel(const TensorSpec& in, const std::vector<double>& levels, bool absolute);

}  // namespace pxl
