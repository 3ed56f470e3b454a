// Python's methods of strings.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/limits.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/text/strings.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/text/utf8.hpp"

namespace pxl {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

// Finds the last occurrence in linear time: Knuth-Morris-Pratt from the end.
size_t rfind_text(std::string_view text, std::string_view part) {
  constexpr size_t few = size_t{1} << 20;  // maximum number of comparisons without a table
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

template <class F>
std::string_view stripped_of(std::string_view s, bool left, bool right, F&& drop) {
  while (left && !s.empty() && drop(s.front())) s.remove_prefix(1);
  while (right && !s.empty() && drop(s.back())) s.remove_suffix(1);
  return s;
}
std::string_view stripped(std::string_view s, const std::string& chars, bool left, bool right) {
  constexpr size_t few = 8;  // maximum number of characters that are compared one by one
  if (chars.empty()) return stripped_of(s, left, right, is_space);
  if (chars.size() <= few)
    return stripped_of(s, left, right, [&](char c) { return chars.find(c) != std::string::npos; });
  std::array<bool, 256> dropped{};
  for (char c : chars) dropped[static_cast<unsigned char>(c)] = true;
  return stripped_of(s, left, right, [&](char c) { return dropped[static_cast<unsigned char>(c)]; });
}

/// A part of a text, or the text itself if the part is the whole text.
Value part_of(StringObject& s, std::string_view part) {
  return part.size() == s.value.size() ? Value(s.shared_from_this()) : text_value(part);
}
/// A text with each character replaced; the text itself if no character changes.
Value mapped_text(StringObject& s, char (*f)(char)) {
  for (const char c : s.value)
    if (f(c) != c) return mapped(s.value, f);
  return Value(s.shared_from_this());
}

/// Returns an argument that must be a str.
const std::string& text_of(const Value& v, std::string_view function, std::string_view parameter) {
  if (const std::string* s = v.as_string()) return *s;
  type_error(fmt::format("{}: `{}`: expected a str, got {}", function, parameter, with_article(v.type_name())));
}
/// Returns an argument that must be an int, or `otherwise` if it is none.
int64_t int_of(const Value& v, int64_t otherwise, std::string_view function, std::string_view parameter) {
  if (v.is_int64()) return v.int64();
  return v.is_none() ? otherwise : to_index(v, fmt::format("{}: `{}`", function, parameter));
}

/// The words of a text. After `left` words, the rest of the text is one more.
std::vector<Value> words_of(std::string_view rest, int64_t left) {
  std::vector<Value> out;
  out.reserve(8);
  rest = stripped(rest, "", true, false);
  while (!rest.empty()) {
    charge(50);
    size_t i = 0;
    while (i < rest.size() && !is_space(rest[i])) ++i;
    if (left == 0) i = stripped(rest, "", false, true).size();
    out.push_back(text_value(rest.substr(0, i)));
    rest = left == 0 ? std::string_view() : stripped(rest.substr(i), "", true, false);
    if (left > 0) --left;
  }
  return out;
}

Value split(std::string_view rest, const Value* v, bool from_right) {
  const char* name = from_right ? "rsplit" : "split";
  int64_t left = int_of(v[1], -1, name, "maxsplit");
  if (v[0].is_none()) return make_list(words_of(rest, left));
  const std::string& sep = text_of(v[0], name, "sep");
  if (sep.empty()) throw run_error("split: the separator is empty");
  std::vector<Value> out;
  out.reserve(8);
  if (from_right) {
    for (size_t i; left != 0 && (i = rfind_text(rest, sep)) != rest.npos; --left) {
      charge(50);
      out.push_back(text_value(rest.substr(i + sep.size())));
      rest = rest.substr(0, i);
    }
    out.push_back(text_value(rest));
    std::reverse(out.begin(), out.end());
    return make_list(std::move(out));
  }
  for (size_t i; left != 0 && (i = find_text(rest, sep, 0)) != rest.npos; --left) {
    charge(50);
    out.push_back(text_value(rest.substr(0, i)));
    rest.remove_prefix(i + sep.size());
  }
  out.push_back(text_value(rest));
  return make_list(std::move(out));
}

Value splitlines(const std::string& s) {
  std::vector<Value> out;
  for (size_t at = 0; at < s.size();) {
    charge(50);
    const size_t end = std::min(s.find('\n', at), s.size());
    out.push_back(text_value(std::string_view(s).substr(at, end - at - (end > at && s[end - 1] == '\r' ? 1 : 0))));
    at = end + 1;
  }
  return make_list(std::move(out));
}

std::string join(Interpreter& in, const std::string& sep, const Value& items) {
  std::string s;
  bool first = true;
  const auto add = [&](const Value& v) {
    const std::string* part = v.as_string();
    if (!part) type_error("join: expected strings, got " + with_article(v.type_name()));
    charge_text(10 + sep.size() / 4 + part->size() / 4);
    if (s.size() + sep.size() + part->size() > max_text) throw run_error("join: the text is too long");
    if (!first) s += sep;
    first = false;
    s += *part;
  };
  if (auto* sequence = items.as<SequenceObject>()) {
    size_t bytes = 0;
    for (const Value& v : sequence->items)
      if (const std::string* part = v.as_string()) bytes += part->size() + sep.size();
    s.reserve(std::min(bytes, max_text));
    for (const Value& v : sequence->items) add(v);
    return s;
  }
  for (const Value& v : elements_of(in, items)) add(v);
  return s;
}

std::string replace(const std::string& s, const std::string& from, const std::string& to, int64_t left) {
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

bool matches_one(const std::string& s, const Value& v, bool start, const char* name) {
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
std::string padded(const std::string& s, const Value* v, const std::string& name) {
  const std::string fill = v[1].is_none() ? name == "zfill" ? "0" : " " : text_of(v[1], name, "fill");
  if (code_points(fill) != 1) throw run_error(name + ": the fill must be one character");
  const int64_t width = to_index(v[0], name + ": `width`"), missing = width - code_points(s);
  if (missing <= 0) return s;
  if (missing > (1 << 24)) throw run_error(name + ": the width is too large");
  // If padding and width are odd, the extra character goes before the text, as in Python.
  const int64_t half = missing / 2 + (missing & width & 1);
  const int64_t left = name == "ljust" ? 0 : name == "center" ? half : missing;
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

bool all_are(const std::string& s, bool (*test)(char)) { return !s.empty() && std::all_of(s.begin(), s.end(), test); }
/// Whether `to` leaves the text unchanged, but the text has letters with case.
bool is_cased(const std::string& s, char (*to)(char)) {
  return mapped(s, to) == s && mapped(s, upper) != mapped(s, lower);
}
Value strip(const char* name, StringObject& s, const Value* v, bool left, bool right) {
  static const auto& none = never_destroyed(std::string());
  return part_of(s, stripped(s.value, v[0].is_none() ? none : text_of(v[0], name, "chars"), left, right));
}
int64_t find(const char* name, const std::string& s, const Value* v, bool last) {
  const std::string& text = text_of(v[0], name, "text");
  const size_t at = last ? rfind_text(s, text) : find_text(s, text, 0);
  return at == std::string::npos ? -1 : code_points(std::string_view(s).substr(0, at));
}
Value count(const std::string& s, const std::string& text) {
  if (text.empty()) return code_points(s) + 1;
  int64_t n = 0;
  for (size_t at = find_text(s, text, 0); at != std::string::npos; at = find_text(s, text, at + text.size())) ++n;
  return n;
}

using In = Interpreter&;
using Str = StringObject&;
using V = const Value*;
constexpr Member<StringObject> str_rows[] = {
    {"upper", "()", "The text in capitals; letters beyond ASCII stay.", "'word'.upper()",
     [](In, Str s, V, size_t) { return mapped_text(s, upper); }},
    {"lower", "()", "The text in small letters; letters beyond ASCII stay.", "'WORD'.lower()",
     [](In, Str s, V, size_t) { return mapped_text(s, lower); }},
    {"title", "()", "Each word with a capital first letter.", "'two words'.title()",
     [](In, Str s, V, size_t) -> Value { return titled(s.value); }},
    {"capitalize", "()", "The first letter a capital, the others small.", "'tWO'.capitalize()",
     [](In, Str s, V, size_t) -> Value {
       std::string out = mapped(s.value, lower);
       if (!out.empty()) out[0] = upper(out[0]);
       return out;
     }},
    {"strip", "(chars = none)", "Without white space, or these characters, at both ends.", "'  a b '.strip()",
     [](In, Str s, V v, size_t) { return strip("strip", s, v, true, true); }},
    {"lstrip", "(chars = none)", "Without white space, or these characters, at the beginning.", "'0042'.lstrip('0')",
     [](In, Str s, V v, size_t) { return strip("lstrip", s, v, true, false); }},
    {"rstrip", "(chars = none)", "Without white space, or these characters, at the end.", "'end...'.rstrip('.')",
     [](In, Str s, V v, size_t) { return strip("rstrip", s, v, false, true); }},
    {"split", "(sep = none, maxsplit = -1)",
     "A list of the parts between separators, of the words if there is no separator; at most maxsplit cuts.",
     "'a,b,c'.split(',', 1)", [](In, Str s, V v, size_t) { return split(s.value, v, false); }},
    {"rsplit", "(sep = none, maxsplit = -1)", "Splits as `split` does, with cuts from the end.",
     "'a,b,c'.rsplit(',', 1)", [](In, Str s, V v, size_t) { return split(s.value, v, true); }},
    {"splitlines", "()", "A list of the lines, without their ends.", "'one\\ntwo\\n'.splitlines()",
     [](In, Str s, V, size_t) { return splitlines(s.value); }},
    {"join", "(items)", "The strs of an iterable in one, with this text between them.", "', '.join(['a', 'b'])",
     [](In in, Str s, V v, size_t) -> Value { return join(in, s.value, v[0]); }},
    {"replace", "(old, new, count = -1)", "Every occurrence of a text, or the first count of them, replaced.",
     "'a-b-c'.replace('-', '+', 1)",
     [](In, Str s, V v, size_t) -> Value {
       const std::string &from = text_of(v[0], "replace", "old"), &to = text_of(v[1], "replace", "new");
       const int64_t count = int_of(v[2], -1, "replace", "count");
       if (!from.empty() && find_text(s.value, from, 0) == std::string::npos) return Value(s.shared_from_this());
       return replace(s.value, from, to, count);
     }},
    {"startswith", "(text)", "Whether the str begins with a text, or with any text in a tuple.",
     "'conv1.weight'.startswith(('conv', 'fc'))",
     [](In, Str s, V v, size_t) -> Value { return matches_one(s.value, v[0], true, "startswith"); }},
    {"endswith", "(text)", "Whether the str ends with a text, or with any text in a tuple.",
     "'conv1.weight'.endswith('.weight')",
     [](In, Str s, V v, size_t) -> Value { return matches_one(s.value, v[0], false, "endswith"); }},
    {"find", "(text)", "The position of the first occurrence in characters, or -1.", "'banana'.find('an')",
     [](In, Str s, V v, size_t) -> Value { return find("find", s.value, v, false); }},
    {"rfind", "(text)", "The position of the last occurrence in characters, or -1.", "'banana'.rfind('an')",
     [](In, Str s, V v, size_t) -> Value { return find("rfind", s.value, v, true); }},
    {"index", "(text)", "As find; an error if the text does not occur.", "'banana'.index('n')",
     [](In, Str s, V v, size_t) -> Value {
       const int64_t at = find("index", s.value, v, false);
       if (at < 0) throw run_error("index: the text is not in the string");
       return at;
     }},
    {"count", "(text)", "The number of occurrences that do not overlap.", "'banana'.count('an')",
     [](In, Str s, V v, size_t) { return count(s.value, text_of(v[0], "count", "text")); }},
    {"isdigit", "()", "Whether there are characters, and all are digits.", "'42'.isdigit()",
     [](In, Str s, V, size_t) -> Value { return all_are(s.value, is_digit); }},
    {"isalpha", "()", "Whether there are characters, and all are letters of ASCII.", "'word'.isalpha()",
     [](In, Str s, V, size_t) -> Value { return all_are(s.value, is_alpha); }},
    {"isalnum", "()", "Whether there are characters, and all are letters of ASCII or digits.", "'fc1'.isalnum()",
     [](In, Str s, V, size_t) -> Value { return all_are(s.value, [](char c) { return is_alpha(c) || is_digit(c); }); }},
    {"isspace", "()", "Whether there are characters, and all are white space.", "' \\t'.isspace()",
     [](In, Str s, V, size_t) -> Value { return all_are(s.value, is_space); }},
    {"isupper", "()", "Whether there are letters, and all are capitals.", "'GELU'.isupper()",
     [](In, Str s, V, size_t) -> Value { return is_cased(s.value, upper); }},
    {"islower", "()", "Whether there are letters, and all are small.", "'gelu'.islower()",
     [](In, Str s, V, size_t) -> Value { return is_cased(s.value, lower); }},
    {"ljust", "(width, fill = ' ')", "Filled up at the end to a width in characters.", "'ab'.ljust(4, '.')",
     [](In, Str s, V v, size_t) -> Value { return padded(s.value, v, "ljust"); }},
    {"rjust", "(width, fill = ' ')", "Filled up at the beginning to a width in characters.", "'ab'.rjust(4)",
     [](In, Str s, V v, size_t) -> Value { return padded(s.value, v, "rjust"); }},
    {"center", "(width, fill = ' ')", "Filled up at both ends to a width in characters.", "'ab'.center(6, '*')",
     [](In, Str s, V v, size_t) -> Value { return padded(s.value, v, "center"); }},
    {"zfill", "(width, fill = '0')", "Filled up with zeros to a width, after a sign.", "'-7'.zfill(4)",
     [](In, Str s, V v, size_t) -> Value { return padded(s.value, v, "zfill"); }},
};
constexpr std::span<const Member<StringObject>> str_table(str_rows);

}  // namespace

MemberTable str_members() {
  return member_table("str", "Text in UTF-8, indexed by character. Its methods are Python's and return new strs.", "",
                      str_table);
}

Method StringObject::method_of_class(std::string_view name) const {
  Method m = method_of_table(str_table, name);
  if (!m) return m;
  m.call = [](const void* r, Interpreter& in, Object& self, const Arguments& args) {
    auto& text = static_cast<StringObject&>(self);
    charge_text(text.value.size());
    return static_cast<const Member<StringObject>*>(r)->invoke(in, text, args);
  };
  m.direct = [](const void* r, Interpreter& in, Object& self, const Value* values, size_t count) {
    auto& text = static_cast<StringObject&>(self);
    charge_text(text.value.size());
    return static_cast<const Member<StringObject>*>(r)->direct(in, text, values, count);
  };
  return m;
}
std::optional<Value> StringObject::member(Interpreter&, std::string_view name) {
  const Member<StringObject>* row = find_member(str_table, name);
  if (!row) return std::nullopt;
  auto self = static_ref_cast<StringObject>(shared_from_this());
  return make_method(row->effects, row->info, [self, row](Interpreter& in, const Arguments& args) {
    charge_text(self->value.size());
    return row->invoke(in, *self, args);
  });
}
std::vector<std::string> StringObject::member_names() const {
  std::vector<std::string> names;
  append_names(names, str_table);
  return names;
}

}  // namespace pxl
