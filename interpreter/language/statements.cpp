// Statements: assignment, control flow, contexts. Declarations are forwarded.
#include <fmt/format.h>

#include "interpreter/language/activation.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/language/graph_statements.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/language/operators.hpp"
#include "interpreter/language/options.hpp"
#include "interpreter/language/tests.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/budget.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/base/interrupt.hpp"
#include "runtime/base/text.hpp"

namespace pxl {

namespace {

using ast::StmtKind;

void unpack(Interpreter& in, const std::vector<ast::Expr*>& targets, const Span& span, const Value& value,
            Activation& a) {
  std::vector<Value> items;
  if (in.checking && is_unknown(value)) {
    for (const ast::Expr* t : targets)
      assign(in, t->kind == ast::ExprKind::starred ? *static_cast<const ast::StarredExpr*>(t)->value : *t,
             unknown_value(), a);
    return;
  }
  try {
    items = elements_of(in, value);
  } catch (Error& e) {
    e.locate(span, in.frames);
    throw;
  }
  size_t star = targets.size();
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i]->kind == ast::ExprKind::starred) star = i;
  }
  const bool starred = star < targets.size();
  if (starred ? items.size() + 1 < targets.size() : items.size() != targets.size()) {
    Error e(fmt::format("cannot unpack {} into {}{}", counted(items.size(), "value"), starred ? "at least " : "",
                        counted(starred ? targets.size() - 1 : targets.size(), "name")));
    e.as(codes::value);
    e.locate(span, in.frames);
    throw e;
  }
  const size_t extra = starred ? items.size() + 1 - targets.size() : 0;
  size_t next = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (i == star) {
      std::vector<Value> rest(items.begin() + static_cast<std::ptrdiff_t>(next),
                              items.begin() + static_cast<std::ptrdiff_t>(next + extra));
      assign(in, *static_cast<const ast::StarredExpr*>(targets[i])->value, make_list(std::move(rest)), a);
      next += extra;
    } else {
      assign(in, *targets[i], items[next++], a);
    }
  }
}

bool condition(Interpreter& in, const ast::Expr& e, Activation& a) {
  const Value v = evaluate(in, e, a);
  try {
    in.here = e.span;
    return truth_of(in, v);
  } catch (Error& error) {
    error.locate(e.span, in.frames);
    throw;
  }
}

void augmented(Interpreter& in, const ast::AssignStmt& s, Activation& a) {
  // The parts of the target (names, members, subscripts) are evaluated twice, for reading and for writing.
  const ast::Expr& target = *s.targets[0];
  const Value left = evaluate(in, target, a);
  const Value right = evaluate(in, *s.value, a);
  in.here = s.span;
  assign(in, target, apply_binary(in, s.op, left, right), a);
}

void assignment(Interpreter& in, const ast::AssignStmt& s, Activation& a) {
  if (s.augmented) return augmented(in, s, a);
  if (!s.outlined && s.targets.size() == 1 && s.targets[0]->kind == ast::ExprKind::name &&
      s.value->kind == ast::ExprKind::call) {
    const TargetGuard guard(in, static_cast<const ast::NameExpr*>(s.targets[0])->name, s.value->span);
    return assign(in, *s.targets[0], evaluate(in, *s.value, a), a);
  }
  Value v = evaluate(in, *s.value, a);
  if (s.outlined) {
    std::string name;
    if (s.targets[0]->kind == ast::ExprKind::name) name = static_cast<const ast::NameExpr*>(s.targets[0])->name;
    in.here = s.span;
    v = outlined(in, v, name);
  }
  for (size_t i = 0; i + 1 < s.targets.size(); ++i) assign(in, *s.targets[i], v, a);
  assign(in, *s.targets.back(), std::move(v), a);
}

Flow if_statement(Interpreter& in, const ast::IfStmt& s, Activation& a) {
  if (in.checking) return look_at_if(in, s, a);
  for (const auto& arm : s.arms) {
    if (condition(in, *arm.condition, a)) return execute(in, *arm.body, a);
  }
  return s.else_body ? execute(in, *s.else_body, a) : Flow::normal;
}

Flow for_statement(Interpreter& in, const ast::ForStmt& s, Activation& a) {
  if (in.checking) return look_at_for(in, s, a);
  const Value iterable = evaluate(in, *s.iterable, a);
  Iterator it;
  auto guarded = [&](auto&& step) {
    try {
      in.here = s.iterable->span;
      step();
    } catch (Error& e) {
      e.locate(s.iterable->span, in.frames);
      throw;
    }
  };
  guarded([&] { it = iterator_of(in, iterable); });
  for (;;) {
    check_interrupt();
    std::optional<Value> v;
    guarded([&] { v = it(); });
    if (!v) return Flow::normal;
    const Round round(s, a);
    if (s.targets.size() == 1)
      assign(in, *s.targets[0], std::move(*v), a);
    else
      unpack(in, s.targets, join(s.targets.front()->span, s.targets.back()->span), *v, a);
    const Flow flow = execute(in, *s.body, a);
    if (flow == Flow::break_loop) return Flow::normal;
    if (flow == Flow::returned) return flow;
  }
}

Flow while_statement(Interpreter& in, const ast::WhileStmt& s, Activation& a) {
  if (in.checking) return look_at_while(in, s, a);
  while (condition(in, *s.condition, a)) {
    check_interrupt();
    const Flow flow = execute(in, *s.body, a);
    if (flow == Flow::break_loop) break;
    if (flow == Flow::returned) return flow;
  }
  return Flow::normal;
}

[[noreturn]] void throw_no_outer(Interpreter& in, const Activation& a, Name name, const Span& at) {
  Error e = no_outer_name(name.text(), outer_kind(in, a.scope->outer.get(), name) == OuterName::field);
  e.locate(at, in.frames);
  throw e;
}

void check_nonlocal(Interpreter& in, const ast::NonlocalStmt& s, const Activation& a) {
  for (const auto& item : s.items)
    if (!nonlocal_scope(a.scope->outer, item.name)) throw_no_outer(in, a, item.name, item.span);
}

void def_statement(Interpreter& in, const ast::DefStmt& s, Activation& a) {
  if (s.function->outlined) {
    bind_name(in, a, s.function->name, outlined_function(in, *s.function, a));
    evaluator_of(in).remember(a.closure());
    return;
  }
  auto f = std::make_shared<FunctionObject>();
  f->code = ast::held(*s.function);
  f->closure = a.closure();
  f->defaults = make_defaults(in, *s.function, a);
  f->qualified_name = s.function->name;
  evaluator_of(in).remember(f->closure);
  bind_name(in, a, s.function->name, f);
}

void import_statement(Interpreter& in, const ast::ImportStmt& s, Activation& a) {
  ScopePtr scope = evaluator_of(in).import_module(s.path, s.span);
  std::string full;
  for (const std::string& part : s.path) full += (full.empty() ? "" : ".") + part;
  Value module = std::make_shared<NamespaceObject>(full, scope);
  if (!s.as.empty()) {
    bind_name(in, a, s.as, module);
    return;
  }
  // `import lib.util` binds `lib`, a namespace that contains `util`; an existing one is extended.
  for (size_t i = s.path.size(); i-- > 1;) {
    std::string prefix = s.path[0];
    for (size_t j = 1; j < i; ++j) prefix += "." + s.path[j];
    ScopePtr holder = std::make_shared<Scope>();
    if (i == 1) {
      const Value* old = a.scope->find_here(s.path[0]);
      if (old && old->as<NamespaceObject>()) holder = old->as<NamespaceObject>()->scope;
    }
    holder->bind(s.path[i], module);
    module = std::make_shared<NamespaceObject>(prefix, holder);
  }
  bind_name(in, a, s.path[0], module);
}

void from_statement(Interpreter& in, const ast::FromImportStmt& s, Activation& a) {
  Evaluator& evaluator = evaluator_of(in);
  const ScopePtr scope =
      s.file.empty() ? evaluator.import_module(s.path, s.span) : evaluator.import_file(s.file, s.span);
  std::string full = s.file;
  for (const std::string& part : s.path) full += (full.empty() ? "" : ".") + part;
  const Value module = std::make_shared<NamespaceObject>(full, scope);
  for (const auto& item : s.items) {
    bind_name(in, a, item.as.empty() ? item.name : item.as, member_of(in, module, item.name, item.span));
  }
}

Flow with_statement(Interpreter& in, const ast::WithStmt& s, Activation& a) {
  Flow flow = Flow::normal;
  with_contexts(in, s.items, a, [&] { flow = execute(in, *s.body, a); });
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

}  // namespace

ScopePtr nonlocal_scope(const ScopePtr& from, Name name) {
  for (const ScopePtr* s = &from; *s && (*s)->outer; s = &(*s)->outer) {  // the prelude has no outer scope
    const Scope& at = **s;
    if (at.instance) {
      if (at.find_here(name)) return nullptr;
    } else if (at.find_here(name) || (at.own && contains(at.own->locals, name))) {
      return *s;
    }
  }
  return nullptr;
}

bool bind_in_body(Activation& a, Name name, Value value) {
  if (a.scope->own && contains(a.scope->own->nonlocals, name)) {
    ScopePtr at = nonlocal_scope(a.scope->outer, name);
    if (!at) return false;
    // In a look, code that may not run makes the name unknown.
    if (Object::forgets_changes) value = unknown_value();
    record_change(at);
    at->bind(name, value);
    if (!at->round || !at->running) return true;
    // The enclosing body of a running round has the same names.
    while (at->round) at = at->outer;
    record_change(at);
    at->bind(name, std::move(value));
    return true;
  }
  for (Scope* r = a.round.get(); r && r->round; r = r->outer.get()) {
    if (!contains(*r->round, name)) continue;
    r->bind(name, value);
    break;
  }
  a.scope->bind(name, std::move(value));
  return true;
}

void bind_name(Interpreter& in, Activation& a, Name name, Value value) {
  if (!bind_in_body(a, name, std::move(value))) throw_no_outer(in, a, name, in.here);
}

void assign(Interpreter& in, const ast::Expr& target, Value value, Activation& a) {
  switch (target.kind) {
    case ast::ExprKind::name: {
      const auto& n = static_cast<const ast::NameExpr&>(target);
      observed(in.checking, target.span, value);
      if (n.nonlocal || a.round)
        bind_name(in, a, n.interned, std::move(value));
      else
        a.scope->bind(n.interned, std::move(value));
      return;
    }
    case ast::ExprKind::tuple:
      return unpack(in, static_cast<const ast::TupleExpr&>(target).items, target.span, value, a);
    case ast::ExprKind::list: return unpack(in, static_cast<const ast::ListExpr&>(target).items, target.span, value, a);
    default: break;
  }
  try {
    if (target.kind == ast::ExprKind::member) {
      const auto& m = static_cast<const ast::MemberExpr&>(target);
      const Value base = evaluate(in, *m.base, a);
      in.here = target.span;
      if (!base.is_object()) type_error(with_article(base.type_name()) + " has no fields");
      base.object()->set_member(in, m.name, std::move(value));
      return;
    }
    if (target.kind == ast::ExprKind::index) {
      const auto& i = static_cast<const ast::IndexExpr&>(target);
      const Value base = evaluate(in, *i.base, a);
      std::vector<Value> keys;
      for (const ast::Expr* e : i.subscripts) keys.push_back(evaluate(in, *e, a));
      in.here = target.span;
      if (!base.is_object()) type_error(with_article(base.type_name()) + " cannot be indexed");
      const Value key = keys.size() == 1 && !i.trailing_comma ? keys[0] : make_tuple(keys);
      if (in.checking) return look_at_element(in, base, key, std::move(value));
      base.object()->set_index(in, key, std::move(value));
      return;
    }
    throw Error("cannot assign to this expression", {"a target is a name, a field, an element or a tuple of these"})
        .as(codes::assignment);
  } catch (Error& e) {
    e.locate(target.span, in.frames);
    throw;
  }
}

Flow execute(Interpreter& in, const ast::Block& block, Activation& a) {
  if (in.checking) return look_at_block(in, block, a);
  for (const ast::Stmt* s : block.statements) {
    const Flow flow = execute(in, *s, a);
    if (flow != Flow::normal) return flow;
  }
  return Flow::normal;
}

Flow execute(Interpreter& in, const ast::Stmt& s, Activation& a) {
  constexpr int64_t statement_ns = 150;
  in.here = s.span;
  charge(statement_ns);
  try {
    switch (s.kind) {
      case StmtKind::expression: evaluate(in, *as<ast::ExprStmt>(s).value, a); return Flow::normal;
      case StmtKind::assign: assignment(in, as<ast::AssignStmt>(s), a); return Flow::normal;
      case StmtKind::if_: return if_statement(in, as<ast::IfStmt>(s), a);
      case StmtKind::for_: return for_statement(in, as<ast::ForStmt>(s), a);
      case StmtKind::while_: return while_statement(in, as<ast::WhileStmt>(s), a);
      case StmtKind::break_: return Flow::break_loop;
      case StmtKind::continue_: return Flow::continue_loop;
      case StmtKind::pass: return Flow::normal;
      case StmtKind::nonlocal: check_nonlocal(in, as<ast::NonlocalStmt>(s), a); return Flow::normal;
      case StmtKind::return_: {
        const auto& r = as<ast::ReturnStmt>(s);
        a.result = r.value ? evaluate(in, *r.value, a) : Value();
        return Flow::returned;
      }
      case StmtKind::with: return with_statement(in, as<ast::WithStmt>(s), a);
      case StmtKind::def: def_statement(in, as<ast::DefStmt>(s), a); return Flow::normal;
      case StmtKind::import: import_statement(in, as<ast::ImportStmt>(s), a); return Flow::normal;
      case StmtKind::from_import: from_statement(in, as<ast::FromImportStmt>(s), a); return Flow::normal;
      case StmtKind::assert_: run_assert(in, as<ast::AssertStmt>(s), a); return Flow::normal;
      case StmtKind::module:
        declare_module(in, as<ast::ModuleStmt>(s), a);
        evaluator_of(in).remember(a.closure());
        return Flow::normal;
      case StmtKind::program: declare_program(in, as<ast::ProgramStmt>(s), a); return Flow::normal;
      case StmtKind::param: declare_param(in, as<ast::ParamStmt>(s), a); return Flow::normal;
      case StmtKind::stream: declare_stream(in, as<ast::StreamStmt>(s), a); return Flow::normal;
      case StmtKind::variable:
      case StmtKind::constant: declare_variable(in, as<ast::VariableStmt>(s), a); return Flow::normal;
      case StmtKind::option: declare_option(in, as<ast::OptionStmt>(s), a); return Flow::normal;
      case StmtKind::test: return Flow::normal;  // run_tests runs them
    }
  } catch (const std::bad_alloc&) {
    Error e = run_error("out of memory").as(codes::memory);
    e.locate(s.span, in.frames);
    throw e;
  } catch (Error& e) {
    // Errors that declarations did not locate point to the statement's first line.
    e.locate(s.span, in.frames);
    throw;
  }
  return Flow::normal;
}

}  // namespace pxl
