// Fourier transforms of lines, in float64. Compiled per instruction set and selected at start-up. Eight lines are
// computed side by side in the lanes of vectors, or eight rows or columns of a long line, with the same bits in every
// set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
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

/// The radices of passes that have the roots of 1 in their code, the largest first. Other passes read them.
inline constexpr int coded_radices[] = {15, 12, 10, 9, 8, 6, 5, 4, 3, 2};
inline bool has_roots(int radix) { return std::ranges::find(coded_radices, radix) == std::end(coded_radices); }

/// A forward transform of n complex numbers.
struct ComplexPlan {
  int64_t n = 1;
  std::vector<int> radices;
  std::vector<int32_t> order;  ///< the places of the transform's numbers, and n
  /// For each pass with radix r, which leaves m numbers: e^(-2 pi i p j / (r m)) for 0 <= p < m, 0 < j < r.
  std::vector<Turn> turns;
  /// e^(-2 pi i j / r) for 0 <= j < r, for each pass that has roots.
  std::vector<Turn> roots;
};

/// A transform of rows x columns numbers of one line, where number k columns + p is in row k and column p: first of
/// eight columns at once, then of eight rows of their spectra. Lanes a and numbers b of the first transforms are turned
/// by e^(-2 pi i a b / n) in between: columns a and rows b, or rows a and columns b of a spectrum that real numbers
/// have.
struct SplitPlan {
  int64_t rows = 0, columns = 0;  ///< none if the line is not split
  int64_t lanes = 0, numbers = 0;
  ComplexPlan of_rows, of_columns;  ///< transforms of `rows` numbers, and of `columns`
  /// For each group of lanes and each number b: the real parts of e^(-2 pi i a b / n) for its lanes, and the others.
  /// Half of them for columns of real numbers, of which two sums are taken.
  std::vector<double> turns;
  std::vector<double> filter;  ///< for each group of rows and each column: the real parts for its rows, and the others
  int64_t groups() const { return groups_of(lanes); }
  /// Groups of eight lanes. The last one has lanes of the one before if there are no eight left.
  static int64_t groups_of(int64_t lanes) { return (lanes + fourier_lanes - 1) / fourier_lanes; }
  static int64_t start_of(int64_t group, int64_t lanes) {
    return std::min(group * fourier_lanes, lanes - fourier_lanes);
  }
  /// In numbers.
  int64_t work_size() const { return 2 * fourier_lanes * (groups() * numbers + 2 * std::max(rows, columns)); }
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
  bool apart = false;   ///< whether there are too few lines to run beside each other
  int64_t n = 1;        ///< numbers of a line: complex ones, or real ones of the side that is real
  int64_t length = 1;   ///< complex numbers of the transform: half of n for real lines of even extent
  ComplexPlan plan;     ///< of `length`, or of a longer line if that has a prime factor above longest_radix
  SplitPlan split;      ///< of the line, or of the longer one, if that takes less time
  int64_t planned = 1;  ///< the numbers of that line
  /// For the longer line: the real parts of `length` numbers, and the others.
  std::vector<double> chirp_re, chirp_im;
  std::vector<Turn> filter;  ///< of `planned` numbers
  std::vector<Turn> halves;  ///< e^(-2 pi i k / n) for k <= length, for real lines of even extent

  int64_t extent_in() const;   ///< elements of a line of the operand
  int64_t extent_out() const;  ///< and of the result
  bool is_split() const { return split.rows > 0; }
  bool has_chirp() const { return !chirp_re.empty(); }
  /// The numbers that the whole line has in each of two places.
  int64_t whole_size() const {
    return is_split() && !has_chirp() ? 0 : (planned + fourier_lanes) / fourier_lanes * fourier_lanes;
  }
  int64_t work_size() const { return 4 * whole_size() + split.work_size(); }  ///< in numbers, for a line
};

/// n is 1 or more.
LinePlan line_plan(LinePlan::Form form, bool inverse, int64_t n, bool apart);

struct FourierFunctions {
  /// Eight lines that are not split, or one. `work` has work_size() numbers for each. The elements of the operand are
  /// finite, or any elements of the line's result may be infinite or NaN.
  template <class T>
  using Lines = void (*)(const LinePlan&, const T* x, LinePlace in, T* y, LinePlace out, double* work);
  Lines<float> eight32, one32;
  Lines<double> eight64, one64;
  /// Moves `numbers` words of eight lines. One of both places has a line's words next to each other, the other one the
  /// words of the lines. Places count in words.
  using Move = void (*)(const void* x, LinePlace in, void* y, LinePlace out, int64_t numbers);
  Move move32, move64;
};

const FourierFunctions& fourier_functions_baseline();
std::span<const KernelVariant<FourierFunctions>> fourier_functions_variants();

}  // namespace pxl
