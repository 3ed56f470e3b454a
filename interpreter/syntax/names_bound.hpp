// Names in code as written, whether it runs or not.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "interpreter/syntax/ast.hpp"

namespace pxl {

struct BoundNames {
  std::vector<std::string> bound;      ///< that the statement, with its blocks, binds in the body that runs it
  std::vector<std::string> declared;   ///< those of them that param, stream, variable, constant and option declare
  std::vector<std::string> mentioned;  ///< that it reads, with those that its lambdas read
  bool leaves = false;                 ///< it holds a return, break or continue
};
/// Of one statement; bodies of functions, modules and programs that it declares are not entered.
BoundNames names_of(const ast::Stmt& s);

/// The names that an assignment's target, a loop's or a comprehension's binds.
void bound_by(const ast::Expr& target, std::vector<std::string>& out);

/// The parts of an expression: operands, elements, iterables and conditions; not what a lambda holds.
void children(const ast::Expr& e, std::vector<const ast::Expr*>& out);

/// Calls back for each name in an expression, each lambda (not entered) and each comprehension's targets. Any depth.
struct NameVisitor {
  std::function<void(const ast::NameExpr&)> name;
  std::function<void(const ast::Function&)> lambda;
  std::function<void(const ast::Expr&)> target;
};
void visit_names(const ast::Expr* e, const NameVisitor& visitor);
/// Calls back for the expressions that a statement holds itself, not those in its blocks; targets that only bind a
/// name are left out.
void own_expressions(const ast::Stmt& s, const std::function<void(const ast::Expr*)>& visit);
/// The blocks of an if, for, while or with.
std::vector<const ast::Block*> own_blocks(const ast::Stmt& s);

}  // namespace pxl
