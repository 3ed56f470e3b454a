#include "runtime/kernels/fourier/fourier.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <type_traits>
#include <utility>

#include "built_sets.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/fourier/lines.hpp"
#include "runtime/kernels/reduction/axis_lines.hpp"

namespace pxl {

PXL_VARIANTS(FourierFunctions, fourier_functions)

int64_t LinePlan::extent_in() const {
  return form == Form::of_real ? n : form == Form::to_real ? 2 * (n / 2 + 1) : 2 * n;
}
int64_t LinePlan::extent_out() const {
  return form == Form::to_real ? n : form == Form::of_real ? 2 * (n / 2 + 1) : 2 * n;
}

namespace {

const FourierFunctions& fourier_functions() {
  static const FourierFunctions& chosen = variant_for(instruction_set(), fourier_functions_variants());
  return chosen;
}

/// e^(-2 pi i part / whole)
Turn turn(int64_t part, int64_t whole) {
  const double angle = -2 * std::numbers::pi * (static_cast<double>(part % whole) / static_cast<double>(whole));
  return {std::cos(angle), std::sin(angle)};
}

/// The prime factors of n up to longest_radix, of which two or three 2s are one; what is left is returned in n. Few
/// passes of 8 are faster than many small ones.
std::vector<int> radices_of(int64_t& n) {
  std::vector<int> radices;
  const auto take = [&](int r) { radices.push_back(r), n /= r; };
  while (n % 8 == 0 && n != 16) take(8);
  while (n % 4 == 0) take(4);
  for (int r = 2; r <= longest_radix && n > 1; ++r)
    while (n % r == 0) take(r);
  return radices;
}

/// The least length from n on whose transform is passes of 8 and few others.
int64_t length_from(int64_t n) {
  for (int64_t length = (n + 7) / 8 * 8;; length += 8) {
    int64_t rest = length;
    for (const int r : {2, 3, 5})
      while (rest % r == 0) rest /= r;
    if (rest == 1) return length;
  }
}

ComplexPlan complex_plan(int64_t n) {
  ComplexPlan plan;
  plan.n = n;
  int64_t left = n, rest = n;
  plan.radices = radices_of(rest);
  for (const int r : plan.radices) {
    left /= r;
    for (int64_t p = 0; p < left; ++p)
      for (int j = 1; j < r; ++j) plan.turns.push_back(turn(p * j, r * left));
    for (int j = 0; j < r && r > 5 && r != 8; ++j) plan.roots.push_back(turn(j, r));
  }
  return plan;
}

/// Source: L. Bluestein, "A linear filtering approach to the computation of the discrete Fourier transform", 1970. As
/// j k = (j^2 + k^2 - (k - j)^2) / 2, the transform is a convolution. Transforms of another length compute it.
void set_chirp(LinePlan& line) {
  const int64_t n = line.length, padded = length_from(2 * n - 1);
  line.plan = complex_plan(padded);
  std::vector<double> parts(static_cast<size_t>(2 * padded));
  int64_t square = 0;  // j^2 modulo 2 n, which is as good and exact
  for (int64_t j = 0; j < n; square = (square + 2 * j + 1) % (2 * n), ++j) {
    const Turn t = turn(square, 2 * n);
    line.chirp.push_back(t);
    for (const int64_t at : {j, j == 0 ? 0 : padded - j}) {
      parts[static_cast<size_t>(2 * at)] = t.re;
      parts[static_cast<size_t>(2 * at + 1)] = -t.im;
    }
  }
  LinePlan whole;
  whole.n = whole.length = padded, whole.plan = line.plan;
  std::vector<double> spectrum(parts.size()), work(static_cast<size_t>(whole.work_size()));
  fourier_functions().one64(whole, parts.data(), {0, 2}, spectrum.data(), {0, 2}, work.data());
  const auto size = static_cast<double>(padded);
  for (size_t j = 0; j < spectrum.size(); j += 2) line.filter.push_back({spectrum[j] / size, spectrum[j + 1] / size});
}

}  // namespace

LinePlan line_plan(LinePlan::Form form, bool inverse, int64_t n) {
  LinePlan line;
  line.form = form, line.inverse = inverse, line.n = line.length = n;
  if (form != LinePlan::Form::complex && n % 2 == 0) {
    line.length = n / 2;
    for (int64_t k = 0; k <= line.length; ++k) line.halves.push_back(turn(k, n));
  }
  int64_t rest = line.length;
  radices_of(rest);
  if (rest == 1)
    line.plan = complex_plan(line.length);
  else
    set_chirp(line);
  return line;
}

namespace {

/// Lines of an operand or a result, as [outer, line, inner] or, with two parts each, as [outer, line, inner, 2].
struct LineMemory {
  int64_t elements, parts, inner;
  LinePlace place() const { return inner == 1 ? LinePlace{elements, parts} : LinePlace{parts, parts * inner}; }
  /// The place of line i of those with the same outer index.
  int64_t begin(int64_t outer, int64_t i) const { return outer * elements * inner + i * place().line; }
  /// The place of element i in a line.
  int64_t at(int64_t i) const { return i / parts * place().number + i % parts; }
};

template <class T>
bool is_finite_line(const T* x, const LineMemory& m) {
  for (int64_t i = 0; i < m.elements; ++i)
    if (!std::isfinite(x[m.at(i)])) return false;
  return true;
}
/// Whether a line may have NaN or infinities. They reach the first number of a result, but for the imaginary parts of
/// the spectrum of real numbers. Those reach the second one, except the first and the last.
struct SignsOfInfinity {
  int64_t in_second, in_last, out_second;  ///< places of elements
  template <class T>
  bool at(const T* x, const T* y) const {
    // A sum of products with 0 is NaN if a number is infinite or NaN.
    return (x[in_second] + x[in_last]) * 0 + (y[0] + y[out_second]) * 0 != 0;
  }
};
template <class T>
void fill_infinite(const T* x, const LineMemory& in, T* y, const LineMemory& out) {
  if (is_finite_line(x, in)) return;
  for (int64_t i = 0; i < out.elements; ++i) y[out.at(i)] = std::numeric_limits<T>::quiet_NaN();
}

template <class T>
Kernel lines(LinePlan made, int64_t outer, int64_t inner) {
  const auto line = std::make_shared<const LinePlan>(std::move(made));
  const LineMemory from{line->extent_in(), line->form == LinePlan::Form::of_real ? 1 : 2, inner};
  const LineMemory to{line->extent_out(), line->form == LinePlan::Form::to_real ? 1 : 2, inner};
  // Lines that lie side by side: all, if each is contiguous.
  const int64_t together = inner == 1 ? outer : inner, groups = (together + fourier_lanes - 1) / fourier_lanes;
  const int64_t sets = inner == 1 ? 1 : outer;
  // Eight lines of 4096 numbers are 512 KiB, about a level-2 cache. Columns that are read one by one waste more.
  const int64_t longest = inner == 1 ? 4096 : 32768, fewest = 3;  // as long as three lines by themselves
  const bool wide = together >= fewest && line->plan.n <= longest;
  const bool ragged = wide && together % fourier_lanes >= fewest;
  WorkspaceLayout layout;
  const auto work = layout.per_thread<double>((wide ? fourier_lanes : 1) * line->work_size());
  const auto rows = layout.per_thread<T>(ragged ? fourier_lanes * (from.elements + to.elements) : 0);
  const auto [one, eight] = [] {
    const FourierFunctions& f = fourier_functions();
    if constexpr (std::is_same_v<T, float>)
      return std::pair(f.one32, f.eight32);
    else
      return std::pair(f.one64, f.eight64);
  }();
  const auto n = static_cast<double>(line->plan.n);
  const double cost_ns = (wide ? 0.2 : 0.8) * n * std::log2(n + 1) + 20;  // an estimate for one core
  const SignsOfInfinity signs{from.at(std::min<int64_t>(1, from.elements - 1)), from.at(from.elements - 1),
                              to.at(std::min<int64_t>(1, to.elements - 1))};
  const auto group = [=, one = one, eight = eight](const Buffers& b, int64_t set, int64_t first, int64_t count) {
    const T* x = b.input<T>(0) + from.begin(set, first);
    T* y = b.output<T>(0) + to.begin(set, first);
    double* const memory = b.workspace(work);
    const LinePlace in = from.place(), out = to.place();
    if (wide && count == fourier_lanes) {
      eight(*line, x, in, y, out, memory);
    } else if (wide && count >= fewest) {
      // Copies to rows, as there are not eight lines in memory.
      T *const copy = b.workspace(rows), *const result = copy + fourier_lanes * from.elements;
      for (int64_t l = 0; l < fourier_lanes; ++l)
        for (int64_t i = 0; i < from.elements; ++i)
          copy[l * from.elements + i] = l < count ? x[l * in.line + from.at(i)] : T(0);
      eight(*line, copy, {from.elements, from.parts}, result, {to.elements, to.parts}, memory);
      for (int64_t l = 0; l < count; ++l)
        for (int64_t i = 0; i < to.elements; ++i) y[l * out.line + to.at(i)] = result[l * to.elements + i];
    } else {
      for (int64_t l = 0; l < count; ++l) one(*line, x + l * in.line, in, y + l * out.line, out, memory);
    }
    for (int64_t l = 0; l < count; ++l)
      if (signs.at(x + l * in.line, y + l * out.line)) fill_infinite(x + l * in.line, from, y + l * out.line, to);
  };
  return Kernel::parallel(sets * groups, 1, cost_ns * static_cast<double>(sets * together),
                          [=](const Buffers& b, int64_t begin, int64_t end) {
                            for (int64_t u = begin; u < end; ++u) {
                              const int64_t first = u % groups * fourier_lanes;
                              group(b, u / groups, first, std::min(fourier_lanes, together - first));
                            }
                          })
      .with_workspace(layout);
}

}  // namespace

Kernel fourier_kernel(const TensorSpec& t, bool inverse, int64_t real, int64_t axis) {
  using Form = LinePlan::Form;
  const Form form = real == 0 ? Form::complex : inverse ? Form::to_real : Form::of_real;
  const Shape numbers(t.shape.begin(), t.shape.end() - (form == Form::of_real ? 0 : 1));
  const AxisLines lines_of(numbers, axis);
  const int64_t n = real > 0 ? real : lines_of.extent;
  if (n == 0 || lines_of.outer == 0 || lines_of.inner == 0) return Kernel([](const Buffers&) {});
  LinePlan plan = line_plan(form, inverse, n);
  if (t.dtype == DType::float32) return lines<float>(std::move(plan), lines_of.outer, lines_of.inner);
  if (t.dtype == DType::float64) return lines<double>(std::move(plan), lines_of.outer, lines_of.inner);
  return {};
}

}  // namespace pxl
