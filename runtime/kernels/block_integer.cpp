// Block functions of integers and bool. Compiled for the baseline only: integer tensors are indices and counters.
// Arithmetic wraps (done unsigned, where overflow is defined); nothing here traps.
#include <limits>
#include <type_traits>

#include "runtime/kernels/block_integer.hpp"

namespace pxl {
namespace {

template <class T>
constexpr bool is_bool = std::is_same_v<T, bool>;
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

template <Unary op, class T>
auto unary_one(T x) {
  if constexpr (op == Unary::identity || op == Unary::ceil || op == Unary::floor || op == Unary::round)
    return x;
  else if constexpr (op == Unary::abs)
    return static_cast<T>(x < 0 ? static_cast<T>(0u - u(x)) : x);
  else if constexpr (op == Unary::negate)
    return static_cast<T>(0u - u(x));
  else if constexpr (op == Unary::sign)
    return static_cast<T>((x > 0) - (x < 0));
  else if constexpr (op == Unary::square)
    return static_cast<T>(u(x) * u(x));
  else if constexpr (op == Unary::relu)
    return static_cast<T>(x > 0 ? x : 0);
  else if constexpr (op == Unary::bit_not && is_bool<T>)
    return !x;
  else if constexpr (op == Unary::bit_not)
    return static_cast<T>(~x);
  else if constexpr (op == Unary::logical_not)
    return x == T(0);
  else
    return op == Unary::isfinite;
}

template <Binary op, class T>
auto binary_one(T a, T b) {
  if constexpr (is_bool<T> && op == Binary::add)
    return a || b;
  else if constexpr (is_bool<T> && op == Binary::mul)
    return a && b;
  else if constexpr (op == Binary::add)
    return static_cast<T>(u(a) + u(b));
  else if constexpr (op == Binary::sub)
    return static_cast<T>(u(a) - u(b));
  else if constexpr (op == Binary::mul)
    return static_cast<T>(u(a) * u(b));
  else if constexpr (op == Binary::div)
    return quotient(a, b);
  else if constexpr (op == Binary::floor_div)
    return floor_quotient(a, b);
  else if constexpr (op == Binary::fmod)
    return remainder(a, b);
  else if constexpr (op == Binary::mod)
    return floor_remainder(a, b);
  else if constexpr (op == Binary::pow)
    return power(a, b);
  else if constexpr (op == Binary::maximum)
    return a > b ? a : b;
  else if constexpr (op == Binary::minimum)
    return a < b ? a : b;
  else if constexpr (op == Binary::bit_and)
    return static_cast<T>(a & b);
  else if constexpr (op == Binary::bit_or)
    return static_cast<T>(a | b);
  else if constexpr (op == Binary::bit_xor)
    return static_cast<T>(a ^ b);
  else if constexpr (op == Binary::shift_left)
    return shift_left(a, b);
  else if constexpr (op == Binary::shift_right)
    return shift_right(a, b);
  else if constexpr (op == Binary::equal)
    return a == b;
  else if constexpr (op == Binary::not_equal)
    return a != b;
  else if constexpr (op == Binary::less)
    return a < b;
  else if constexpr (op == Binary::less_equal)
    return a <= b;
  else if constexpr (op == Binary::greater)
    return a > b;
  else if constexpr (op == Binary::greater_equal)
    return a >= b;
  else if constexpr (op == Binary::logical_and)
    return a != T(0) && b != T(0);
  else if constexpr (op == Binary::logical_or)
    return a != T(0) || b != T(0);
  else
    return (a != T(0)) != (b != T(0));
}

template <Unary op, class T>
void unary_loop(const void* x, void* out, int64_t n) {
  auto* o = static_cast<decltype(unary_one<op>(T{}))*>(out);
  for (int64_t i = 0; i < n; ++i) o[i] = unary_one<op>(static_cast<const T*>(x)[i]);
}
/// Step 0 repeats the operand's only element.
template <Binary op, class T, int step_a, int step_b>
void binary_loop(const void* x, const void* y, void* out, int64_t n) {
  auto* o = static_cast<decltype(binary_one<op>(T{}, T{}))*>(out);
  const T first_a = *static_cast<const T*>(x), first_b = *static_cast<const T*>(y);
  for (int64_t i = 0; i < n; ++i) {
    o[i] =
        binary_one<op>(step_a ? static_cast<const T*>(x)[i] : first_a, step_b ? static_cast<const T*>(y)[i] : first_b);
  }
}

template <Unary op>
UnaryBlock unary_of(DType dtype) {
  return with_type(dtype, [](auto tag) -> UnaryBlock {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      constexpr bool arithmetic = op == Unary::abs || op == Unary::negate || op == Unary::sign || op == Unary::square ||
                                  op == Unary::relu || op == Unary::ceil || op == Unary::floor || op == Unary::round;
      if constexpr (!(is_bool<T> && arithmetic)) return unary_loop<op, T>;
    }
    return nullptr;
  });
}
template <Binary op>
BinaryBlock binary_of(DType dtype) {
  return with_type(dtype, [](auto tag) -> BinaryBlock {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      constexpr bool not_for_bool = op == Binary::sub || op == Binary::div || op == Binary::floor_div ||
                                    op == Binary::fmod || op == Binary::mod || op == Binary::pow ||
                                    op == Binary::shift_left || op == Binary::shift_right;
      if constexpr (!(is_bool<T> && not_for_bool)) {
        return {binary_loop<op, T, 1, 1>, binary_loop<op, T, 1, 0>, binary_loop<op, T, 0, 1>};
      }
    }
    return {};
  });
}

}  // namespace

UnaryBlock integer_unary_block(Unary op, DType dtype) {
  // clang-format off
  switch (op) {
#define PXL_CASE(NAME) \
  case Unary::NAME: return unary_of<Unary::NAME>(dtype);
    PXL_CASE(identity)
    PXL_CASE(abs) PXL_CASE(negate) PXL_CASE(sign) PXL_CASE(square) PXL_CASE(relu) PXL_CASE(ceil) PXL_CASE(floor)
    PXL_CASE(round) PXL_CASE(bit_not) PXL_CASE(logical_not) PXL_CASE(isnan) PXL_CASE(isinf) PXL_CASE(isfinite)
#undef PXL_CASE
    default: return nullptr;
  }
  // clang-format on
}

BinaryBlock integer_binary_block(Binary op, DType dtype) {
  // clang-format off
  switch (op) {
#define PXL_CASE(NAME) \
  case Binary::NAME: return binary_of<Binary::NAME>(dtype);
    PXL_CASE(add)
    PXL_CASE(sub) PXL_CASE(mul) PXL_CASE(div) PXL_CASE(floor_div) PXL_CASE(fmod) PXL_CASE(mod) PXL_CASE(pow)
    PXL_CASE(maximum) PXL_CASE(minimum) PXL_CASE(bit_and) PXL_CASE(bit_or) PXL_CASE(bit_xor) PXL_CASE(shift_left)
    PXL_CASE(shift_right) PXL_CASE(equal) PXL_CASE(not_equal) PXL_CASE(less) PXL_CASE(less_equal)
    PXL_CASE(greater) PXL_CASE(greater_equal) PXL_CASE(logical_and) PXL_CASE(logical_or)
    PXL_CASE(logical_xor)
#undef PXL_CASE
    default: return {};
  }
  // clang-format on
}

}  // namespace pxl
