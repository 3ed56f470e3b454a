// Arithmetic, comparisons, logic and choice, with broadcasting.
#include <cmath>

#include "runtime/op/algebra_definitions.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/ops/elementwise/pairwise.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

namespace {

// The operands of a variadic op, folded from the left.
template <class Step>
void fold(ReferenceContext& c, Step step) {
  const auto all = [&](auto read) {
    auto total = read(0);
    for (size_t i = 1; i < c.operands(); ++i) {
      const auto next = read(i);
      const decltype(total) both = step(total, next);
      total = both;
    }
    c.out(0, total);
  };
  if (is_floating(c.dtype(0)))
    all([&](size_t i) { return c.real(i); });
  else if (c.dtype(0) == DType::uint64)
    all([&](size_t i) { return c.natural(i); });
  else
    all([&](size_t i) { return c.whole(i); });
}

// Towards zero; by 0, which integers can be divided by, 0.
template <class T>
T quotient(T x, T y) {
  if constexpr (std::is_floating_point_v<T>)
    return x / y;
  else if constexpr (std::is_signed_v<T>)
    return y == 0 ? 0 : y == -1 ? -x : x / y;
  else
    return y == 0 ? 0 : x / y;
}
template <class T>
T remainder_rounded_down(T x, T y) {
  const T m = remainder(x, y);
  return m != 0 && (m < 0) != (y < 0) ? m + y : m;
}
template <class T>
T quotient_rounded_down(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    if (y == 0) return x / y;
    const T m = remainder(x, y), whole = std::rint((x - m) / y);
    const T q = m != 0 && (m < 0) != (y < 0) ? whole - 1 : whole;
    return q == 0 ? std::copysign(q, x / y) : q;
  } else {
    return quotient(x, y) - (remainder_rounded_down(x, y) == remainder(x, y) ? 0 : 1);
  }
}
// Throws for a quotient of integers by 0, if there is something to divide.
void check_quotient(const ReferenceContext& c, std::string_view op) {
  const int64_t n = element_count(c.out_shape()) == 0 ? 0 : element_count(c.shape(1));
  check_divisors(c.dtype(1), c.buffers().in[1], n, op);
}

template <class T>
T power(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::pow(x, y);
  } else {
    T result = 1;
    for (; y > 0; y /= 2, x *= x)
      if (y % 2 == 1) result *= x;
    return result;
  }
}

}  // namespace

void add(ReferenceContext& c) {
  c.numbers([](const auto& x, const auto& y) { return x + y; });
}
void sub(ReferenceContext& c) {
  c.numbers([](const auto& x, const auto& y) { return x - y; });
}
void mul(ReferenceContext& c) {
  c.numbers([](const auto& x, const auto& y) { return x * y; });
}
void div(ReferenceContext& c) {
  c.numbers([](const auto& x, const auto& y) { return each([](auto a, auto b) { return quotient(a, b); }, x, y); });
}
void floor_div(ReferenceContext& c) {
  check_quotient(c, "//");
  c.numbers([](const auto& x, const auto& y) {
    return each([](auto a, auto b) { return quotient_rounded_down(a, b); }, x, y);
  });
}
void fmod(ReferenceContext& c) {
  c.numbers([](const auto& x, const auto& y) { return each([](auto a, auto b) { return remainder(a, b); }, x, y); });
}
void mod(ReferenceContext& c) {
  check_quotient(c, "%");
  c.numbers([](const auto& x, const auto& y) {
    return each([](auto a, auto b) { return remainder_rounded_down(a, b); }, x, y);
  });
}
void pow(ReferenceContext& c) {
  check_exponents(c.dtype(1), c.buffers().in[1], element_count(c.out_shape()) == 0 ? 0 : element_count(c.shape(1)));
  c.numbers([](const auto& x, const auto& y) { return each([](auto a, auto b) { return power(a, b); }, x, y); });
}
void atan2(ReferenceContext& c) {
  c.out(0, each([](double y, double x) { return std::atan2(y, x); }, c.real(0), c.real(1)));
}
void maximum(ReferenceContext& c) {
  fold(c, [](const auto& x, const auto& y) { return each([](auto a, auto b) { return larger(a, b); }, x, y); });
}
void minimum(ReferenceContext& c) {
  fold(c, [](const auto& x, const auto& y) { return each([](auto a, auto b) { return smaller(a, b); }, x, y); });
}
// One sum after the other, each in the dtype.
void sum_n(ReferenceContext& c) {
  const Steps in(c, c.dtype(0));
  fold(c, [&](const auto& x, const auto& y) {
    const std::decay_t<decltype(x)> sum = x + y;
    if constexpr (std::is_same_v<std::decay_t<decltype(x)>, Reals>)
      return in(sum);
    else
      return sum;
  });
}

void equal(ReferenceContext& c) {
  c.numbers([](const auto& x, const auto& y) { return xt::equal(x, y); });
}
void not_equal(ReferenceContext& c) {
  c.numbers([](const auto& x, const auto& y) { return xt::not_equal(x, y); });
}
void less(ReferenceContext& c) {
  c.numbers([](const auto& x, const auto& y) { return x < y; });
}
void less_equal(ReferenceContext& c) {
  c.numbers([](const auto& x, const auto& y) { return x <= y; });
}
void greater(ReferenceContext& c) {
  c.numbers([](const auto& x, const auto& y) { return x > y; });
}
void greater_equal(ReferenceContext& c) {
  c.numbers([](const auto& x, const auto& y) { return x >= y; });
}
void isnan(ReferenceContext& c) { c.out(0, xt::isnan(c.real(0))); }
void isinf(ReferenceContext& c) { c.out(0, xt::isinf(c.real(0))); }

void and_(ReferenceContext& c) { c.out(0, c.whole(0) & c.whole(1)); }
void or_(ReferenceContext& c) { c.out(0, c.whole(0) | c.whole(1)); }
void not_(ReferenceContext& c) { c.out(0, 1 - c.whole(0)); }
void bitwise_xor(ReferenceContext& c) { c.out(0, c.whole(0) ^ c.whole(1)); }
// A shift by the number of bits or more leaves 0; a right shift of a negative number leaves -1.
void shift_left(ReferenceContext& c) {
  c.numbers([](const auto& x, const auto& y) {
    return each([](auto a, auto b) { return static_cast<uint64_t>(b) < 64 ? a << b : 0; }, xt::cast<int64_t>(x),
                xt::cast<int64_t>(y));
  });
}
void shift_right(ReferenceContext& c) {
  c.numbers([](const auto& x, const auto& y) {
    using T = typename std::decay_t<decltype(x)>::value_type;
    return each([](auto a, auto b) { return static_cast<uint64_t>(b) < 64 ? a >> b
                                            : a < 0                       ? T(-1)
                                                                          : T(0); },
                xt::cast<std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>>(x), xt::cast<int64_t>(y));
  });
}

void select(ReferenceContext& c) { c.move(0, xt::where(xt::not_equal(c.whole(0), 0), c.pattern(1), c.pattern(2))); }

}  // namespace pxl::reference
