// Finds the names that code reads and binds, from its text, whether or not it runs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "interpreter/syntax/ast.hpp"

namespace pxl {

struct BoundNames {
  std::vector<std::string> bound;      ///< bound by the statement and its blocks, in the body that runs it
  std::vector<std::string> declared;   ///< declared by param, stream, variable, constant and option
  std::vector<std::string> mentioned;  ///< read by the statement and its lambdas
  bool leaves = false;                 ///< contains a return, break or continue
};
/// The names of one statement, without the bodies of functions, modules and programs that it declares.
BoundNames names_of(const ast::Stmt& s);

/// Adds the names bound by the target of an assignment, a loop or a comprehension.
void bound_by(const ast::Expr& target, std::vector<std::string>& out);

/// The names of extents that an annotation binds: all names in a pattern. A union binds those that every alternative
/// has.
std::vector<const ast::NameExpr*> extents_of_pattern(const ast::Expr& annotation);
/// The alternatives of a union, `A | B`; the annotation itself if it is not a union.
std::vector<const ast::Expr*> alternatives_of(const ast::Expr& annotation);

/// Adds the subexpressions: operands, elements, iterables and conditions, without the bodies of lambdas.
void children(const ast::Expr& e, std::vector<const ast::Expr*>& out);

/// Callbacks for each name in an expression, each lambda (without its body) and the targets of each comprehension. Not
/// recursive.
struct NameVisitor {
  std::function<void(const ast::NameExpr&)> name;
  std::function<void(const ast::Function&)> lambda;
  std::function<void(const ast::Expr&)> target;
};
void visit_names(const ast::Expr* e, const NameVisitor& visitor);

}  // namespace pxl
