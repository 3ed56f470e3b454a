// Determines what an expression denotes, as far as the text says: names, imports across files, instances of modules,
// programs and their sessions. It runs nothing. Meanings that depend on values are unknown.
#pragma once

#include "interpreter/lsp/files.hpp"

namespace pxl::lsp {

/// A symbol of a document; null and -1 mean none. The symbol -1 of a document is its top level.
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
    other,     ///< a value of the language or a library function: no text declares it
    itself,    ///< the declared thing: a function, a module, a program
    instance,  ///< an instance of a module
    built,     ///< the IR of a program
    session,   ///< a session of a program
    result,    ///< the result of a program's run
    file       ///< the namespace of a file
  } role = Role::unknown;
  Declared of;
  bool operator==(const Meaning&) const = default;
};

/// The declaration that a word refers to.
struct Named {
  enum class Is : uint8_t { unknown, other, symbol } is = Is::unknown;
  Declared symbol;
};

/// Whether the language binds this name to a value: in methods, in programs, in the REPL.
bool is_implicit(std::string_view name);

class Meanings {
 public:
  explicit Meanings(Files& files) : files_(files) {}
  /// The declaration that a member or a keyword of a document refers to. `**d` refers to the declaration
  /// that is called. Texts are unknown.
  Named of(const Document& d, const Mention& m);
  /// The declaration that an import binds, in the file that declares it; the import itself if none exists. A chain of
  /// imports ends at `end`, and at `as` unless `through_aliases`.
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
  std::vector<Declared> open_;  ///< names whose values are being examined
};

}  // namespace pxl::lsp
