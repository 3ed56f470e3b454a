// Check sums of results, and operands for them that are the same on every processor.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "runtime/tensor/dtype.hpp"

namespace pxl::test {

/// FNV-1a, 64 bits. All NaN are one: their sign and payload are no results.
class Sum {
 public:
  template <class T>
  void add(const T* x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      T value = x[i];
      if constexpr (std::is_floating_point_v<T>)
        if (value != value) value = std::numeric_limits<T>::quiet_NaN();
      bytes(&value, sizeof value);
    }
  }
  void add_half(const uint16_t* x, int64_t n, uint16_t infinite = 0x7c00, uint16_t nan = 0x7e00) {
    for (int64_t i = 0; i < n; ++i) {
      const uint16_t value = (x[i] & 0x7fff) > infinite ? nan : x[i];
      bytes(&value, sizeof value);
    }
  }
  void add(DType dtype, const std::byte* x, int64_t n) {
    switch (dtype) {
      case DType::float32: return add(reinterpret_cast<const float*>(x), n);
      case DType::float64: return add(reinterpret_cast<const double*>(x), n);
      case DType::float16: return add_half(reinterpret_cast<const uint16_t*>(x), n);
      case DType::bfloat16: return add_half(reinterpret_cast<const uint16_t*>(x), n, 0x7f80, 0x7fc0);
      default: bytes(x, static_cast<size_t>(n) * size_of(dtype));
    }
  }
  uint64_t value() const { return value_; }

 private:
  void bytes(const void* data, size_t n) {
    const auto* p = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < n; ++i) value_ = (value_ ^ p[i]) * 0x100000001b3U;
  }
  uint64_t value_ = 0xcbf29ce484222325U;
};

/// Numbers with all bits of a float's fraction, of both signs, from 2^-low to 2^high.
class Numbers {
 public:
  explicit Numbers(uint64_t seed, int low = 8, int high = 4) : state_(seed), low_(low), range_(low + high) {}
  double next() {
    const uint64_t a = draw(), b = draw();
    const double fraction = 1 + static_cast<double>(a >> 41) / 8388608;
    return std::ldexp((b & 1) != 0 ? -fraction : fraction,
                      static_cast<int>((b >> 8) % static_cast<uint64_t>(range_)) - low_);
  }
  std::vector<float> floats(int64_t n) {
    std::vector<float> x(static_cast<size_t>(n));
    for (float& v : x) v = static_cast<float>(next());
    return x;
  }
  uint64_t draw() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return state_ >> 11;
  }

 private:
  uint64_t state_;
  int low_, range_;
};

}  // namespace pxl::test
