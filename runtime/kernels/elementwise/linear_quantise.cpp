// Integers of 8 or 16 bits with a scale and a zero point, and rounding to bfloat16.
#include <algorithm>
#include <cmath>

#include "runtime/kernels/elementwise/quantise.hpp"
#include "runtime/kernels/reduction/axis_slices.hpp"
#include "runtime/tensor/bfloat16.hpp"

namespace pxl {

namespace {

/// Calls f(begin, end, index of the parameters) for element ranges with one scale.
template <class F>
void each_scale(const LinearQuantisation& q, int64_t begin, int64_t end, F f) {
  const int64_t run = q.parameters == 1 ? q.size : q.inner;
  for (int64_t i = begin; i < end;) {
    const int64_t last = std::min(end, (i / run + 1) * run);
    f(i, last, q.parameters == 1 ? 0 : i / run % q.parameters);
    i = last;
  }
}

int64_t integer_at(DType dtype, const std::byte* data, int64_t i) {
  int64_t value = 0;
  convert(dtype, data + i * static_cast<int64_t>(size_of(dtype)), DType::int64, reinterpret_cast<std::byte*>(&value),
          1);
  return value;
}

/// A scale in the computing type.
template <class T>
compute_type<T> scale_at(const Buffers& b, size_t slot, int64_t i) {
  return static_cast<compute_type<T>>(b.input<T>(slot)[i]);
}

/// Rounds to the nearest whole number, ties to even. |x| < 2^22, so that the sum with 1.5 * 2^23 has no fraction.
float nearest(float x) {
  constexpr float shift = 0x1.8p23F;
  return (x + shift) - shift;
}
double nearest(double x) {
  constexpr double shift = 0x1.8p52;
  return (x + shift) - shift;
}

template <class T, class Out>
Kernel quantize(DType zero, const LinearQuantisation& q) {
  using C = compute_type<T>;
  constexpr C low = std::numeric_limits<Out>::lowest(), high = std::numeric_limits<Out>::max();
  // A quotient beyond this bound is outside the range for every zero point up to 2^20.
  constexpr C bound = 1 << 21;
  return Kernel::elementwise(q.size, 1.0 * static_cast<double>(q.size),
                             [=](const Buffers& b, int64_t begin, int64_t end) {
                               each_scale(q, begin, end, [&](int64_t first, int64_t last, int64_t place) {
                                 const C scale = scale_at<T>(b, 1, place);
                                 const C offset = q.has_zero ? static_cast<C>(integer_at(zero, b.in[2], place)) : C(0);
                                 const T* in = b.input<T>(0);
                                 Out* out = b.output<Out>(0);
                                 for (int64_t i = first; i < last; ++i) {
                                   const C x = static_cast<C>(in[i]) / scale;
                                   const C near = nearest(std::min(std::max(x, -bound), bound)) + offset;
                                   const C held = std::min(std::max(near, low), high);
                                   out[i] = static_cast<Out>(x == x ? held : C(0));
                                 }
                               });
                             });
}

template <class T, class Whole>
Kernel dequantize(DType t, DType zero, const LinearQuantisation& q) {
  using C = compute_type<T>;
  return Kernel::elementwise(
      q.size, 1.0 * static_cast<double>(q.size), [=](const Buffers& b, int64_t begin, int64_t end) {
        each_scale(q, begin, end, [&](int64_t first, int64_t last, int64_t place) {
          const C factor = scale_at<T>(b, 1, place);
          const auto offset = static_cast<Whole>(q.has_zero ? integer_at(zero, b.in[2], place) : 0);
          constexpr int64_t piece = 256;
          Whole values[piece];
          T* out = b.output<T>(0);
          for (int64_t i = first; i < last; i += piece) {
            const int64_t n = std::min(piece, last - i);
            convert(t, b.in[0] + i * static_cast<int64_t>(size_of(t)), dtype_of<Whole>(),
                    reinterpret_cast<std::byte*>(values), n);
            for (int64_t j = 0; j < n; ++j) out[i + j] = static_cast<T>(static_cast<C>(values[j] - offset) * factor);
          }
        });
      });
}

}  // namespace

Kernel quantize_linear_kernel(DType t, DType zero, DType out, const LinearQuantisation& q) {
  if (q.size == 0) return [](const Buffers&) {};
  return with_floating("quantize_linear", t, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    switch (out) {
      case DType::int8: return quantize<T, int8_t>(zero, q);
      case DType::int16: return quantize<T, int16_t>(zero, q);
      case DType::uint16: return quantize<T, uint16_t>(zero, q);
      default: return quantize<T, uint8_t>(zero, q);
    }
  });
}

Kernel dequantize_linear_kernel(DType t, DType zero, DType scale, const LinearQuantisation& q) {
  if (q.size == 0) return [](const Buffers&) {};
  return with_floating("dequantize_linear", scale, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    // Differences of numbers of at most 16 bits fit 32, which are faster to convert.
    const bool narrow = size_of(t) < sizeof(int32_t) && (!q.has_zero || size_of(zero) < sizeof(int32_t));
    return narrow ? dequantize<T, int32_t>(t, zero, q) : dequantize<T, int64_t>(t, zero, q);
  });
}

Kernel round_to_bfloat16_kernel(DType dtype, int64_t n) {
  const auto of = [n]<class T>(T) {
    return Kernel::elementwise(n, 0.5 * static_cast<double>(n), [](const Buffers& b, int64_t begin, int64_t end) {
      const T* in = b.input<T>(0);
      T* out = b.output<T>(0);
      for (int64_t i = begin; i < end; ++i) out[i] = nearest_bfloat16(in[i]);
    });
  };
  return dtype == DType::float64 ? of(double()) : of(float());
}

}  // namespace pxl
