// Pages of documentation: of an op, a module of the library or a declaration in one, or a file, as text and as HTML.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/tools/help.hpp"

namespace pxl {

struct DocEntry {
  std::string name, kind, signature;
  std::string doc;                                         ///< paragraphs; lines that are indented are programs
  std::vector<std::pair<std::string, std::string>> facts;  ///< "formula", "path", parameters by name
  std::string example, result;                             ///< an expression and its value
  std::string gradient;                                    ///< the schedule of the example's gradient graph
};
struct DocPage {
  std::string title;
  std::string lead;  ///< what stands below the title; may be empty
  std::vector<DocEntry> entries;
};

DocEntry op_entry(const OpRow& row);

/// A page for an op ("gelu", "ops.gelu"), a module of the library ("nn"), a declaration in one ("nn.Linear", "Linear"),
/// a family of ops ("ops.var_updates"), or "" for an overview; nothing for other names.
std::optional<DocPage> doc_page(std::string_view name);
/// The declarations at the top of a file, with their `##` texts; the file's own first comment leads.
DocPage doc_page_of(const ast::Tree& tree, const std::string& name);

std::string doc_text(const DocPage& page);
/// One file without anything outside of it, for light and dark screens.
std::string doc_html(const DocPage& page);

}  // namespace pxl
