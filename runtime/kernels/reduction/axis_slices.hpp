// 1-D slices along an axis, computed in float32 or float64. Strided and narrow slices are copied to a buffer and back;
// other slices are used in place.
#pragma once

#include <algorithm>
#include <type_traits>

#include "runtime/kernels/block/block.hpp"

namespace pxl {

/// Returns n elements from `x` with this stride: `x` itself if it is contiguous and not narrow, otherwise a copy in
/// `buffer`.
template <class T>
const compute_type<T>* load_line(const T* x, int64_t stride, int64_t n, compute_type<T>* buffer) {
  if constexpr (is_narrow_v<T>) {
    if (stride == 1) {
      widen(x, buffer, n);
    } else {
      for (int64_t i = 0; i < n; ++i) buffer[i] = static_cast<float>(x[i * stride]);
    }
  } else {
    if (stride == 1) return x;
    for (int64_t i = 0; i < n; ++i) buffer[i] = x[i * stride];
  }
  return buffer;
}

template <class T>
void store_line(const compute_type<T>* line, T* x, int64_t stride, int64_t n) {
  if constexpr (is_narrow_v<T>) {
    if (stride == 1) {
      round_to(line, x, n);
    } else {
      for (int64_t i = 0; i < n; ++i) x[i * stride] = T(line[i]);
    }
  } else {
    if (static_cast<const T*>(x) == line) return;
    for (int64_t i = 0; i < n; ++i) x[i * stride] = line[i];
  }
}

/// A buffer of n elements for load_line or store_line on contiguous slices. It is empty if the slices need no buffer.
template <class T>
PerThread<compute_type<T>> slice_buffer(WorkspaceLayout& w, int64_t n) {
  return w.per_thread<compute_type<T>>(std::is_same_v<T, compute_type<T>> ? 0 : n);
}

/// Returns the memory in which a contiguous slice of a result is computed: `out` itself, or `buffer`, which store_line
/// converts.
template <class T>
compute_type<T>* result_line(T* out, [[maybe_unused]] compute_type<T>* buffer) {
  if constexpr (std::is_same_v<T, compute_type<T>>)
    return out;
  else
    return buffer;
}

/// Calls f(type_tag<T>{}) for a floating dtype; throws Error "<what> is not defined for int32" for others.
[[noreturn]] void refuse_dtype(std::string_view what, DType dtype);
template <class F>
Kernel with_floating(std::string_view what, DType dtype, F&& f) {
  switch (dtype) {
    case DType::float16: return f(type_tag<half>{});
    case DType::bfloat16: return f(type_tag<bfloat16>{});
    case DType::float32: return f(type_tag<float>{});
    case DType::float64: return f(type_tag<double>{});
    default: refuse_dtype(what, dtype);
  }
}

constexpr int64_t min_elements = 1024;  ///< per chunk of lines or groups: the grain

inline double line_sum(const float* x, int64_t n) { return bulk().sum32(x, n); }
inline double line_sum(const double* x, int64_t n) { return bulk().sum64(x, n); }
inline double line_dot(const float* x, const float* y, int64_t n) { return bulk().dot32(x, y, n); }
inline double line_dot(const double* x, const double* y, int64_t n) { return bulk().dot64(x, y, n); }
inline float line_max(const float* x, int64_t n) { return bulk().max32(x, n); }
inline double line_max(const double* x, int64_t n) { return bulk().max64(x, n); }
inline double line_deviation(const float* x, double mean, int64_t n) { return bulk().deviation32(x, mean, n); }
inline double line_deviation(const double* x, double mean, int64_t n) { return bulk().deviation64(x, mean, n); }

/// The mean of a line minus `mean`, which is near it.
template <class T>
double line_rest(const T* x, T mean, int64_t n) {
  double sums[4] = {};
  for (int64_t i = 0; i < n; ++i) sums[i % 4] += static_cast<double>(x[i] - mean);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) / static_cast<double>(n);
}
/// The variance of a line, and its mean in two numbers: the rounded mean, and the rest that rounding leaves.
template <class C>
struct LineMoments {
  C mean = 0;
  double rest = 0, variance = 0;

  LineMoments(const C* x, int64_t n) {
    if (n == 0) return;
    const double count = static_cast<double>(n), whole = line_sum(x, n) / count;
    mean = static_cast<C>(whole);
    if constexpr (std::is_same_v<C, double>) {
      rest = line_rest(x, mean, n);
      variance = std::max(line_deviation(x, mean, n) / count - rest * rest, 0.0);  // keeps NaN
    } else {
      rest = whole - static_cast<double>(mean);
      variance = line_deviation(x, whole, n) / count;
    }
  }
};

}  // namespace pxl
