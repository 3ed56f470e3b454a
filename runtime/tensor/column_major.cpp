#include "runtime/tensor/column_major.hpp"

#include <algorithm>
#include <cstring>

namespace pxl {

Array from_column_major(const Array& a, const Shape& shape) {
  Array out(a.dtype(), shape);
  const size_t size = size_of(a.dtype());
  std::byte* to = out.mutable_raw();
  const std::byte* from = a.raw();
  Shape stride(shape.size(), 1), index(shape.size(), 0);
  for (size_t k = 1; k < shape.size(); ++k) stride[k] = stride[k - 1] * std::max<int64_t>(1, shape[k - 1]);
  int64_t offset = 0;
  for (int64_t i = 0; i < out.size(); ++i) {
    std::memcpy(to + static_cast<size_t>(i) * size, from + static_cast<size_t>(offset) * size, size);
    for (size_t k = shape.size(); k-- > 0;) {
      offset += stride[k];
      if (++index[k] < shape[k]) break;
      offset -= stride[k] * shape[k];
      index[k] = 0;
    }
  }
  return out;
}

}  // namespace pxl
