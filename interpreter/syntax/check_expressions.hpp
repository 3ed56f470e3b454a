// Checks of assignment targets, arguments and parameters.
#pragma once

#include "interpreter/syntax/ast.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl::syntax {

class ExpressionChecks {
 public:
  explicit ExpressionChecks(std::vector<Diagnostic>& problems) : problems_(problems) {}

  /// Accepts null. Recursion is bounded by the parser's limit on nesting.
  void value(const ast::Expr* e);
  void assignment(const ast::AssignStmt& s);
  void loop_target(const ast::Expr* e);
  void parameters(const std::vector<ast::Parameter>& list);
  void options(const std::vector<ast::Argument>& list);

 private:
  void problem(std::string_view code, std::string message, Span at, std::string note = {});
  void target(const ast::Expr* e, bool in_tuple);
  void arguments(const std::vector<ast::Argument>& list);
  void comprehension(const ast::ComprehensionExpr& e);

  std::vector<Diagnostic>& problems_;
};

}  // namespace pxl::syntax
