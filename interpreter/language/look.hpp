// Abstract interpretation of a script ("look"): the script is followed as far as its values are known, without effects
// outside it. Values that only a run produces are unknown, and so is everything computed from them. If a condition is
// unknown, each branch is followed for the programs that it builds. The branch's errors are dropped, and the names and
// objects that it changes are unknown afterwards. A loop over an unknown is followed once in this way.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "interpreter/language/activation.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

/// Notes that the graph which is being built lacks a part that depends on an unknown. Its program is not built.
void lacks_part(Interpreter& in);
/// Calls lacks_part if an argument is part of a graph.
void lacks_part_of(Interpreter& in, const Arguments& args);

/// Runs code that may or may not run: it makes older objects unknown when it changes them. If `silent`, errors are
/// dropped.
class UncertainScope {
 public:
  UncertainScope(Interpreter& in, bool silent);
  ~UncertainScope();
  UncertainScope(const UncertainScope&) = delete;
  UncertainScope& operator=(const UncertainScope&) = delete;

 private:
  Interpreter& in_;
  bool silent_;
  bool forgets_;
  uint64_t era_;
  std::weak_ptr<Ir> ir_;
  size_t ops_ = 0;
};

/// Whether skipped code might have changed the value.
bool can_change(const Value& v);
/// Makes everything unknown that a statement might have bound or changed. The statement was not followed to its end.
void forget(const ast::Stmt& s, Activation& a);
/// Makes the names that a statement binds unknown.
void forget_bound(const ast::Stmt& s, Activation& a);
/// Makes everything unknown that an expression might have changed. The expression was not evaluated to its end.
void forget_mentioned(const ast::Expr& e, Activation& a);
/// Makes everything unknown that a function might have changed.
void forget_changed_by(const Value& function);

/// The truth of a value; nullopt if it is unknown.
std::optional<bool> known_truth(Interpreter& in, const Value& v);
/// Whether a statement declares a part of a graph.
bool declares_tensor(const ast::Stmt& s);
/// Follows a statement at the top level. Throws ExitRequest and OverBudget; the caller then forgets the statement.
void look_at_statement(Interpreter& in, const ast::Stmt& s, Activation& a);
/// Follows statements in a look.
Flow look_at_block(Interpreter& in, const ast::Block& block, Activation& a);
Flow look_at_if(Interpreter& in, const ast::IfStmt& s, Activation& a);
Flow look_at_for(Interpreter& in, const ast::ForStmt& s, Activation& a);
Flow look_at_while(Interpreter& in, const ast::WhileStmt& s, Activation& a);
/// Follows a `try`. An error that a `catch` takes is none of the look; one of the program is a warning.
Flow look_at_try(Interpreter& in, const ast::TryStmt& s, Activation& a);
/// Follows `base[key] = value`.
void look_at_element(Interpreter& in, const Value& base, const Value& key, Value value);

}  // namespace pxl
