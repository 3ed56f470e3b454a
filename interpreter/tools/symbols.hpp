// The names of a text: where each is declared, and every place that means it. From the tree alone, so that an editor
// has it for a text that was never run.
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
    import  ///< of a module of the library or a file, or of a name in one
  } kind;
  std::string name;
  Span name_span;      ///< the word itself, where it is first bound
  Span span;           ///< the whole declaration
  std::string detail;  ///< "float32[batch, 10]" of a declared spec, "(x, n = 3)" of something callable; may be empty
  std::string doc;
  int container = -1;                    ///< the index of the symbol whose body holds this one; -1 at the top
  std::vector<std::string> import_path;  ///< of an import: the module
  std::string imported;                  ///< of `from m import x`: x; empty for `import m`
};
std::string_view text(Symbol::Kind kind);

/// A place where a symbol is written.
struct Occurrence {
  Span span;
  int symbol = -1;
  bool write = false;  ///< it binds the name
};

/// Names are looked up as docs/language.md says: a body is one scope; then the module's instance; then the file. A name
/// that a function binds anywhere is its own everywhere in it, unless it is `nonlocal`.
class SymbolTable {
 public:
  explicit SymbolTable(const ast::Tree& tree);

  const std::vector<Symbol>& symbols() const { return symbols_; }
  /// In order of position. Names of the library and members of values are not in it.
  const std::vector<Occurrence>& occurrences() const { return occurrences_; }
  /// The occurrence that covers a byte offset or ends there.
  const Occurrence* at(uint32_t offset) const;
  /// Every place of a symbol, in order.
  std::vector<Occurrence> places(int symbol) const;
  /// A declaration at the top of the file, by its name.
  const Symbol* top(std::string_view name) const;
  /// Names that a reader at `offset` sees, innermost first, each once.
  std::vector<const Symbol*> visible(uint32_t offset) const;

 private:
  std::vector<Symbol> symbols_;
  std::vector<Occurrence> occurrences_;
};

}  // namespace pxl
