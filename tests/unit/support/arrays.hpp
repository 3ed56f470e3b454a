// Arrays from lists of numbers.
#pragma once

#include <span>
#include <vector>

#include "runtime/tensor/array.hpp"

namespace pxl::test {

template <class T>
Array array(Shape shape, const std::vector<T>& values) {
  return Array::from<T>(std::move(shape), std::span<const T>(values));
}
inline Array floats(Shape shape, const std::vector<float>& values) { return array<float>(std::move(shape), values); }
inline Array ints(Shape shape, const std::vector<int32_t>& values) { return array<int32_t>(std::move(shape), values); }

/// from, from + 1, from + 2, ... in float32.
inline Array counting(const Shape& shape, float from = 0) {
  Array a(DType::float32, shape);
  float* to = a.mutable_data<float>();
  for (int64_t i = 0; i < a.size(); ++i) to[i] = from + static_cast<float>(i);
  return a;
}

inline float first(const Array& a) { return a.data<float>()[0]; }

}  // namespace pxl::test
