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
  bool take(Error error, bool interrupt, Taken& taken) const {
    const ast::TryStmt::Catch* handler = handler_of(s_, error.first());
    if (!handler) return false;
    taken.by = &catches_[static_cast<size_t>(handler - s_.catches.data())];
    if (taken.by->as) taken.error = make_ref<ErrorObject>(std::move(error), interrupt);
    return true;
  }

  Flow run_caught(Interpreter& in, Activation& a) const {
    Taken taken;
    {
      BlockTransaction transaction(in);
      try {
        return body_->run(in, a);
      } catch (Error& e) {
        e.locate(in.here, in.frames);
        transaction.take_back();
        if (!take(e, false, taken)) throw;
      } catch (const Interrupted&) {
        transaction.take_back();
        if (!take(interruption(in), true, taken)) throw;
      }
    }
    if (taken.by->as) taken.by->as->assign(in, a, std::move(taken.error));
    return taken.by->body->run(in, a);
  }

  /// An error is lost if `finally` leaves by `return`, `break` or `continue`. Ctrl-C and `exit` are not.
  Flow run_finally(Interpreter& in, Activation& a) const {
    Flow flow = Flow::normal;
    std::exception_ptr failure;
    bool is_error = false;
    try {
      flow = run_caught(in, a);
    } catch (Error& e) {
      e.locate(in.here, in.frames);
      failure = std::current_exception();
      is_error = true;
    } catch (...) {
      failure = std::current_exception();
    }
    Value result = std::move(a.result);
    const Span returned = a.returned;
    const Flow last = finally_->run(in, a);
    if (failure && !(is_error && last != Flow::normal)) std::rethrow_exception(failure);
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

class AttemptCode final : public Code {
 public:
  AttemptCode(const ast::AttemptExpr& e, const Place& place)
      : Code(e.span), value_(compile(*e.value, place)), otherwise_(compile(*e.otherwise, place)) {}
  Value value(Interpreter& in, Activation& a) const override {
    {
      BlockTransaction transaction(in);
      try {
        const Handling handling(in.checking, nullptr);
        return value_.value(in, a);
      } catch (const Error& e) {
        transaction.take_back();
        if (!is_taken_by_default(e.first())) throw;
      } catch (const Interrupted&) {
        transaction.take_back();
        throw;
      }
    }
    return otherwise_.value(in, a);
  }

 private:
  Operand value_, otherwise_;
};

}  // namespace

StmtPtr compile_try(const ast::TryStmt& s, const Place& place) { return std::make_unique<TryCode>(s, place); }
CodePtr compile_attempt(const ast::AttemptExpr& e, const Place& place) {
  return std::make_unique<AttemptCode>(e, place);
}

}  // namespace pxl
