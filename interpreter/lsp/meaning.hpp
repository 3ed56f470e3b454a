// What an expression is, as far as the text determines it: names, imports across files, instances of modules, programs
// and their sessions. It runs nothing. What depends on values is unknown.
#pragma once

#include "interpreter/lsp/files.hpp"

namespace pxl::lsp {

/// A symbol of a document; null and -1 for none. The symbol -1 of a document is its top level.
struct Declared {
  const Document* file = nullptr;
  int symbol = -1;
  bool operator==(const Declared&) const = default;
  const SymbolTable& table() const { return *file->sound()->symbols; }
  const Symbol& operator*() const { return table().symbols()[static_cast<size_t>(symbol)]; }
  const Symbol* operator->() const { return &**this; }
};

struct Meaning {
  enum class Role : uint8_t {
    unknown,
    other,     ///< a value of the language, a function of the library: nothing that a text declares
    itself,    ///< what the symbol declares: a function, a module, a program
    instance,  ///< of a module
    built,     ///< the IR of a program
    session,   ///< of a program
    result,    ///< of a run of a program
    file       ///< the namespace of a file
  } role = Role::unknown;
  Declared of;
  bool operator==(const Meaning&) const = default;
};

/// What a word means.
struct Named {
  enum class Is : uint8_t { unknown, other, symbol } is = Is::unknown;
  Declared symbol;
};

/// A name that the language binds to a value of the program: in methods, in programs, in the REPL.
bool is_implicit(std::string_view name);

class Meanings {
 public:
  explicit Meanings(Files& files) : files_(files) {}
  /// What a member or a keyword means in a document; of `**d` the declaration that is called. Texts are unknown.
  Named of(const Document& d, const Mention& m);
  /// The declaration that an import binds, in its own file; the import itself if there is none. A chain of imports ends
  /// at `end`, and at `as` unless it leads through aliases.
  Declared declaration(Declared symbol, bool through_aliases, Declared end = {});
  /// Whether a name is bound to a value of the language, such as a number.
  bool is_plain(Declared s) { return of_symbol(s, 0).role == Meaning::Role::other; }
  Files& files() { return files_; }

 private:
  Meaning of(const Document& d, const ast::Expr& e, int depth);
  Meaning of_symbol(Declared s, int depth);
  Meaning of_values(Declared s, int depth);
  Meaning of_member(const Document& d, const ast::MemberExpr& e, int depth);
  Meaning of_call(const Document& d, const ast::CallExpr& e, int depth);
  Named member(const Meaning& base, std::string_view name);
  std::optional<Meaning> of_dotted_import(const Document& d, const ast::MemberExpr& e);
  Named called(const Document& d, const ast::Expr& callee);
  Files& files_;
  std::vector<Declared> open_;  ///< names whose values are being looked at
};

}  // namespace pxl::lsp
