// Errors that a script handles: the kinds that a `catch` takes, the error as a value, and `fail`.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/processes/processes.hpp"

namespace pxl {

class Scope;

/// The error that a `catch ... as e` binds.
struct ErrorObject final : Object {
  Error error;
  bool interrupt;  ///< Ctrl-C: `fail(e)` interrupts again
  ErrorObject(Error e, bool i) : error(std::move(e)), interrupt(i) {}
  std::string type_name() const override { return "error"; }
  std::string str(Interpreter& in) override;
  std::string repr(Interpreter& in) override;
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
};
MemberTable error_members();

/// `fail` gives an error its data.
struct WithData final : CarriedText {
  Value data;
  WithData(std::string k, Value d) : CarriedText(std::move(k)), data(std::move(d)) {}
};

/// Whether a `catch` without kinds, and `try VALUE else OTHERWISE`, take an error: one of the world, except memory and
/// interrupted.
bool is_taken_by_default(const Diagnostic& d);
/// The first `catch` that takes an error; null if none does.
const ast::TryStmt::Catch* handler_of(const ast::TryStmt& s, const Diagnostic& d);
/// Ctrl-C as an error at the running code.
Error interruption(Interpreter& in);

/// The kinds of a script's own: those that the calls of `fail` in a text name.
struct OwnKinds {
  std::set<std::string> names;
  bool computed = false;  ///< a call computes its kind, so that any name may be one
  std::set<const OwnKinds*> imported;
};
/// Adds the kinds in a text.
void add_own_kinds(const ast::Tree& tree, OwnKinds& to);
/// Throws if a `catch` names an unknown kind: one that neither the table has, nor the file, nor its imports.
void check_kinds(Interpreter& in, const ast::TryStmt& s);

void bind_error_builtins(Scope& prelude);

}  // namespace pxl
