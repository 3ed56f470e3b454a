// Pages of documentation, as text and as HTML: an op, a library module, a declaration in one, or a file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/tools/help/help.hpp"

namespace pxl {

struct DocEntry {
  std::string name, kind, signature;
  std::string doc;                                         ///< paragraphs; indented lines are programs
  std::vector<std::pair<std::string, std::string>> facts;  ///< "formula", "path", parameters by name
  std::string example, result;                             ///< an expression and its value
  std::string gradient;                                    ///< the schedule of the example's gradient graph
  std::string definition = {};                             ///< what an op computes, in C++ with xtensor
  std::string setup = {};                                  ///< a program that the example continues
};
struct DocPage {
  std::string title;
  std::string lead;  ///< text below the title; may be empty
  std::vector<DocEntry> entries;
};

DocEntry op_entry(const OpRow& row);

/// The page that a name selects. The name is that of an op ("gelu", "ops.gelu"), a kind of values ("session") or a
/// member ("session.run"). It may also name a library module ("nn"), or a declaration in one ("nn.Linear", "Linear"). A
/// family of ops ("ops.var_updates") has a page too, and "" is the overview. Returns nullopt for other names.
std::optional<DocPage> doc_page(std::string_view name);
/// The page for every name that help knows, except names of the session: built-in functions and keywords have an entry
/// too.
std::optional<DocPage> help_page(Interpreter& in, const std::string& name);
/// The top-level declarations of a file, with their `##` comments, after the file's first comment.
DocPage doc_page_of(const ast::Tree& tree, const std::string& name);

std::string doc_text(const DocPage& page);
/// A self-contained HTML file, for light and dark screens.
std::string doc_html(const DocPage& page);
/// Its entries without a style, for pages that have one.
std::string doc_html_entries(const DocPage& page);

}  // namespace pxl
