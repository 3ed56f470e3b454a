// The symbol table of a text: declarations, and all occurrences of each name. Computed from the tree alone, so that it
// exists for a text that was never run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/syntax/ast.hpp"

namespace pxl {

struct Symbol {
  enum class Kind : uint8_t {
    variable,  ///< bound by an assignment, a loop or `as`
    function,
    method,
    build,
    module,
    program,
    test,
    parameter,  ///< of a function, a build, a module's configuration or a program
    field,      ///< of a module
    param,
    stream_in,
    stream_out,
    state,  ///< `param`, `stream`, `variable`
    constant,
    option,
    import  ///< a module of the library or a file, or a name in one
  } kind;
  std::string name;
  Span name_span;      ///< the name, where it is first bound
  Span span;           ///< the whole declaration
  std::string detail;  ///< "float32[batch, 10]" of a declared spec, "(x, n = 3)" of a callable; may be empty
  std::string doc;
  int container = -1;                    ///< index of the symbol whose body contains this one; -1 at the top level
  std::vector<std::string> import_path;  ///< of an import: the module
  std::string imported;                  ///< of `from m import x`: x; empty for `import m`
};
std::string_view text(Symbol::Kind kind);

/// An occurrence of a symbol.
struct Occurrence {
  Span span;
  int symbol = -1;
  bool write = false;  ///< it binds the name
};

/// Scopes are those of docs/language.md: the body, then the module's instance, then the file. A name that a function
/// binds anywhere is local to the whole function, unless it is `nonlocal`.
class SymbolTable {
 public:
  explicit SymbolTable(const ast::Tree& tree);

  const std::vector<Symbol>& symbols() const { return symbols_; }
  /// In order of position, without names of the library and members of values.
  const std::vector<Occurrence>& occurrences() const { return occurrences_; }
  /// The occurrence that contains a byte offset or ends there.
  const Occurrence* at(uint32_t offset) const;
  /// All occurrences of a symbol, in order.
  std::vector<Occurrence> places(int symbol) const;
  /// A declaration at the top of the file, by name.
  const Symbol* top(std::string_view name) const;
  /// Names that are visible at `offset`, innermost scope first, without duplicates.
  std::vector<const Symbol*> visible(uint32_t offset) const;

 private:
  std::vector<Symbol> symbols_;
  std::vector<Occurrence> occurrences_;
};

}  // namespace pxl
