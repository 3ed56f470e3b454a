// Checks of assignment targets, arguments and parameters.
#include "interpreter/syntax/check_expressions.hpp"
#include "interpreter/syntax/fixes/syntax_fixes.hpp"
#include "interpreter/syntax/names_bound.hpp"
#include "runtime/base/diagnostics/codes.hpp"

#include <set>

#include <fmt/format.h>

namespace pxl::syntax {

using namespace ast;

namespace {

std::string_view describe(ExprKind kind) {
  switch (kind) {
    case ExprKind::none:
    case ExprKind::boolean:
    case ExprKind::integer:
    case ExprKind::floating:
    case ExprKind::string:
    case ExprKind::ellipsis: return "a literal";
    case ExprKind::fstring: return "an f-string";
    case ExprKind::name: return "a name";
    case ExprKind::list: return "a list";
    case ExprKind::tuple: return "a tuple";
    case ExprKind::dict: return "a dict";
    case ExprKind::comprehension:
    case ExprKind::dict_comprehension: return "a comprehension";
    case ExprKind::unary:
    case ExprKind::chain:
    case ExprKind::power:
    case ExprKind::logical: return "an expression";
    case ExprKind::compare: return "a comparison";
    case ExprKind::conditional: return "a conditional expression";
    case ExprKind::attempt: return "a `try` expression";
    case ExprKind::lambda: return "a lambda";
    case ExprKind::call: return "a call";
    case ExprKind::index: return "an element";
    case ExprKind::slice: return "a slice";
    case ExprKind::member: return "a member";
    case ExprKind::starred: return "a starred value";
  }
  return "this";
}

}  // namespace

void ExpressionChecks::problem(std::string_view code, std::string message, Span at, std::string note) {
  Diagnostic d{Severity::error, Fault::refused, std::move(message), at, {}, nullptr, code};
  if (!note.empty()) d.notes.push_back(std::move(note));
  problems_.push_back(std::move(d));
}

void ExpressionChecks::assignment(const AssignStmt& s) {
  for (const Expr* t : s.targets) {
    bool several = t->kind == ExprKind::tuple || t->kind == ExprKind::list;
    if (several && s.augmented) {
      problem(codes::assignment, "an update has one target", t->span, "write `a += x` for each");
      continue;
    }
    if (s.outlined && t->kind != ExprKind::name) {
      problem(codes::assignment, "`outlined` binds one name", t->span);
      continue;
    }
    target(t, false);
    // `area(w, h) = w * h` of another language.
    if (t->kind == ExprKind::call && !s.augmented && s.targets.size() == 1 && !problems_.empty()) {
      Diagnostic& d = problems_.back();
      d.notes.emplace_back("a function is declared with `def f(x) { return ... }`");
      mend_equation(*t->span.file, t->span, s.value->span, d);
    }
  }
  if (s.outlined && s.augmented) problem(codes::assignment, "`outlined` binds a name with `=`", s.span);
  value(s.value);
}

void ExpressionChecks::target(const Expr* e, bool in_tuple) {
  switch (e->kind) {
    case ExprKind::name: return;
    case ExprKind::member: return value(static_cast<const MemberExpr*>(e)->base);
    case ExprKind::index: return value(e);
    case ExprKind::tuple:
    case ExprKind::list: {
      const auto& parts =
          e->kind == ExprKind::tuple ? static_cast<const TupleExpr*>(e)->items : static_cast<const ListExpr*>(e)->items;
      int starred = 0;
      for (const Expr* part : parts) {
        target(part, true);
        if (part->kind == ExprKind::starred && ++starred == 2)
          problem(codes::assignment, "only one target may be starred", part->span);
      }
      return;
    }
    case ExprKind::starred:
      if (in_tuple) return target(static_cast<const StarredExpr*>(e)->value, false);
      [[fallthrough]];
    default:
      problem(codes::assignment, fmt::format("{} cannot be assigned to", describe(e->kind)), e->span,
              e->kind == ExprKind::compare ? "`=` binds a name; compare with `==`" : "");
  }
}

void ExpressionChecks::loop_target(const Expr* e) {
  if (e->kind == ExprKind::name) return;
  if (e->kind == ExprKind::starred) return loop_target(static_cast<const StarredExpr*>(e)->value);
  if (e->kind == ExprKind::tuple) {
    for (const Expr* part : static_cast<const TupleExpr*>(e)->items) loop_target(part);
    return;
  }
  problem(codes::assignment, fmt::format("a loop binds names, not {}", describe(e->kind)), e->span);
}

void ExpressionChecks::parameters(const std::vector<Parameter>& list) {
  std::set<std::string_view> seen;
  const Parameter* with_default = nullptr;
  const Parameter* options = nullptr;
  for (const Parameter& p : list) {
    if (!seen.insert(p.name).second) problem(codes::twice, fmt::format("duplicate parameter `{}`", p.name), p.span);
    if (options) problem(codes::syntax, fmt::format("nothing follows `**{}`", options->name), p.span);
    if (p.collects()) {
      if (p.default_value) problem(codes::syntax, "a starred parameter cannot have a default", p.span);
      if (p.options) options = &p;
    } else if (p.default_value) {
      with_default = &p;
    } else if (with_default && !p.by_name) {
      problem(codes::syntax,
              fmt::format("`{}` needs a default, since `{}` before it has one", p.name, with_default->name), p.span);
    }
    value(p.annotation);
    value(p.default_value);
  }
}

void ExpressionChecks::options(const std::vector<Argument>& list) { arguments(list); }

void ExpressionChecks::arguments(const std::vector<Argument>& list) {
  std::set<std::string_view> seen;
  bool named = false;
  for (const Argument& a : list) {
    if (a.kind == Argument::named && !seen.insert(a.name).second)
      problem(codes::twice, fmt::format("`{}` is given twice", a.name), a.span);
    bool by_name = a.kind == Argument::named || a.kind == Argument::spread_named;
    if (!by_name && named)
      problem(codes::syntax, "a positional argument follows a keyword argument", a.span,
              "move it before the keyword arguments, or name it");
    named |= by_name;
    value(a.value);
  }
}

void ExpressionChecks::comprehension(const ComprehensionExpr& e) {
  for (const Clause& c : e.clauses) {
    for (const Expr* t : c.targets) loop_target(t);
    value(c.iterable);
    for (const Expr* condition : c.conditions) value(condition);
  }
  value(e.key);
  value(e.value);
}

void ExpressionChecks::value(const Expr* e) {
  if (!e) return;
  switch (e->kind) {
    case ExprKind::comprehension:
    case ExprKind::dict_comprehension: return comprehension(*static_cast<const ComprehensionExpr*>(e));
    case ExprKind::lambda: {
      const Function& f = *static_cast<const LambdaExpr*>(e)->function;
      parameters(f.parameters);
      return value(f.result);
    }
    case ExprKind::call:
      value(static_cast<const CallExpr*>(e)->callee);
      return arguments(static_cast<const CallExpr*>(e)->arguments);
    default: {
      std::vector<const Expr*> parts;
      children(*e, parts);
      for (const Expr* part : parts) value(part);
    }
  }
}

}  // namespace pxl::syntax
