// Functions: their values, the binding of arguments to parameters, and the running of bodies.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "interpreter/language/activation.hpp"
#include "interpreter/values/cycles.hpp"

namespace pxl {

/// A function of the program: `def` or lambda.
struct FunctionObject final : Object {
  static constexpr ClassTag class_tag = ClassTag::function;
  ast::Held<ast::Function> code;
  ScopePtr closure;
  std::vector<Value> defaults;  ///< defaults as make_defaults returns them
  std::string type_name() const override { return "function"; }
  std::string repr(Interpreter&) override;
  bool callable() const override { return true; }
  Value call(Interpreter& in, Arguments args) override;
  Value call_by_position(Interpreter& in, const Value* values, size_t count) override;
  void references(References& to) const override {
    to.add(closure);
    for (const Value& v : defaults) to.add(v);
  }

 private:
  bool takes(const Interpreter& in, size_t count) const;
  /// Sets the slots of the parameters from number `given` on.
  void set_defaults(Interpreter& in, Scope& scope, size_t given) const;
};

/// Makes the function of a def or a lambda.
Value make_function(Interpreter& in, const ast::Function& f, Activation& a);
/// Makes the scope for a body that is about to run, with a slot for each of its names.
PXL_INLINE ScopePtr scope_of_body(const ScopePtr& closure, const ast::Function& f) {
  if (f.own.slots.size() <= Scope::inline_slots) [[likely]]
    return make_ref_inline<Scope>(closure, f.own);
  ScopePtr scope = make_ref<Scope>(closure, f.own.slots);
  scope->own = &f.own;
  return scope;
}
/// Memory for the scope of a body that is about to run. The scope needs none of the heap if nothing can keep it.
class BodyScope {
 public:
  BodyScope() = default;
  PXL_INLINE ~BodyScope() {
    if (here_) end(*here_);
  }
  BodyScope(const BodyScope&) = delete;
  BodyScope& operator=(const BodyScope&) = delete;
  /// The scope, for one Activation, which ends before this object.
  PXL_INLINE ScopePtr begin(const ScopePtr& closure, const ast::Function& f) {
    if (f.captured || f.own.slots.size() > Scope::inline_slots) [[unlikely]]
      return scope_of_body(closure, f);
    new (memory_) RefCounts{.strong = 2};  // the scope never frees itself
    here_ = new (memory_ + sizeof(RefCounts)) Scope(closure, f.own);
    return ScopePtr::adopt(here_);
  }

 private:
  __attribute__((noinline)) static void end(Scope& scope) { scope.~Scope(); }
  Scope* here_ = nullptr;
  alignas(RefCounts) std::byte memory_[sizeof(RefCounts) + sizeof(Scope)];
};
/// The defaults of a function that is made here, by parameter. Empty if all are literals.
std::vector<Value> make_defaults(Interpreter& in, const ast::Function& f, Activation& a);
/// Binds arguments to parameters by position, name and default, and fills `scope`. It checks annotations (types and
/// shape patterns) and binds the free dimensions of patterns as names. `what` names the callee in messages.
void bind_parameters(Interpreter& in, const std::string& what, const std::vector<ast::Parameter>& parameters,
                     Arguments args, const ScopePtr& scope, const ScopePtr& defaults_scope,
                     const std::vector<Value>& defaults = {});
/// Runs a body in a prepared activation, inside its `with` contexts, and returns its result.
Value run_function(Interpreter& in, const ast::Function& f, Activation& a);
/// The kinds of values that an annotation admits as they are. 0 if it is more than built-in types.
uint32_t kinds_of_type(const ast::Expr& annotation);
/// The kinds of values that need no check of the parameter's annotation.
uint32_t kinds_of(const ast::Parameter& p);
/// Whether each parameter takes one value by position, whose kind is all that its annotation asks for.
bool take_values(const std::vector<ast::Parameter>& parameters);
/// Whether values, one for each parameter, have the kinds that need no check.
bool have_kinds(const std::vector<ast::Parameter>& parameters, const Value* values, size_t count);
/// Checks an argument against its parameter's annotation. Returns the argument, converted if the type requires it.
Value check_argument(Interpreter& in, const std::string& what, const ast::Parameter& p, Value v, Activation& a);

/// Checks the results that a function declares. The names that its arguments bound are those at the beginning of the
/// body.
class DeclaredResults {
 public:
  DeclaredResults(Interpreter& in, const ast::Function& f, const Activation& a);
  /// Returns the result, converted if its type requires it. `returned`: the return statement, for errors.
  Value check(Value result, const Span& returned);

 private:
  Interpreter& in_;
  const ast::Function& f_;
  Activation a_;
};

/// Every name in a function's code that it may find outside, sorted (names.cpp).
const std::vector<std::string>& names_in(const ast::Function& f);

}  // namespace pxl
