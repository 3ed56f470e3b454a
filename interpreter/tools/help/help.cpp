#include "interpreter/tools/help/help.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/stdlib.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/classify.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/syntax/signature_text.hpp"
#include "interpreter/tools/debug.hpp"
#include "interpreter/tools/help/definition.hpp"
#include "interpreter/tools/help/doc_page.hpp"
#include "interpreter/tools/help/function_examples.hpp"
#include "interpreter/tools/help/member_help.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/library_sources.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {
namespace {

std::string indented_by(std::string_view text, std::string_view by) {
  std::string out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    out += fmt::format("{}{}\n", by, text.substr(0, end));
    if (end == text.npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

/// An example whose `array(...)` calls are replaced by x0, x1, ...; the arrays are the calls' source texts.
struct Example {
  std::string body;
  std::vector<std::string> arrays;
};
Example take_arrays_out(std::string_view text) {
  Example e;
  for (size_t i = 0; i < text.size();) {
    if (!text.substr(i).starts_with("array(")) {
      e.body += text[i++];
      continue;
    }
    size_t end = i + 5, depth = 0;
    do {
      if (text[end] == '(') ++depth;
      if (text[end] == ')') --depth;
      ++end;
    } while (depth > 0 && end < text.size());
    e.body += fmt::format("x{}", e.arrays.size());
    e.arrays.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return e;
}

std::string gradient_graph(const OpRow& row) {
  const Example e = take_arrays_out(row.example);
  if (e.arrays.empty()) return {};
  std::string names, specs;
  for (size_t i = 0; i < e.arrays.size(); ++i) {
    names += fmt::format("{}x{}", i ? ", " : "", i);
    specs += fmt::format(", ({}).spec", e.arrays[i]);
  }
  const std::string text = fmt::format(
      "def {0}_example({1}) {{ return {2} }}\ngraph = ir.create_graph({0}_example{3})\nautodiff(graph).graph", row.name,
      names, e.body, specs);
  return example_result(text, ExampleForm::str).value_or("");
}

// The first sentence of the text, which ends at the latest at the first empty line.
std::string_view first_sentence(std::string_view doc) {
  doc = doc.substr(0, doc.find("\n\n"));
  for (const std::string_view end : {". ", ".\n", ": "})
    if (const size_t at = doc.find(end); at != doc.npos) doc = doc.substr(0, at + (end[0] == '.'));
  return doc;
}

std::string documented(std::string_view head, std::string_view doc) {
  std::string text = fmt::format("{}\n", head);
  if (!doc.empty()) text += indented_by(doc, "  ");
  return text;
}

std::string written(Span s) {
  std::string out;
  for (char c : s.text()) out += c == '\n' ? ' ' : c;
  return out;
}

const StdlibFile* library_file(std::string_view module) {
  for (const StdlibFile& f : stdlib_files())
    if (f.module == module) return &f;
  return nullptr;
}

Inspection found(std::string name, std::string type, std::string signature, std::string doc, std::string text) {
  Inspection i;
  i.found = true;
  i.name = std::move(name);
  i.type = std::move(type);
  i.signature = std::move(signature);
  i.doc = std::move(doc);
  i.text = std::move(text);
  return i;
}

std::optional<Inspection> library_help(std::string_view name) {
  if (library_file(name)) {
    std::string text =
        fmt::format("{}  (module of the standard library: import {}, from {} import ...)\n", name, name, name);
    for (const LibraryEntry& e : library_entries(name)) {
      text += fmt::format("  {} {}\n", e.kind, e.signature);
      if (!e.doc.empty()) text += indented_by(first_sentence(e.doc), "      ");
    }
    text += fmt::format("  help on {}.NAME tells more of one; `pxl doc {}` is the whole page\n", name, name);
    return found(std::string(name), "library module", "", "", text);
  }
  for (const std::string& module : library_modules())
    for (const LibraryEntry& e : library_entries(module)) {
      if (e.name != name && module + "." + e.name != name) continue;
      std::string text = documented(e.kind + " " + e.signature, e.doc);
      text += fmt::format("  in the standard library: from {} import {}\n", module, e.name);
      return found(module + "." + e.name, e.kind, e.signature, e.doc, text);
    }
  return std::nullopt;
}

/// "example   s.split()" and its result, indented.
std::string example_text(std::string_view example, std::string_view result) {
  std::string out = indented_by(example, "            ");
  if (!out.empty()) out.replace(2, 7, "example");
  return out + indented_by(result, "            ");
}

/// Help on a function of the language.
std::string function_text(const BuiltinObject& f) {
  const DocEntry e = function_entry(f);
  return documented(e.signature, e.doc) + (e.example.empty() ? "" : example_text(e.example, e.result));
}

/// Help on members of one name.
Inspection members_help(const std::string& name, const std::vector<FoundMember>& members) {
  std::string text;
  for (const auto& [table, row] : members) {
    const DocEntry e = member_entry(*table, *row);
    if (!text.empty()) text += "\n";
    text += documented(e.signature, e.doc);
    if (!e.example.empty()) {
      if (!e.setup.empty()) text += "  where\n" + indented_by(e.setup, "            ");
      text += example_text(e.example, e.result);
    }
  }
  const auto& [table, row] = members.front();
  return found(name, row->parameters.empty() ? "attribute" : "method", member_signature(*table, *row),
               std::string(row->doc), text);
}

/// "also a member: str.split, list.index".
std::string members_note(std::string_view name) {
  std::string list;
  for (const auto& [table, row] : find_members(name))
    list += fmt::format("{}{}.{}", list.empty() ? "" : ", ", kind_name(*table), row->name);
  return list.empty() ? "" : fmt::format("  {:<9} {}\n", "see also", list);
}

}  // namespace

DocEntry op_entry(const OpRow& row) {
  DocEntry e{std::string(row.name), "op", signature(row), std::string(row.doc), {}, std::string(row.example), {}, {}};
  if (!row.formula.empty()) e.facts.emplace_back("formula", row.formula);
  for (const Param& p : row.params)
    if (!p.doc.empty()) e.facts.emplace_back(p.name, p.doc);
  e.facts.emplace_back("path", row.path);
  std::string forms = row.method ? fmt::format("also a method: x.{}(...)", row.name) : std::string();
  if (!row.inplace.empty()) forms += fmt::format("{}in place: {}", forms.empty() ? "" : "; ", row.inplace);
  if (row.modifies) forms += fmt::format("{}changes its first operand in place", forms.empty() ? "" : "; ");
  if (!forms.empty()) e.facts.emplace_back("forms", forms);
  if (!row.example.empty()) e.result = example_result(std::string(row.example), ExampleForm::repr).value_or("");
  // A composite op takes its gradient from the ops that it consists of.
  if (!row.example.empty() && !row.modifies) e.gradient = gradient_graph(row);
  if (e.gradient.empty() && !row.gradient && row.role == Role::compute) e.facts.emplace_back("gradient", "none");
  e.definition = definition_text(row);
  return e;
}

std::string op_help(Interpreter&, const OpRow& row) {
  const DocEntry e = op_entry(row);
  std::string text = documented(e.signature, e.doc);
  for (const auto& [fact, what] : e.facts) text += fmt::format("  {:<9} {}\n", fact, what);
  if (!e.example.empty())
    text += fmt::format("  {:<9} {}\n{}", "example", e.example, indented_by(e.result, "            "));
  if (!e.gradient.empty()) text += "  gradient of the example, as a graph\n" + indented_by(e.gradient, "    ");
  if (!e.definition.empty()) text += "  definition\n" + indented_by(e.definition, "    ");
  return text;
}

std::vector<std::string> library_modules() {
  std::vector<std::string> names;
  for (const StdlibFile& f : stdlib_files()) names.emplace_back(f.module);
  return names;
}

std::vector<LibraryEntry> declarations_of(const ast::Tree& tree) {
  std::vector<LibraryEntry> entries;
  for (const ast::Stmt* s : tree.body->statements) {
    if (s->kind == ast::StmtKind::module) {
      const auto& m = static_cast<const ast::ModuleStmt&>(*s);
      entries.push_back({m.name, "module", m.name + parameters_text(m.parameters), m.doc});
    } else if (s->kind == ast::StmtKind::record) {
      const auto& r = static_cast<const ast::RecordStmt&>(*s);
      entries.push_back({r.name, "record", r.name + parameters_text(r.fields), r.doc});
    } else if (s->kind == ast::StmtKind::def) {
      const ast::Function& f = *static_cast<const ast::DefStmt&>(*s).function;
      entries.push_back({f.name, "def", f.name + parameters_text(f.parameters) + results_text(f), f.doc});
    } else if (s->kind == ast::StmtKind::program) {
      const ast::Function& f = *static_cast<const ast::ProgramStmt&>(*s).function;
      entries.push_back({f.name, "program", f.name + parameters_text(f.parameters), f.doc});
    } else if (s->kind == ast::StmtKind::option) {
      const auto& o = static_cast<const ast::OptionStmt&>(*s);
      std::string written_text = written(o.span);
      if (written_text.starts_with("option ")) written_text.erase(0, 7);
      entries.push_back({o.name, "option", std::move(written_text), o.doc});
    }
  }
  std::erase_if(entries, [](const LibraryEntry& e) { return e.name.starts_with("_"); });
  return entries;
}

std::vector<LibraryEntry> library_entries(std::string_view module) {
  const StdlibFile* file = library_file(module);
  if (!file) return {};
  const SourceFile source(library_source(module), std::string(file->text));
  const ParseResult parsed = parse(source);
  return parsed.tree ? declarations_of(*parsed.tree) : std::vector<LibraryEntry>{};
}

std::vector<OpGroup> op_groups() {
  std::vector<OpGroup> groups;
  for (const OpRow* row : op_table()) {
    if (row->path.empty()) continue;
    std::string_view path = row->path;
    if (path.starts_with("ops.")) path.remove_prefix(4);
    const size_t dot = path.rfind('.');
    const std::string family(dot == path.npos ? std::string_view() : path.substr(0, dot));
    auto group = std::find_if(groups.begin(), groups.end(), [&](const OpGroup& g) { return g.family == family; });
    if (group == groups.end()) group = groups.insert(groups.end(), OpGroup{family, {}});
    group->rows.push_back(row);
  }
  return groups;
}

std::vector<std::string> help_names(Interpreter& in) {
  std::vector<std::string> names = evaluator_of(in).prelude()->visible_names();
  for (const auto* words : {&reserved_words(), &declaring_words()})
    for (const std::string& word : *words)
      if (!word_help(word).empty()) names.push_back(word);
  for (const std::string& module : library_modules()) {
    names.push_back(module);
    for (const LibraryEntry& e : library_entries(module)) names.push_back(module + "." + e.name);
  }
  for (std::string& name : member_help_names()) names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::optional<std::string> question(std::string_view text) {
  const auto trim = [](std::string_view t) {
    const size_t from = t.find_first_not_of(" \t\r\n");
    return from == t.npos ? std::string_view() : t.substr(from, t.find_last_not_of(" \t\r\n") - from + 1);
  };
  text = trim(text);
  if (text.empty() || text.find('\n') != text.npos) return std::nullopt;
  if (text.front() == '?') return std::string(trim(text.substr(1)));
  if (text.back() != '?') return std::nullopt;
  const std::vector<ClassifiedToken> tokens = classify_tokens(SourceFile("<question>", std::string(text)));
  if (tokens.empty() || tokens.back().kind == TokenClass::comment || tokens.back().kind == TokenClass::documentation ||
      tokens.back().kind == TokenClass::string)
    return std::nullopt;
  return std::string(trim(text.substr(0, text.size() - 1)));
}

Inspection help(Interpreter& in, std::string_view asked) {
  const std::string name(asked);
  size_t begin = 0;
  const std::optional<Value> value = resolve_chain(in, asked, asked.size(), begin);
  const bool whole = value && begin == 0;
  const bool users = whole && evaluator_of(in).file_scope()->find_here(name.substr(0, name.find('.')));
  if (users) return inspect_value(in, name, *value);
  std::string_view bare = asked.starts_with("ops.") ? asked.substr(asked.rfind('.') + 1) : asked;
  if (const OpRow* row = find_op(bare); row && !row->path.empty() && (bare == asked || whole)) {
    Inspection i = found(name, "op", signature(*row), std::string(row->doc), op_help(in, *row));
    // If the language has a function with that name, it forwards tensors and arrays to the op.
    if (const Value* builtin = evaluator_of(in).prelude()->find_here(std::string(bare)))
      if (auto* f = builtin->as<BuiltinObject>(); f && f->texts.doc != row->doc)
        i.text = function_text(*f) + "\non tensors and arrays, the op\n" + i.text;
    i.text += members_note(bare);
    return i;
  }
  if (std::string_view line = word_help(asked); !line.empty())
    return found(name, "keyword", "", std::string(line), documented(name, line));
  const MemberTable* table = find_member_table(asked);
  if (whole) {
    Inspection i = inspect_value(in, name, *value);
    if (auto* f = value->as<BuiltinObject>(); f && !f->row && f->kind == BuiltinObject::Kind::function)
      i.text = function_text(*f);
    i.text += table ? indented_by(member_list(*table), "  ") : members_note(name);
    return i;
  }
  if (std::optional<Inspection> i = library_help(asked)) return *i;
  if (table)
    return found(name, "kind of values", "", std::string(table->doc),
                 documented(kind_name(*table), table->doc) + indented_by(member_list(*table), "  ") +
                     fmt::format("  help on {}.NAME tells more of one\n", kind_name(*table)));
  if (const std::vector<FoundMember> members = find_members(asked); !members.empty())
    return members_help(name, members);
  Inspection missing;
  missing.name = name;
  std::vector<std::string> names = help_names(in);
  for (const std::string& n : evaluator_of(in).file_scope()->names()) names.push_back(n);
  const std::string hint = did_you_mean(asked, names);
  missing.text = fmt::format(
      "no help for `{}`; {}\n", asked,
      hint.empty() ? "help covers ops, functions, members such as str.split, modules and keywords, by name" : hint);
  return missing;
}

}  // namespace pxl
