#include "interpreter/language/names/name_fixes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/language/fixes.hpp"
#include "interpreter/language/names/foreign_names.hpp"
#include "interpreter/language/stdlib.hpp"
#include "interpreter/language/written_operands.hpp"
#include "interpreter/syntax/fixes/foreign_dtypes.hpp"
#include "interpreter/syntax/written_use.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/records.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {
namespace {

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

/// Functions whose first argument is a text that users write without quotes.
bool takes_text(std::string_view function) {
  constexpr std::string_view functions[] = {"name_scope", "load", "read_text", "list_files",
                                            "exists",     "env",  "getattr"};
  return std::find(std::begin(functions), std::end(functions), function) != std::end(functions);
}

Span after(const Span& s) { return {s.file, s.end, s.end}; }

/// The text of a form for a use. A function is called with the base of a method as its first argument.
std::string text_of_form(std::string_view form, const WrittenUse& use, bool is_function) {
  if (!is_function || !use.base) return filled_form(form, use);
  const std::string more(use.arguments.text());
  if (is_word(form)) return fmt::format("{}({}{}{})", form, use.base.text(), more.empty() ? "" : ", ", more);
  if (form.find("{args}") != form.npos || form.find("{rest}") != form.npos) return {};
  WrittenUse shifted = use;
  shifted.values.insert(shifted.values.begin(), use.base);
  return filled_form(form, shifted);
}

/// Offers the first form of a row that fits. A name alone takes the place of `path`, another form that of the call.
/// `is_function`: the row is of a function, whatever the use is.
void offer_row(Diagnostic& d, const ForeignName& row, const WrittenUse& use, bool is_function) {
  if (row.edit.empty() || use.statement.text() == use.path.text()) return;
  if (row.edit == ".") {
    if (!use.members.empty())
      d.offer({use.name.file, use.name.begin, use.members[0].begin}, "", fmt::format("Remove `{}.`", use.name.text()));
    return;
  }
  for (std::string_view forms = row.edit; !forms.empty();) {
    const size_t bar = forms.find('|');
    const std::string_view form = forms.substr(0, bar);
    forms = bar == forms.npos ? std::string_view() : forms.substr(bar + 1);
    if (!use.base && (is_word(form) || form == "-1")) return d.offer(use.path, std::string(form));
    // The call of the member itself in `x.cuda().sum()`: the path ends with its name.
    if (use.base && !use.members.empty()) continue;
    if (!use.call && (is_word(form) || form.find("{base}") == form.npos)) continue;
    std::string text = text_of_form(form, use, is_function);
    if (text.empty()) continue;
    const Span at = use.call ? use.call : join(use.base, use.path);
    const char next = at.end < at.file->text().size() ? at.file->text()[at.end] : '\n';
    const bool is_call = is_word(form.substr(0, form.find('(')));
    if ((next == '.' || next == '[') && text.find(' ') != text.npos && !is_call) text = "(" + text + ")";
    return d.offer(at, std::move(text));
  }
}

/// A name of the library, after a prefix or alone: its import, and the name without the prefix.
void offer_import(Diagnostic& d, const std::string& import, const Span& path, std::string_view name) {
  if (!d.span) return;
  Fix fix{import, {import_edit(*d.span.file, import)}};
  if (path.text() != name) fix.edits.push_back({path, std::string(name)});
  d.fixes.push_back(std::move(fix));
}

/// A member of another framework's module: `F.gelu(x)`, `np.random.randn(4, 3)`.
bool explain_prefixed(Diagnostic& d, const WrittenUse& use, const std::vector<std::string>& known) {
  const std::string last(use.members.back().text());
  std::string prefix(use.name.text());
  for (size_t i = 0; i + 1 < use.members.size(); ++i) prefix += "." + std::string(use.members[i].text());
  const std::string shown =
      use.call ? fmt::format("{}({})", last, use.arguments.text().size() <= 40 ? use.arguments.text() : "...") : last;
  const ForeignName* row = foreign_name(last);
  if (std::find(known.begin(), known.end(), last) != known.end()) {
    d.notes.push_back(
        fmt::format("functions and ops are visible without a prefix: `{}`, without `{}.`", shown, prefix));
    d.offer(use.path, last);
  } else if (row) {
    d.notes.push_back(fmt::format("functions and ops are visible without a prefix, `{}.`: {}", prefix, row->way_out));
    offer_row(d, *row, use, true);
  } else if (const auto import = library_import(last)) {
    d.notes.push_back(fmt::format("the library has `{}`: `{}`", last, *import));
    offer_import(d, *import, use.path, last);
  } else {
    return false;
  }
  return true;
}

void note_row(Diagnostic& d, const ForeignName& row, const WrittenUse& use) {
  d.notes.emplace_back(row.way_out);
  offer_row(d, row, use, true);
}

}  // namespace

namespace {

/// `{width: 3}`: a name before a colon in braces.
bool is_key_without_quotes(const Span& name) {
  if (!name) return false;
  const std::string_view text = name.file->text();
  const size_t next = text.find_first_not_of(' ', name.end);
  if (next == text.npos || text[next] != ':') return false;
  const size_t before = name.begin == 0 ? text.npos : text.find_last_not_of(" \n", name.begin - 1);
  if (before == text.npos || (text[before] != '{' && text[before] != ',')) return false;
  int depth = 0;
  for (size_t i = name.begin; i-- > 0 && name.begin - i < 2000;) {
    const char c = text[i];
    if (c == ')' || c == ']' || c == '}') ++depth;
    if (c == '(' || c == '[' || c == '{')
      if (depth-- == 0) return c == '{';
  }
  return false;
}

}  // namespace

namespace {

/// `catch value { print(e.message) }`: the name of an error that the `catch` around does not bind.
bool offer_error_name(Diagnostic& d, std::string_view name) {
  constexpr std::string_view names[] = {"e", "err", "error", "ex", "exc", "exception"};
  if (!d.span || std::find(std::begin(names), std::end(names), name) == std::end(names)) return false;
  const std::string_view text = d.span.file->text();
  int depth = 0;
  for (size_t i = d.span.begin; i-- > 0;) {
    depth += text[i] == '}' ? 1 : text[i] == '{' ? -1 : 0;
    if (text[i] != '{' || depth >= 0) continue;
    depth = 0;
    const size_t head = text.rfind("catch", i), end = i == 0 ? i : text.find_last_not_of(' ', i - 1) + 1;
    if (head == text.npos || text.substr(head, i - head).find_first_of("{}\n") != text.npos) continue;
    const std::string clause(text.substr(head, end - head));
    if (clause.find(" as ") != clause.npos) return false;
    d.notes.push_back(fmt::format("`{} as {} {{ ... }}` binds the error", clause, name));
    const auto at = static_cast<uint32_t>(end);
    d.offer({d.span.file, at, at}, fmt::format(" as {}", name), fmt::format("Add `as {}`", name));
    return true;
  }
  return false;
}

}  // namespace

void explain_unknown_name(Diagnostic& d, std::string_view name, const std::vector<std::string>& known) {
  const WrittenUse use = written_use(d.span);
  const auto library_note = [](const std::string& import) { return "the library has it: `" + import + "`"; };
  if (!use.members.empty()) {
    if (const ForeignName* row = foreign_path(use.path_text())) return note_row(d, *row, use);
    if (is_framework(name) && explain_prefixed(d, use, known)) return;
  }
  if (offer_error_name(d, name)) return;
  if (is_key_without_quotes(d.span)) {
    d.notes.push_back(fmt::format("a key that is a text is in quotes: `\"{}\"`", name));
    return d.offer(d.span, fmt::format("\"{}\"", name));
  }
  if (const ForeignName* row =
          name == "nn" && !use.members.empty() ? foreign_name(use.members.back().text()) : nullptr) {
    d.notes.emplace_back(row->way_out);
    return;
  }
  const auto import = library_import(name, !use.members.empty());
  if (import && !import->starts_with("from onnx")) {
    d.notes.push_back(library_note(*import));
    return offer_import(d, *import, use.name, name);
  }
  if (const ForeignName* row = foreign_name(name)) return note_row(d, *row, use);
  if (const std::string dtype = syntax::dtype_of_word(name); !dtype.empty()) {
    d.notes.push_back(fmt::format("the dtype is `{}`", dtype));
    return d.offer(use.name, dtype);
  }
  if (is_framework(name)) {
    d.notes.emplace_back("functions and ops are visible without a prefix: `zeros([2, 3])`, `relu(x)`");
    return;
  }
  if (import) {
    d.notes.push_back(library_note(*import));
    return offer_import(d, *import, use.name, name);
  }
  if (std::string hint = did_you_mean(name, known); !hint.empty()) {
    d.notes.push_back(hint);
    return;
  }
  if (!d.span) return;
  // The function of whose call the name is the first argument.
  const std::string_view before = d.span.file->text().substr(0, d.span.begin);
  if (!before.ends_with('(')) return;
  size_t from = before.size() - 1;
  while (from > 0 && is_word(before.substr(from - 1, 1))) --from;
  const std::string_view function = before.substr(from, before.size() - 1 - from);
  if (!takes_text(function)) return;
  const std::string quoted = fmt::format("\"{}\"", use.path.text());
  d.notes.push_back(fmt::format("`{}` takes a text, which is in quotes: `{}`", function, quoted));
  d.offer(use.path, quoted);
}

namespace {

/// `"{}: {:.2f}".format(name, loss)` as an f-string; empty if the base is no literal.
std::string format_as_fstring(const WrittenUse& use) {
  const std::string_view literal = use.base.text();
  if (!use.call || literal.size() < 2 || (literal[0] != '"' && literal[0] != '\'')) return {};
  std::string out = "f";
  size_t next = 0;
  for (size_t i = 0; i < literal.size(); ++i) {
    const size_t close = literal[i] == '{' ? literal.find('}', i) : literal.npos;
    if (literal[i] == '{' && literal.substr(i).starts_with("{{")) {
      out += "{{", ++i;
      continue;
    }
    if (close == literal.npos) {
      out += literal[i];
      continue;
    }
    const std::string_view field = literal.substr(i + 1, close - i - 1);
    const std::string_view key = field.substr(0, std::min(field.find_first_of(":!.["), field.size()));
    std::string value;
    if (key.empty() || (key[0] >= '0' && key[0] <= '9')) {
      const size_t number = key.empty() ? next++ : static_cast<size_t>(key[0] - '0');
      if (number >= use.values.size()) return {};
      value = use.values[number].text();
    } else {
      const std::string_view arguments = use.arguments.text();
      for (const Span& v : use.values) {
        const std::string_view named = arguments.substr(0, v.begin - use.arguments.begin);
        const size_t at = named.rfind(key);
        if (at != named.npos && named.substr(at + key.size()).find_first_not_of(" =") == named.npos) value = v.text();
      }
      if (value.empty()) return {};
    }
    out += "{" + value + std::string(field.substr(key.size())) + "}";
    i = close;
  }
  return out;
}

/// `x = x.at[i].set(v)` as `x[i] = v`.
void offer_assignment(Diagnostic& d, const WrittenUse& use) {
  const std::string_view statement = use.statement.text();
  const std::string target(use.base.text());
  const std::string head = target + " = " + target + ".at[";
  if (!statement.starts_with(head)) return;
  constexpr std::pair<std::string_view, std::string_view> methods[] = {
      {"].set(", "="}, {"].add(", "+="}, {"].multiply(", "*="}};
  for (const auto& [method, sign] : methods) {
    const size_t at = statement.find(method, head.size());
    if (at == statement.npos || !statement.ends_with(')')) continue;
    const std::string_view index = statement.substr(head.size(), at - head.size());
    const std::string_view value = statement.substr(at + method.size(), statement.size() - 1 - at - method.size());
    return d.offer(use.statement, fmt::format("{}[{}] {} {}", target, index, sign, value));
  }
}

/// `out.item()` of a run result, which stands for its array `out.y`.
bool explain_member_of_array(Diagnostic& d, const Value& base, const WrittenUse& use, const std::string& name) {
  const std::string member = meant_member(base);
  const ForeignName* row = foreign_member(name, "array");
  const std::vector<std::string> of_array = Value(Array::scalar(0.0F)).object()->member_names();
  const bool is_known = row || find_op(name) || std::find(of_array.begin(), of_array.end(), name) != of_array.end();
  if (member.empty() || !use.base || !is_known) return false;
  const std::string array = fmt::format("{}.{}", use.base.text(), member);
  d.notes = {fmt::format("the array is `{}`", array)};
  if (row && row->edit == "{base}")
    d.offer(use.call ? use.call : join(use.base, use.path), array);
  else
    d.offer({use.base.file, use.base.end, use.base.end}, "." + member, fmt::format("Add `.{}`", member));
  return true;
}

}  // namespace

void explain_unknown_member(Diagnostic& d, const Value& base, const std::string& name, bool is_function) {
  // The error may be at the member or at the whole expression.
  Span at = d.span;
  if (at) {
    const size_t dot = at.text().find("." + name);
    if (at.text() != name && dot != std::string_view::npos)
      at = {at.file, at.begin + static_cast<uint32_t>(dot) + 1,
            at.begin + static_cast<uint32_t>(dot + 1 + name.size())};
  }
  const WrittenUse use = written_use(at);
  const std::string type = base.as<RecordObject>() ? "record" : base.type_name();
  if (explain_member_of_array(d, base, use, name)) {
    // Said.
  } else if (name == "format" && base.as_string()) {
    d.notes = {"an f-string formats: f\"{x:.2f}\""};
    if (const std::string text = format_as_fstring(use); !text.empty()) d.offer(use.call, text);
  } else if (name == "at" && use.base) {
    d.notes = {"elements of an array are assigned: `x[i] = value`; of a tensor, `where` and `scatter` make a new one"};
    if (base.as_array()) offer_assignment(d, use);
  } else if (base.as<DictObject>() && !use.call && use.base) {
    const std::string entry = fmt::format("{}[\"{}\"]", use.base.text(), name);
    d.notes.push_back(fmt::format("an entry of a dict is written `{}`", entry));
    if (base.as<DictObject>()->find(Value(name)) || d.notes.size() == 1)
      d.offer({at.file, use.base.end, use.name.end}, fmt::format("[\"{}\"]", name),
              fmt::format("Change to `{}`", entry));
  } else if (const ForeignName* row = foreign_member(name, type)) {
    d.notes = {std::string(row->way_out)};
    offer_row(d, *row, use, row == foreign_name(name));
  } else if (is_function) {
    std::string call = name + "(...)";
    if (use.base && use.call && use.members.empty()) {
      const std::string more(use.arguments.text());
      const std::string text = fmt::format("{}({}{}{})", name, use.base.text(), more.empty() ? "" : ", ", more);
      if (text.size() <= 60 && text.find('\n') == text.npos) call = text;
      d.offer(use.call, text);
    }
    d.notes.push_back("`" + name + "` is a function, not a member: `" + call + "`");
  }
}

void explain_unknown_import(Diagnostic& d, const std::string& module, const std::string& name) {
  auto import = library_import(name);
  if (const ForeignName* row = import ? nullptr : foreign_name(name)) {
    d.notes = {std::string(row->way_out)};
    if (!row->edit.empty() && is_word(row->edit)) d.offer(d.span, std::string(row->edit));
    return;
  }
  if (!import || !import->starts_with("from ")) return;
  // A name of the module itself that has other capitals is nearer than an equal name elsewhere.
  const auto same_letters = [&](const std::string& note) {
    const size_t at = note.find('`') + 1;
    return note.starts_with("did you mean") && note.compare(at, name.size() + 1, name + "`") != 0 &&
           std::equal(name.begin(), name.end(), note.begin() + static_cast<ptrdiff_t>(at),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
  };
  if (std::ranges::any_of(d.notes, same_letters)) return;
  if (import->starts_with("from " + module + " "))
    import->insert(5, "std.");  // a file of the project hides the library's
  const std::string there = import->substr(5, import->find(' ', 5) - 5);
  std::erase_if(d.notes, [](const std::string& note) { return note.starts_with("did you mean"); });
  d.notes.push_back(fmt::format("`{}` has it: `{}`", there, *import));
  const WrittenUse use = written_use(d.span);
  const std::string_view statement = use.statement.text();
  const std::string head = "from " + module + " import ";
  if (!statement.starts_with(head) || statement.find('(') != statement.npos) return;
  const uint32_t begin = use.statement.begin;
  if (statement.find(',') == statement.npos)
    return d.offer({d.span.file, begin + 5, begin + 5 + static_cast<uint32_t>(module.size())}, there,
                   fmt::format("Change to `{}`", *import));
  // One of several names: it moves to an import of its own.
  const bool is_first = d.span.begin == begin + head.size();
  const std::string_view text = d.span.file->text();
  Span removed = d.span;
  if (is_first)
    removed.end = static_cast<uint32_t>(text.find_first_not_of(", ", d.span.end));
  else
    removed.begin = static_cast<uint32_t>(text.find_last_not_of(", ", d.span.begin - 1) + 1);
  d.fixes.push_back({fmt::format("Change to `{}`", *import), {{removed, ""}, {after(use.statement), "\n" + *import}}});
}

std::string percent_as_fstring(std::string_view expression) {
  if (expression.empty() || (expression[0] != '"' && expression[0] != '\'')) return {};
  size_t end = 1;
  while (end < expression.size() && expression[end] != expression[0]) end += expression[end] == '\\' ? 2 : 1;
  const size_t sign = end >= expression.size() ? expression.npos : expression.find_first_not_of(' ', end + 1);
  if (sign == expression.npos || expression[sign] != '%') return {};
  const size_t from = expression.find_first_not_of(' ', sign + 1);
  if (from == expression.npos) return {};
  std::string_view rest = expression.substr(from);
  if (rest.starts_with('(') && rest.ends_with(')')) rest = rest.substr(1, rest.size() - 2);
  std::vector<std::string> values;
  int depth = 0;
  std::string one;
  for (const char c : rest) {
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    if (c == ',' && depth == 0) {
      values.push_back(one);
      one.clear();
    } else if (c != ' ' || !one.empty()) {
      one += c;
    }
  }
  if (!one.empty()) values.push_back(one);
  std::string out = "f";
  size_t next = 0;
  for (size_t i = 0; i <= end; ++i) {
    const char c = expression[i];
    if (c == '{' || c == '}') out += c;
    if (c != '%') {
      out += c;
      continue;
    }
    const size_t kind = expression.find_first_of("sdifgexr%", i + 1);
    if (kind >= end) return {};
    if (expression[kind] == '%') {
      out += '%';
    } else {
      if (next == values.size()) return {};
      const std::string_view size = expression.substr(i + 1, kind - i - 1);
      const bool plain = size.empty() && std::string_view("sdir").find(expression[kind]) != std::string_view::npos;
      const char letter = expression[kind] == 'i' ? 'd' : expression[kind];
      out += plain ? fmt::format("{{{}}}", values[next])
                   : fmt::format("{{{}:{}{}}}", values[next], size,
                                 letter == 's' || letter == 'r' ? "" : std::string(1, letter));
      ++next;
    }
    i = kind;
  }
  return next == values.size() ? out : std::string();
}

}  // namespace pxl
