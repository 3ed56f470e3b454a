// `test` blocks, `assert`, and the context of `expect_error`.
#include <fmt/format.h>

#include "interpreter/graphs/tensor_objects.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/language/test_slice.hpp"
#include "interpreter/language/tests.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/exit_request.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/text/strings.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/interrupt.hpp"

namespace pxl {

namespace {

struct ExpectErrorObject final : Object {
  std::string text;
  explicit ExpectErrorObject(std::string t) : text(std::move(t)) {}
  std::string type_name() const override { return "context"; }
  std::string repr(Interpreter& in) override { return "expect_error(" + repr_of(in, Value(text)) + ")"; }
  bool is_context() const override { return true; }
  Value enter(Interpreter&) override { return {}; }
};

}  // namespace

Value expect_error_context(std::string text) { return make_ref<ExpectErrorObject>(std::move(text)); }

const std::string* expected_error(const Value& v) {
  auto* o = v.as<ExpectErrorObject>();
  return o ? &o->text : nullptr;
}

namespace {

// A test's names are local to it. After a failure the next test runs.
TestOutcome run_test(Interpreter& in, const ast::TestStmt& s, const ScopePtr& file) {
  Activation inner;
  inner.scope = make_ref<Scope>(file);
  inner.scope->own = &s.own;
  inner.kind = Activation::Kind::test;
  TestOutcome outcome{s.title, true, {}};
  auto failed = [&](Error e) {
    e.locate(s.span, position_of(in).frames);
    outcome.passed = false;
    outcome.failure = e.first();
  };
  try {
    execute(in, *s.body, inner);
  } catch (const Error& e) {
    failed(e);
  } catch (const ExitRequest& e) {
    failed(run_error(fmt::format("the test called exit({})", e.code)));
  }
  return outcome;
}

}  // namespace

void run_tests(Interpreter& in, const ast::TreePtr& tree, const std::function<void(const std::string& title)>& began,
               const std::function<void(const TestOutcome&)>& ended) {
  Evaluator& evaluator = evaluator_of(in);
  evaluator.begin_file();
  Activation a;
  a.scope = evaluator.file_scope();
  a.kind = Activation::Kind::file;
  for (const ast::Stmt* s : test_slice(*tree, *evaluator.prelude())) {
    check_interrupt();
    if (s->kind != ast::StmtKind::test) {
      execute(in, *s, a);
      continue;
    }
    const auto& test = static_cast<const ast::TestStmt&>(*s);
    began(test.title);
    ended(run_test(in, test, a.scope));
  }
}

namespace {

// The two sides of a failed comparison, for its report.
std::vector<std::string> sides(Interpreter& in, const ast::Expr& e, Activation& a) {
  if (e.kind != ast::ExprKind::compare) return {};
  const auto& c = static_cast<const ast::CompareExpr&>(e);
  if (c.rest.size() != 1) return {};
  // Only these expressions can be evaluated twice without effect: names, literals and their members.
  auto plain = [](const ast::Expr& x) {
    const ast::Expr* at = &x;
    while (at->kind == ast::ExprKind::member) at = static_cast<const ast::MemberExpr*>(at)->base;
    return at->kind == ast::ExprKind::name;
  };
  std::vector<std::string> notes;
  for (const ast::Expr* x : {c.first, c.rest[0].operand}) {
    if (!plain(*x)) continue;
    std::string shown = repr_of(in, evaluate(in, *x, a));
    if (shown.size() > 400) shown = shown.substr(0, code_point_offset(shown, 300)) + " ...";
    notes.push_back(fmt::format("{} = {}", x->span.text(), shown));
  }
  return notes;
}

}  // namespace

namespace {

bool known_truth_of_assertion(Interpreter& in, const Value& v) {
  return !is_unknown(v) && (v.as_array() || as_tensor(v) || known_truth(in, v));
}

}  // namespace

void run_assert(Interpreter& in, const ast::AssertStmt& s, Activation& a) {
  const Value v = evaluate(in, *s.condition, a);
  if (check_in_progress(in) && !known_truth_of_assertion(in, v)) return;
  bool holds = false;
  try {
    position_of(in).here = s.condition->span;
    // `assert a == b` on arrays requires all elements to be equal.
    const Array* array = v.as_array();
    if (array && array->size() != 1 && s.condition->kind == ast::ExprKind::compare) {
      holds = true;
      for (int64_t i = 0; i < array->size() && holds; ++i) holds = array->number(i) != 0;
    } else {
      holds = truth_of(in, v);
    }
  } catch (Error& e) {
    e.locate(s.condition->span, position_of(in).frames);
    throw;
  }
  if (holds) return;
  std::string message = "assertion failed";
  if (s.message)
    message += ": " + str_of(in, evaluate(in, *s.message, a));
  else
    message += fmt::format(": {}", s.condition->span.text());
  if (size_t newline = message.find('\n'); newline != std::string::npos) message = message.substr(0, newline) + " ...";
  Error e = run_error(message, sides(in, *s.condition, a)).as(codes::assertion);
  e.locate(s.condition->span, position_of(in).frames);
  throw e;
}

}  // namespace pxl
