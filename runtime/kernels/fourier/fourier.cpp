#include "runtime/kernels/fourier/fourier.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <type_traits>
#include <utility>

#include "built_sets.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/fourier/lines.hpp"
#include "runtime/kernels/linear_algebra/small_factors.hpp"

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

/// The factors of n that passes have; what is left is returned in n. Few passes of 8 are faster than many small ones.
std::vector<int> radices_of(int64_t& n) {
  std::vector<int> radices;
  const auto take = [&](int r) { radices.push_back(r), n /= r; };
  while (n % 8 == 0 && n != 16) take(8);
  for (const int r : {4, 2, 3, 5})
    while (n % r == 0) take(r);
  return radices;
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
  }
  return plan;
}

/// Source: L. Bluestein, "A linear filtering approach to the computation of the discrete Fourier transform", 1970. As
/// j k = (j^2 + k^2 - (k - j)^2) / 2, the transform is a convolution. Transforms of another length compute it.
void set_chirp(LinePlan& line) {
  const int64_t n = line.length, padded = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * n)));
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
  fourier_functions().one64(whole, parts.data(), spectrum.data(), work.data());
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

template <class T>
Kernel lines(LinePlan made, int64_t count) {
  const auto line = std::make_shared<const LinePlan>(std::move(made));
  constexpr int64_t longest = 4096;  // eight of these are 512 KiB, about a level-2 cache
  const int64_t lanes = count >= fourier_lanes && line->plan.n <= longest ? fourier_lanes : 1;
  WorkspaceLayout layout;
  const auto work = layout.per_thread<double>(lanes * line->work_size());
  const int64_t in = line->extent_in(), out = line->extent_out();
  const auto [one, eight] = [] {
    const FourierFunctions& f = fourier_functions();
    if constexpr (std::is_same_v<T, float>)
      return std::pair(f.one32, f.eight32);
    else
      return std::pair(f.one64, f.eight64);
  }();
  const auto n = static_cast<double>(line->plan.n);
  const double cost_ns = (lanes == 1 ? 0.8 : 0.2) * n * std::log2(n + 1) + 20;  // an estimate for one core
  return Kernel::parallel(count, lanes, cost_ns * static_cast<double>(count),
                          [=, one = one, eight = eight](const Buffers& b, int64_t begin, int64_t end) {
                            for (int64_t i = begin; i < end;) {
                              const int64_t now = end - i >= lanes ? lanes : 1;
                              const T* x = b.input<T>(0) + i * in;
                              T* y = b.output<T>(0) + i * out;
                              (now == 1 ? one : eight)(*line, x, y, b.workspace(work));
                              for (int64_t l = 0; l < now; ++l)
                                if (!are_finite(x + l * in, in))
                                  std::fill_n(y + l * out, out, std::numeric_limits<T>::quiet_NaN());
                              i += now;
                            }
                          })
      .with_workspace(layout);
}

}  // namespace

Kernel fourier_kernel(const TensorSpec& t, bool inverse, int64_t real) {
  using Form = LinePlan::Form;
  const Form form = real == 0 ? Form::complex : inverse ? Form::to_real : Form::of_real;
  const int64_t n = real > 0 ? real : t.shape[t.shape.size() - 2],
                count =
                    n == 0 ? 0 : t.size() / (form == Form::of_real ? n : 2 * (form == Form::complex ? n : n / 2 + 1));
  if (count == 0) return Kernel([](const Buffers&) {});
  if (t.dtype == DType::float32) return lines<float>(line_plan(form, inverse, n), count);
  if (t.dtype == DType::float64) return lines<double>(line_plan(form, inverse, n), count);
  return {};
}

}  // namespace pxl
