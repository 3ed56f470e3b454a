#include "interpreter/tools/help/definition.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pxl {

namespace {

// The beginning of a definition, with the comment lines directly before it.
size_t begin_of_comment(std::string_view text, size_t begin) {
  while (begin > 0) {
    const size_t previous = begin >= 2 ? text.rfind('\n', begin - 2) + 1 : 0;  // npos + 1 is the first line
    if (!text.substr(previous).starts_with("//")) break;
    begin = previous;
  }
  return begin;
}

}  // namespace

std::string definition_text(const OpRow& row) {
  const std::span<const DefinitionName> names = definition_names();
  const auto named =
      std::find_if(names.begin(), names.end(), [&](const DefinitionName& n) { return n.definition == row.definition; });
  if (!row.definition || named == names.end()) return {};
  const std::string head = fmt::format("\nvoid {}(ReferenceContext& c) {{", named->name);
  for (const DefinitionSource& file : definition_sources()) {
    const size_t found = file.text.find(head);
    if (found == file.text.npos) continue;
    const size_t begin = found + 1, line_end = file.text.find('\n', begin);
    // The definition is one line, or ends at a closing brace at the beginning of a line, as the sources are formatted.
    const size_t end = file.text[line_end - 1] == '}' ? line_end : file.text.find("\n}\n", begin) + 2;
    const size_t from = begin_of_comment(file.text, begin);
    return std::string(file.text.substr(from, end - from)) + "\n";
  }
  return {};
}

}  // namespace pxl
