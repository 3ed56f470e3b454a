// How far a kernel's results may be from its definition's, a column of the row. The oracle test checks it.
#pragma once

namespace pxl {

/// Let u be the precision of the result's dtype: the distance from 1 to the next number. A result of the kernel differs
/// by at most (`ulps` |d| + `of_scale` s) u from the definition's result d. The scale s is the largest |d|. If the
/// floating operands' largest elements have a larger product, s is that product. NaN and infinities agree.
struct Tolerance {
  double ulps = 0;
  double of_scale = 0;
  /// An infinity times 0 may be left out by one of both: where operands are so large, either may be not finite.
  bool infinite_times_zero = false;
};

/// Bounds of families. Rows without one have the bound of their pattern (`tolerance_of`).
namespace tolerance {
inline constexpr Tolerance bits{};  ///< kernel and definition round the same value once
/// A function by polynomials, in float32 or the dtype of the operands.
inline constexpr Tolerance function{4, 0};
/// Sums, whose errors are of their terms.
inline constexpr Tolerance sum{2, 4};
inline constexpr Tolerance short_sum{4, 4};
/// Functions whose results are much smaller than their operand far from 0: x times a small difference from 1.
inline constexpr Tolerance tail{8, 0.01};
/// Differences from 1, and an infinite gradient times a derivative that is 0 in float32.
inline constexpr Tolerance derivative{4, 4, true};
/// Sums in which padding and weights of 0 count in kernels; definitions leave them out.
inline constexpr Tolerance padded_sum{2, 4, true};
/// The same with weights rounded to float32.
inline constexpr Tolerance weighted_sum{2, 64, true};
/// Sums of scaled whole numbers. The errors are relative to sums of products, which may cancel out.
inline constexpr Tolerance whole_sum{2, 1 << 16};
/// Normalisation with statistics in float32, of rows that may vary little.
inline constexpr Tolerance statistics{4, 64};
/// Gradients of normalisations: differences that may cancel out, and that overflow for large deviations.
inline constexpr Tolerance normalised_gradient{4, 64, true};
}  // namespace tolerance

}  // namespace pxl
