// Compiled code: what runs a body. Each node of the syntax tree becomes an object that knows the slots of its names and
// keeps what it found the last time. A node's methods are the ways in which its value is needed.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "interpreter/language/activation.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/interpreter.hpp"

namespace pxl {

/// An expression.
class Code : public ast::Compiled {
 public:
  explicit Code(const Span& at) : span(at) {}
  virtual Value value(Interpreter& in, Activation& a) const = 0;
  /// The value without a copy where it is stored, else in `made`. Valid until other code runs.
  /// `made` holds no object before.
  virtual const Value& borrow(Interpreter& in, Activation& a, Value& made) const {
    return *new (&made) Value(value(in, a));
  }
  virtual bool truth(Interpreter& in, Activation& a) const;
  /// Its evaluation runs no code of the program and changes nothing: names, literals, elements and sums of such.
  virtual bool is_leaf() const { return false; }
  /// The slot of a name that has one, or -1; the value of a literal, or null.
  virtual int slot() const { return -1; }
  virtual const Value* constant() const { return nullptr; }

  const Span span;
};
using CodePtr = std::unique_ptr<const Code>;

/// A part of an expression. Slots and literals, the most frequent parts, are read without a call.
class Operand {
 public:
  Operand(CodePtr code) : code_(std::move(code)), slot_(code_->slot()), constant_(code_->constant()) {}
  PXL_INLINE const Value& borrow(Interpreter& in, Activation& a, Value& made) const {
    if (slot_ >= 0) {
      const Value& v = a.scope->slot(static_cast<size_t>(slot_));
      if (!v.is_unset()) [[likely]]
        return v;
    } else if (constant_) {
      return *constant_;
    }
    return code_->borrow(in, a, made);
  }
  PXL_INLINE Value value(Interpreter& in, Activation& a) const {
    if (slot_ >= 0) {
      const Value& v = a.scope->slot(static_cast<size_t>(slot_));
      if (!v.is_unset()) [[likely]]
        return v;
    } else if (constant_) {
      return *constant_;
    }
    return code_->value(in, a);
  }
  /// The value in `made`, which holds no object before.
  PXL_INLINE const Value& keep(Interpreter& in, Activation& a, Value& made) const {
    return *new (&made) Value(value(in, a));
  }
  const Code* operator->() const { return code_.get(); }
  const Code& operator*() const { return *code_; }

 private:
  CodePtr code_;
  int slot_;
  const Value* constant_;
};

/// What an assignment assigns to.
class TargetCode : public ast::Compiled {
 public:
  /// The slot of a name that the body owns, or -1.
  virtual int slot() const { return -1; }
  virtual void assign(Interpreter& in, Activation& a, Value value) const = 0;
};
using TargetPtr = std::unique_ptr<const TargetCode>;

/// A target that is part of a statement outside a look.
class Target {
 public:
  explicit Target(TargetPtr code) : code_(std::move(code)), slot_(code_->slot()) {}
  int slot() const { return slot_; }
  PXL_INLINE void assign(Interpreter& in, Activation& a, Value value) const {
    if (slot_ >= 0 && !a.round && !in.checking) [[likely]]
      a.scope->slot(static_cast<size_t>(slot_)) = std::move(value);
    else
      code_->assign(in, a, std::move(value));
  }

 private:
  TargetPtr code_;
  int slot_;
};

class StmtCode : public ast::Compiled {
 public:
  explicit StmtCode(const Span& at) : span(at) {}
  virtual Flow run(Interpreter& in, Activation& a) const = 0;
  /// What `run` returns, of a statement that does nothing else: `break`, `continue`, `pass`.
  virtual std::optional<Flow> flow() const { return std::nullopt; }

  const Span span;
};
using StmtPtr = std::unique_ptr<const StmtCode>;

class BlockCode final : public ast::Compiled {
 public:
  explicit BlockCode(std::vector<StmtPtr> statements)
      : statements_(std::move(statements)), flow_(statements_.size() == 1 ? statements_[0]->flow() : std::nullopt) {}
  Flow run(Interpreter& in, Activation& a) const;

 private:
  std::vector<StmtPtr> statements_;
  std::optional<Flow> flow_;  ///< of a block that is one such statement
};
using BlockPtr = std::unique_ptr<const BlockCode>;

/// Where code is compiled for.
struct Place {
  const Layout* layout;  ///< of the scope in which it runs; null if all of its names are added
  bool look;             ///< it runs in a look: an expression that needs what only a run has is unknown
  const ast::AssignStmt* assignment = nullptr;  ///< `NAME = value`; the code is of its value, or of a part of that
};

CodePtr compile(const ast::Expr& e, const Place& place);
/// Of what a loop iterates over: a list that is written there may be a tuple.
CodePtr compile_iterable(const ast::Expr& e, const Place& place);
CodePtr compile_constant(const Span& at, Value v);
CodePtr compile_or_null(const ast::Expr* e, const Place& place);
std::vector<Operand> compile(const std::vector<ast::Expr*>& list, const Place& place);
TargetPtr compile_target(const ast::Expr& target, const Place& place);
/// Several targets without brackets are a tuple.
TargetPtr compile_targets(const std::vector<ast::Expr*>& targets, const Place& place);
StmtPtr compile(const ast::Stmt& s, const Place& place);
BlockPtr compile(const ast::Block& block, const Place& place);
/// Its index in the layout of `place`, or -1.
int slot_of(Name name, const Place& place);

// ---- by kind, in the files named
CodePtr compile_kind(const ast::Expr& e, const Place& place);      ///< code_values.cpp
CodePtr compile_name(const ast::NameExpr& e, const Place& place);  ///< code_names.cpp
CodePtr compile_operator(const ast::Expr& e, const Place& place);  ///< code_operators.cpp
/// `iterated`: a loop iterates over its value.
CodePtr compile_call(const ast::CallExpr& e, const Place& place, bool iterated = false);  ///< code_calls.cpp
CodePtr compile_comprehension(const ast::ComprehensionExpr& e, const Place& place);       ///< comprehensions.cpp
TargetPtr compile_name_target(const ast::NameExpr& e, const Place& place);                ///< code_names.cpp

/// `x op y` of ints or floats, if it is one of the quick cases.
bool quick_binary(ast::BinaryOp op, const Value& x, const Value& y, Value& out);
bool other_truth_at(Interpreter& in, const Value& v, const Span& at);
/// The truth of a value; an error of it is located.
PXL_INLINE bool truth_at(Interpreter& in, const Value& v, const Span& at) {
  if (v.is_bool()) [[likely]]
    return v.as_bool();
  if (v.is_int64()) return v.int64() != 0;
  return other_truth_at(in, v, at);
}

/// An expression whose value is stored somewhere. `T` has borrow.
template <class T>
class StoredCode : public Code {
 public:
  using Code::Code;
  Value value(Interpreter& in, Activation& a) const override {
    Value made;
    const Value& v = static_cast<const T&>(*this).T::borrow(in, a, made);
    return &v == &made ? std::move(made) : v;
  }
  bool truth(Interpreter& in, Activation& a) const override {
    Value made;
    return truth_at(in, static_cast<const T&>(*this).T::borrow(in, a, made), span);
  }
};

/// Code of a function's body for the layout of the scope in which it runs.
struct FunctionCode final : ast::Compiled {
  BlockPtr body;   ///< the statements before the result; may be null
  CodePtr result;  ///< of a lambda, or of the `return` that ends a body; may be null
};
const FunctionCode& code_of(const ast::Function& f, const Layout* layout);
/// The result of a body that has no contexts, in a prepared activation.
Value run_body(Interpreter& in, const FunctionCode& code, Activation& a);

}  // namespace pxl
