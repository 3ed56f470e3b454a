// Strings: UTF-8, indexed by code point, with Python's methods.
#include <fmt/format.h>

#include <algorithm>
#include <array>
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
// Charges one pass over a text: about 1/3 ns per byte, or 1 ns if each byte is examined. Not measured.
void charge_scan(size_t bytes) { charge(static_cast<int64_t>(bytes / 3)); }
void charge_text(size_t bytes) { charge(static_cast<int64_t>(bytes)); }

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

// The first occurrence from `at` on, in linear time; std::string::find takes quadratic time for texts like "aaa...".
size_t find_text(std::string_view text, std::string_view part, size_t at) {
  if (at > text.size()) return std::string_view::npos;
  if (part.empty()) return at;
  if (at == text.size()) return std::string_view::npos;
  const void* found = ::memmem(text.data() + at, text.size() - at, part.data(), part.size());
  return found ? static_cast<size_t>(static_cast<const char*>(found) - text.data()) : std::string_view::npos;
}

// The last occurrence, in linear time: Knuth-Morris-Pratt from the end.
size_t rfind_text(std::string_view text, std::string_view part) {
  constexpr size_t few = size_t{1} << 20;  // maximum number of comparisons without a table; not measured
  if (part.size() > text.size()) return std::string_view::npos;
  if (part.size() < 2 || part.size() * text.size() <= few) return text.rfind(part);
  const size_t m = part.size(), n = text.size();
  const auto from_end = [](std::string_view s, size_t i) { return s[s.size() - 1 - i]; };
  std::vector<uint32_t> border(m, 0);
  for (size_t i = 1, k = 0; i < m; ++i) {
    charge(2);
    while (k > 0 && from_end(part, i) != from_end(part, k)) k = border[k - 1];
    if (from_end(part, i) == from_end(part, k)) ++k;
    border[i] = static_cast<uint32_t>(k);
  }
  for (size_t i = 0, k = 0; i < n; ++i) {
    charge(2);
    while (k > 0 && from_end(text, i) != from_end(part, k)) k = border[k - 1];
    if (from_end(text, i) == from_end(part, k)) ++k;
    if (k == m) return n - 1 - i;
  }
  return std::string_view::npos;
}

std::string mapped(std::string s, char (*f)(char)) {
  for (char& c : s) c = f(c);
  return s;
}

std::string_view stripped(std::string_view s, const std::string& chars, bool left, bool right) {
  std::array<bool, 256> dropped{};
  for (char c : chars) dropped[static_cast<unsigned char>(c)] = true;
  auto drop = [&](char c) { return chars.empty() ? is_space(c) : dropped[static_cast<unsigned char>(c)]; };
  while (left && !s.empty() && drop(s.front())) s.remove_prefix(1);
  while (right && !s.empty() && drop(s.back())) s.remove_suffix(1);
  return s;
}

Value split(const std::string& s, const Arguments& args, bool from_right) {
  ArgReader a(from_right ? "rsplit" : "split", args, {"sep", "maxsplit"});
  int64_t left = a.integer_or("maxsplit", -1);
  std::vector<Value> out;
  std::string_view rest = s;
  if (!a.has("sep")) {
    rest = stripped(rest, "", true, false);
    while (!rest.empty()) {
      charge(50);
      size_t i = 0;
      while (i < rest.size() && !is_space(rest[i])) ++i;
      if (left == 0) i = stripped(rest, "", false, true).size();
      out.emplace_back(rest.substr(0, i));
      rest = left == 0 ? std::string_view() : stripped(rest.substr(i), "", true, false);
      if (left > 0) --left;
    }
    return make_list(std::move(out));
  }
  const std::string sep = a.string("sep");
  if (sep.empty()) throw run_error("split: the separator is empty");
  if (from_right) {
    for (size_t i; left != 0 && (i = rfind_text(rest, sep)) != rest.npos; --left) {
      charge(50);
      out.emplace_back(rest.substr(i + sep.size()));
      rest = rest.substr(0, i);
    }
    out.emplace_back(rest);
    std::reverse(out.begin(), out.end());
    return make_list(std::move(out));
  }
  for (size_t i; left != 0 && (i = find_text(rest, sep, 0)) != rest.npos; --left) {
    charge(50);
    out.emplace_back(rest.substr(0, i));
    rest.remove_prefix(i + sep.size());
  }
  out.emplace_back(rest);
  return make_list(std::move(out));
}

std::string join(Interpreter& in, const std::string& sep, const Arguments& args) {
  std::string s;
  bool first = true;
  for (const Value& v : elements_of(in, ArgReader("join", args, {"items"}).value("items"))) {
    const std::string* part = v.as_string();
    if (!part) type_error("join: expected strings, got " + with_article(v.type_name()));
    charge_text(sep.size() / 4 + part->size() / 4);
    if (s.size() + sep.size() + part->size() > max_text) throw run_error("join: the text is too long");
    if (!first) s += sep;
    first = false;
    s += *part;
  }
  return s;
}

std::string replace(const std::string& s, const Arguments& args) {
  ArgReader a("replace", args, {"old", "new", "count"});
  const std::string from = a.string("old"), to = a.string("new");
  int64_t left = a.integer_or("count", -1);
  std::string out;
  size_t at = 0;
  while (left != 0) {
    charge(20);
    const size_t found = find_text(s, from, at);
    if (found == std::string::npos || (from.empty() && found >= s.size())) break;
    if (out.size() + (found - at) + to.size() > max_text) throw run_error("replace: the text is too long");
    out.append(s, at, found - at).append(to);
    at = found + from.size();
    if (from.empty()) out += s[at++];
    --left;
  }
  out.append(s, std::min(at, s.size()));
  if (from.empty() && left != 0) out += to;
  return out;
}

bool matches(const std::string& s, const Arguments& args, bool start, const char* name) {
  const Value v = ArgReader(name, args, {"text"}).value("text");
  auto one = [&](const Value& candidate) {
    charge(10);
    const std::string* t = candidate.as_string();
    if (!t)
      type_error(std::string(name) + ": expected a str or a tuple of them, got " + with_article(candidate.type_name()));
    return start ? s.starts_with(*t) : s.ends_with(*t);
  };
  if (auto* tuple = v.as<SequenceObject>()) return std::any_of(tuple->items.begin(), tuple->items.end(), one);
  return one(v);
}

std::string padded(const std::string& s, const Arguments& args, const std::string& name) {
  ArgReader a(name, args, {"width", "fill"});
  const std::string fill = a.string_or("fill", name == "zfill" ? "0" : " ");
  if (code_points(fill) != 1) throw run_error(name + ": the fill must be one character");
  const int64_t missing = a.integer("width") - code_points(s);
  if (missing <= 0) return s;
  if (missing > (1 << 24)) throw run_error(name + ": the width is too large");
  const int64_t left = name == "ljust" ? 0 : name == "center" ? missing / 2 : missing;
  std::string out;
  const size_t sign = name == "zfill" && !s.empty() && (s[0] == '-' || s[0] == '+') ? 1 : 0;
  out.append(s, 0, sign);
  for (int64_t i = 0; i < left; ++i) out += fill;
  out.append(s, sign);
  for (int64_t i = left; i < missing; ++i) out += fill;
  return out;
}

std::string titled(const std::string& s) {
  std::string out;
  bool inside = false;
  for (char c : s) {
    out += inside ? lower(c) : upper(c);
    inside = is_alpha(c);
  }
  return out;
}

using StringMethod = Value (*)(Interpreter&, const std::string&, const Arguments&);

struct MethodRow {
  const char* name;
  StringMethod body;
};

std::string no_arguments(const char* name, const Arguments& args, std::string result) {
  ArgReader(name, args, {});
  return result;
}
bool all_of(const char* name, const Arguments& args, const std::string& s, bool (*test)(char)) {
  ArgReader(name, args, {});
  return !s.empty() && std::all_of(s.begin(), s.end(), test);
}
std::string strip(const char* name, const Arguments& args, const std::string& s, bool left, bool right) {
  return std::string(stripped(s, ArgReader(name, args, {"chars"}).string_or("chars", ""), left, right));
}
int64_t find(const char* name, const Arguments& args, const std::string& s, bool last) {
  const std::string text = ArgReader(name, args, {"text"}).string("text");
  const size_t at = last ? rfind_text(s, text) : find_text(s, text, 0);
  return at == std::string::npos ? -1 : code_points(std::string_view(s).substr(0, at));
}
Value count(const Arguments& args, const std::string& s) {
  const std::string text = ArgReader("count", args, {"text"}).string("text");
  if (text.empty()) return code_points(s) + 1;
  int64_t n = 0;
  for (size_t at = find_text(s, text, 0); at != std::string::npos; at = find_text(s, text, at + text.size())) ++n;
  return n;
}

using In = Interpreter&;
using S = const std::string&;
using A = const Arguments&;
const MethodRow methods[] = {
    {"upper", [](In, S s, A a) -> Value { return no_arguments("upper", a, mapped(s, upper)); }},
    {"lower", [](In, S s, A a) -> Value { return no_arguments("lower", a, mapped(s, lower)); }},
    {"title", [](In, S s, A a) -> Value { return no_arguments("title", a, titled(s)); }},
    {"capitalize",
     [](In, S s, A a) -> Value {
       std::string out = no_arguments("capitalize", a, mapped(s, lower));
       if (!out.empty()) out[0] = upper(out[0]);
       return out;
     }},
    {"strip", [](In, S s, A a) -> Value { return strip("strip", a, s, true, true); }},
    {"lstrip", [](In, S s, A a) -> Value { return strip("lstrip", a, s, true, false); }},
    {"rstrip", [](In, S s, A a) -> Value { return strip("rstrip", a, s, false, true); }},
    {"split", [](In, S s, A a) -> Value { return split(s, a, false); }},
    {"rsplit", [](In, S s, A a) -> Value { return split(s, a, true); }},
    {"splitlines",
     [](In, S s, A a) -> Value {
       ArgReader("splitlines", a, {});
       std::vector<Value> out;
       for (size_t at = 0; at < s.size();) {
         charge(50);
         size_t end = std::min(s.find('\n', at), s.size());
         out.emplace_back(s.substr(at, end - at - (end > at && s[end - 1] == '\r' ? 1 : 0)));
         at = end + 1;
       }
       return make_list(std::move(out));
     }},
    {"join", [](In in, S s, A a) -> Value { return join(in, s, a); }},
    {"replace", [](In, S s, A a) -> Value { return replace(s, a); }},
    {"startswith", [](In, S s, A a) -> Value { return matches(s, a, true, "startswith"); }},
    {"endswith", [](In, S s, A a) -> Value { return matches(s, a, false, "endswith"); }},
    {"find", [](In, S s, A a) -> Value { return find("find", a, s, false); }},
    {"rfind", [](In, S s, A a) -> Value { return find("rfind", a, s, true); }},
    {"index",
     [](In, S s, A a) -> Value {
       const int64_t at = find("index", a, s, false);
       if (at < 0) throw run_error("index: the text is not in the string");
       return at;
     }},
    {"count", [](In, S s, A a) -> Value { return count(a, s); }},
    {"isdigit", [](In, S s, A a) -> Value { return all_of("isdigit", a, s, is_digit); }},
    {"isalpha", [](In, S s, A a) -> Value { return all_of("isalpha", a, s, is_alpha); }},
    {"isalnum",
     [](In, S s, A a) -> Value { return all_of("isalnum", a, s, [](char c) { return is_alpha(c) || is_digit(c); }); }},
    {"isspace", [](In, S s, A a) -> Value { return all_of("isspace", a, s, is_space); }},
    {"isupper",
     [](In, S s, A a) -> Value {
       return no_arguments("isupper", a, "").empty() && mapped(s, upper) == s && mapped(s, lower) != s;
     }},
    {"islower",
     [](In, S s, A a) -> Value {
       return no_arguments("islower", a, "").empty() && mapped(s, lower) == s && mapped(s, upper) != s;
     }},
    {"ljust", [](In, S s, A a) -> Value { return padded(s, a, "ljust"); }},
    {"rjust", [](In, S s, A a) -> Value { return padded(s, a, "rjust"); }},
    {"center", [](In, S s, A a) -> Value { return padded(s, a, "center"); }},
    {"zfill", [](In, S s, A a) -> Value { return padded(s, a, "zfill"); }},
};

}  // namespace

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

std::optional<Value> StringObject::member(Interpreter&, std::string_view name) {
  for (const MethodRow& m : methods) {
    if (m.name != name) continue;
    return make_method(no_effects, m.name, [text = value, body = m.body](Interpreter& in, const Arguments& args) {
      charge_text(text.size());
      return body(in, text, args);
    });
  }
  return std::nullopt;
}
std::vector<std::string> StringObject::member_names() const {
  std::vector<std::string> names;
  for (const MethodRow& m : methods) names.emplace_back(m.name);
  return names;
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
