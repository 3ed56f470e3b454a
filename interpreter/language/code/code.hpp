// Compiled code, which runs bodies. Each node of the syntax tree becomes an object that knows the slots of its names
// and remembers what it found last. A node has one method for each way in which its value is needed.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "interpreter/language/activation.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/interpreter.hpp"
#include "runtime/base/limits/budget.hpp"

namespace pxl {

/// The place where code found a name that its body lacks: a number of scopes outside, and a position in that scope. All
/// scopes with one layout, or with one version, have the name at this position.
class OuterPlace {
 public:
  /// The value, if a search would certainly find it there; otherwise null.
  PXL_INLINE const Value* find(const Activation& a) const {
    const Scope* s = a.scope.get();
    for (uint32_t i = hops_; i > 0; --i) {
      s = s->outer.get();
      if (!s) return nullptr;
    }
    if (layout_) {
      if (s->layout() != layout_) return nullptr;
      const Value& v = s->slot(index_);
      return v.is_unset() ? nullptr : &v;
    }
    if (s->version() != versions_[0]) return nullptr;
    if (known_ > 1) return s->outer.get() == next_ && Scope::newest_version() == newest_ ? value_ : find_further(*s);
    return value_ ? value_ : &s->added_value(index_);
  }
  /// The scope whose layout has the name, if the name is bound in it; otherwise null.
  const ScopePtr* body(const Activation& a) const;
  size_t slot() const { return index_; }
  /// Notes where a search from the scope of `a` found the value, unless a scope in between could bind the name
  /// unnoticed.
  void note(const Activation& a, Name name, const Value& v);

 private:
  const Value* find_further(const Scope& first) const;
  static constexpr size_t max_versions = 3;  // instance, file, prelude
  const Layout* layout_ = nullptr;           ///< null: the name was added to its scope
  const Value* value_ = nullptr;             ///< of a version that one scope has; null if several share it
  uint32_t hops_ = 0, index_ = 0, known_ = 0;
  uint64_t versions_[max_versions] = {UINT64_MAX};  ///< at first a version that no scope has
  /// The second scope and the newest version when all versions were compared last, if no instance has one of them.
  mutable const Scope* next_ = nullptr;
  mutable uint64_t newest_ = UINT64_MAX;
};

/// Memory for a value that is no object and needs no destructor.
union Scalar {
  Value value;
  Scalar() {}   // NOLINT(modernize-use-equals-default): the value is not made yet
  ~Scalar() {}  // NOLINT(modernize-use-equals-default)
  Scalar(const Scalar&) = delete;
  Scalar& operator=(const Scalar&) = delete;
  const Value* put(Value v) { return new (&value) Value(std::move(v)); }
};

/// An expression.
class Code : public ast::Compiled {
 public:
  explicit Code(const Span& at) : span(at) {}
  virtual Value value(Interpreter& in, Activation& a) const = 0;
  /// Returns the stored value without a copy, or makes the value in `made`. The reference is valid until other code
  /// runs. `made` must hold no object.
  virtual const Value& borrow(Interpreter& in, Activation& a, Value& made) const {
    return *new (&made) Value(value(in, a));
  }
  /// Computes the value in `out`, which must hold no object. Returns false if the evaluation failed: `out` is then the
  /// error (errors.hpp). Calls return errors so, since a thrown one costs a microsecond for each call that it leaves.
  virtual bool attempt(Interpreter& in, Activation& a, Value& out) const {
    new (&out) Value(value(in, a));
    return true;
  }
  virtual bool truth(Interpreter& in, Activation& a) const;
  /// Returns the stored value, or a value that is no object, in `room`. Returns null if the value cannot be found this
  /// way; other methods must then evaluate the expression. Runs no code of the program, changes nothing, and has no
  /// errors.
  virtual const Value* quick(const Activation&, Scalar& /*room*/) const { return nullptr; }
  virtual bool has_quick() const { return false; }
  /// Whether its evaluation runs no code of the program and changes nothing. This holds for names, literals, their
  /// elements and their sums.
  virtual bool is_leaf() const { return false; }
  /// The slot of a name, or -1 if it has none; the place of another name, or null; the value of a literal, or null.
  virtual int slot() const { return -1; }
  virtual const OuterPlace* outer() const { return nullptr; }
  virtual const Value* constant() const { return nullptr; }

  const Span span;
};
using CodePtr = std::unique_ptr<const Code>;
/// Makes an error the value of a failed evaluation, and returns false. It is located at the running code, unless it has
/// a location.
bool failed(CodePosition& code, Error& error, Value& out);
/// The failure of a part fails the whole. Returns false.
inline bool passed_on(Value& failure, Value& out) {
  out = std::move(failure);
  return false;
}
/// The error of a failed evaluation.
Error& error_in(const Value& failure);
[[noreturn]] void throw_failure(const Value& failure);
/// Throws the error of an evaluation that failed.
PXL_INLINE Value value_of(bool succeeded, Value& made) {
  if (!succeeded) [[unlikely]]
    throw_failure(made);
  return std::move(made);
}

/// A part of an expression. Slots and literals, the most frequent parts, are read without a call. Other names are read
/// without a virtual call.
class Operand {
 public:
  Operand(CodePtr code)
      : code_(std::move(code)),
        slot_(code_->slot()),
        has_quick_(code_->has_quick()),
        is_leaf_(code_->is_leaf()),
        constant_(code_->constant()),
        outer_(code_->outer()) {}
  /// Does what Code::quick does.
  PXL_INLINE const Value* quick(const Activation& a, Scalar& room) const {
    if (const Value* v = stored(a)) return v;
    if (outer_) return outer_->find(a);
    return has_quick_ ? code_->quick(a, room) : nullptr;
  }
  bool has_quick() const { return is_simple() || has_quick_; }
  /// The value of a slot or a literal; an unset slot has no number.
  PXL_INLINE const Value& simple(const Activation& a) const {
    return slot_ >= 0 ? a.scope->slot(static_cast<size_t>(slot_)) : *constant_;
  }
  bool is_simple() const { return slot_ >= 0 || constant_; }
  bool is_leaf() const { return is_leaf_; }
  PXL_INLINE bool attempt(Interpreter& in, Activation& a, Value& out) const {
    const Value* v = stored(a);
    if (!v) return code_->attempt(in, a, out);
    new (&out) Value(*v);
    return true;
  }
  PXL_INLINE const Value& borrow(Interpreter& in, Activation& a, Value& made) const {
    const Value* v = stored(a);
    return v ? *v : code_->borrow(in, a, made);
  }
  PXL_INLINE Value value(Interpreter& in, Activation& a) const {
    const Value* v = stored(a);
    return v ? *v : code_->value(in, a);
  }
  PXL_INLINE bool truth(Interpreter& in, Activation& a) const {
    if (slot_ >= 0)
      if (const Value& v = a.scope->slot(static_cast<size_t>(slot_)); v.is_bool()) return v.as_bool();
    return code_->truth(in, a);
  }
  /// Keeps the value in `made`, which must hold no object.
  PXL_INLINE const Value& keep(Interpreter& in, Activation& a, Value& made) const {
    return *new (&made) Value(value(in, a));
  }
  /// The value of a name, found without a virtual call; null if it is not found, or for other code.
  PXL_INLINE const Value* named(const Activation& a) const {
    if (outer_) return outer_->find(a);
    return slot_ >= 0 ? &a.scope->slot(static_cast<size_t>(slot_)) : nullptr;
  }
  const Code* operator->() const { return code_.get(); }
  const Code& operator*() const { return *code_; }

 private:
  /// The value of a slot or a literal. Null for an unset slot, and for other code.
  PXL_INLINE const Value* stored(const Activation& a) const {
    if (slot_ < 0) return constant_;
    const Value& v = a.scope->slot(static_cast<size_t>(slot_));
    return v.is_unset() ? nullptr : &v;
  }
  CodePtr code_;
  int slot_;
  bool has_quick_, is_leaf_;
  const Value* constant_;
  const OuterPlace* outer_;
};

/// Whether to try the quick way of an expression: not after it has failed often.
class QuickTries {
 public:
  QuickTries() = default;
  QuickTries(std::initializer_list<const Operand*> operands) : left_(most) {
    for (const Operand* o : operands)
      if (!o->has_quick()) left_ = 0;
  }
  explicit operator bool() const { return left_ > 0; }
  void failed() const { --left_; }

 private:
  static constexpr uint8_t most = 64;  // a try costs a part of what the other way costs, so few are lost
  mutable uint8_t left_ = 0;
};

/// The target of an assignment.
class TargetCode : public ast::Compiled {
 public:
  /// The slot of a name that the body owns, or -1.
  virtual int slot() const { return -1; }
  virtual void assign(Interpreter& in, Activation& a, Value value) const = 0;
  /// The stored value that `assign` would replace, for a caller that replaces it by a number. Null if it cannot be
  /// found at once. Runs no code of the program. Not for a look.
  virtual Value* stored(Activation& /*a*/) const { return nullptr; }
  /// The number of values that assign_row moves into the parts of a tuple; 0 if there is no such way.
  virtual size_t width() const { return 0; }
  virtual void assign_row(Interpreter& /*in*/, Activation& /*a*/, Value* /*row*/) const {}
};
using TargetPtr = std::unique_ptr<const TargetCode>;

/// A target that is part of a statement outside a look.
class Target {
 public:
  static constexpr size_t max_width = 4;
  explicit Target(TargetPtr code) : code_(std::move(code)), slot_(code_->slot()), width_(code_->width()) {}
  int slot() const { return slot_; }
  /// Whether the target takes elements of a walk as rows.
  bool takes_rows(size_t width) const { return width != 0 && width == width_; }
  void assign_row(Interpreter& in, Activation& a, Value* row) const { code_->assign_row(in, a, row); }
  /// Does what TargetCode::stored does.
  PXL_INLINE Value* stored(const Interpreter& in, Activation& a) const {
    if (is_plain(in, a)) return &a.scope->slot(static_cast<size_t>(slot_));
    return in.checking ? nullptr : code_->stored(a);
  }
  PXL_INLINE void assign(Interpreter& in, Activation& a, Value value) const {
    if (is_plain(in, a)) [[likely]]
      a.scope->slot(static_cast<size_t>(slot_)) = std::move(value);
    else
      code_->assign(in, a, std::move(value));
  }
  /// Assigns a copy of a value.
  PXL_INLINE void assign_stored(Interpreter& in, Activation& a, const Value& value) const {
    if (is_plain(in, a)) [[likely]] {
      Value& slot = a.scope->slot(static_cast<size_t>(slot_));
      if (!slot.is_object() && !value.is_object()) [[likely]] {
        new (&slot) Value(value);
        return;
      }
    }
    assign_copy(in, a, value);
  }

 private:
  PXL_INLINE bool is_plain(const Interpreter& in, const Activation& a) const {
    return slot_ >= 0 && !a.round && !in.checking;
  }
  __attribute__((noinline)) void assign_copy(Interpreter& in, Activation& a, Value value) const {
    assign(in, a, std::move(value));
  }
  TargetPtr code_;
  int slot_;
  size_t width_;
};

class StmtCode : public ast::Compiled {
 public:
  explicit StmtCode(const Span& at) : span(at) {}
  virtual Flow run(Interpreter& in, Activation& a) const = 0;
  /// The result of `run`, if the statement does nothing else: `break`, `continue`, `pass`.
  virtual std::optional<Flow> flow() const { return std::nullopt; }

  const Span span;
};
using StmtPtr = std::unique_ptr<const StmtCode>;

/// Notes where a statement begins. The innermost failing expression locates an error.
PXL_INLINE void begin_statement(Interpreter& in, const Span& span) {
  constexpr int64_t statement_ns = 150;
  in.here = span;
  charge(statement_ns);
}

class BlockCode final : public ast::Compiled {
 public:
  explicit BlockCode(std::vector<StmtPtr> statements)
      : statements_(std::move(statements)), flow_(statements_.size() == 1 ? statements_[0]->flow() : std::nullopt) {}
  PXL_INLINE Flow run(Interpreter& in, Activation& a) const {
    if (flow_) {
      begin_statement(in, statements_[0]->span);
      return *flow_;
    }
    for (const StmtPtr& s : statements_) {
      begin_statement(in, s->span);
      const Flow flow = s->run(in, a);
      if (flow != Flow::normal) return flow;
    }
    return Flow::normal;
  }

 private:
  std::vector<StmtPtr> statements_;
  std::optional<Flow> flow_;  ///< set if the block is one such statement
};
using BlockPtr = std::unique_ptr<const BlockCode>;

/// The place for which code is compiled.
struct Place {
  const Layout* layout;  ///< layout of the scope in which the code runs; null if all its names are added
  bool look;             ///< the code runs in a look: an expression is unknown if it needs a run's value
  const ast::AssignStmt* assignment = nullptr;  ///< the code belongs to the value in `NAME = value`
};

CodePtr compile(const ast::Expr& e, const Place& place);
/// Compiles the iterable of a loop: a list literal may become a tuple.
CodePtr compile_iterable(const ast::Expr& e, const Place& place);
CodePtr compile_constant(const Span& at, Value v);
CodePtr compile_or_null(const ast::Expr* e, const Place& place);
std::vector<Operand> compile(const std::vector<ast::Expr*>& list, const Place& place);
TargetPtr compile_target(const ast::Expr& target, const Place& place);
/// Compiles several targets; without brackets they are a tuple.
TargetPtr compile_targets(const std::vector<ast::Expr*>& targets, const Place& place);
StmtPtr compile(const ast::Stmt& s, const Place& place);
BlockPtr compile(const ast::Block& block, const Place& place);
/// The index of a name in the layout of `place`, or -1.
int slot_of(Name name, const Place& place);

// ---- by kind of node, in the files named here
CodePtr compile_kind(const ast::Expr& e, const Place& place);             ///< code_values.cpp
CodePtr compile_name(const ast::NameExpr& e, const Place& place);         ///< code_names.cpp
CodePtr compile_operator(const ast::Expr& e, const Place& place);         ///< code_operators.cpp
CodePtr compile_attempt(const ast::AttemptExpr& e, const Place& place);   ///< code_try.cpp
StmtPtr compile_try(const ast::TryStmt& s, const Place& place);           ///< code_try.cpp
StmtPtr compile_augmented(const ast::AssignStmt& s, const Place& place);  ///< code_operators.cpp
/// `iterated`: a loop iterates over the call's value.
CodePtr compile_call(const ast::CallExpr& e, const Place& place, bool iterated = false);  ///< code_calls.cpp
CodePtr compile_comprehension(const ast::ComprehensionExpr& e, const Place& place);       ///< comprehensions.cpp
TargetPtr compile_name_target(const ast::NameExpr& e, const Place& place);                ///< code_names.cpp

/// Ends a statement that failed.
inline Flow failed(Activation& a, Value error) {
  a.result = std::move(error);
  return Flow::failed;
}
bool other_truth_at(Interpreter& in, const Value& v, const Span& at);
/// The truth of a value. An error in computing it gets a location.
PXL_INLINE bool truth_at(Interpreter& in, const Value& v, const Span& at) {
  if (v.is_bool()) [[likely]]
    return v.as_bool();
  if (v.is_int64()) return v.int64() != 0;
  return other_truth_at(in, v, at);
}

/// The truth of a value that Code::quick found, 0 or 1. It is -1 if there is none, or for most objects.
PXL_INLINE int quick_truth(const Value* v) {
  if (!v) return -1;
  if (v->is_bool()) return v->as_bool();
  if (v->is_int64()) return v->int64() != 0;
  return v->is_none() ? 0 : -1;
}

/// An expression that T::attempt evaluates.
template <class T, class Base = Code>
class AttemptedCode : public Base {
 public:
  using Base::Base;
  Value value(Interpreter& in, Activation& a) const override {
    Value out;
    return value_of(static_cast<const T&>(*this).T::attempt(in, a, out), out);
  }
};

/// An expression whose value is stored somewhere. `T` has `borrow`, and `stored`, which is its quick way.
template <class T>
class StoredCode : public AttemptedCode<StoredCode<T>> {
 public:
  using AttemptedCode<StoredCode>::AttemptedCode;
  const Value* quick(const Activation& a, Scalar& room) const override { return self().stored(a, room); }
  bool attempt(Interpreter& in, Activation& a, Value& out) const override {
    Scalar room;
    if (const Value* v = self().stored(a, room))
      new (&out) Value(*v);
    else
      make(in, a, out);
    return true;
  }
  bool truth(Interpreter& in, Activation& a) const override {
    Scalar room;
    if (const Value* v = self().stored(a, room)) return truth_at(in, *v, this->span);
    Value made;
    return truth_at(in, self().T::borrow(in, a, made), this->span);
  }

 private:
  const T& self() const { return static_cast<const T&>(*this); }
  __attribute__((noinline)) void make(Interpreter& in, Activation& a, Value& out) const {
    const Value& v = self().T::borrow(in, a, out);
    if (&v != &out) new (&out) Value(v);
  }
};

/// The code of a function's body, for the layout of the scope in which it runs.
struct FunctionCode final : ast::Compiled {
  BlockPtr body;                  ///< the statements before the result; may be null
  std::optional<Operand> result;  ///< result of a lambda, or of the `return` that ends a body
  std::optional<Span> returns;    ///< the `return` that ends a body
  QuickTries passing;             ///< for a body that is its result, which may be found without a call
  std::vector<CodePtr> defaults;  ///< by parameter, if all are literals; null for a parameter without one
  bool quick = true;              ///< annotations ask for kinds of values, if for anything
  std::vector<uint32_t> kinds;    ///< by parameter, if it is quick; empty without annotations
  uint32_t result_kinds = Value::any_kind;
  const ast::Function* function = nullptr;
  /// Whether the values of all parameters have their kinds.
  bool admits(const Scope& scope) const {
    for (size_t i = 0; i < kinds.size(); ++i)
      if ((kinds[i] & scope.slot(i).kind_bit()) == 0) return false;
    return true;
  }
  /// Finds the result by its quick way. Returns false if the body must run.
  PXL_INLINE bool find_result(const Activation& a, Value& out) const {
    Scalar room;
    const Value* v = result->quick(a, room);
    const bool found = v && (result_kinds & v->kind_bit()) != 0;
    if (found)
      new (&out) Value(*v);
    else
      passing.failed();
    return found;
  }
  /// The result, which does not have its kind, converted. Throws if it cannot be.
  Value checked_result(Interpreter& in, const Activation& a, Value value) const;
};
const FunctionCode& code_of(const ast::Function& f, const Layout* layout);
/// Runs a body without contexts in a prepared activation. Computes its result as Code::attempt does.
PXL_INLINE bool attempt_body(Interpreter& in, const FunctionCode& code, Activation& a, Value& out) {
  if (code.body) {
    const Flow flow = code.body->run(in, a);
    if (flow == Flow::returned || flow == Flow::failed) {
      new (&out) Value(std::move(a.result));
      return flow == Flow::returned;
    }
  }
  if (!code.result) return true;
  if (code.returns) begin_statement(in, *code.returns);
  return code.result->attempt(in, a, out);
}
/// Runs a body as attempt_body does, and returns its result or throws its error.
inline Value run_body(Interpreter& in, const FunctionCode& code, Activation& a) {
  Value out;
  return value_of(attempt_body(in, code, a, out), out);
}

}  // namespace pxl
