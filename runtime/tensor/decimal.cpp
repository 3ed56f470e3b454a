// Shortest and correctly rounded decimal digits, and Python's repr of floats.
#include "runtime/tensor/decimal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "runtime/tensor/print.hpp"

namespace pxl {
namespace {

constexpr size_t longest = 400;  ///< the largest double has 309 digits before the decimal point

template <class T>
std::string chars(T value, std::chars_format form) {
  char buffer[longest];
  return {buffer, std::to_chars(buffer, buffer + longest, value, form).ptr};
}
template <class T>
std::string chars(T value, std::chars_format form, int places) {
  char buffer[longest];
  return {buffer, std::to_chars(buffer, buffer + longest, value, form, places).ptr};
}

// The gap below a power of two is half the gap above. The shortest decimal that round-trips may therefore be above the
// value, even if the nearest decimal of that length does not round-trip. Both neighbours are tried.
template <DType dtype>
std::string shortest_scientific(NarrowFloat<dtype> value) {
  using T = NarrowFloat<dtype>;
  auto f = static_cast<float>(value);
  for (int places = 0;; ++places) {
    std::string text = chars(f, std::chars_format::scientific, places);
    double parsed = std::stod(text);
    if (T(static_cast<float>(parsed)) == value) return text;
    double step = std::pow(10.0, std::floor(std::log10(std::fabs(static_cast<double>(f)))) - places);
    double other =
        parsed + (std::fabs(parsed) < std::fabs(static_cast<double>(f)) ? 1 : -1) * std::copysign(step, parsed);
    if (T(static_cast<float>(other)) == value) return chars(other, std::chars_format::scientific, places);
  }
}
std::string shortest_scientific(float value) { return chars(value, std::chars_format::scientific); }
std::string shortest_scientific(double value) { return chars(value, std::chars_format::scientific); }

template <DType dtype>
float plain(NarrowFloat<dtype> v) {
  return static_cast<float>(v);
}
float plain(float v) { return v; }
double plain(double v) { return v; }

void trim(Decimal& d) { d.fraction.erase(d.fraction.find_last_not_of('0') + 1); }

Decimal split(const std::string& text) {
  size_t e = std::min(text.find('e'), text.size()), point = std::min(text.find('.'), e);
  Decimal d{text.substr(0, point), point < e ? text.substr(point + 1, e - point - 1) : "", text.substr(e)};
  trim(d);
  return d;
}

// Moves the decimal point of "d.ddde+xx" by the exponent.
Decimal positional(const Decimal& s) {
  bool negative = s.whole[0] == '-';
  std::string digits = s.whole.substr(negative) + s.fraction;
  int point = 1 + std::stoi(s.exponent.substr(1));
  if (point <= 0) digits.insert(0, static_cast<size_t>(1 - point), '0'), point = 1;
  auto at = static_cast<size_t>(point);
  if (digits.size() < at) digits.append(at - digits.size(), '0');
  Decimal d{negative ? "-" : "", digits.substr(at), ""};
  d.whole.append(digits, 0, at);
  trim(d);
  return d;
}

// Python's repr: exponents below 1e-4 and from 1e16. NumPy compares the value and not its digits, so the float32
// nearest to 1e-4, which is below it, prints as 1e-04.
template <class T>
std::string python_text(T value) {
  auto v = plain(value);
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  Decimal d = split(shortest_scientific(value));
  auto magnitude = std::fabs(static_cast<double>(v));
  if (magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e16))
    return fmt::format("{}{}{}{}", d.whole, d.fraction.empty() ? "" : ".", d.fraction, d.exponent);
  d = positional(d);
  return fmt::format("{}.{}", d.whole, d.fraction.empty() ? "0" : d.fraction);
}

}  // namespace

template <class T>
Decimal scientific_digits(T value, int least, int most) {
  Decimal d = split(shortest_scientific(value));
  auto count = static_cast<int>(d.fraction.size());
  if (count >= least && count <= most) return d;
  return split(chars(plain(value), std::chars_format::scientific, count < least ? least : most));
}

template <class T>
Decimal positional_digits(T value, int most) {
  Decimal scientific = split(shortest_scientific(value));
  // Shortest digits may end before the units (4182e1 for the half 41824): whole numbers are printed exactly.
  bool ends_early = static_cast<int>(scientific.fraction.size()) < std::stoi(scientific.exponent.substr(1));
  if (ends_early) return split(chars(plain(value), std::chars_format::fixed, 0));
  Decimal d = positional(scientific);
  if (static_cast<int>(d.fraction.size()) <= most) return d;
  return split(chars(plain(value), std::chars_format::fixed, most));
}

template Decimal scientific_digits(half, int, int);
template Decimal scientific_digits(bfloat16, int, int);
template Decimal scientific_digits(float, int, int);
template Decimal scientific_digits(double, int, int);
template Decimal positional_digits(half, int);
template Decimal positional_digits(bfloat16, int);
template Decimal positional_digits(float, int);
template Decimal positional_digits(double, int);

std::string number_text(double value) { return python_text(value); }
std::string number_text(float value) { return python_text(value); }
std::string number_text(half value) { return python_text(value); }
std::string number_text(bfloat16 value) { return python_text(value); }

}  // namespace pxl
