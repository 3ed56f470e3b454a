// Strings: UTF-8, indexed by code point. Their methods are in string_methods.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/limits.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/strings.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/budget.hpp"
#include "runtime/base/utf8.hpp"

namespace pxl {

int64_t code_points(std::string_view utf8) {
  return std::count_if(utf8.begin(), utf8.end(), [](char c) { return !is_continuation(c); });
}
size_t code_point_offset(std::string_view utf8, int64_t n) {
  size_t i = 0;
  while (i < utf8.size() && n > 0) {
    ++i;
    while (i < utf8.size() && is_continuation(utf8[i])) ++i;
    --n;
  }
  return i;
}

namespace {

std::string one_at(std::string_view s, int64_t i) {
  const size_t from = code_point_offset(s, i);
  return std::string(s.substr(from, code_point_offset(s.substr(from), 1)));
}
// Charges one pass over a text whose bytes are not examined one by one: about 1/3 ns per byte. Not measured.
void charge_scan(size_t bytes) { charge(static_cast<int64_t>(bytes / 3)); }

}  // namespace

void charge_text(size_t bytes) { charge(static_cast<int64_t>(bytes)); }

// std::string::find takes quadratic time for texts like "aaa...".
size_t find_text(std::string_view text, std::string_view part, size_t at) {
  if (at > text.size()) return std::string_view::npos;
  if (part.empty()) return at;
  if (at == text.size()) return std::string_view::npos;
  const void* found = ::memmem(text.data() + at, text.size() - at, part.data(), part.size());
  return found ? static_cast<size_t>(static_cast<const char*>(found) - text.data()) : std::string_view::npos;
}

std::string StringObject::repr(Interpreter&) {
  charge_text(value.size());
  const char quote = value.find('\'') != std::string::npos && value.find('"') == std::string::npos ? '"' : '\'';
  std::string s(1, quote);
  for (char c : value) {
    switch (c) {
      case '\n': s += "\\n"; continue;
      case '\t': s += "\\t"; continue;
      case '\r': s += "\\r"; continue;
      case '\\': s += "\\\\"; continue;
      default: break;
    }
    if (c == quote) s += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      s += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      s += c;
    }
  }
  return s + quote;
}

Value StringObject::index(Interpreter&, const Value& key) {
  charge_text(value.size());
  const int64_t n = code_points(value);
  if (auto* s = key.as<SliceObject>()) {
    const SliceRange r = resolve_slice(*s, n);
    if (r.step == 1) {
      const size_t from = code_point_offset(value, r.start);
      return value.substr(from, code_point_offset(std::string_view(value).substr(from), r.count));
    }
    std::vector<std::string> cells;
    for (size_t i = 0; i < value.size();) {
      const size_t width = code_point_offset(std::string_view(value).substr(i), 1);
      cells.push_back(value.substr(i, width));
      i += width;
    }
    std::string out;
    charge_steps(r.count, 10);
    for (int64_t i = 0; i < r.count; ++i) out += cells[static_cast<size_t>(r.start + i * r.step)];
    return out;
  }
  return one_at(value, wrap_index(element_index(key, "index of a str"), n, "a str"));
}
std::optional<int64_t> StringObject::length(Interpreter&) {
  charge_scan(value.size());
  return code_points(value);
}
std::optional<Iterator> StringObject::iterate(Interpreter&) {
  return Iterator([text = value, i = size_t{0}]() mutable -> std::optional<Value> {
    if (i >= text.size()) return std::nullopt;
    const size_t width = code_point_offset(std::string_view(text).substr(i), 1);
    Value v(text.substr(i, width));
    i += width;
    return v;
  });
}
bool StringObject::contains(Interpreter&, const Value& item) {
  const std::string* s = item.as_string();
  if (!s) type_error("`in` a str needs a str on its left, not " + with_article(item.type_name()));
  charge_text(value.size() + s->size());
  return find_text(value, *s, 0) != std::string::npos;
}
bool StringObject::equals(Interpreter&, const Value& other) {
  const std::string* s = other.as_string();
  if (!s || s->size() != value.size()) return false;
  charge_scan(value.size());
  return *s == value;
}
std::optional<std::string> StringObject::hash_key() const { return "s" + value; }

}  // namespace pxl
