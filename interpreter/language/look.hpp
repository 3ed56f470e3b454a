// A look at programs: a script is followed as far as its values are known, without an effect outside it. What only a
// run gives is unknown, and what follows from an unknown is unknown. A condition that is unknown leaves open which
// branch runs: each is followed for the programs that it builds, its errors are dropped, and what it binds or changes
// is unknown from there on. A loop over an unknown is followed once in the same way.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "interpreter/values/interpreter.hpp"

namespace pxl {

/// A value that only a run gives. Every question that needs the value throws Unevaluated during a look.
struct UnknownObject final : Object {
  std::optional<TensorSpec> spec;  ///< of an array of which the elements are unknown
  std::optional<Value> element;    ///< what an iteration gives in each of its rounds, of which the number is unknown
  explicit UnknownObject(std::optional<TensorSpec> s = {}) : spec(std::move(s)) {}
  std::string type_name() const override;
  std::string repr(Interpreter&) override;
  std::optional<Value> member(Interpreter&, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  void set_member(Interpreter&, std::string_view, Value) override {}
  bool callable() const override { return true; }
  Value call(Interpreter& in, Arguments args) override;
  Value index(Interpreter&, const Value& key) override;
  void set_index(Interpreter&, const Value&, Value) override {}
  std::optional<int64_t> length(Interpreter&) override;
  std::optional<Iterator> iterate(Interpreter&) override;
  bool contains(Interpreter&, const Value&) override;
  bool truth(Interpreter&) override;
  bool equals(Interpreter&, const Value&) override;
  std::optional<std::string> hash_key() const override;
  bool is_context() const override { return true; }
  Value enter(Interpreter&) override;
};

Value unknown_value();
Value unknown_array(TensorSpec spec);
Value unknown_array(Shape shape, DType dtype);
/// Whether a value is unknown, or an object whose state is (Object::forget).
inline bool is_unknown(const Value& v) {
  return v.is_object() && (v.object()->forgotten() || v.as<UnknownObject>() != nullptr);
}
/// Whether it is unknown, or a list, tuple or dict that holds an unknown.
bool holds_unknown(const Value& v);
bool holds_unknown(const Arguments& args);
/// The spec of an array of which the elements are unknown.
std::optional<TensorSpec> unknown_spec(const Value& v);
/// What code reads of a value: unknown where its state was forgotten.
Value as_known(Value v);

/// The graph that is being built lacks what depends on an unknown: its program is not built.
void lacks_part(Interpreter& in);
/// The same where an argument is part of a graph.
void lacks_part_of(Interpreter& in, const Arguments& args);

/// Code that may or may not run: objects that are older than the scope are unknown once it changes them. Where it is
/// silent, errors are dropped.
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

/// What a statement that was not followed to its end might have bound or changed is unknown.
void forget(const ast::Stmt& s, Activation& a);
/// The names that it binds are unknown.
void forget_bound(const ast::Stmt& s, Activation& a);
/// What an expression that was not evaluated to its end might have changed is unknown.
void forget_mentioned(const ast::Expr& e, Activation& a);
/// What a function might have changed is unknown.
void forget_changed_by(const Value& function);

/// The truth of a value; nothing where it is unknown.
std::optional<bool> known_truth(Interpreter& in, const Value& v);
/// Whether a statement declares a part of a graph.
bool declares_tensor(const ast::Stmt& s);
/// A statement at the top level. Throws ExitRequest, and OverBudget: then what it did in part is to be forgotten.
void look_at_statement(Interpreter& in, const ast::Stmt& s, Activation& a);
/// Statements in a look.
Flow look_at_block(Interpreter& in, const ast::Block& block, Activation& a);
Flow look_at_if(Interpreter& in, const ast::IfStmt& s, Activation& a);
Flow look_at_for(Interpreter& in, const ast::ForStmt& s, Activation& a);
Flow look_at_while(Interpreter& in, const ast::WhileStmt& s, Activation& a);

}  // namespace pxl
