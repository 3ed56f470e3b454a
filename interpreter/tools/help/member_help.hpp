// Help on the members of values, from their tables (values/members.hpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "interpreter/tools/help/doc_page.hpp"
#include "interpreter/tools/inspection.hpp"
#include "interpreter/values/members.hpp"

namespace pxl {

/// The name of a table in help texts: "str", "call_info".
std::string kind_name(const MemberTable& table);
/// The table of a kind, or null. Case, spaces and underscores make no difference: "Session", "call info"; A tree
/// constructor finds the table of trees.
const MemberTable* find_member_table(std::string_view kind);

struct FoundMember {
  const MemberTable* table;
  const MemberInfo* row;
};
/// The members with a name: of one kind ("str.split", "Session.run"), or of all kinds ("backward").
std::vector<FoundMember> find_members(std::string_view name);

/// "str.split(sep = none, maxsplit = -1)".
std::string member_signature(const MemberTable& table, const MemberInfo& row);
DocEntry member_entry(const MemberTable& table, const MemberInfo& row);
/// The page that describes a kind of values.
DocPage member_page(const MemberTable& table);

/// The members of all kinds: "str.split", ...
std::vector<std::string> member_help_names();
/// Names of all members, by kind: "members of str: split, ...".
std::string member_list(const MemberTable& table);

enum class ExampleForm : uint8_t {
  repr,       ///< repr of the last line's value
  str,        ///< str of the last line's value
  at_prompt,  ///< the printed text, and the value as the REPL displays it
};
/// Runs a text in a separate interpreter, and returns its result as text. Returns nullopt if the text fails, or if the
/// caller may not run it (base/effects.hpp).
std::optional<std::string> example_result(const std::string& text, ExampleForm form);

}  // namespace pxl
