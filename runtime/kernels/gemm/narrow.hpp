// Weights stored in 1- or 2-byte types, widened while a matrix product reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/tensor/dtype.hpp"

namespace pxl {

/// Storage formats of weights that are widened to float32 in registers. Memory is read once, in the stored format.
enum class NarrowFormat : uint8_t {
  float32,
  float16,
  bfloat16,
  int8,
  uint8,
  float8_143,
  float8_152,
  int4,  ///< row i holds weight rows 2i (low 4 bits) and 2i + 1 (high 4 bits), each plus 8
};
/// The format that stores a dtype as it is; `nullopt` if there is none.
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
/// Bytes per element in a row. An int4 byte holds two elements of a column.
constexpr size_t width_of(NarrowFormat format) {
  switch (format) {
    case NarrowFormat::float32: return 4;
    case NarrowFormat::float16:
    case NarrowFormat::bfloat16: return 2;
    default: return 1;
  }
}
/// Scales of weights, in float32. The scale for element (k, j) is at[k / group * row + j * column]; column is 0 or 1.
struct NarrowScales {
  const float* at = nullptr;  ///< null: none
  int64_t group = 1, row = 0, column = 0;
};

/// The place of weights that a product could widen by itself. Element i of the kernel's result is element i of input
/// `slot` as float32, times element i / (inner * rows) * outer_step + i % inner * inner_step of input `scales`.
struct NarrowSource {
  NarrowFormat format = NarrowFormat::float32;
  size_t slot = 0;
  int scales = -1;  ///< float32; negative for none
  int64_t inner = 1, outer_step = 0, inner_step = 0;
  int64_t rows = 1;  ///< weight rows per row of scales

  /// Whether the scales of a matrix with n columns are one number, or one per row, or one per column.
  bool fits(int64_t n) const {
    return scales < 0 || (outer_step == 0 && inner_step == 0) || (inner == n && inner_step <= 1);
  }
};

}  // namespace pxl
