// Checking a file without running it: programs are built, so that names, shapes and dtypes are checked, but no session
// runs, no file is read or written and no data set is loaded. A statement that needs what only a run gives is left
// out, and the names that it would have bound or changed are unknown from there on; a statement that uses one is left
// out in turn. A statement that fails is reported, and the next one is checked, so that several errors come at once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "interpreter/elaborate/interpreter.hpp"

namespace pxl {

/// What a check collects; Interpreter::checking points at it while one is on.
struct Checking {
  std::vector<Diagnostic> errors;
  std::vector<std::shared_ptr<Ir>> irs;  ///< programs that were built, in order
  int expecting = 0;                     ///< `with expect_error` around: errors pass
  int64_t steps = 0;                     ///< statements since the last top-level one began
  bool exhausted = false;                ///< a top-level statement took more steps than a check allows
  /// Told of each value that gets a name, with the place of the name: for editors. May be empty.
  std::function<void(const Span& name, const Value& value)> observe;
};

void needs_known(const Value& v);
/// The value of a name or field as a check may use it: throws Unevaluated where it is unknown.
inline const Value& known(const Interpreter& in, const Value& v) {
  if (in.checking) needs_known(v);
  return v;
}
void observe(const Checking& checking, const Span& name, const Value& value);
/// Passes a value that gets a name to `Checking::observe`, in a check.
inline void observed(const Interpreter& in, const Span& name, const Value& value) {
  if (in.checking) observe(*in.checking, name, value);
}
/// Interpreter::execute of a block, in a check.
Flow checked_block(Interpreter& in, const ast::Block& block, Activation& a);

/// Unknown names in all code, also in what is never called (check_names.cpp).
void check_names(const ast::Tree& tree, const Scope& prelude, std::vector<Diagnostic>& errors);

struct CheckResult {
  std::vector<Diagnostic> errors;        ///< in order of place
  std::vector<std::shared_ptr<Ir>> irs;  ///< all that were built
  std::vector<std::string> unchecked;    ///< "program infer needs `n`", "line 12 takes too long"
};
/// Checks a file, then builds each of its programs whose parameters all have defaults and that the file did not call,
/// and what `calls` asks for, written as calls of programs: "infer(n = 80)". `in` is fresh and serves nothing else
/// afterwards. Throws Interrupted, and Error for a text in `calls` that does not parse.
CheckResult check_file(Interpreter& in, const ast::TreePtr& tree, const std::vector<std::string>& calls,
                       std::function<void(const Span&, const Value&)> observe = {});

}  // namespace pxl
