// Python's format mini-language: [[fill]align][sign][#][0][width][grouping][.precision][type].
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "interpreter/values/arrays/arrays.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/text/strings.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

namespace {

struct Spec {
  std::string fill = " ";
  char align = 0;  ///< one of < > ^ =, or 0 for the type's default
  char sign = '-';
  bool alternate = false;
  int64_t width = 0;
  char grouping = 0;  ///< either , or _
  int precision = -1;
  char type = 0;
};

[[noreturn]] void bad_format(std::string_view spec, const std::string& why) {
  throw Error(fmt::format("format `{}`: {}", spec, why));
}

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

Spec read_spec(std::string_view text) {
  Spec s;
  size_t i = 0;
  const size_t first = code_point_offset(text, 1);
  if (first < text.size() && is_align(text[first])) {
    s.fill = std::string(text.substr(0, first));
    s.align = text[first];
    i = first + 1;
  } else if (!text.empty() && is_align(text[0])) {
    s.align = text[0];
    i = 1;
  }
  auto peek = [&] { return i < text.size() ? text[i] : '\0'; };
  auto digits = [&](const char* what) {
    int64_t n = 0;
    while (peek() >= '0' && peek() <= '9') {
      n = n * 10 + (text[i++] - '0');
      if (n > 10000) bad_format(text, std::string(what) + " above 10000");
    }
    return n;
  };
  if (peek() == '+' || peek() == '-' || peek() == ' ') s.sign = text[i++];
  if (peek() == '#') s.alternate = true, ++i;
  if (peek() == '0') {
    if (!s.align) s.fill = "0", s.align = '=';
    ++i;
  }
  s.width = digits("a width");
  if (peek() == ',' || peek() == '_') s.grouping = text[i++];
  if (peek() == '.') {
    ++i;
    if (peek() < '0' || peek() > '9') bad_format(text, "a precision needs digits");
    s.precision = static_cast<int>(digits("a precision"));
  }
  if (i < text.size()) s.type = text[i++];
  if (i < text.size()) bad_format(text, fmt::format("`{}` is left over", text.substr(i)));
  return s;
}

std::string repeat(const std::string& fill, int64_t n) {
  std::string out;
  for (; n > 0; --n) out += fill;
  return out;
}

// Adds the padding. `prefix` (a sign, 0x) stays in front of zeros.
std::string pad(const Spec& s, const std::string& prefix, const std::string& body, char natural) {
  const int64_t missing = s.width - code_points(prefix) - code_points(body);
  if (missing <= 0) return prefix + body;
  switch (s.align ? s.align : natural) {
    case '<': return prefix + body + repeat(s.fill, missing);
    case '^': return repeat(s.fill, missing / 2) + prefix + body + repeat(s.fill, missing - missing / 2);
    case '=': return prefix + repeat(s.fill, missing) + body;
    default: return repeat(s.fill, missing) + prefix + body;
  }
}

std::string grouped(const std::string& body, char grouping, size_t size) {
  size_t end = 0;
  while (end < body.size() && std::isxdigit(static_cast<unsigned char>(body[end])) && body[end] != 'e') ++end;
  if (size == 4) end = body.size();
  std::string out;
  for (size_t i = 0; i < end; ++i) {
    if (i && (end - i) % size == 0) out += grouping;
    out += body[i];
  }
  return out + body.substr(end);
}

std::string sign_text(const Spec& s, bool negative) {
  if (negative) return "-";
  return s.sign == '-' ? "" : std::string(1, s.sign);
}

// Pads with zeros and groups them, as Python does: a group's mark comes first nowhere, so that the text may be one
// longer than the width.
std::string finish_number(Spec s, const std::string& prefix, std::string body) {
  if (s.grouping) {
    const size_t size = s.type == 'b' || s.type == 'x' || s.type == 'X' || s.type == 'o' ? 4 : 3;
    if (s.fill == "0" && s.align == '=') {
      std::string wide = body;
      while (static_cast<int64_t>(prefix.size() + grouped(wide, s.grouping, size).size()) < s.width) wide = "0" + wide;
      body = wide;
    }
    body = grouped(body, s.grouping, size);
  }
  return pad(s, prefix, body, '>');
}

std::string fixed(double magnitude, int precision) {
  char digits[512];
  const auto [end, ec] = std::to_chars(digits, std::end(digits), magnitude, std::chars_format::fixed, precision);
  return ec == std::errc() ? std::string(digits, end) : fmt::format("{:.{}f}", magnitude, precision);
}

/// `shortest` returns the text with the fewest digits.
template <class Shortest>
std::string format_float(const Spec& s, double d, std::string_view spec, Shortest&& shortest) {
  const bool negative = std::signbit(d) && !std::isnan(d);
  const double m = std::fabs(d);
  std::string body;
  char type = s.type;
  const bool upper = type == 'E' || type == 'F' || type == 'G';
  if (upper) type = static_cast<char>(type + 32);
  if (std::isnan(d) || std::isinf(d)) {
    body = std::isnan(d) ? "nan" : "inf";
    if (type == '%') body += '%';
  } else if (type == 0 && s.precision < 0) {
    body = shortest();
    if (body[0] == '-') body.erase(0, 1);
  } else {
    const int precision = s.precision < 0 ? 6 : s.precision;
    switch (type) {
      case 'e': body = fmt::format("{:.{}e}", m, precision); break;
      case 'f': body = fixed(m, precision); break;
      case '%': body = fmt::format("{:.{}f}%", m * 100, precision); break;
      case 0:
      case 'g':
      case 'n':
        body = fmt::format("{:.{}g}", m, precision == 0 ? 1 : precision);
        if (type == 0 && body.find_first_of(".e") == std::string::npos) body += ".0";
        break;
      default: bad_format(spec, fmt::format("type `{}` does not suit a float", s.type));
    }
  }
  if (upper) {
    for (char& c : body) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  }
  return finish_number(s, sign_text(s, negative), body);
}

std::string format_int(const Spec& s, const Value& v, std::string_view spec) {
  if (s.type && std::string_view("eEfFgG%").find(s.type) != std::string_view::npos) {
    return format_float(s, v.as_double(), spec, [] { return std::string("0"); });
  }
  if (s.precision >= 0) bad_format(spec, "a precision does not suit an int");
  const bool negative = !v.is_natural() && v.as_int() < 0;
  const uint64_t bits = v.is_natural() ? v.as_natural() : static_cast<uint64_t>(v.as_int());
  const uint64_t m = negative ? ~bits + 1 : bits;
  std::string prefix = sign_text(s, negative), body;
  switch (s.type) {
    case 0:
    case 'd':
    case 'n': body = fmt::format("{}", m); break;
    case 'b': body = fmt::format("{:b}", m); break;
    case 'o': body = fmt::format("{:o}", m); break;
    case 'x': body = fmt::format("{:x}", m); break;
    case 'X': body = fmt::format("{:X}", m); break;
    default: bad_format(spec, fmt::format("type `{}` does not suit an int", s.type));
  }
  if (s.alternate && s.type && s.type != 'd' && s.type != 'n') prefix += std::string("0") + s.type;
  return finish_number(s, prefix, body);
}

std::string format_text(const Spec& s, std::string text, std::string_view spec, const char* what) {
  if (s.type && s.type != 's') bad_format(spec, fmt::format("type `{}` does not suit {}", s.type, what));
  if (s.align == '=' || s.sign != '-' || s.grouping)
    bad_format(spec, fmt::format("a number's format does not suit {}", what));
  if (s.precision >= 0) text.resize(code_point_offset(text, s.precision));
  return pad(s, "", text, '<');
}

}  // namespace

std::string format_value(Interpreter& in, const Value& v, std::string_view text) {
  if (text.empty()) return str_of(in, v);
  const Spec spec = read_spec(text);
  if (v.is_bool() && (!spec.type || spec.type == 's')) return format_text(spec, repr_of(in, v), text, "a bool");
  if (v.is_float()) return format_float(spec, v.as_double(), text, [&] { return number_text(v.as_double()); });
  if (v.is_int() || v.is_bool()) return format_int(spec, v, text);
  if (const Array* a = v.as_array(); a && a->size() == 1) {
    const Value e = element_value(*a, 0);
    if (e.is_float()) return format_float(spec, e.as_double(), text, [&] { return to_text(a->reshaped({})); });
    return format_value(in, e, text);
  }
  if (v.as_array() && spec.type && spec.type != 's') {
    throw Error(fmt::format("format `{}`: a number's format does not suit an array of shape {}", text,
                            bracket_text(v.as_array()->shape())),
                {"format its elements, or reduce it to one number"});
  }
  if (v.type_name() == "tensor" && spec.type && spec.type != 's')
    throw Error(fmt::format("format `{}`: a tensor has no value before a session runs", text),
                {"its value is a result of a run, `stream out y = t`, or of `eval(t)`"})
        .as(codes::no_value_yet);
  return format_text(spec, str_of(in, v), text, with_article(v.type_name()).c_str());
}

}  // namespace pxl
