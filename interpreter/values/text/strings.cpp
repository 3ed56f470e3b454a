// Strings: UTF-8, indexed by code point. string_methods.cpp has their methods.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/limits.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/text/strings.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/base/text/utf8.hpp"

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

// Charges one pass over a text that does not examine each byte: about 1/3 ns per byte.
void charge_scan(size_t bytes) { charge(static_cast<int64_t>(bytes / 3)); }

}  // namespace

void StringObject::append(std::string_view more) {
  if (characters_ >= 0) characters_ += code_points(more);
  hash_ = 0;
  marks_.reset();
  value.append(more);
}

int64_t StringObject::counted() const {
  charge_scan(value.size());
  return characters_ = code_points(value);
}

size_t StringObject::offset_of(int64_t character) const {
  const int64_t count = characters();
  if (count == static_cast<int64_t>(value.size())) return static_cast<size_t>(character);
  if (character == count) return value.size();
  constexpr int64_t step = 64;
  if (!marks_) {
    marks_ = std::make_unique<std::vector<uint32_t>>();
    charge_text(value.size());
    int64_t seen = 0;
    for (size_t i = 0; i < value.size(); ++i)
      if (!is_continuation(value[i]) && seen++ % step == 0) marks_->push_back(static_cast<uint32_t>(i));
  }
  const size_t from = (*marks_)[static_cast<size_t>(character / step)];
  return from + code_point_offset(std::string_view(value).substr(from), character % step);
}

std::string_view StringObject::characters(int64_t from, int64_t count) const {
  const size_t begin = offset_of(from), end = offset_of(from + count);
  return std::string_view(value).substr(begin, end - begin);
}

uint64_t StringObject::computed_hash() const {
  charge_scan(value.size());
  return hash_ = std::hash<std::string_view>()(value) | 1;
}

constinit thread_local const Value* ascii_detail::values = nullptr;
const Value* ascii_detail::make_values() {
  auto* made = new std::vector<Value>;  // never destroyed
  for (int c = 0; c < 128; ++c) made->emplace_back(std::string(1, static_cast<char>(c)));
  return values = made->data();
}

Value text_value(std::string_view text) {
  if (text.size() == 1 && static_cast<unsigned char>(text[0]) < 128) return character_value(text[0]);
  return text;
}

void charge_text(size_t bytes) { charge(static_cast<int64_t>(bytes)); }

// std::string::find takes quadratic time for texts like "aaa...".
size_t find_text(std::string_view text, std::string_view part, size_t at) {
  if (at > text.size()) return std::string_view::npos;
  if (part.empty()) return at;
  if (at == text.size()) return std::string_view::npos;
  const void* found = part.size() == 1 ? std::memchr(text.data() + at, part[0], text.size() - at)
                                       : ::memmem(text.data() + at, text.size() - at, part.data(), part.size());
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

Value StringObject::sliced(const SliceRange& r) const {
  if (r.step == 1) {
    const std::string_view part = characters(r.start, r.count);
    charge_scan(part.size());
    return text_value(part);
  }
  std::string out;
  charge_steps(r.count, 10);
  for (int64_t i = 0; i < r.count; ++i) out += characters(r.start + i * r.step, 1);
  return out;
}

Value StringObject::index(Interpreter&, const Value& key) {
  const int64_t n = characters();
  if (auto* s = key.as<SliceObject>()) {
    return sliced(resolve_slice(*s, n));
  }
  return text_value(characters(wrap_index(element_index(key, "index of a str"), n, "a str"), 1));
}
std::optional<int64_t> StringObject::length(Interpreter&) { return characters(); }
std::optional<Iterator> StringObject::iterate(Interpreter&) {
  // A text with two references does not change.
  return Iterator([self = static_ref_cast<StringObject>(shared_from_this()), i = size_t{0}](Value& out) mutable {
    if (i >= self->value.size()) return false;
    out = self->character_at(i);
    return true;
  });
}
Value StringObject::wide_character_at(size_t& offset) const {
  const std::string_view rest = std::string_view(value).substr(offset);
  const size_t width = code_point_offset(rest, 1);
  offset += width;
  return text_value(rest.substr(0, width));
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

}  // namespace pxl
