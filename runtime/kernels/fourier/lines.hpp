// Fourier transforms of lines, in float64. Compiled per instruction set and selected at start-up. Eight lines are
// computed side by side in the lanes of vectors, or one line, with the same bits in every set.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/kernels/kernel_variants.hpp"

namespace pxl {

/// Lines side by side.
inline constexpr int64_t fourier_lanes = 8;

/// A complex number.
struct Turn {
  double re = 0, im = 0;
};

/// A forward transform of n complex numbers.
struct ComplexPlan {
  int64_t n = 1;
  std::vector<int> radices;
  /// For each pass with radix r, which leaves m numbers: e^(-2 pi i p j / (r m)) for 0 <= p < m, 0 < j < r.
  std::vector<Turn> turns;
};

/// A transform of lines. An inverse one is a forward one of numbers whose parts have changed places.
struct LinePlan {
  enum class Form : uint8_t { complex, of_real, to_real };
  Form form = Form::complex;
  bool inverse = false;
  int64_t n = 1;             ///< numbers of a line: complex ones, or real ones of the side that is real
  int64_t length = 1;        ///< complex numbers of the transform: half of n for real lines of even extent
  ComplexPlan plan;          ///< of `length`, or of a longer line if that has other factors than 2, 3 and 5
  std::vector<Turn> chirp;   ///< for the longer line: `length` numbers
  std::vector<Turn> filter;  ///< plan.n numbers
  std::vector<Turn> halves;  ///< e^(-2 pi i k / n) for k <= length, for real lines of even extent

  int64_t extent_in() const;                              ///< elements of a line of the operand
  int64_t extent_out() const;                             ///< and of the result
  int64_t work_size() const { return 4 * (plan.n + 1); }  ///< in numbers, for a line
};

/// n is 1 or more.
LinePlan line_plan(LinePlan::Form form, bool inverse, int64_t n);

struct FourierFunctions {
  /// Eight lines, or one. `work` has work_size() numbers for each. The elements of the operand are finite.
  void (*eight32)(const LinePlan&, const float* x, float* y, double* work);
  void (*one32)(const LinePlan&, const float* x, float* y, double* work);
  void (*eight64)(const LinePlan&, const double* x, double* y, double* work);
  void (*one64)(const LinePlan&, const double* x, double* y, double* work);
};

const FourierFunctions& fourier_functions_baseline();
std::span<const KernelVariant<FourierFunctions>> fourier_functions_variants();

}  // namespace pxl
