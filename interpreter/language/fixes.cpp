#include "interpreter/language/fixes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "interpreter/language/names/name_fixes.hpp"
#include "interpreter/language/stdlib.hpp"
#include "interpreter/syntax/classify.hpp"
#include "interpreter/syntax/written_use.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/base/text/suggest.hpp"

namespace pxl {

namespace {

/// The calls of "so PyTorch's `LSTM(32, 64)` is `LSTM(64)`", if both are of one function.
std::pair<std::string_view, std::string_view> rewritten_call(std::string_view message) {
  const size_t from = message.find("'s `", message.find(", so "));
  const size_t middle = from == message.npos ? from : message.find("` is `", from);
  if (middle == message.npos) return {};
  const std::string_view foreign = message.substr(from + 4, middle - from - 4);
  const std::string_view here = message.substr(middle + 6, message.find('`', middle + 6) - middle - 6);
  const std::string_view function = foreign.substr(0, foreign.find('(') + 1);
  if (!here.starts_with(function) && !here.starts_with("optimise(")) return {};
  return {foreign, here};
}

/// The text of a diagnostic's messages and notes.
std::string said(const Diagnostic& d) {
  std::string all = d.message;
  for (const std::string& note : d.notes) all += "\n" + note;
  return all;
}

void offer_rewritten_call(Diagnostic& d, std::string_view foreign, std::string_view here) {
  const std::string_view text = d.span.file->text();
  const size_t at = text.rfind(foreign, d.span.begin);
  if (at == text.npos || at + foreign.size() < d.span.end) return;
  const auto begin = static_cast<uint32_t>(at);
  d.offer({d.span.file, begin, begin + static_cast<uint32_t>(foreign.size())}, std::string(here));
}

/// The mistyped name is one of the words in the marked range: `x.shap`, `xs.appned(1)`.
void offer_meant_name(Diagnostic& d, const std::string& meant) {
  for (const ClassifiedToken& t : classify_tokens(*d.span.file)) {
    if (t.begin < d.span.begin || t.end > d.span.end || t.kind == TokenClass::bracket) continue;
    const std::string_view word = d.span.file->text().substr(t.begin, t.end - t.begin);
    const bool quoted = word.size() > 2 && (word[0] == '"' || word[0] == '\'') && word.back() == word[0];
    std::string_view name = quoted ? word.substr(1, word.size() - 2) : word;
    if (meant.find('.') != meant.npos && !quoted) {  // a path: `from nets.block import f`
      const std::string_view rest = d.span.file->text().substr(t.begin, d.span.end - t.begin);
      name = rest.substr(0, std::min(rest.find_first_of(" \n"), rest.size()));
      if (nearest(name, {meant}) != meant) continue;
      return d.offer({d.span.file, t.begin, t.begin + static_cast<uint32_t>(name.size())}, meant);
    }
    if (name == meant || nearest(name, {meant}) != meant) continue;
    const uint32_t inset = quoted ? 1 : 0;
    return d.offer({d.span.file, t.begin + inset, t.end - inset}, meant);
  }
}

/// `optimise(Adam(0.1), vars, grads)`: the rate becomes an argument of the call around.
bool offer_rate(Diagnostic& d, std::string_view here) {
  if (!here.starts_with("optimise(")) return false;
  const size_t from = here.find("lr = ");
  if (from == here.npos || !here.ends_with(')')) return true;
  const std::string rate(here.substr(from, here.size() - 1 - from));
  const std::string_view optimiser = here.substr(9, here.find('(', 9) - 9), text = d.span.file->text();
  const auto use_before = [&](std::string_view name) {
    const size_t at = text.rfind(std::string(name) + "(", d.span.begin);
    if (at == text.npos) return WrittenUse();
    const auto begin = static_cast<uint32_t>(at);
    return written_use({d.span.file, begin, begin + static_cast<uint32_t>(name.size())});
  };
  const WrittenUse made = use_before(optimiser), around = use_before("optimise");
  if (!made.call || made.call.end < d.span.end) return true;
  Fix fix{fmt::format("Change to `{}()`", optimiser), {{made.arguments, ""}}};
  if (around.call && around.call.end > made.call.end && around.arguments.text().find("lr =") == text.npos) {
    fix.title = fmt::format("Give `{}` to `optimise`", rate);
    fix.edits.push_back({{d.span.file, around.arguments.end, around.arguments.end}, ", " + rate});
  }
  d.fixes.push_back(std::move(fix));
  return true;
}

/// "`host_load(x)` gives the tensor": the stream's name in the marked range becomes the call.
bool offer_host_load(Diagnostic& d, const std::string& all) {
  const size_t from = all.find("`host_load(");
  const size_t end = from == all.npos ? from : all.find(")` gives the tensor", from);
  if (end == all.npos) return false;
  const std::string name = all.substr(from + 11, end - from - 11);
  for (const ClassifiedToken& t : classify_tokens(*d.span.file)) {
    if (t.begin < d.span.begin || t.end > d.span.end) continue;
    if (d.span.file->text().substr(t.begin, t.end - t.begin) != name) continue;
    d.offer({d.span.file, t.begin, t.end}, "host_load(" + name + ")");
    break;
  }
  return true;
}

/// `x: [2, 4]`: a spec with the dtype that is most frequent.
bool offer_spec(Diagnostic& d) {
  if (d.message.find("expected a spec such as") == d.message.npos) return false;
  const std::string_view text = d.span.text();
  if ((text.starts_with('[') && text.ends_with(']')) || (text.starts_with('(') && text.ends_with(')'))) {
    const std::string spec = fmt::format("float32[{}]", text.substr(1, text.size() - 2));
    d.notes = {fmt::format("a spec is a dtype with a shape: `{}`", spec)};
    d.offer(d.span, spec);
  } else if (d.message.find("got the dtype") != d.message.npos) {
    d.offer({d.span.file, d.span.end, d.span.end}, "[]", "Add `[]`");
  }
  return true;
}

/// `session.save("model.pt")`: the path with the suffix of the format, of which the note has an example.
bool offer_path(Diagnostic& d) {
  constexpr std::string_view head = "write `";
  if (d.message.find(" are written as .") == d.message.npos || d.notes.empty() || !d.notes[0].starts_with(head))
    return false;
  const std::string wanted = d.notes[0].substr(head.size(), d.notes[0].size() - head.size() - 1);
  const std::string stem = wanted.substr(0, wanted.rfind('.'));
  for (const ClassifiedToken& t : classify_tokens(*d.span.file)) {
    if (t.kind != TokenClass::string || t.begin < d.span.begin || t.end > d.span.end) continue;
    const std::string_view path = d.span.file->text().substr(t.begin + 1, t.end - t.begin - 2);
    if (!path.starts_with(stem) || path.find('.', stem.size() + 1) != path.npos) continue;
    d.span = {d.span.file, t.begin, t.end};
    d.offer({d.span.file, t.begin + 1, t.end - 1}, wanted);
    break;
  }
  return true;
}

/// `for i in 10`: `range(10)`. A range of floats: `arange`.
bool offer_range(Diagnostic& d) {
  const std::string_view text = d.span.text();
  if (d.message == "an int is not iterable") {
    const std::string range = fmt::format("range({})", text);
    d.notes.push_back(fmt::format("the ints from 0 on are `{}`", range));
    d.offer(d.span, range);
  } else if (d.message.starts_with("range: ") && d.message.ends_with("expected an int, got a float")) {
    d.notes.emplace_back("`arange(0, 1, 0.1)` and `linspace(0, 1, 11)` are arrays of floats");
    const size_t at = d.span.file->text().rfind("range(", d.span.begin);
    if (at != std::string_view::npos && d.span.begin - at < 100) {
      const auto begin = static_cast<uint32_t>(at);
      d.offer({d.span.file, begin, begin + 5}, "arange");
    }
  } else {
    return false;
  }
  return true;
}

/// `x ^ 2` of floats: `x ** 2`.
bool offer_power(Diagnostic& d) {
  if (!d.message.starts_with("`^` ")) return false;
  for (const ClassifiedToken& t : classify_tokens(*d.span.file))
    if (t.begin >= d.span.begin && t.end <= d.span.end && d.span.file->text().substr(t.begin, t.end - t.begin) == "^")
      d.offer({d.span.file, t.begin, t.end}, "**");
  return true;
}

/// "call the program, `p()`": its name in the marked range gets parentheses.
bool offer_call(Diagnostic& d, const std::string& all) {
  constexpr std::string_view head = "call the program, `";
  const size_t from = all.find(head), end = from == all.npos ? from : all.find("()`", from);
  if (end == all.npos) return false;
  const std::string name = all.substr(from + head.size(), end - from - head.size());
  for (const ClassifiedToken& t : classify_tokens(*d.span.file)) {
    if (t.begin < d.span.begin || t.end > d.span.end) continue;
    if (d.span.file->text().substr(t.begin, t.end - t.begin) != name) continue;
    d.offer({d.span.file, t.begin, t.end}, name + "()");
    break;
  }
  return true;
}

/// `config.width = 3` of a record: `config = config.with(width = 3)`; `config["width"]`: `config.width`.
bool offer_for_record(Diagnostic& d, const std::string& all) {
  const std::string_view text = d.span.text();
  if (const size_t at = all.find("a field is a member: `."); at != all.npos) {
    const std::string name = all.substr(at + 23, all.find('`', at + 23) - at - 23);
    const std::string key = fmt::format("[\"{}\"]", name);
    if (text.ends_with(key)) d.offer(d.span, fmt::format("{}.{}", text.substr(0, text.size() - key.size()), name));
    return true;
  }
  if (all.find("a record does not change") == all.npos) return false;
  const SourceFile& source = *d.span.file;
  const int number = source.position(d.span.begin).line;
  const std::string_view line = source.line(number);
  const size_t first = line.find_first_not_of(" \t"), equals = line.find(" = "), dot = line.rfind('.', equals);
  if (equals == line.npos || dot == line.npos || first > dot) return true;
  const std::string_view base = line.substr(first, dot - first), name = line.substr(dot + 1, equals - dot - 1);
  if (base.find_first_of("([{ ") != base.npos || line.find('#') != line.npos) return true;
  const uint32_t begin = source.line_start(number);
  const std::string made = fmt::format("{0} = {0}.with({1} = {2})", base, name, line.substr(equals + 3));
  d.offer({&source, begin + static_cast<uint32_t>(first), begin + static_cast<uint32_t>(line.size())}, made);
  d.notes = {fmt::format("`with` makes another one: `{}`", made)};
  return true;
}

/// "write `ones([4, 3])`": the call in the marked range.
bool offer_extents(Diagnostic& d, const std::string& all) {
  if (all.find("the extents of an array are one argument") == all.npos) return false;
  const std::string_view text = d.span.text();
  const size_t open = text.find('(');
  if (open == text.npos || !text.ends_with(')') || text.find('=') != text.npos) return true;
  d.offer(d.span, fmt::format("{}([{}])", text.substr(0, open), text.substr(open + 1, text.size() - open - 2)));
  return true;
}

/// `import torch`, which nothing needs: the line.
bool offer_no_import(Diagnostic& d, const std::string& all) {
  if (d.code != codes::import || all.find("visible without an import") == all.npos) return false;
  const SourceFile& source = *d.span.file;
  const int line = source.position(d.span.begin).line;
  if (source.line(line).starts_with("import ") && line < source.line_count())
    d.offer({&source, source.line_start(line), source.line_start(line + 1)}, "", "Remove the import");
  return true;
}

/// `from nn import *`: the names of the module that the file has.
void offer_imported_names(Diagnostic& d) {
  const SourceFile& source = *d.span.file;
  const int line_number = source.position(d.span.begin).line;
  const std::string_view line = source.line(line_number);
  const size_t from = line.find("from "), import = line.find(" import", from);
  if (from == line.npos || import == line.npos || import <= from + 5) return;
  const std::string prefix = std::string(line.substr(from, import - from)) + " import ";
  std::string names;
  std::set<std::string_view> seen;
  std::string imported;  // by other imports of the file
  for (int i = 1; i <= source.line_count(); ++i)
    if (i != line_number && source.line(i).starts_with("from ")) imported += std::string(source.line(i)) + ",";
  for (const ClassifiedToken& t : classify_tokens(source)) {
    const std::string_view word = source.text().substr(t.begin, t.end - t.begin);
    const auto known = library_import(word);
    if (!known || !known->starts_with(prefix) || !seen.insert(word).second) continue;
    if (imported.find(std::string(word)) != imported.npos) continue;
    names += (names.empty() ? "" : ", ") + std::string(word);
  }
  if (!names.empty()) d.offer(d.span, names, fmt::format("Change to `{}{}`", prefix, names));
}

void add_implied_fix(Diagnostic& d) {
  if (!d.span || !d.fixes.empty()) return;
  const std::string all = said(d);
  if (d.code == codes::other_language && d.span.text() == "*") return offer_imported_names(d);
  if (all.find("`%` does not format text") != all.npos) {
    if (std::string text = percent_as_fstring(d.span.text()); !text.empty()) d.offer(d.span, std::move(text));
    return;
  }
  if (offer_spec(d) || offer_path(d) || offer_range(d) || offer_power(d) || offer_for_record(d, all) ||
      offer_extents(d, all))
    return;
  if (offer_host_load(d, all) || offer_call(d, all) || offer_no_import(d, all)) return;
  if (const auto [foreign, here] = rewritten_call(all); !here.empty())
    return offer_rate(d, here) ? void() : offer_rewritten_call(d, foreign, here);
  if (const std::optional<std::string> meant = meant_name(all)) offer_meant_name(d, *meant);
}

}  // namespace

uint32_t place_of_imports(const SourceFile& source) {
  const std::string_view text = source.text();
  int line = 1;
  const auto is_blank = [&](int i) { return source.line(i).find_first_not_of(" \t\r") == std::string_view::npos; };
  while (line <= source.line_count() && (is_blank(line) || source.line(line).starts_with('#'))) ++line;
  if (line > source.line_count()) return static_cast<uint32_t>(text.size());
  while (line > 1 && source.line(line - 1).starts_with("##")) --line;
  return source.line_start(line);
}

Edit import_edit(const SourceFile& source, const std::string& import) {
  const uint32_t at = place_of_imports(source);
  const std::string_view next = source.text().substr(at);
  const bool beside_others = next.starts_with("from ") || next.starts_with("import ");
  return {{&source, at, at}, import + (beside_others ? "\n" : "\n\n")};
}

void add_implied_fixes(std::vector<Diagnostic>& found) {
  constexpr size_t max_mended = 100;  // each takes a look at the whole text
  try {
    for (size_t i = 0; i < found.size() && i < max_mended; ++i) add_implied_fix(found[i]);
  } catch (const OverBudget&) {
    // The errors stand without further fixes.
  }
}

std::optional<std::string> fixed_text(const SourceFile& source, const std::vector<Diagnostic>& found,
                                      std::vector<std::string>* made) {
  std::vector<const Edit*> taken;
  const auto overlaps = [&](const Edit& e) {
    return std::any_of(taken.begin(), taken.end(), [&](const Edit* other) {
      const Span &a = e.at, &b = other->at;
      return a.begin == b.begin ? a.end > a.begin || b.end > b.begin || e.text != other->text
                                : a.begin < b.end && b.begin < a.end;
    });
  };
  for (const Diagnostic& d : found) {
    if (d.fixes.empty()) continue;
    const Fix& fix = d.fixes.front();
    const bool here =
        std::all_of(fix.edits.begin(), fix.edits.end(), [&](const Edit& e) { return e.at.file == &source; });
    if (!here || std::any_of(fix.edits.begin(), fix.edits.end(), overlaps)) continue;
    for (const Edit& e : fix.edits) taken.push_back(&e);
    if (made) made->push_back(fix.title);
  }
  if (taken.empty()) return std::nullopt;
  std::stable_sort(taken.begin(), taken.end(), [](const Edit* a, const Edit* b) { return a->at.begin < b->at.begin; });
  std::string out;
  uint32_t done = 0;
  for (const Edit* e : taken) {
    out += source.text().substr(done, e->at.begin - done);
    out += e->text;
    done = e->at.end;
  }
  out += source.text().substr(done);
  return out;
}

}  // namespace pxl
