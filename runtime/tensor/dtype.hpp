// Element types: one row of a table each.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

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
  float8_152,
  bfloat16,
  float8_e4m3fn,
  float8_e5m2
};

/// float8 is a storage format (float8.hpp) without arithmetic, so it is not `floating`.
enum class DTypeKind : uint8_t { boolean, integer, unsigned_integer, float8, floating };

struct DTypeRow {
  DType dtype;
  std::string_view name;  ///< "float32", in schedules and programs
  std::string_view npy;   ///< NumPy's descriptor, "<f4"; empty if there is none
  size_t size;            ///< bytes
  DTypeKind kind;
  DType compute;  ///< what kernels compute in; the elements are widened before and rounded after
  // The next fields describe floating dtypes; they are 0 for others.
  int digits = 0;       ///< binary digits of a significand, the first one included
  double max = 0;       ///< the largest finite number
  double min = 0;       ///< the least positive normal number
  double infinite = 0;  ///< the least magnitude that rounds to an infinity
};

/// In enum order.
// clang-format off
inline constexpr DTypeRow dtype_rows[] = {
    {DType::boolean, "bool", "|b1", 1, DTypeKind::boolean, DType::boolean},
    {DType::int8, "int8", "|i1", 1, DTypeKind::integer, DType::int8},
    {DType::int16, "int16", "<i2", 2, DTypeKind::integer, DType::int16},
    {DType::int32, "int32", "<i4", 4, DTypeKind::integer, DType::int32},
    {DType::int64, "int64", "<i8", 8, DTypeKind::integer, DType::int64},
    {DType::uint8, "uint8", "|u1", 1, DTypeKind::unsigned_integer, DType::uint8},
    {DType::uint16, "uint16", "<u2", 2, DTypeKind::unsigned_integer, DType::uint16},
    {DType::uint32, "uint32", "<u4", 4, DTypeKind::unsigned_integer, DType::uint32},
    {DType::uint64, "uint64", "<u8", 8, DTypeKind::unsigned_integer, DType::uint64},
    {DType::float16, "float16", "<f2", 2, DTypeKind::floating, DType::float32, 11, 0x1.ffcp15, 0x1p-14, 0x1.ffep15},
    {DType::float32, "float32", "<f4", 4, DTypeKind::floating, DType::float32, 24, 0x1.fffffep127, 0x1p-126, 0x1.ffffffp127},
    {DType::float64, "float64", "<f8", 8, DTypeKind::floating, DType::float64, 53, std::numeric_limits<double>::max(), 0x1p-1022, std::numeric_limits<double>::infinity()},
    {DType::float8_143, "float8_143", "", 1, DTypeKind::float8, DType::float32},
    {DType::float8_152, "float8_152", "", 1, DTypeKind::float8, DType::float32},
    {DType::bfloat16, "bfloat16", "<V2", 2, DTypeKind::floating, DType::float32, 8, 0x1.fep127, 0x1p-126, 0x1.ffp127},
    {DType::float8_e4m3fn, "float8_e4m3fn", "", 1, DTypeKind::float8, DType::float32},
    {DType::float8_e5m2, "float8_e5m2", "", 1, DTypeKind::float8, DType::float32},
};
// clang-format on

/// All rows, in enum order.
constexpr std::span<const DTypeRow> dtype_table() { return dtype_rows; }
[[noreturn]] void refuse_dtype_number();
constexpr const DTypeRow& row(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  if (index >= std::size(dtype_rows)) refuse_dtype_number();
  return dtype_rows[index];
}

constexpr std::string_view name(DType dtype) { return row(dtype).name; }
constexpr size_t size_of(DType dtype) { return row(dtype).size; }
constexpr bool is_floating(DType dtype) { return row(dtype).kind == DTypeKind::floating; }
constexpr bool is_float8(DType dtype) { return row(dtype).kind == DTypeKind::float8; }
constexpr bool is_integer(DType dtype) {
  return row(dtype).kind == DTypeKind::integer || row(dtype).kind == DTypeKind::unsigned_integer;
}
constexpr DType compute_dtype(DType dtype) { return row(dtype).compute; }
/// Whether the dtype is floating and computes in a wider one.
constexpr bool is_narrow(DType dtype) { return is_floating(dtype) && compute_dtype(dtype) != dtype; }
std::optional<DType> dtype_from_name(std::string_view name);

/// A narrow float as it is stored, in 16 bits. Arithmetic is done in float and rounded to nearest even.
template <DType dtype>
struct NarrowFloat {
  uint16_t bits = 0;
  NarrowFloat() = default;
  explicit NarrowFloat(float value);
  explicit operator float() const;
  friend bool operator==(NarrowFloat, NarrowFloat) = default;
};
using half = NarrowFloat<DType::float16>;       ///< IEEE binary16
using bfloat16 = NarrowFloat<DType::bfloat16>;  ///< the upper half of a float32
static_assert(sizeof(half) == 2 && sizeof(bfloat16) == 2);

template <>
half::NarrowFloat(float value);
template <>
half::operator float() const;
template <>
inline bfloat16::NarrowFloat(float value) {
  const auto x = std::bit_cast<uint32_t>(value);
  constexpr uint32_t quiet = 0x40;
  bits = static_cast<uint16_t>(value != value ? x >> 16 | quiet : (x + 0x7FFF + (x >> 16 & 1)) >> 16);
}
template <>
inline bfloat16::operator float() const {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

template <class T>
inline constexpr bool is_narrow_v = false;
template <DType dtype>
inline constexpr bool is_narrow_v<NarrowFloat<dtype>> = true;
/// The type in which kernels compute with elements of type T: that of DTypeRow::compute.
template <class T>
using compute_type = std::conditional_t<is_narrow_v<T>, float, T>;

/// Convert buffers, of float16 eight elements at a time with F16C. Bit-identical to the conversions of one element.
void to_narrow(const float* from, half* to, int64_t count);
void to_narrow(const float* from, bfloat16* to, int64_t count);
void to_float(const half* from, float* to, int64_t count);
void to_float(const bfloat16* from, float* to, int64_t count);

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
template <> constexpr DType dtype_of<bfloat16>() { return DType::bfloat16; }
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
    case DType::float8_152:
    case DType::float8_e4m3fn:
    case DType::float8_e5m2: refuse_float8(dtype);
    case DType::float16: return f(type_tag<half>{});
    case DType::bfloat16: return f(type_tag<bfloat16>{});
    case DType::float32: return f(type_tag<float>{});
    case DType::float64: break;
  }
  return f(type_tag<double>{});
}

}  // namespace pxl
