#include "interpreter/tools/help/member_help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "interpreter/language/evaluator.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/debug.hpp"
#include "interpreter/tools/display.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "interpreter/values/exit_request.hpp"
#include "interpreter/values/operations.hpp"
#include "runtime/base/unevaluated.hpp"

namespace pxl {
namespace {

std::string folded(std::string_view kind) {
  std::string out;
  for (const char c : kind)
    if (c != ' ' && c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  // These are constructors of trees.
  if (out == "namedtensors" || out == "dottree") return "tree";
  if (out == "namedvariablefactories") return "factories";
  return out;
}

}  // namespace

std::optional<std::string> example_result(const std::string& text, ExampleForm form) {
  try {
    std::string printed;
    InterpreterOptions options;
    options.out = [&](std::string_view part) { printed += part; };
    const auto scratch = make_interpreter(std::move(options));
    const Value v = evaluator_of(*scratch).run_more(parse_or_throw(add_source("[example]", text)));
    switch (form) {
      case ExampleForm::repr: return repr_of(*scratch, v);
      case ExampleForm::str: return str_of(*scratch, v);
      case ExampleForm::at_prompt: break;
    }
    std::string shown = printed + display(*scratch, v);
    while (shown.ends_with('\n')) shown.pop_back();
    return shown;
  } catch (const Error&) {
    return std::nullopt;
  } catch (const Unevaluated&) {
    return std::nullopt;
  } catch (const ExitRequest&) {
    return std::nullopt;
  }
}

std::string kind_name(const MemberTable& table) {
  std::string name(table.kind);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

const MemberTable* find_member_table(std::string_view kind) {
  const std::string wanted = folded(kind);
  for (const MemberTable& table : member_tables())
    if (folded(table.kind) == wanted) return &table;
  return nullptr;
}

std::vector<FoundMember> find_members(std::string_view name) {
  std::vector<FoundMember> found;
  const size_t dot = name.rfind('.');
  const MemberTable* only = dot == name.npos ? nullptr : find_member_table(name.substr(0, dot));
  if (dot != name.npos && !only) return found;
  const std::string_view bare = dot == name.npos ? name : name.substr(dot + 1);
  for (const MemberTable& table : member_tables())
    for (const MemberInfo* row : table.rows)
      if (row->name == bare && (!only || only == &table)) found.push_back({&table, row});
  return found;
}

std::string member_signature(const MemberTable& table, const MemberInfo& row) {
  return fmt::format("{}.{}{}", kind_name(table), row.name, row.parameters);
}

DocEntry member_entry(const MemberTable& table, const MemberInfo& row) {
  DocEntry e;
  e.name = fmt::format("{}.{}", kind_name(table), row.name);
  e.kind = row.parameters.empty() ? "attribute" : "method";
  e.signature = member_signature(table, row);
  e.doc = row.doc;
  e.example = row.example;
  e.setup = table.setup;
  if (!row.example.empty() && !row.uses_files)
    e.result = example_result(fmt::format("{}\n{}", table.setup, row.example), ExampleForm::repr).value_or("");
  return e;
}

DocPage member_page(const MemberTable& table) {
  DocPage page{kind_name(table), std::string(table.doc) + "\n", {}};
  if (!table.setup.empty()) page.lead += "\nThe examples continue this program.\n\n";
  for (std::string_view rest = table.setup; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    page.lead += fmt::format("    {}\n", rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const MemberInfo* row : table.rows) page.entries.push_back(member_entry(table, *row));
  return page;
}

std::vector<std::string> member_help_names() {
  std::vector<std::string> names;
  for (const MemberTable& table : member_tables()) {
    names.push_back(kind_name(table));
    for (const MemberInfo* row : table.rows) names.push_back(fmt::format("{}.{}", kind_name(table), row->name));
  }
  return names;
}

std::string member_list(const MemberTable& table) {
  std::string out = fmt::format("members of {}:", kind_name(table));
  for (const MemberInfo* row : table.rows) out += fmt::format(" {}{}", row->name, row->parameters.empty() ? "" : "()");
  return out;
}

}  // namespace pxl
