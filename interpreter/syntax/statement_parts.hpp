// The parts of a statement, in the order in which they run. Each walk over statements derives from this one and
// overrides the parts that it needs. A new kind of statement lists its parts once.
#pragma once

#include <string>
#include <vector>

#include "interpreter/syntax/ast.hpp"

namespace pxl {

/// The actions of a walk, one per kind of part. The default actions do nothing.
class StatementVisitor {
 public:
  virtual ~StatementVisitor() = default;
  /// An expression that the statement evaluates; never null.
  virtual void read(const ast::Expr&) {}
  /// A type that is not evaluated.
  virtual void type(const ast::Expr&) {}
  /// A target of an assignment or a loop. `changes`: the statement reads it too, as `+=` does.
  virtual void target(const ast::Expr&, bool /*changes*/) {}
  /// A name that the statement binds in another way. `at` is empty if the name has no place of its own.
  virtual void name(const std::string&, const Span& /*at*/) {}
  /// The name of a param, stream, variable, constant or option.
  virtual void declaration(const std::string& bound, const Span& at) { name(bound, at); }
  /// A block that belongs to the body of the statement.
  virtual void block(const ast::Block&) {}
  /// A separate body: of a function or program, of a module, of a test.
  virtual void function(const ast::Function&) {}
  virtual void module(const ast::ModuleStmt&) {}
  virtual void test(const ast::TestStmt&) {}
  /// The fields of a record.
  virtual void field(const ast::Parameter&) {}
  /// A name of `nonlocal`.
  virtual void outside(const ast::NonlocalStmt::Item&) {}
  /// The statement leaves a loop or a function.
  virtual void leaves() {}
};

void visit_parts(const ast::Stmt& s, StatementVisitor& visitor);

/// Visits the expressions in a statement and its blocks. It visits those parts of a target that are not names. It does
/// not enter separate bodies.
class ExpressionVisitor : public StatementVisitor {
 public:
  void target(const ast::Expr& target, bool changes) override;
  void block(const ast::Block& b) override {
    for (const ast::Stmt* s : b.statements) visit_parts(*s, *this);
  }
};

}  // namespace pxl
