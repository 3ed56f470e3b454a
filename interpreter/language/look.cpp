#include "interpreter/language/look.hpp"

#include "interpreter/graphs/block_transaction.hpp"
#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/errors/errors.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/values/exit_request.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/limits/interrupt.hpp"

namespace pxl {
namespace {

/// Maximum nesting of the conditions and loops over unknowns that a look follows. A look only forgets the effects of
/// deeper ones.
constexpr int max_uncertain_depth = 6;
/// Maximum number of statements that a loop may take after it has run a session: further rounds of a training loop add
/// no information.
constexpr int64_t max_training_steps = 20000;

enum Exits : uint8_t { leaves_loop = 1, leaves_function = 2 };

uint8_t leaves_by(Flow flow) {
  switch (flow) {
    case Flow::break_loop:
    case Flow::continue_loop: return leaves_loop;
    case Flow::returned: return leaves_function;
    case Flow::normal:
    case Flow::failed: break;
  }
  return 0;
}

// Follows code that may or may not run.
void follow(Interpreter& in, const ast::Stmt& s, Activation& a, const std::function<Flow()>& code) {
  CheckState& c = *in.checking;
  if (graphs_of(in).in_program()) lacks_part(in);
  if (c.uncertain_depth >= max_uncertain_depth) {
    forget(s, a);
    if (names_of(s).leaves) c.left |= leaves_loop | leaves_function;
    return;
  }
  const Value result = a.result;
  try {
    const UncertainScope scope(in, true);
    c.left |= leaves_by(code());
  } catch (const Unevaluated&) {
    forget(s, a);
    if (names_of(s).leaves) c.left |= leaves_loop | leaves_function;
  } catch (const Error&) {
    forget(s, a);
    if (names_of(s).leaves) c.left |= leaves_loop | leaves_function;
  } catch (const ExitRequest&) {
  }
  a.result = result;
  forget_bound(s, a);
}

/// Decides for each round in a look whether to follow the loop further.
class LoopLook {
 public:
  LoopLook(Interpreter& in, const ast::Stmt& s, Activation& a)
      : in_(in), s_(s), a_(a), outer_left_(in.checking->left), steps_(in.checking->steps), runs_(in.checking->runs) {
    in.checking->left = 0;
  }
  /// Follows the rounds until one leaves the loop, or `next` returns nullopt because no round is left.
  template <class Next>
  Flow follow_rounds(bool endless, Next&& next) {
    for (;;) {
      check_interrupt();
      const std::optional<Flow> flow = next();
      if (!flow || *flow == Flow::break_loop) break;
      if (*flow == Flow::returned) {
        if (in_.checking->left) break;
        in_.checking->left = outer_left_;
        return *flow;
      }
      if (!go_on(endless)) break;
    }
    end();
    return Flow::normal;
  }

 private:
  /// Whether to follow another round.
  bool go_on(bool endless) {
    CheckState& c = *in_.checking;
    if (c.left) {
      if (endless) return false;
      if (!rest_) rest_.emplace(in_, false);
    }
    if (c.runs > runs_ && c.steps - steps_ > max_training_steps) {
      cut_ = true;
      return false;
    }
    return true;
  }
  void end() {
    CheckState& c = *in_.checking;
    rest_.reset();
    if (cut_ || c.left) forget(s_, a_);
    c.left = static_cast<uint8_t>(outer_left_ | (c.left & leaves_function));
  }

  Interpreter& in_;
  const ast::Stmt& s_;
  Activation& a_;
  uint8_t outer_left_;
  int64_t steps_, runs_;
  bool cut_ = false;
  std::optional<UncertainScope> rest_;
};

/// Runs one statement. Returns false if it was skipped.
bool attempt(Interpreter& in, const ast::Stmt& s, Activation& a, Flow& flow, bool& failed) {
  CheckState& c = *in.checking;
  try {
    flow = execute(in, s, a);
    return true;
  } catch (const Unevaluated&) {
    if (graphs_of(in).in_program() || declares_tensor(s)) lacks_part(in);
  } catch (const Error& e) {
    if (c.expecting > 0 || c.handles(e.first())) throw;
    if (c.silent == 0) {
      failed = true;
      for (const Diagnostic& d : e.all()) c.errors.push_back(d);
    }
  } catch (const ExitRequest&) {
    // The script may end here, but the look continues.
    if (c.uncertain_depth == 0) throw;
  }
  forget(s, a);
  return false;
}

}  // namespace

std::optional<bool> known_truth(Interpreter& in, const Value& v) {
  if (is_unknown(v)) return std::nullopt;
  try {
    return truth_of(in, v);
  } catch (const Unevaluated&) {
    return std::nullopt;
  }
}

bool declares_tensor(const ast::Stmt& s) {
  return s.kind == ast::StmtKind::param || s.kind == ast::StmtKind::stream || s.kind == ast::StmtKind::variable ||
         s.kind == ast::StmtKind::constant;
}

void look_at_statement(Interpreter& in, const ast::Stmt& s, Activation& a) {
  Flow flow = Flow::normal;
  bool failed = false;
  attempt(in, s, a, flow, failed);
}

Flow look_at_block(Interpreter& in, const ast::Block& block, Activation& a) {
  CheckState& c = *in.checking;
  bool failed = false;
  std::optional<UncertainScope> rest;  // set after a statement that may have left the block
  std::vector<const ast::Stmt*> uncertain;
  auto end = [&] {
    rest.reset();
    for (const ast::Stmt* s : uncertain) forget_bound(*s, a);
  };
  for (const ast::Stmt* s : block.statements) {
    check_interrupt();
    ++c.steps;
    if (rest) uncertain.push_back(s);
    Flow flow = Flow::normal;
    if (!attempt(in, *s, a, flow, failed)) {
      // After a failed assertion the next statements, and the caller, would report the same fault once more.
      const bool ends = names_of(*s).leaves || (failed && s->kind == ast::StmtKind::assert_);
      if (ends) c.left |= leaves_loop | leaves_function;
    }
    if (flow != Flow::normal) {
      end();
      if (rest || c.left) c.left |= leaves_by(flow);
      return flow;
    }
    if (c.left && !rest) rest.emplace(in, false);
  }
  end();
  // After a failed statement, the next ones would report follow-up errors.
  if (failed) throw Unevaluated{};
  return Flow::normal;
}

Flow look_at_if(Interpreter& in, const ast::IfStmt& s, Activation& a) {
  for (size_t i = 0; i < s.arms.size(); ++i) {
    const Value v = evaluate(in, *s.arms[i].condition, a);
    std::optional<bool> yes;
    try {
      in.here = s.arms[i].condition->span;
      yes = known_truth(in, v);
    } catch (Error& e) {
      e.locate(s.arms[i].condition->span, in.frames);
      throw;
    }
    if (yes) {
      if (*yes) return execute(in, *s.arms[i].body, a);
      continue;
    }
    for (size_t k = i; k < s.arms.size(); ++k) {
      follow(in, s, a, [&] {
        if (k > i) evaluate(in, *s.arms[k].condition, a);
        return execute(in, *s.arms[k].body, a);
      });
    }
    if (s.else_body) follow(in, s, a, [&] { return execute(in, *s.else_body, a); });
    return Flow::normal;
  }
  return s.else_body ? execute(in, *s.else_body, a) : Flow::normal;
}

namespace {

void assign_item(Interpreter& in, const ast::ForStmt& s, Value item, Activation& a) {
  if (s.targets.size() == 1) return assign(in, *s.targets[0], std::move(item), a);
  ast::TupleExpr tuple(join(s.targets.front()->span, s.targets.back()->span));
  tuple.items = s.targets;
  assign(in, tuple, std::move(item), a);
}

// Follows a loop whose number of rounds is unknown.
Flow some_rounds(Interpreter& in, const ast::Stmt& s, Activation& a, const std::function<Flow()>& round) {
  follow(in, s, a, round);
  forget(s, a);
  return Flow::normal;
}

}  // namespace

Flow look_at_for(Interpreter& in, const ast::ForStmt& s, Activation& a) {
  const Value iterable = evaluate(in, *s.iterable, a);
  LoopLook loop(in, s, a);
  Iterator it;
  auto next = [&]() -> std::optional<Value> {
    try {
      in.here = s.iterable->span;
      if (!it) it = iterator_of(in, iterable);
      return it();
    } catch (Error& e) {
      e.locate(s.iterable->span, in.frames);
      throw;
    }
  };
  return loop.follow_rounds(false, [&]() -> std::optional<Flow> {
    std::optional<Value> v;
    try {
      if (is_unknown(iterable) && !unknown_spec(iterable)) throw Unevaluated{};
      v = next();
    } catch (const Unevaluated&) {
      some_rounds(in, s, a, [&] {
        const Round round(s, a);
        auto* u = iterable.as<UnknownObject>();
        assign_item(in, s, u && u->element ? *u->element : unknown_value(), a);
        return execute(in, *s.body, a);
      });
      return std::nullopt;
    }
    if (!v) return std::nullopt;
    const Round round(s, a);
    assign_item(in, s, std::move(*v), a);
    return execute(in, *s.body, a);
  });
}

Flow look_at_while(Interpreter& in, const ast::WhileStmt& s, Activation& a) {
  LoopLook loop(in, s, a);
  return loop.follow_rounds(true, [&]() -> std::optional<Flow> {
    const Value v = evaluate(in, *s.condition, a);
    std::optional<bool> yes;
    try {
      in.here = s.condition->span;
      yes = known_truth(in, v);
    } catch (Error& e) {
      e.locate(s.condition->span, in.frames);
      throw;
    }
    if (!yes) some_rounds(in, s, a, [&] { return execute(in, *s.body, a); });
    if (!yes || !*yes) return std::nullopt;
    return execute(in, *s.body, a);
  });
}

namespace {

// Each `catch` that may take an error is followed as code that may not run. The look then goes on as if none
// had run.
void may_catch(Interpreter& in, const ast::TryStmt& s, Activation& a) {
  const uint8_t left = in.checking->left;
  for (const ast::TryStmt::Catch& c : s.catches)
    follow(in, s, a, [&] {
      if (c.as) assign(in, *c.as, unknown_value(), a);
      return execute(in, *c.body, a);
    });
  in.checking->left = left;
}

Flow look_at_caught(Interpreter& in, const ast::TryStmt& s, Activation& a) {
  CheckState& c = *in.checking;
  const ast::TryStmt::Catch* handler = nullptr;
  Value error;
  BlockTransaction transaction(in);
  try {
    const Handling handling(&c, &s);
    const Flow flow = execute(in, *s.body, a);
    // A look builds a program with the body as it ended here.
    if (!graphs_of(in).in_program()) may_catch(in, s, a);
    return flow;
  } catch (const Unevaluated&) {
    may_catch(in, s, a);
    throw;
  } catch (const Error& e) {
    transaction.take_back();
    handler = handler_of(s, e.first());
    if (!handler) throw;
    if (!is_of_world(e.first()) && c.silent == 0) {
      c.warnings.push_back(e.first());
      c.warnings.back().severity = Severity::warning;
    }
    error = make_ref<ErrorObject>(e, false);
  }
  if (handler->as) assign(in, *handler->as, std::move(error), a);
  return execute(in, *handler->body, a);
}

/// Whether a block may leave the loop or the function around it.
bool may_leave(const ast::Block& b) {
  return std::any_of(b.statements.begin(), b.statements.end(), [](const ast::Stmt* s) { return names_of(*s).leaves; });
}

}  // namespace

Flow look_at_try(Interpreter& in, const ast::TryStmt& s, Activation& a) {
  check_kinds(in, s);
  if (!s.finally_body) return look_at_caught(in, s, a);
  CheckState& c = *in.checking;
  Flow flow = Flow::normal;
  std::exception_ptr failure;
  bool is_error = false;
  try {
    std::optional<Handling> dropping;
    if (may_leave(*s.finally_body)) dropping.emplace(&c, nullptr);
    flow = look_at_caught(in, s, a);
  } catch (const Error&) {
    failure = std::current_exception();
    is_error = true;
  } catch (...) {
    failure = std::current_exception();
  }
  const Value result = a.result;
  const uint8_t left = c.left;
  const Flow last = execute(in, *s.finally_body, a);
  const bool drops = is_error && (last != Flow::normal || (c.left & ~left) != 0);
  if (failure && !drops) std::rethrow_exception(failure);
  if (drops || last != Flow::normal) return last;
  a.result = result;
  return flow;
}

// An unknown subscript or element makes the whole object unknown.
void look_at_element(Interpreter& in, const Value& base, const Value& key, Value value) {
  const bool known = !holds_unknown(key) && !(base.as_array() && holds_unknown(value));
  try {
    if (known) return base.object()->set_index(in, key, std::move(value));
  } catch (const Unevaluated&) {
  }
  base.object()->forget();
}

}  // namespace pxl
