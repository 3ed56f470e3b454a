// The scopes of a text while its symbols are collected: they map a name at a place to its symbol.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/tools/symbols/symbols.hpp"

namespace pxl {

/// Symbols are numbered by their position in the list passed to the constructor, and scopes in order of `open`, from 0.
class SymbolScopes {
 public:
  SymbolScopes(std::vector<Symbol>& symbols, std::vector<Occurrence>& occurrences)
      : symbols_(symbols), occurrences_(occurrences) {}

  /// Opens a scope within `outer` (-1: none), of the symbol `owner` (-1: none). `own`: the names of the body, if the
  /// scope is the body of a function or test.
  int open(int outer, int owner, const ast::OwnNames* own = nullptr);
  int owner_of(int scope) const { return scopes_[scope].owner; }

  /// The symbol that a name denotes in a scope; -1 if it is not bound yet.
  int find(int scope, std::string_view name) const;
  /// Binds a name, and returns its symbol: the symbol of an earlier declaration, or a new one.
  int declare(int scope, Symbol::Kind kind, const std::string& name, Span name_span, Span span, std::string detail = {},
              std::string doc = {}, const ast::Expr* value = nullptr);
  /// Adds a symbol that no name denotes, such as a test.
  int add(int scope, Symbol::Kind kind, const std::string& name, Span span);
  Symbol& symbol(int number) { return symbols_[number]; }

  void read(int scope, std::string_view name, Span span, Occurrence::Use use = Occurrence::Use::value);
  /// Notes that `self.f`, a field of the enclosing module, is read or bound. Returns false if the module has no such
  /// field.
  bool read_field(int scope, std::string_view name, Span span, Occurrence::Use use);

  /// Begins a body. `settle` resolves the names that the body reads before it binds them, as in loops.
  size_t begin_body() const { return unresolved_.size(); }
  void settle(size_t from);

  /// Sorts the occurrences by position, with one per location.
  void finish();

 private:
  struct Scope {
    int outer;
    int owner;
    std::map<std::string, int, std::less<>> names;
    const ast::OwnNames* own = nullptr;
  };
  struct Unresolved {
    int scope;
    std::string name;
    Span span;
    Occurrence::Use use;
  };
  std::vector<Symbol>& symbols_;
  std::vector<Occurrence>& occurrences_;
  std::vector<Scope> scopes_;
  std::vector<Unresolved> unresolved_;
};

}  // namespace pxl
