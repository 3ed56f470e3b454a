// Counter-based random kernels (Philox, runtime/tensor/random.hpp). Every value is a function of the seed tensor
// (uint32[2]) and the element's position only, so a backward pass with the same seed sees the same mask.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// in: seed. Uniform on [low, high), floating `out`.
Kernel random_uniform_kernel(const TensorSpec& out, double low, double high);
/// in: seed. Normal (Box-Muller), floating `out`.
Kernel random_normal_kernel(const TensorSpec& out, double mean, double std);
/// in: x, seed. out: x / (1-p) with probability 1-p, else 0; p = 0 copies, p = 1 yields zeros. The gradient is the same
/// kernel on g with the same seed. out may be x's memory. Throws Error unless 0 <= p <= 1.
Kernel dropout_kernel(const TensorSpec& x, double p);
/// The same with one decision per element of `mask`, a shape that broadcasts to x's.
Kernel shaped_dropout_kernel(const TensorSpec& x, const Shape& mask, double p);
/// in: seed, modifier (uint32 scalar). out: uint32[2], a new seed; distinct modifiers yield independent seeds.
Kernel modify_seed_kernel();
/// The same with a constant modifier. in: seed.
Kernel modify_seed_kernel(uint32_t modifier);
/// in: weights [..., n] of categories, or logits, which are their logarithms. out: the same. A row of which no category
/// can be drawn is an error in the run.
Kernel checked_weights_kernel(const TensorSpec& t, bool logits);

/// A row of weights, or of logits, of which categories are drawn.
struct WeightRow {
  bool logits = false;
  int64_t row = 0, rows = 1;
  int64_t n = 0;

  double least() const { return logits ? -std::numeric_limits<double>::infinity() : 0; }
  /// The row has an element that is no weight, or none above `least`. value(i) is its element i.
  [[noreturn]] void refuse(const std::function<double(int64_t)>& value) const;
  /// Refuses a row that has elements that are NaN, infinite, or below `least`, or none above it.
  template <class T>
  void check(const T* x) const {
    using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const C low = static_cast<C>(least()), high = std::numeric_limits<C>::infinity();
    int outside = 0, above = 0;
    for (int64_t i = 0; i < n; ++i) {
      const C v = static_cast<C>(x[i]);
      outside |= !(v >= low) | !(v < high), above |= v > low;
    }
    if (outside != 0 || above == 0) refuse([x](int64_t i) { return static_cast<double>(static_cast<C>(x[i])); });
  }
};

}  // namespace pxl
