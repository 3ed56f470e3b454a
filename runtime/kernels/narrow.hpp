// Weights of few bytes as matrix products read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/tensor/dtype.hpp"

namespace pxl {

/// Weights that are widened to float32 in registers: they are read from memory once, as they are stored.
enum class NarrowFormat : uint8_t {
  float32,
  float16,
  bfloat16,
  int8,
  uint8,
  float8_143,
  float8_152,
  int4,  ///< rows 2i and 2i + 1 of the weights in the low and high halves of the bytes of row i, each 8 more than it is
};
/// The format of a dtype as it is; nothing where there is none.
constexpr std::optional<NarrowFormat> narrow_format(DType dtype) {
  switch (dtype) {
    case DType::float32: return NarrowFormat::float32;
    case DType::float16: return NarrowFormat::float16;
    case DType::bfloat16: return NarrowFormat::bfloat16;
    case DType::int8: return NarrowFormat::int8;
    case DType::uint8: return NarrowFormat::uint8;
    case DType::float8_143: return NarrowFormat::float8_143;
    case DType::float8_152: return NarrowFormat::float8_152;
    default: return std::nullopt;
  }
}
/// Bytes that an element takes in a row; of int4 those of two elements of a column.
constexpr size_t width_of(NarrowFormat format) {
  switch (format) {
    case NarrowFormat::float32: return 4;
    case NarrowFormat::float16:
    case NarrowFormat::bfloat16: return 2;
    default: return 1;
  }
}
/// Scales of weights, in float32: that of element (k, j) is at[k / group * row + j * column], where column is 0 or 1.
struct NarrowScales {
  const float* at = nullptr;  ///< null: none
  int64_t group = 1, row = 0, column = 0;
};

/// Where a kernel finds weights that a product could widen by itself: element i of its result is element i of input
/// `slot` as float32, times element i / (inner * rows) * outer_step + i % inner * inner_step of input `scales`.
struct NarrowSource {
  NarrowFormat format = NarrowFormat::float32;
  size_t slot = 0;
  int scales = -1;  ///< float32; negative for none
  int64_t inner = 1, outer_step = 0, inner_step = 0;
  int64_t rows = 1;  ///< of the weights, that have the scales of one row

  /// Whether the scales of a matrix of n columns are one for all elements, for each row or for each column.
  bool fits(int64_t n) const {
    return scales < 0 || (outer_step == 0 && inner_step == 0) || (inner == n && inner_step <= 1);
  }
};

}  // namespace pxl
