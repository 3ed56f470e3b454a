// Block functions of integers and bool. Compiled for the baseline only, because integer tensors are indices and
// counters. Arithmetic wraps (as unsigned) and never traps.
#include <limits>
#include <type_traits>

#include "runtime/kernels/block_integer.hpp"

namespace pxl {
namespace {

/// The result type of functions for unsupported dtypes.
struct None {};
constexpr None none{};

/// An unsigned type in which T's arithmetic wraps, never narrower than unsigned int (promotion to int could overflow).
template <class T>
using wide_unsigned = std::conditional_t<sizeof(T) < sizeof(unsigned), unsigned, std::make_unsigned_t<T>>;

template <class T>
wide_unsigned<T> u(T x) {
  return static_cast<wide_unsigned<T>>(x);
}

template <class T>
T quotient(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return static_cast<T>(0u - u(a));
  }
  return static_cast<T>(a / b);
}
template <class T>
T remainder(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return 0;
  }
  return static_cast<T>(a % b);
}
template <class T>
T floor_remainder(T a, T b) {
  const T m = remainder(a, b);
  return m != 0 && (m < 0) != (b < 0) ? static_cast<T>(m + b) : m;
}
template <class T>
T floor_quotient(T a, T b) {
  const T q = quotient(a, b), m = remainder(a, b);
  return m != 0 && (m < 0) != (b < 0) ? static_cast<T>(q - 1) : q;
}
template <class T>
T power(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b < 0) return a == 1 ? T(1) : (a == T(-1) ? (b % 2 == 0 ? T(1) : T(-1)) : T(0));
  }
  wide_unsigned<T> result = 1, base = u(a);
  for (auto e = static_cast<std::make_unsigned_t<T>>(b); e != 0; e = static_cast<decltype(e)>(e >> 1)) {
    if ((e & 1u) != 0) result *= base;
    base *= base;
  }
  return static_cast<T>(result);
}
template <class T>
constexpr int bits = static_cast<int>(sizeof(T)) * 8;
template <class T>
T shift_left(T a, T b) {
  if (b < 0 || static_cast<uint64_t>(b) >= bits<T>) return 0;
  return static_cast<T>(u(a) << b);
}
template <class T>
T shift_right(T a, T b) {
  if (b < 0 || static_cast<uint64_t>(b) >= bits<T>) return a < 0 ? T(-1) : T(0);
  return static_cast<T>(a >> b);
}

// Each function as a type: `integer` of any integer type, `boolean` of bool.
// clang-format off
#define PXL_UNARY(NAME, RESULT, COST, FLOATING, INTEGER, BOOLEAN)                            \
  struct unary_##NAME {                                                                      \
    template <class T> static auto integer([[maybe_unused]] T x) { return INTEGER; }         \
    template <class T> static auto boolean([[maybe_unused]] T x) { return BOOLEAN; }         \
  };
#define PXL_BINARY(NAME, RESULT, COST, FLOATING, INTEGER, BOOLEAN)                                                 \
  struct binary_##NAME {                                                                                           \
    template <class T> static auto integer([[maybe_unused]] T a, [[maybe_unused]] T b) { return INTEGER; }         \
    template <class T> static auto boolean([[maybe_unused]] T a, [[maybe_unused]] T b) { return BOOLEAN; }         \
  };
#include "runtime/kernels/elementwise_table.inc"
// clang-format on

template <class F, class... T>
auto applied(T... x) {
  if constexpr ((std::is_same_v<T, bool> && ...))
    return F::boolean(x...);
  else
    return F::integer(x...);
}
template <class F, class... T>
constexpr bool is_taken = !std::is_same_v<decltype(applied<F>(T{}...)), None>;

template <class F, class T>
void integer_unary_loop(const void* x, void* out, int64_t n) {
  auto* o = static_cast<decltype(applied<F>(T{}))*>(out);
  for (int64_t i = 0; i < n; ++i) o[i] = applied<F>(static_cast<const T*>(x)[i]);
}
/// Step 0 repeats the operand's only element.
template <class F, class T, int step_a, int step_b>
void integer_binary_loop(const void* x, const void* y, void* out, int64_t n) {
  auto* o = static_cast<decltype(applied<F>(T{}, T{}))*>(out);
  const T first_a = *static_cast<const T*>(x), first_b = *static_cast<const T*>(y);
  for (int64_t i = 0; i < n; ++i) {
    o[i] = applied<F>(step_a ? static_cast<const T*>(x)[i] : first_a, step_b ? static_cast<const T*>(y)[i] : first_b);
  }
}

template <class F>
UnaryBlock unary_of(DType dtype) {
  return with_type(dtype, [](auto tag) -> UnaryBlock {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      if constexpr (is_taken<F, T>) return integer_unary_loop<F, T>;
    }
    return nullptr;
  });
}
template <class F>
BinaryBlock binary_of(DType dtype) {
  return with_type(dtype, [](auto tag) -> BinaryBlock {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      if constexpr (is_taken<F, T, T>)
        return {integer_binary_loop<F, T, 1, 1>, integer_binary_loop<F, T, 1, 0>, integer_binary_loop<F, T, 0, 1>};
    }
    return {};
  });
}
BinaryBlock floats_only(DType) { return {}; }

}  // namespace

UnaryBlock integer_unary_block(Unary op, DType dtype) {
  static constexpr UnaryBlock (*blocks[])(DType) = {
#define PXL_UNARY(NAME, ...) unary_of<unary_##NAME>,
#include "runtime/kernels/elementwise_table.inc"
  };
  return blocks[static_cast<size_t>(op)](dtype);
}

BinaryBlock integer_binary_block(Binary op, DType dtype) {
  static constexpr BinaryBlock (*blocks[])(DType) = {
#define PXL_BINARY(NAME, ...) binary_of<binary_##NAME>,
#define PXL_DERIVATIVE(NAME, ...) floats_only,
#include "runtime/kernels/elementwise_table.inc"
  };
  return blocks[static_cast<size_t>(op)](dtype);
}

void add_multiple(uint32_t factor, const uint32_t* __restrict from, uint32_t* __restrict to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += factor * from[i];
}
void add_multiple(uint64_t factor, const uint64_t* __restrict from, uint64_t* __restrict to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += factor * from[i];
}

}  // namespace pxl
