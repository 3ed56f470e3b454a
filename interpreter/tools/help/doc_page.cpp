#include "interpreter/tools/help/doc_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/stdlib.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/help/function_examples.hpp"
#include "interpreter/tools/help/member_help.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/scope.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {

namespace {

DocEntry entry_of(const LibraryEntry& e) { return {e.name, e.kind, e.signature, e.doc, {}, {}, {}, {}}; }

// The comment at the beginning of a file, without comment marks.
std::string first_comment(std::string_view text) {
  std::string out;
  while (text.starts_with('#') && !text.starts_with("##")) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(1, end - 1);
    if (line.starts_with(' ')) line.remove_prefix(1);
    out += fmt::format("{}\n", line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

DocPage library_page(const StdlibFile& file) {
  DocPage page{std::string(file.module), first_comment(file.text), {}};
  page.lead += fmt::format("\nimport {0}, from {0} import ...\n", file.module);
  for (const LibraryEntry& e : library_entries(file.module)) page.entries.push_back(entry_of(e));
  return page;
}

/// Documents the language's functions that are not ops.
DocEntry functions() {
  DocEntry e;
  e.name = "functions";
  e.kind = "functions";
  const auto in = make_interpreter({});
  for (const BuiltinObject* f : language_functions(*in)) e.facts.emplace_back(f->texts.signature, f->texts.doc);
  return e;
}

DocPage overview() {
  DocPage page{"pxl",
               "The ops by family, the modules of the standard library, the functions of the language, and the members "
               "of values.\n",
               {}};
  for (const OpGroup& group : op_groups()) {
    DocEntry e;
    e.name = group.family.empty() ? "ops" : "ops." + group.family;
    e.kind = "family";
    for (const OpRow* row : group.rows) e.facts.emplace_back(row->name, row->doc);
    page.entries.push_back(std::move(e));
  }
  for (const StdlibFile& file : stdlib_files()) {
    DocEntry e;
    e.name = file.module;
    e.kind = "module";
    e.doc = first_comment(file.text);
    for (const LibraryEntry& declared : library_entries(file.module))
      e.facts.emplace_back(declared.name, declared.doc.substr(0, declared.doc.find('\n')));
    page.entries.push_back(std::move(e));
  }
  page.entries.push_back(functions());
  for (const MemberTable& table : member_tables()) {
    DocEntry e;
    e.name = kind_name(table);
    e.kind = "values";
    e.doc = table.doc;
    for (const MemberInfo* row : table.rows) e.facts.emplace_back(row->name, row->doc);
    page.entries.push_back(std::move(e));
  }
  return page;
}

std::string indented(std::string_view text, std::string_view by) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    out += line.empty() ? "\n" : fmt::format("{}{}\n", by, line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

std::optional<DocPage> doc_page(std::string_view name) {
  if (name.empty()) return overview();
  if (name == "functions") return functions_page();
  for (const StdlibFile& file : stdlib_files())
    if (file.module == name) return library_page(file);
  const std::string_view bare = name.starts_with("ops.") ? name.substr(name.rfind('.') + 1) : name;
  if (const OpRow* row = find_op(bare); row && !row->path.empty() && (bare == name || row->path == name))
    return DocPage{std::string(row->name), "", {op_entry(*row)}};
  for (const OpGroup& group : op_groups()) {
    if (name != (group.family.empty() ? "ops" : "ops." + group.family)) continue;
    DocPage page{std::string(name), "", {}};
    for (const OpRow* row : group.rows) page.entries.push_back(op_entry(*row));
    return page;
  }
  for (const StdlibFile& file : stdlib_files())
    for (const LibraryEntry& e : library_entries(file.module))
      if (e.name == name || fmt::format("{}.{}", file.module, e.name) == name)
        return DocPage{fmt::format("{}.{}", file.module, e.name),
                       fmt::format("from {} import {}\n", file.module, e.name),
                       {entry_of(e)}};
  if (const MemberTable* table = find_member_table(name)) return member_page(*table);
  if (const std::vector<FoundMember> members = find_members(name); !members.empty()) {
    DocPage page{std::string(name), "", {}};
    for (const auto& [table, row] : members) page.entries.push_back(member_entry(*table, *row));
    return page;
  }
  return std::nullopt;
}

std::optional<DocPage> help_page(Interpreter& in, const std::string& name) {
  std::optional<DocPage> page = doc_page(name);
  // A kind of values may have a built-in with its name: `str(x)`.
  const Value* builtin = evaluator_of(in).prelude()->find_here(name);
  if (page && !(builtin && find_member_table(name))) return page;
  const auto* function = builtin ? builtin->as<BuiltinObject>() : nullptr;
  const Inspection found = function ? Inspection{} : help(in, name);
  if (!function && !found.found) return page;
  if (!page) page.emplace(DocPage{name, "", {}});
  page->entries.insert(
      page->entries.begin(),
      function ? function_entry(*function) : DocEntry{name, found.type, found.signature, found.doc, {}, {}, {}, {}});
  return page;
}

DocPage doc_page_of(const ast::Tree& tree, const std::string& name) {
  DocPage page{name, first_comment(tree.source->text()), {}};
  for (const LibraryEntry& e : declarations_of(tree)) page.entries.push_back(entry_of(e));
  return page;
}

std::string doc_text(const DocPage& page) {
  std::string out = fmt::format("{}\n", page.title);
  if (!page.lead.empty()) out += indented(page.lead, "  ");
  for (const DocEntry& e : page.entries) {
    out += fmt::format("\n{}\n", e.kind == "op"
                                     ? e.signature
                                     : fmt::format("{} {}", e.kind, e.signature.empty() ? e.name : e.signature));
    out += indented(e.doc, "  ");
    size_t width = 9;
    for (const auto& [fact, text] : e.facts) width = std::max(width, std::min<size_t>(fact.size(), 24));
    for (const auto& [fact, text] : e.facts) out += fmt::format("  {:<{}} {}\n", fact, width, text);
    if (!e.example.empty()) {
      std::string example = indented(e.example, "            ");
      out += example.replace(2, 7, "example") + indented(e.result, "            ");
    }
    if (!e.gradient.empty()) out += "  gradient of the example, as a graph\n" + indented(e.gradient, "    ");
    if (!e.definition.empty()) out += "  definition\n" + indented(e.definition, "    ");
  }
  return out;
}

}  // namespace pxl
