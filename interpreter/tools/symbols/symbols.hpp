// The symbol table of a text: declarations, occurrences of each name, and mentions of names whose meaning depends on a
// value. It is computed from the tree alone, so that a text need not have run.
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
    parameter,  ///< parameter of a function, a build, a module's configuration or a program
    field,      ///< field of a module
    param,
    stream_in,
    stream_out,
    state,  ///< `param`, `stream`, `variable`
    constant,
    option,
    import  ///< a module of the library, a file, or a name in one
  } kind;
  std::string name;
  Span name_span;      ///< the name, where it is first bound
  Span span;           ///< span of the whole declaration
  std::string detail;  ///< "float32[batch, 10]" for a declared spec, "(x, n = 3)" for a callable; may be empty
  std::string doc;
  int container = -1;  ///< index of the symbol whose body contains this one; -1 at the top level
  /// The target of an import.
  struct Import {
    std::vector<std::string> path;  ///< names in the module's path
    std::string name;               ///< x in `from m import x`; empty for `import m`
    bool aliased = false;           ///< `as` follows
    Span place;                     ///< the bound word, or x before `as`
  };
  std::vector<Import> imports;
  bool inner = false;  ///< belongs to a comprehension or a lambda in the container's body
  /// The values that bindings assign to the name, or have before `as`; null for other kinds of bindings.
  std::vector<const ast::Expr*> values;
};
std::string_view text(Symbol::Kind kind);

/// An occurrence of a symbol.
struct Occurrence {
  enum class Use : uint8_t {
    binding,  ///< binds the name
    callee,   ///< f of `f(x)`
    base,     ///< m of `m.x`
    value     ///< any other use
  };
  Span span;
  int symbol = -1;
  Use use = Use::value;
};

/// A word that may name a symbol, depending on the value of an expression.
struct Mention {
  enum class Kind : uint8_t {
    member,   ///< k in `m.k`
    keyword,  ///< a in `f(a = 3)`
    spread,   ///< `**d` in `f(**d)`: any keyword; the name is empty
    text      ///< "k", which may be a key: `t["k"]`, `{"k": 1}`
  } kind;
  Span span;
  std::string name;
  const ast::Expr* of = nullptr;  ///< the base of a member, the callee of a keyword; null for a text
  bool called = false;            ///< the member is called: `m.k(...)`
};

/// Scopes are those of docs/language.md: the body, then the module's instance, then the file. A name that a function
/// binds anywhere is local to the whole function, unless it is `nonlocal`.
class SymbolTable {
 public:
  explicit SymbolTable(const ast::Tree& tree);

  const std::vector<Symbol>& symbols() const { return symbols_; }
  /// Occurrences in order of position, without library names and members of values.
  const std::vector<Occurrence>& occurrences() const { return occurrences_; }
  /// The occurrence that contains a byte offset, or ends at it.
  const Occurrence* at(uint32_t offset) const;
  /// All occurrences of a symbol, in order.
  std::vector<Occurrence> places(int symbol) const;
  /// Mentions in order of position.
  const std::vector<Mention>& mentions() const { return mentions_; }
  /// The mention that contains a byte offset, or ends at it; null if none does.
  const Mention* mention_at(uint32_t offset) const;
  /// The symbol that a name has in the body of `container`, or at the top of the file (-1), without inner symbols.
  /// Returns -1 if there is none.
  int find(int container, std::string_view name) const;
  /// A declaration at the top of the file, by name.
  const Symbol* top(std::string_view name) const;
  /// Names that are visible at `offset`, innermost scope first, without duplicates.
  std::vector<const Symbol*> visible(uint32_t offset) const;

 private:
  std::vector<Symbol> symbols_;
  std::vector<Occurrence> occurrences_;
  std::vector<Mention> mentions_;
};

}  // namespace pxl
