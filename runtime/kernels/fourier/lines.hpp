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

/// The longest sum of a pass. A length with a larger prime factor is computed by a longer transform.
inline constexpr int longest_radix = 64;

/// A forward transform of n complex numbers.
struct ComplexPlan {
  int64_t n = 1;
  std::vector<int> radices;
  /// For each pass with radix r, which leaves m numbers: e^(-2 pi i p j / (r m)) for 0 <= p < m, 0 < j < r.
  std::vector<Turn> turns;
  /// e^(-2 pi i j / r) for 0 <= j < r, for each pass whose radix is another prime than 2, 3 and 5.
  std::vector<Turn> roots;
};

/// Where the elements of lines are: `line` apart from one line to the next, and `number` from one number to the next.
struct LinePlace {
  int64_t line = 1, number = 1;
};

/// A transform of lines. An inverse one is a forward one of numbers whose parts have changed places.
struct LinePlan {
  enum class Form : uint8_t { complex, of_real, to_real };
  Form form = Form::complex;
  bool inverse = false;
  int64_t n = 1;             ///< numbers of a line: complex ones, or real ones of the side that is real
  int64_t length = 1;        ///< complex numbers of the transform: half of n for real lines of even extent
  ComplexPlan plan;          ///< of `length`, or of a longer line if that has a prime factor above longest_radix
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
  /// Eight lines, or one. `work` has work_size() numbers for each. The elements of the operand are finite, or any
  /// elements of the line's result may be infinite or NaN.
  template <class T>
  using Lines = void (*)(const LinePlan&, const T* x, LinePlace in, T* y, LinePlace out, double* work);
  Lines<float> eight32, one32;
  Lines<double> eight64, one64;
};

const FourierFunctions& fourier_functions_baseline();
std::span<const KernelVariant<FourierFunctions>> fourier_functions_variants();

}  // namespace pxl
