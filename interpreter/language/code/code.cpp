// Compiles on demand: a node that runs for the first time in a scope with some layout is compiled for that layout.
#include "interpreter/language/code/code.hpp"

#include <algorithm>
#include <span>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/language/located.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/syntax/node_as.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/unknown.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/budget.hpp"

namespace pxl {
namespace {

/// The code of a node in each form that was needed. Almost always there is only one form.
struct Forms final : ast::Compiled {
  struct Form {
    const Layout* layout;
    bool look, target;
    ast::CompiledPtr code;
  };
  std::vector<Form> all;
};

template <class T, class Make>
const T& form_of(std::unique_ptr<ast::Compiled>& at, const Layout* layout, bool look, bool target, Make&& make) {
  if (!at) at = std::make_unique<Forms>();
  auto& all = static_cast<Forms&>(*at).all;
  for (const Forms::Form& f : all)
    if (f.layout == layout && f.look == look && f.target == target) return static_cast<const T&>(*f.code);
  std::unique_ptr<const T> made = make();
  const T& code = *made;
  all.push_back({layout, look, target, std::move(made)});
  return code;
}

/// An expression in a look is unknown if it needs a value that only a run produces.
class LookCode final : public Code {
 public:
  LookCode(const ast::Expr& e, CodePtr code) : Code(e.span), e_(e), code_(std::move(code)) {}
  Value value(Interpreter& in, Activation& a) const override {
    try {
      return as_known(code_->value(in, a));
    } catch (const Unevaluated&) {
      if (graphs_of(in).in_program()) lacks_part(in);
    }
    if (may_change()) forget_mentioned(e_, a);
    return unknown_value();
  }

 private:
  // Whether the operation itself may change objects, or skip code that would.
  bool may_change() const {
    switch (e_.kind) {
      case ast::ExprKind::call:
      case ast::ExprKind::comprehension:
      case ast::ExprKind::dict_comprehension:
      case ast::ExprKind::logical:
      case ast::ExprKind::conditional:
      case ast::ExprKind::attempt: return true;
      default: return false;
    }
  }

  const ast::Expr& e_;
  CodePtr code_;
};

Place place_of(const Interpreter& in, const Activation& a) { return {a.scope->layout(), in.checking != nullptr}; }

}  // namespace

/// Not inlined, so that running code has small stack frames.
[[gnu::cold, gnu::noinline]] void refuse_memory(CodePosition& code) {
  Error e = run_error("out of memory").as(codes::memory);
  e.locate(code.here, code.frames);
  throw e;
}

bool other_truth_at(Interpreter& in, const Value& v, const Span& at) {
  return located(in, at, [&] { return truth_of(in, v); });
}

bool Code::truth(Interpreter& in, Activation& a) const {
  Value made;
  return truth_at(in, borrow(in, a, made), span);
}

int slot_of(Name name, const Place& place) {
  if (!place.layout) return -1;
  const auto at = std::find(place.layout->begin(), place.layout->end(), name);
  return at == place.layout->end() ? -1 : static_cast<int>(at - place.layout->begin());
}

CodePtr compile(const ast::Expr& e, const Place& place) {
  CodePtr code = compile_kind(e, place);
  if (!place.look) return code;
  return std::make_unique<LookCode>(e, std::move(code));
}

CodePtr compile_or_null(const ast::Expr* e, const Place& place) { return e ? compile(*e, place) : nullptr; }

std::vector<Operand> compile(const std::vector<ast::Expr*>& list, const Place& place) {
  std::vector<Operand> out;
  out.reserve(list.size());
  for (const ast::Expr* e : list) out.push_back(compile(*e, place));
  return out;
}

BlockPtr compile(std::span<ast::Stmt* const> statements, const Place& place) {
  std::vector<StmtPtr> out;
  out.reserve(statements.size());
  for (const ast::Stmt* s : statements) out.push_back(compile(*s, place));
  return std::make_unique<BlockCode>(std::move(out));
}
BlockPtr compile(const ast::Block& block, const Place& place) { return compile(std::span(block.statements), place); }

Value evaluate(Interpreter& in, const ast::Expr& e, Activation& a) {
  const Place place = place_of(in, a);
  return form_of<Code>(e.compiled, place.layout, place.look, false, [&] { return compile(e, place); }).value(in, a);
}

void assign(Interpreter& in, const ast::Expr& target, Value value, Activation& a) {
  const Place place = place_of(in, a);
  form_of<TargetCode>(target.compiled, place.layout, place.look, true, [&] {
    return compile_target(target, place);
  }).assign(in, a, std::move(value));
}

/// Throws the error of a statement that failed.
static Flow thrown(Flow flow, Activation& a) {
  if (flow == Flow::failed) throw_failure(std::exchange(a.result, Value()));
  return flow;
}

Flow execute(Interpreter& in, const ast::Block& block, Activation& a) {
  if (in.checking) return look_at_block(in, block, a);
  const Place place = place_of(in, a);
  const auto& code =
      form_of<BlockCode>(block.compiled, place.layout, place.look, false, [&] { return compile(block, place); });
  return located_here(in, [&] { return thrown(code.run(in, a), a); });
}

namespace {

void compile_body(const ast::Block& body, const Place& place, FunctionCode& code) {
  std::span<ast::Stmt* const> statements(body.statements);
  const bool returns = !statements.empty() && statements.back()->kind == ast::StmtKind::return_;
  if (returns && (code.quick || !as<ast::ReturnStmt>(*statements.back()).checked)) {
    const auto& last = as<ast::ReturnStmt>(*statements.back());
    CodePtr value = last.value ? compile(*last.value, place) : compile_constant(last.span, Value());
    code.result.emplace(std::move(value));
    code.returns = last.span;
    statements = statements.first(statements.size() - 1);
  }
  if (!statements.empty()) code.body = compile(statements, place);
}

/// Notes the kinds of values that the annotations ask for. Returns false if they ask for more.
bool note_asked_kinds(const ast::Function& f, FunctionCode& code) {
  if (f.plain) return true;
  if (!f.ordinary || f.results.size() > 1) return false;
  for (size_t i = 0; i < f.parameters.size(); ++i) {
    const ast::Parameter& p = f.parameters[i];
    code.kinds.push_back(kinds_of(p));
    if (!p.annotation) continue;
    const Value* absent = p.default_value && !code.defaults.empty() ? code.defaults[i]->constant() : nullptr;
    if (kinds_of_type(*p.annotation) == 0) return false;
    if (p.default_value && (!absent || (absent->kind_bit() & code.kinds[i]) == 0)) return false;
  }
  if (!f.results.empty()) code.result_kinds = kinds_of_type(*f.results[0]);
  return code.result_kinds != 0;
}

}  // namespace

const FunctionCode& code_of(const ast::Function& f, const Layout* layout) {
  return form_of<FunctionCode>(f.compiled, layout, false, false, [&] {
    auto code = std::make_unique<FunctionCode>();
    const Place place{layout, false};
    if (!f.makes_defaults)
      for (const ast::Parameter& p : f.parameters) code->defaults.push_back(compile_or_null(p.default_value, place));
    code->function = &f;
    code->quick = note_asked_kinds(f, *code);
    if (f.result)
      code->result.emplace(compile(*f.result, place));
    else if (f.body)
      compile_body(*f.body, place, *code);
    if (!code->body && code->result && f.own.slots.size() <= Scope::inline_slots)
      code->passing = QuickTries{&*code->result};
    return std::unique_ptr<const FunctionCode>(std::move(code));
  });
}

Value FunctionCode::checked_result(Interpreter& in, const Activation& a, Value value) const {
  const Span at = a.returned || !result ? a.returned : (*result)->span;
  return DeclaredResults(in, *function, a).check(std::move(value), at);
}

Flow execute(Interpreter& in, const ast::Stmt& s, Activation& a) {
  const Place place = place_of(in, a);
  const auto& code = form_of<StmtCode>(s.compiled, place.layout, place.look, false, [&] { return compile(s, place); });
  return located_here(in, [&] {
    begin_statement(in, code.span);
    return thrown(code.run(in, a), a);
  });
}

}  // namespace pxl
