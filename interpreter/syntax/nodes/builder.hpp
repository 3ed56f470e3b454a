// Builds the AST from a parse tree without syntax errors. The files
// build_{operators,expressions,statements,declarations}.cpp implement it. If it rejects a literal (a number out of
// range, an unknown escape), it adds a problem to `problems` and uses a placeholder.
#pragma once

#include <functional>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/parse_tree.hpp"

namespace pxl::syntax {

class AstBuilder {
 public:
  AstBuilder(const TokenList& list, ast::Tree& tree) : list_(list), tree_(tree) {}

  ast::Block* statements(const Node* node);
  std::vector<Diagnostic> problems;

 private:
  // statements and declarations
  ast::Stmt* statement(const Node* node);
  ast::Stmt* simple(const Node* node, bool outlined);
  ast::Stmt* if_statement(const Node* node);
  ast::Stmt* for_statement(const Node* node);
  ast::Stmt* while_statement(const Node* node);
  ast::Stmt* with_statement(const Node* node);
  ast::Stmt* try_statement(const Node* node);
  ast::TryStmt::Catch catch_clause(const Node* node);
  ast::Stmt* return_statement(const Node* node);
  ast::Stmt* assert_statement(const Node* node);
  ast::Stmt* import_statement(const Node* node);
  ast::Stmt* from_statement(const Node* node);
  ast::Stmt* nonlocal_statement(const Node* node);
  ast::Stmt* def_statement(const Node* node, bool outlined);
  ast::Stmt* outlined_statement(const Node* node);
  ast::Stmt* module_statement(const Node* node);
  ast::Stmt* record_statement(const Node* node);
  ast::Stmt* next_statement(const Node* node);
  ast::Stmt* program_statement(const Node* node);
  ast::Stmt* param_statement(const Node* node);
  ast::Stmt* stream_statement(const Node* node);
  ast::Stmt* variable_statement(const Node* node, ast::StmtKind kind);
  ast::Stmt* option_statement(const Node* node);
  ast::Stmt* test_statement(const Node* node);
  void member(ast::ModuleStmt* module, const Node* node);
  ast::Function* function(const Node* node, std::string name);
  std::vector<ast::Parameter> parameters(const Node* node);
  std::vector<ast::WithItem> with_items(const Node* node);
  std::vector<ast::Argument> options(const Node* node);
  std::vector<std::string> path(const Node* node);
  std::string doc(const Node* node) const;

  // expressions
  ast::Expr* elements(const Node* node);
  std::vector<ast::Expr*> element_list(const Node* node);
  ast::Expr* element(const Node* node);
  ast::Expr* expression(const Node* node);
  ast::Expr* conditional(const Node* part, uint32_t last);
  ast::Expr* operation(const Node* node);
  ast::Expr* postfix(const Node* node);
  ast::Expr* atom(const Node* node);
  ast::Expr* name(const Node* node);
  ast::Expr* number(const Node* node);
  ast::Expr* strings(const Node* node);
  void fstring(const Node* node, std::vector<ast::FPiece>& out);
  ast::FPiece interpolation(const Node* node);
  ast::Expr* brackets(const Node* node);
  ast::Expr* list(const Node* node);
  ast::Expr* dict(const Node* node);
  std::pair<ast::Expr*, ast::Expr*> dict_item(const Node* node);
  void clauses(const Node* from, ast::ComprehensionExpr* out);
  std::vector<ast::Expr*> targets(const Node* node);
  std::vector<ast::Argument> arguments(const Node* node);
  ast::Expr* subscript(const Node* node);
  ast::Expr* starred(const Node* value, const Node* whole);

  // builds the expression for one flat operation
  struct Operators;

  Span span(const Node* node) const;
  Span span(uint32_t first, uint32_t last) const;
  std::string text(const Node* node) const { return std::string(span(node).text()); }
  void problem(std::string message, Span at, std::vector<std::string> notes = {});
  /// Counts one level of nesting during its lifetime; false if the limit is exceeded.
  struct Deeper {
    AstBuilder& builder;
    int levels;
    Deeper(AstBuilder& b, int n) : builder(b), levels(n) { builder.depth_ += n; }
    ~Deeper() { builder.depth_ -= levels; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
  };
  bool too_deep(Span at);

  const TokenList& list_;
  ast::Tree& tree_;
  bool checks_results_ = false;  ///< whether the function that is being built declares results
  int depth_ = 0;
  bool reported_depth_ = false;
};

/// Resolves escapes; `at` is the location of the text. Appends problems.
std::string unescape(std::string_view text, Span at, std::vector<Diagnostic>& problems);
/// The value of a complete STRING token.
std::string string_value(std::string_view token, Span at, std::vector<Diagnostic>& problems);
/// Returns false if the number exceeds 64 bits. `value` is then its low 64 bits.
bool integer_value(std::string_view token, uint64_t& value);
double floating_value(std::string_view token);

}  // namespace pxl::syntax
