// Python's arithmetic on host numbers. Floor division and modulo follow the divisor's sign, `/` returns a float, and
// ints have 64 bits; overflow is an error.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/numbers.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

namespace {

using ast::BinaryOp;

[[noreturn]] void overflow(BinaryOp op, int64_t a, int64_t b) {
  throw run_error(fmt::format("{} {} {} does not fit a 64-bit int", a, text(op), b),
                  {"write one operand as a float for an approximate result"})
      .as(codes::arithmetic);
}
[[noreturn]] void by_zero(BinaryOp op) {
  throw run_error(fmt::format("division by zero in `{}`", text(op))).as(codes::arithmetic);
}

int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}
int64_t floor_modulo(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

Value int_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) by_zero(BinaryOp::power);
    return std::pow(static_cast<double>(base), static_cast<double>(exponent));
  }
  int64_t result = 1, square = base;
  for (int64_t e = exponent; e > 0; e >>= 1) {
    if ((e & 1) && __builtin_mul_overflow(result, square, &result)) overflow(BinaryOp::power, base, exponent);
    if (e > 1 && __builtin_mul_overflow(square, square, &square)) overflow(BinaryOp::power, base, exponent);
  }
  return result;
}

Value int_binary(BinaryOp op, int64_t a, int64_t b) {
  int64_t r = 0;
  switch (op) {
    case BinaryOp::add:
      if (__builtin_add_overflow(a, b, &r)) overflow(op, a, b);
      return r;
    case BinaryOp::sub:
      if (__builtin_sub_overflow(a, b, &r)) overflow(op, a, b);
      return r;
    case BinaryOp::mul:
      if (__builtin_mul_overflow(a, b, &r)) overflow(op, a, b);
      return r;
    case BinaryOp::div:
      if (b == 0) by_zero(op);
      return static_cast<double>(a) / static_cast<double>(b);
    case BinaryOp::floor_div:
      if (b == 0) by_zero(op);
      if (a == std::numeric_limits<int64_t>::min() && b == -1) overflow(op, a, b);
      return floor_divide(a, b);
    case BinaryOp::mod:
      if (b == 0) by_zero(op);
      return floor_modulo(a, b);
    case BinaryOp::power: return int_power(a, b);
    case BinaryOp::bit_and: return a & b;
    case BinaryOp::bit_or: return a | b;
    case BinaryOp::bit_xor: return a ^ b;
    case BinaryOp::shift_left:
    case BinaryOp::shift_right:
      if (b < 0) throw run_error(fmt::format("negative shift: {} {} {}", a, text(op), b)).as(codes::arithmetic);
      if (op == BinaryOp::shift_right) return b > 63 ? (a < 0 ? int64_t{-1} : int64_t{0}) : a >> b;
      if (a == 0) return int64_t{0};
      if (b > 62 || __builtin_mul_overflow(a, int64_t{1} << b, &r)) overflow(op, a, b);
      return r;
    case BinaryOp::matmul: break;
  }
  type_error("`@` multiplies tensors and arrays, not numbers");
}

/// The quotient rounded down, and the remainder, which has the sign of the divisor. The quotient is computed from the
/// remainder, as in Python, since the quotient of the floats may be rounded up to the next int.
struct FloatDivision {
  double quotient, rest;
};
FloatDivision divided_down(double a, double b) {
  double rest = std::fmod(a, b), quotient = (a - rest) / b;
  if (rest == 0) {
    rest = std::copysign(0.0, b);
  } else if ((rest < 0) != (b < 0)) {
    rest += b;
    quotient -= 1;
  }
  return {quotient == 0 ? std::copysign(0.0, a / b) : std::nearbyint(quotient), rest};
}

Value float_binary(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::add: return a + b;
    case BinaryOp::sub: return a - b;
    case BinaryOp::mul: return a * b;
    case BinaryOp::div:
      if (b == 0) by_zero(op);
      return a / b;
    case BinaryOp::floor_div:
      if (b == 0) by_zero(op);
      return divided_down(a, b).quotient;
    case BinaryOp::mod:
      if (b == 0) by_zero(op);
      return divided_down(a, b).rest;
    case BinaryOp::power:
      if (a == 0 && b < 0) by_zero(op);
      if (a < 0 && b != std::floor(b)) {
        throw run_error(fmt::format("{} ** {} is not a real number", number_text(a), number_text(b)))
            .as(codes::arithmetic);
      }
      return std::pow(a, b);
    case BinaryOp::matmul: type_error("`@` multiplies tensors and arrays, not numbers");
    default: break;
  }
  type_error(fmt::format("`{}` works on ints and bools, not on floats", text(op)));
}

}  // namespace

Value number_binary(BinaryOp op, const Value& a, const Value& b) {
  if (a.is_float() || b.is_float()) return float_binary(op, a.as_double(), b.as_double());
  if (a.is_bool() && b.is_bool()) {
    if (op == BinaryOp::bit_and) return a.as_bool() && b.as_bool();
    if (op == BinaryOp::bit_or) return a.as_bool() || b.as_bool();
    if (op == BinaryOp::bit_xor) return a.as_bool() != b.as_bool();
  }
  return int_binary(op, a.as_int(), b.as_int());
}

namespace {

/// An x86 long double holds every 64-bit int, so that 2**53 + 1 and 2.0**53 differ as in Python.
long double exactly(const Value& v) {
  if (v.is_float()) return static_cast<long double>(v.as_double());
  return v.is_natural() ? static_cast<long double>(v.as_natural()) : static_cast<long double>(v.as_int());
}

}  // namespace

int number_order(const Value& a, const Value& b) {
  const bool small = !a.is_natural() && !b.is_natural();
  if (small && !a.is_float() && !b.is_float()) return a.as_int() < b.as_int() ? -1 : a.as_int() > b.as_int() ? 1 : 0;
  if (a.is_float() && b.is_float()) {
    const double x = a.as_double(), y = b.as_double();
    return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
  }
  const long double x = exactly(a), y = exactly(b);
  if (std::isnan(x) || std::isnan(y)) return 2;
  return x < y ? -1 : x > y ? 1 : 0;
}

int64_t checked_add(int64_t a, int64_t b) { return int_binary(BinaryOp::add, a, b).as_int(); }
int64_t checked_mul(int64_t a, int64_t b) { return int_binary(BinaryOp::mul, a, b).as_int(); }

int64_t int_from_double(double d) {
  if (!(d > -9223372036854777856.0 && d < 9223372036854775808.0)) {
    throw run_error(fmt::format("{} does not fit a 64-bit int", number_text(d))).as(codes::arithmetic);
  }
  return static_cast<int64_t>(d);
}

std::optional<int64_t> parse_int(std::string_view text, int base) {
  // The common case: only digits.
  if (int64_t v = 0; base == 10 && !text.empty() && text.front() >= '1' && text.front() <= '9') {
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (ec == std::errc() && end == text.data() + text.size()) return v;
  }
  auto space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.size() > 2 && text[0] == '0') {
    const char c = static_cast<char>(text[1] | 0x20);
    const int prefix = c == 'x' ? 16 : c == 'b' ? 2 : c == 'o' ? 8 : 0;
    if (prefix && (base == prefix || base == 0 || base == 10)) {
      base = prefix;
      text.remove_prefix(2);
    }
  }
  if (base == 0) base = 10;
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_' && i > 0 && i + 1 < text.size() && text[i - 1] != '_') continue;
    digits += text[i];
  }
  if (digits.empty() || digits[0] == '-' || digits[0] == '+') return std::nullopt;
  if (negative) digits.insert(digits.begin(), '-');
  int64_t v = 0;
  auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), v, base);
  if (ec != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return v;
}

std::optional<double> parse_float(std::string_view text) {
  // The common case: only digits.
  if (double v = 0; !text.empty() && text.front() >= '0' && text.front() <= '9') {
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (ec == std::errc() && end == text.data() + text.size()) return v;
  }
  auto space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  std::string s;
  for (char c : text) {
    if (c != '_') s += c;
  }
  if (s.empty() || s[0] == '+') return std::nullopt;
  double v = 0;
  auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (end != s.data() + s.size() || ec == std::errc::invalid_argument) return std::nullopt;
  if (ec == std::errc::result_out_of_range) return std::strtod(s.c_str(), nullptr);  // infinity or the smallest number
  return v;
}

}  // namespace pxl
