// `try`: as a statement, and as an expression. A `try` costs nothing until an error comes.
#include <exception>

#include "interpreter/graphs/block_transaction.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/code/code.hpp"
#include "interpreter/language/errors/errors.hpp"
#include "interpreter/syntax/node_as.hpp"
#include "interpreter/values/interpreter.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/interrupt.hpp"

namespace pxl {
namespace {

class TryCode final : public StmtCode {
 public:
  TryCode(const ast::TryStmt& s, const Place& place) : StmtCode(s.span), s_(s), body_(compile(*s.body, place)) {
    for (const ast::TryStmt::Catch& c : s.catches)
      catches_.push_back({c.as ? compile_target(*c.as, place) : nullptr, compile(*c.body, place)});
    if (s.finally_body) finally_ = compile(*s.finally_body, place);
  }

  Flow run(Interpreter& in, Activation& a) const override {
    if (!checked_) check_kinds(in, s_);
    checked_ = true;
    return finally_ ? run_finally(in, a) : run_caught(in, a);
  }

 private:
  struct Catch {
    TargetPtr as;
    BlockPtr body;
  };
  struct Taken {
    const Catch* by = nullptr;
    Value error;
  };

  /// Notes which `catch` takes an error. Returns false if none does.
  bool take(const Error& error, Taken& taken) const {
    const ast::TryStmt::Catch* handler = handler_of(s_, error.first());
    if (handler) taken.by = &catches_[static_cast<size_t>(handler - s_.catches.data())];
    return handler != nullptr;
  }

  Flow run_caught(Interpreter& in, Activation& a) const {
    Taken taken;
    {
      BlockTransaction transaction(in);
      try {
        const Flow flow = run_block(in, *body_, a);
        if (flow != Flow::failed) return flow;
        transaction.take_back();
        if (!take(error_in(a.result), taken)) return flow;
        taken.error = std::exchange(a.result, Value());
      } catch (const Interrupted&) {
        transaction.take_back();
        Error e = interruption(in);
        if (!take(e, taken)) throw;
        taken.error = make_ref<ErrorObject>(std::move(e), true);
      }
    }
    if (taken.by->as) taken.by->as->assign(in, a, std::move(taken.error));
    return taken.by->body->run(in, a);
  }

  /// Runs a block. An error that its code throws is its failure.
  static Flow run_block(Interpreter& in, const BlockCode& block, Activation& a) {
    try {
      return block.run(in, a);
    } catch (Error& e) {
      failed(in, e, a.result);
      return Flow::failed;
    }
  }

  /// An error is lost if `finally` leaves by `return`, `break` or `continue`. Ctrl-C and `exit` are not.
  Flow run_finally(Interpreter& in, Activation& a) const {
    Flow flow = Flow::normal;
    std::exception_ptr ending;
    try {
      flow = run_caught(in, a);
    } catch (Error& e) {
      failed(in, e, a.result);
      flow = Flow::failed;
    } catch (...) {
      ending = std::current_exception();
    }
    Value result = std::exchange(a.result, Value());
    const Span returned = a.returned;
    const Flow last = finally_->run(in, a);
    if (ending) std::rethrow_exception(ending);
    if (last != Flow::normal) return last;
    a.result = std::move(result);
    a.returned = returned;
    return flow;
  }

  const ast::TryStmt& s_;
  BlockPtr body_;
  std::vector<Catch> catches_;
  BlockPtr finally_;
  mutable bool checked_ = false;
};

class AttemptCode final : public AttemptedCode<AttemptCode> {
 public:
  AttemptCode(const ast::AttemptExpr& e, const Place& place)
      : AttemptedCode(e.span), value_(compile(*e.value, place)), otherwise_(compile(*e.otherwise, place)) {}
  bool attempt(Interpreter& in, Activation& a, Value& out) const override {
    {
      BlockTransaction transaction(in);
      try {
        const Handling handling(in.checking, nullptr);
        if (value_.attempt(in, a, out)) return true;
      } catch (Error& e) {
        failed(in, e, out);
      } catch (const Interrupted&) {
        transaction.take_back();
        throw;
      }
      transaction.take_back();
      if (!is_taken_by_default(error_in(out).first())) return false;
      out = Value();
    }
    return otherwise_.attempt(in, a, out);
  }

 private:
  Operand value_, otherwise_;
};

}  // namespace

bool failed(CodePosition& code, Error& error, Value& out) {
  if (!error.first().span || !error.first().frames) error.locate(code.here, code.frames);
  out = make_ref<ErrorObject>(std::move(error), false);
  return false;
}
Error& error_in(const Value& failure) { return failure.as<ErrorObject>()->error; }
void throw_failure(const Value& failure) { throw Error(std::move(error_in(failure))); }

StmtPtr compile_try(const ast::TryStmt& s, const Place& place) { return std::make_unique<TryCode>(s, place); }
CodePtr compile_attempt(const ast::AttemptExpr& e, const Place& place) {
  return std::make_unique<AttemptCode>(e, place);
}

}  // namespace pxl
