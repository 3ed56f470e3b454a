// Element types: one row of a table each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace pxl {

enum class DType : uint8_t {
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  float32,
  float64,
  float8_143,
  float8_152
};

/// float8 is a storage format (float8.hpp) without arithmetic, so it is not `floating`.
enum class DTypeKind : uint8_t { boolean, integer, unsigned_integer, float8, floating };

struct DTypeRow {
  DType dtype;
  std::string_view name;  ///< "float32", in schedules and programs
  std::string_view npy;   ///< NumPy's descriptor, "<f4"; empty if there is none
  size_t size;            ///< bytes
  DTypeKind kind;
};

/// All rows, in enum order.
std::span<const DTypeRow> dtype_table();
const DTypeRow& row(DType dtype);

inline std::string_view name(DType dtype) { return row(dtype).name; }
inline size_t size_of(DType dtype) { return row(dtype).size; }
inline bool is_floating(DType dtype) { return row(dtype).kind == DTypeKind::floating; }
inline bool is_float8(DType dtype) { return row(dtype).kind == DTypeKind::float8; }
inline bool is_integer(DType dtype) {
  return row(dtype).kind == DTypeKind::integer || row(dtype).kind == DTypeKind::unsigned_integer;
}
std::optional<DType> dtype_from_name(std::string_view name);

/// IEEE binary16 storage. Arithmetic is done in float and rounded to nearest even.
struct half {
  uint16_t bits = 0;
  half() = default;
  explicit half(float value);
  explicit operator float() const;
  friend bool operator==(half, half) = default;
};
static_assert(sizeof(half) == 2);

/// Convert buffers, eight elements at a time with F16C. Bit-identical to the conversions of `half`.
void to_half(const float* from, half* to, int64_t count);
void to_float(const half* from, float* to, int64_t count);

/// C++ type of a dtype, and the reverse.
// clang-format off
template <class T> constexpr DType dtype_of();
template <> constexpr DType dtype_of<bool>() { return DType::boolean; }
template <> constexpr DType dtype_of<int8_t>() { return DType::int8; }
template <> constexpr DType dtype_of<int16_t>() { return DType::int16; }
template <> constexpr DType dtype_of<int32_t>() { return DType::int32; }
template <> constexpr DType dtype_of<int64_t>() { return DType::int64; }
template <> constexpr DType dtype_of<uint8_t>() { return DType::uint8; }
template <> constexpr DType dtype_of<uint16_t>() { return DType::uint16; }
template <> constexpr DType dtype_of<uint32_t>() { return DType::uint32; }
template <> constexpr DType dtype_of<uint64_t>() { return DType::uint64; }
template <> constexpr DType dtype_of<half>() { return DType::float16; }
template <> constexpr DType dtype_of<float>() { return DType::float32; }
template <> constexpr DType dtype_of<double>() { return DType::float64; }
// clang-format on

/// Throws the Error for float8 in arithmetic and conversions, with the remedy.
[[noreturn]] void refuse_float8(DType dtype);

template <class T>
struct type_tag {
  using type = T;
};

/// Calls `f(type_tag<T>{})` with the C++ type of `dtype`. Throws Error for float8.
template <class F>
decltype(auto) with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::boolean: return f(type_tag<bool>{});
    case DType::int8: return f(type_tag<int8_t>{});
    case DType::int16: return f(type_tag<int16_t>{});
    case DType::int32: return f(type_tag<int32_t>{});
    case DType::int64: return f(type_tag<int64_t>{});
    case DType::uint8: return f(type_tag<uint8_t>{});
    case DType::uint16: return f(type_tag<uint16_t>{});
    case DType::uint32: return f(type_tag<uint32_t>{});
    case DType::uint64: return f(type_tag<uint64_t>{});
    case DType::float8_143:
    case DType::float8_152: refuse_float8(dtype);
    case DType::float16: return f(type_tag<half>{});
    case DType::float32: return f(type_tag<float>{});
    case DType::float64: break;
  }
  return f(type_tag<double>{});
}

}  // namespace pxl
