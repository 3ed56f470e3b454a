// Help on names: every text comes from where the thing is declared (an op's row, a builtin's or a module's doc).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/tools/inspection.hpp"
#include "interpreter/values/interpreter.hpp"
#include "runtime/op/op.hpp"

namespace pxl {

/// Help on a name, dotted or not: one of the session, an op (bare or by path), a builtin, a reserved or declaring
/// word, a module of the library or a declaration in one. Not found: `found` is false, and the text suggests.
Inspection help(Interpreter& in, std::string_view name);

/// The name asked for by `?NAME` or `NAME?`, empty for a single `?`; nothing where the text is no question: a `?` at
/// the end of a comment asks nothing.
std::optional<std::string> question(std::string_view text);

/// Help on an op: signature, doc, formula, parameters, example with its result, gradient graph, in-place form.
std::string op_help(Interpreter& in, const OpRow& row);

/// One line on a reserved or declaring word; empty for other words.
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
/// Declarations of a file, in order, but those whose names begin with `_`.
std::vector<LibraryEntry> declarations_of(const ast::Tree& tree);
/// Declarations of a module of the library; empty for unknown ones.
std::vector<LibraryEntry> library_entries(std::string_view module);

/// Names that help knows besides the session's: ops, builtins, words, modules, "nn.Linear".
std::vector<std::string> help_names(Interpreter& in);

/// The ops that users reach, by family (the part of the path between "ops." and the name), for an overview.
struct OpGroup {
  std::string family;  ///< "" for ops directly below `ops`
  std::vector<const OpRow*> rows;
};
std::vector<OpGroup> op_groups();

}  // namespace pxl
