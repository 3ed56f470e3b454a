// Help on names. All texts come from declarations: an op's row, or the doc of a built-in or module.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/tools/inspection.hpp"
#include "runtime/op/op.hpp"

namespace pxl {

class Interpreter;

/// Help on a name, dotted or not. It may be a name of the session, an op (bare or by path), a built-in or a keyword. It
/// may also be a library module or its declaration. If not found, `found` is false and the text suggests similar names.
Inspection help(Interpreter& in, std::string_view name);

/// The name in `?NAME` or `NAME?`, empty for a single `?`. Returns nullopt for other texts. A `?` at the end of a
/// comment is not a request.
std::optional<std::string> question(std::string_view text);

/// Help on an op: signature, doc, formula, parameters, example with its result, gradient graph, in-place form.
std::string op_help(Interpreter& in, const OpRow& row);

/// One line on a keyword; empty for other words.
std::string_view word_help(std::string_view word);

/// A declaration at the top level of a file.
struct LibraryEntry {
  std::string name;
  std::string kind;       ///< "module", "def", "program", "option"
  std::string signature;  ///< "Linear(out_features: int, bias: bool = true)"
  std::string doc;
};
/// Names of the library's modules: "nn".
std::vector<std::string> library_modules();
/// Declarations of a file, in order, except names that begin with `_`.
std::vector<LibraryEntry> declarations_of(const ast::Tree& tree);
/// The declarations of a library module; empty for unknown modules.
std::vector<LibraryEntry> library_entries(std::string_view module);

/// Names that help knows, besides those of the session: ops, built-ins, keywords, modules, "nn.Linear".
std::vector<std::string> help_names(Interpreter& in);

/// The public ops by family (the part of the path between "ops." and the name), for an overview.
struct OpGroup {
  std::string family;  ///< "" for ops directly below `ops`
  std::vector<const OpRow*> rows;
};
std::vector<OpGroup> op_groups();

}  // namespace pxl
