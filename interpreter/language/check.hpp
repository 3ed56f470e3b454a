// Checks a file without running it. Programs are built, so that names, shapes and dtypes are checked, but no session
// runs and nothing outside the program changes (look.hpp). If a statement fails, the check reports it and continues
// with the next one, so that it finds several errors at once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/effects.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

class Interpreter;

/// A call that a look did not make, because of its effects.
struct Withheld {
  Span at;
  std::string what;    ///< "`points.npy` was not read"
  bool reads = false;  ///< it reads something outside the program
};

/// The state of a check. Interpreter::checking points to it during the check.
struct CheckState {
  std::vector<Diagnostic> errors;
  std::vector<std::shared_ptr<Ir>> irs;  ///< programs that were built, in order
  std::vector<Diagnostic> warnings;      ///< errors of the program that a `catch` names
  /// The enclosing `try` statements, innermost last; null for a `try` in an expression.
  std::vector<const ast::TryStmt*> handlers;
  /// Whether an enclosing `try` takes an error.
  bool handles(const Diagnostic& d) const;
  int expecting = 0;                          ///< depth of enclosing `with expect_error`: errors pass through
  int64_t steps = 0;                          ///< number of statements that were followed
  std::vector<std::shared_ptr<Ir>> sessions;  ///< programs for which sessions were made, in order
  std::vector<std::string> unbuilt;           ///< "program p is not built: ...", each once
  std::set<std::string> expected;             ///< programs that `with expect_error` calls: they are not built once more
  std::map<const Ir*, Span> incomplete;       ///< graphs that lack a part that depends on an unknown, and where
  int silent = 0;                             ///< depth of enclosing code that may not run: errors are dropped
  int uncertain_depth = 0;                    ///< depth of scopes for code that may not run
  uint8_t left = 0;                ///< a statement may have left the loop (1) or function (2): what follows may not run
  bool before_run = false;         ///< each op that a statement adds to a graph gives it the budget of one more part
  int64_t runs = 0;                ///< number of skipped sessions and runs
  bool may_have_written = false;   ///< a skipped call writes a file
  std::vector<Withheld> withheld;  ///< calls that were not made, in order; the first of them
  std::vector<std::string> tried;  ///< "program p is checked for batch = 64 and for batch = 128"
  /// Called for editors with each value that is bound to a name, and with the name's location. May be empty.
  std::function<void(const Span& name, const Value& value)> observe;
};

/// The running check, or null.
CheckState* check_in_progress(const Interpreter& in);
/// While it lives, a `try` of a look takes errors. Does nothing outside a look.
class Handling {
 public:
  Handling(CheckState* check, const ast::TryStmt* by) : check_(check) {
    if (check_) check_->handlers.push_back(by);
  }
  ~Handling() {
    if (check_) check_->handlers.pop_back();
  }
  Handling(const Handling&) = delete;
  Handling& operator=(const Handling&) = delete;

 private:
  CheckState* check_;
};
/// Ends a check, even if check_file has thrown. Code that inspects `in` afterwards is evaluated as usual.
void end_check(Interpreter& in);

void observe(const CheckState& checking, const Span& name, const Value& value);
/// During a check, passes a value that a name is bound to on to `CheckState::observe`.
inline void observed(const CheckState* checking, const Span& name, const Value& value) {
  if (checking) observe(*checking, name, value);
}
/// Finds unknown names in all code, even if it is never called (check_names.cpp).
/// Those in a `try` of which a `catch` names their kind are warnings.
void check_names(const ast::Tree& tree, const Scope& prelude, CheckState& to);

/// Notes once: "program p is not built: WHY depends on the result of a run".
void note_unbuilt(Interpreter& in, const std::string& program, const std::string& why);
/// Whether a graph lacks a part that depends on an unknown. If so, the check notes it.
bool lacks_part_noted(Interpreter& in, const Ir& ir);

struct CheckResult {
  std::vector<Diagnostic> errors;             ///< in order of location
  std::vector<Diagnostic> warnings;           ///< errors that the script handles by name
  std::vector<std::shared_ptr<Ir>> irs;       ///< all programs that were built
  std::vector<std::shared_ptr<Ir>> sessions;  ///< programs for which sessions were made, in order
  std::vector<std::string> unbuilt;    ///< "program p is not built: its parameter `n` depends on the result of a run"
  std::vector<std::string> tried;      ///< "program p is checked for batch = 64 and for batch = 128", each once
  std::vector<std::string> unchecked;  ///< "program infer needs `n`", "line 12 takes too long"
  std::vector<Withheld> withheld;      ///< calls that were not made, each once; reads first
};
/// The message about work beyond the budget: "line 12 takes too long".
std::string beyond(const std::string& what, const OverBudget& over);
/// Checks a file, then builds each of its programs whose parameters all have defaults and that the file did not call,
/// and those requested by `calls`, written as calls of programs: "infer(n = 80)". `in` must be fresh and must not be
/// used afterwards. `with_defaults`: whether it builds programs that have parameters, which all have defaults. Spends
/// the thread's budget (base/limits/budget.hpp), or a separate one if there is none; `unchecked` lists what is beyond
/// it. Throws Interrupted, and Error for a text in `calls` that does not parse. The check has the `permitted` effects.
CheckResult check_file(Interpreter& in, const ast::TreePtr& tree, const std::vector<std::string>& calls,
                       std::function<void(const Span&, const Value&)> observe = {}, Effects permitted = look_effects,
                       bool with_defaults = true);

}  // namespace pxl
