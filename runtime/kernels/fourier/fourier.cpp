#include "runtime/kernels/fourier/fourier.hpp"

#include <kissfft/kissfft.hh>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>

namespace pxl {

namespace {

/// A double in the general form of std::complex: products of std::complex<double> treat infinities, which costs a call.
/// Lines are finite.
struct Number {
  double value = 0;
  Number() = default;
  Number(double v) : value(v) {}
  operator double() const { return value; }
  Number& operator+=(Number b) { return *this = value + b.value; }
  Number& operator-=(Number b) { return *this = value - b.value; }
  Number& operator*=(Number b) { return *this = value * b.value; }
  Number& operator/=(Number b) { return *this = value / b.value; }
};
using Complex = std::complex<Number>;
using Transform = kissfft<Number>;

template <class T>
bool are_finite(const T* x, int64_t count) {
  bool finite = true;
  for (int64_t i = 0; i < count; ++i) finite &= std::abs(x[i]) <= std::numeric_limits<T>::max();
  return finite;
}

/// KissFFT takes n^2 steps for large prime factors, and memory that threads would share.
bool has_small_factors(int64_t n) {
  for (const int64_t factor : {2, 3, 5})
    while (n > 1 && n % factor == 0) n /= factor;
  return n == 1;
}

/// A transform of one length. `in`, `out` and `work` are different; `work` has `work_size` numbers.
class Line {
 public:
  Line(int64_t n, bool inverse)
      : n_(n), padded_(has_small_factors(n) ? n : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * n)))) {
    const auto length = static_cast<size_t>(padded_);
    forward_ = std::make_unique<Transform>(length, padded_ == n && inverse);
    if (padded_ == n) return;
    backward_ = std::make_unique<Transform>(length, true);
    // Source: L. Bluestein, "A linear filtering approach to the computation of the discrete Fourier transform", 1970.
    // As j k = (j^2 + k^2 - (k - j)^2) / 2, the transform is a convolution. Transforms of another length compute it.
    std::vector<Complex> filter(length);
    int64_t square = 0;  // j^2 modulo 2 n, which is as good and exact
    for (int64_t j = 0; j < n; square = (square + 2 * j + 1) % (2 * n), ++j) {
      const double half_turns = static_cast<double>(square) / static_cast<double>(n);
      chirp_.push_back(std::polar<Number>(1.0, (inverse ? 1 : -1) * std::numbers::pi * half_turns));
      filter[static_cast<size_t>(j)] = std::conj(chirp_.back());
      if (j > 0) filter[length - static_cast<size_t>(j)] = std::conj(chirp_.back());
    }
    filter_.resize(length);
    forward_->transform(filter.data(), filter_.data());
    for (Complex& f : filter_) f /= static_cast<double>(padded_);
  }

  int64_t work_size() const { return padded_ == n_ ? 0 : 2 * padded_; }

  void operator()(const Complex* in, Complex* out, Complex* work) const {
    if (padded_ == n_) return forward_->transform(in, out);
    Complex *const line = work, *const spectrum = work + padded_;
    for (int64_t j = 0; j < n_; ++j) line[j] = in[j] * chirp_[static_cast<size_t>(j)];
    std::fill(line + n_, line + padded_, Complex());
    forward_->transform(line, spectrum);
    for (int64_t j = 0; j < padded_; ++j) spectrum[j] = spectrum[j] * filter_[static_cast<size_t>(j)];
    backward_->transform(spectrum, line);
    for (int64_t j = 0; j < n_; ++j) out[j] = line[j] * chirp_[static_cast<size_t>(j)];
  }

 private:
  int64_t n_, padded_;
  std::unique_ptr<Transform> forward_, backward_;
  std::vector<Complex> chirp_, filter_;
};

template <class T>
Kernel lines(int64_t n, int64_t count, bool inverse) {
  const auto line = std::make_shared<const Line>(n, inverse);
  WorkspaceLayout layout;
  const auto in = layout.per_thread<Complex>(n);
  const auto out = layout.per_thread<Complex>(n);
  const auto work = layout.per_thread<Complex>(line->work_size());
  const double cost_ns = 3.0 * static_cast<double>(n) * std::log2(static_cast<double>(n) + 1) + 20;  // not measured
  return Kernel::parallel(count, 1, cost_ns * static_cast<double>(count),
                          [=](const Buffers& b, int64_t begin, int64_t end) {
                            Complex *from = b.workspace(in), *to = b.workspace(out);
                            for (int64_t i = begin; i < end; ++i) {
                              const T* x = b.input<T>(0) + i * 2 * n;
                              T* y = b.output<T>(0) + i * 2 * n;
                              if (!are_finite(x, 2 * n)) {
                                std::fill_n(y, 2 * n, std::numeric_limits<T>::quiet_NaN());
                                continue;
                              }
                              for (int64_t j = 0; j < n; ++j) from[j] = {x[2 * j], x[2 * j + 1]};
                              (*line)(from, to, b.workspace(work));
                              for (int64_t j = 0; j < n; ++j) {
                                y[2 * j] = static_cast<T>(to[j].real() + 0.0);  // sums begin at 0 and are never -0
                                y[2 * j + 1] = static_cast<T>(to[j].imag() + 0.0);
                              }
                            }
                          })
      .with_workspace(layout);
}

}  // namespace

Kernel fourier_kernel(const TensorSpec& t, bool inverse) {
  const int64_t n = t.shape[t.shape.size() - 2], count = n == 0 ? 0 : t.size() / (2 * n);
  if (count == 0) return Kernel([](const Buffers&) {});
  if (t.dtype == DType::float32) return lines<float>(n, count, inverse);
  if (t.dtype == DType::float64) return lines<double>(n, count, inverse);
  return {};
}

}  // namespace pxl
