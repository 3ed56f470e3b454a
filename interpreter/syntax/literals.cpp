// Computes the values of number and string literals.
#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "interpreter/syntax/nodes/builder.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/utf8.hpp"

namespace pxl::syntax {
namespace {

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

std::string without_underscores(std::string_view text) {
  std::string out;
  for (char c : text)
    if (c != '_') out += c;
  return out;
}

class Unescape {
 public:
  Unescape(std::string_view text, Span at, std::vector<Diagnostic>& problems)
      : text_(text), at_(at), problems_(problems) {}

  std::string run() {
    while (i_ < text_.size()) {
      // CRLF in a triple-quoted string becomes one newline.
      if (text_[i_] == '\r') {
        ++i_;
        if (i_ >= text_.size() || text_[i_] != '\n') out_ += '\n';
      } else if (text_[i_] == '\\' && i_ + 1 < text_.size()) {
        escape();
      } else {
        const size_t begin = i_++;
        i_ = std::min(text_.find_first_of("\r\\", i_), text_.size());
        out_ += text_.substr(begin, i_ - begin);
      }
    }
    return std::move(out_);
  }

 private:
  void escape() {
    size_t start = i_;
    char c = text_[i_ + 1];
    i_ += 2;
    switch (c) {
      case 'n': out_ += '\n'; return;
      case 't': out_ += '\t'; return;
      case 'r': out_ += '\r'; return;
      case 'a': out_ += '\a'; return;
      case 'b': out_ += '\b'; return;
      case 'f': out_ += '\f'; return;
      case 'v': out_ += '\v'; return;
      case '\\':
      case '\'':
      case '"': out_ += c; return;
      case '\n': return;
      case '\r': i_ += i_ < text_.size() && text_[i_] == '\n'; return;
      case 'x': code_point(start, 2); return;
      case 'u': code_point(start, 4); return;
      case 'U': code_point(start, 8); return;
      default: break;
    }
    if (digit(c) < 8) {
      int value = digit(c);
      for (int n = 1; n < 3 && i_ < text_.size() && digit(text_[i_]) < 8; ++n) value = value * 8 + digit(text_[i_++]);
      append_utf8(out_, static_cast<char32_t>(value));
      return;
    }
    size_t end = start + 1;
    next_code_point(text_, end);
    i_ = end;
    problem(start, "unknown escape `" + std::string(text_.substr(start, end - start)) + "`",
            {"write `\\\\` for a backslash, or a raw string r\"...\""});
  }

  void code_point(size_t start, int digits) {
    char32_t value = 0;
    int n = 0;
    for (; n < digits && i_ < text_.size() && digit(text_[i_]) < 16; ++n)
      value = value * 16 + static_cast<char32_t>(digit(text_[i_++]));
    bool surrogate = value >= 0xD800 && value < 0xE000;
    if (n < digits)
      problem(start, fmt::format("this escape takes {} hexadecimal digits", digits), {});
    else if (value > 0x10FFFF || surrogate)
      problem(start, "this escape is not a Unicode character", {});
    else
      append_utf8(out_, value);
  }

  void problem(size_t start, std::string message, std::vector<std::string> notes) {
    Span at{at_.file, at_.begin + static_cast<uint32_t>(start), at_.begin + static_cast<uint32_t>(i_)};
    problems_.push_back(
        Diagnostic{Severity::error, Fault::refused, std::move(message), at, std::move(notes), nullptr, codes::syntax});
  }

  std::string_view text_;
  Span at_;
  std::vector<Diagnostic>& problems_;
  size_t i_ = 0;
  std::string out_;
};

}  // namespace

std::string unescape(std::string_view text, Span at, std::vector<Diagnostic>& problems) {
  return Unescape(text, at, problems).run();
}

std::string string_value(std::string_view token, Span at, std::vector<Diagnostic>& problems) {
  bool raw = token.front() == 'r' || token.front() == 'R';
  size_t prefix = raw ? 1 : 0;
  size_t quotes =
      token.size() >= prefix + 6 && token[prefix + 1] == token[prefix] && token[prefix + 2] == token[prefix] ? 3 : 1;
  std::string_view body = token.substr(prefix + quotes, token.size() - prefix - 2 * quotes);
  if (raw) return std::string(body);
  at.begin += static_cast<uint32_t>(prefix + quotes);
  return unescape(body, at, problems);
}

bool integer_value(std::string_view token, uint64_t& value) {
  uint64_t base = 10;
  if (token.size() > 1 && token[0] == '0') {
    char c = token[1];
    base = c == 'x' || c == 'X' ? 16 : c == 'b' || c == 'B' ? 2 : c == 'o' || c == 'O' ? 8 : 10;
    if (base != 10) token.remove_prefix(2);
  }
  value = 0;
  bool fits = true;
  for (char c : token) {
    if (c == '_') continue;
    auto d = static_cast<uint64_t>(digit(c));
    fits = fits && value <= (UINT64_MAX - d) / base;
    value = value * base + d;
  }
  return fits;
}

double floating_value(std::string_view token) {
  std::string digits = without_underscores(token);
  double value = 0;
  auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  // If the value is out of range, strtod returns infinity or the nearest subnormal number, as Python does.
  if (result.ec != std::errc{}) value = std::strtod(digits.c_str(), nullptr);
  return value;
}

}  // namespace pxl::syntax
