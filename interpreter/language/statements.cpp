// Statements.
#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/code/code.hpp"
#include "interpreter/language/code/walk.hpp"
#include "interpreter/language/dropped_results.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/language/graph_statements.hpp"
#include "interpreter/language/located.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/language/operators.hpp"
#include "interpreter/language/options.hpp"
#include "interpreter/language/packages/packages.hpp"
#include "interpreter/language/records.hpp"
#include "interpreter/language/tests.hpp"
#include "interpreter/syntax/node_as.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/limits.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/unknown.hpp"
#include "runtime/base/limits/interrupt.hpp"

namespace pxl {

namespace {

using ast::StmtKind;

[[noreturn]] void throw_no_outer(Interpreter& in, const Activation& a, Name name, const Span& at) {
  Error e = no_outer_name(name.text(), outer_kind(in, a.scope->outer.get(), name) == OuterName::field);
  e.locate(at, in.frames);
  throw e;
}

void def_statement(Interpreter& in, const ast::DefStmt& s, Activation& a) {
  const ast::Function& f = *s.function;
  if (!f.outlined) return bind_name(in, a, f.name, make_function(in, f, a));
  bind_name(in, a, f.name, outlined_function(in, f, a));
  evaluator_of(in).remember(a.closure());
}

void import_statement(Interpreter& in, const ast::ImportStmt& s, Activation& a) {
  ScopePtr scope = evaluator_of(in).import_module(s.path, s.span);
  std::string full;
  for (const std::string& part : s.path) full += (full.empty() ? "" : ".") + part;
  Value module = make_ref<NamespaceObject>(full, scope);
  if (!s.as.empty()) {
    bind_name(in, a, s.as, module);
    return;
  }
  // `import lib.util` binds `lib`, a namespace that contains `util`, or extends an existing namespace `lib`.
  for (size_t i = s.path.size(); i-- > 1;) {
    std::string prefix = s.path[0];
    for (size_t j = 1; j < i; ++j) prefix += "." + s.path[j];
    ScopePtr holder = make_ref<Scope>();
    if (i == 1) {
      const Value* old = a.scope->find_here(s.path[0]);
      if (old && old->as<NamespaceObject>()) holder = old->as<NamespaceObject>()->scope;
    }
    holder->bind(s.path[i], module);
    module = make_ref<NamespaceObject>(prefix, holder);
  }
  bind_name(in, a, s.path[0], module);
}

void from_statement(Interpreter& in, const ast::FromImportStmt& s, Activation& a) {
  Evaluator& evaluator = evaluator_of(in);
  const ScopePtr scope = s.file ? evaluator.import_file(*s.file, s.span) : evaluator.import_module(s.path, s.span);
  const std::string full = s.file ? *s.file : text_of_import(s.path);
  const Value module = make_ref<NamespaceObject>(full, scope);
  for (const auto& item : s.items) {
    Value value;
    try {
      value = member_of(in, module, item.name, item.span);
    } catch (Error& error) {
      note_member(in, module, item.name, error);
      throw;
    }
    bind_name(in, a, item.as.empty() ? item.name : item.as, std::move(value));
  }
}

/// An expression statement, whose value is unused.
class ExpressionCode final : public StmtCode {
 public:
  ExpressionCode(const ast::ExprStmt& s, const Place& place) : StmtCode(s.span), value_(compile(*s.value, place)) {
    if (s.value->kind == ast::ExprKind::call) call_ = &as<ast::CallExpr>(*s.value);
  }
  Flow run(Interpreter& in, Activation& a) const override {
    Value v;
    if (!call_ || asked_) return value_->attempt(in, a, v) ? Flow::normal : failed(a, std::move(v));
    const OpsSoFar before(in);
    if (!value_->attempt(in, a, v)) return failed(a, std::move(v));
    if (v.is_none()) return Flow::normal;
    asked_ = true;
    note_dropped(in, *call_, a, before);
    return Flow::normal;
  }

 private:
  CodePtr value_;
  const ast::CallExpr* call_ = nullptr;
  mutable bool asked_ = false;  ///< whether this statement was already checked for a dropped result
};

/// `target = value`.
class AssignCode final : public StmtCode {
 public:
  AssignCode(const ast::AssignStmt& s, const Place& place)
      : StmtCode(s.span),
        target_(compile_target(*s.targets[0], place)),
        value_(compile(*s.value,
                       s.targets[0]->kind == ast::ExprKind::name ? Place{place.layout, place.look, &s} : place)) {}
  Flow run(Interpreter& in, Activation& a) const override {
    Scalar room;
    if (const Value* v = value_.quick(a, room)) {
      target_.assign_stored(in, a, *v);
      return Flow::normal;
    }
    return full(in, a);
  }

 private:
  __attribute__((noinline)) Flow full(Interpreter& in, Activation& a) const {
    Value v;
    if (!value_.attempt(in, a, v)) return failed(a, std::move(v));
    target_.assign(in, a, std::move(v));
    return Flow::normal;
  }

  Target target_;
  Operand value_;
};

/// `a, b = x, y`: all values are computed before the first assignment.
class AssignEachCode final : public StmtCode {
 public:
  AssignEachCode(const ast::AssignStmt& s, const Place& place)
      : StmtCode(s.span), values_(compile(as<ast::TupleExpr>(*s.value).items, place)) {
    for (const ast::Expr* t : as<ast::TupleExpr>(*s.targets[0]).items) targets_.emplace_back(compile_target(*t, place));
  }
  Flow run(Interpreter& in, Activation& a) const override {
    Value values[most];
    for (size_t i = 0; i < values_.size(); ++i)
      if (!values_[i].attempt(in, a, values[i])) return failed(a, std::move(values[i]));
    for (size_t i = 0; i < targets_.size(); ++i) targets_[i].assign(in, a, std::move(values[i]));
    return Flow::normal;
  }
  /// Whether an assignment has equal numbers of targets and values.
  static bool takes(const ast::AssignStmt& s, const Place& place) {
    if (place.look || s.targets[0]->kind != ast::ExprKind::tuple || s.value->kind != ast::ExprKind::tuple) return false;
    const auto &to = as<ast::TupleExpr>(*s.targets[0]).items, &from = as<ast::TupleExpr>(*s.value).items;
    const auto is_one = [](const ast::Expr* e) { return e->kind != ast::ExprKind::starred; };
    return to.size() == from.size() && to.size() <= most && std::all_of(to.begin(), to.end(), is_one) &&
           std::all_of(from.begin(), from.end(), is_one);
  }

 private:
  static constexpr size_t most = 4;
  std::vector<Target> targets_;
  std::vector<Operand> values_;
};

/// Several targets, or `outlined target = value`.
class AssignAllCode final : public StmtCode {
 public:
  AssignAllCode(const ast::AssignStmt& s, const Place& place) : StmtCode(s.span), value_(compile(*s.value, place)) {
    for (const ast::Expr* t : s.targets) targets_.push_back(compile_target(*t, place));
    outlined_ = s.outlined;
    if (s.targets[0]->kind == ast::ExprKind::name) name_ = as<ast::NameExpr>(*s.targets[0]).name;
  }
  Flow run(Interpreter& in, Activation& a) const override {
    Value v = value_->value(in, a);
    if (outlined_) v = located(in, span, [&] { return outlined(in, v, name_); });
    for (size_t i = 0; i + 1 < targets_.size(); ++i) targets_[i]->assign(in, a, v);
    targets_.back()->assign(in, a, std::move(v));
    return Flow::normal;
  }

 private:
  std::vector<TargetPtr> targets_;
  CodePtr value_;
  bool outlined_;
  std::string name_;
};

class IfCode final : public StmtCode {
 public:
  IfCode(const ast::IfStmt& s, const Place& place) : StmtCode(s.span) {
    for (const auto& arm : s.arms) arms_.push_back({compile(*arm.condition, place), compile(*arm.body, place)});
    if (s.else_body) else_ = compile(*s.else_body, place);
  }
  Flow run(Interpreter& in, Activation& a) const override {
    for (const Arm& arm : arms_)
      if (arm.condition.truth(in, a)) return arm.body->run(in, a);
    return else_ ? else_->run(in, a) : Flow::normal;
  }

 private:
  struct Arm {
    Operand condition;
    BlockPtr body;
  };
  std::vector<Arm> arms_;
  BlockPtr else_;
};

class ForCode final : public StmtCode {
 public:
  ForCode(const ast::ForStmt& s, const Place& place)
      : StmtCode(s.span),
        s_(s),
        iterable_(compile_iterable(*s.iterable, place)),
        target_(compile_targets(s.targets, place)),
        body_(compile(*s.body, place)) {}
  Flow run(Interpreter& in, Activation& a) const override {
    Walk walk(in, iterable_->value(in, a), iterable_->span);
    if (target_.slot() >= 0 && !s_.captures && !a.round && !in.checking) {
      Value& slot = a.scope->slot(static_cast<size_t>(target_.slot()));
      return rounds([&] { return walk.next(slot); }, [&] { return body_->run(in, a); });
    }
    if (target_.takes_rows(walk.width()) && !s_.captures && !in.checking) {
      Value row[Target::max_width];
      return rounds([&] { return walk.next_row(row); },
                    [&] {
                      target_.assign_row(in, a, row);
                      return body_->run(in, a);
                    });
    }
    Value v;
    return rounds([&] { return walk.next(v); }, [&] { return round(in, a, std::move(v)); });
  }

 private:
  template <class Next, class Body>
  PXL_INLINE static Flow rounds(Next&& next, Body&& body) {
    while (next()) {
      const Flow flow = body();
      if (flow == Flow::break_loop) break;
      if (leaves_body(flow)) return flow;
    }
    return Flow::normal;
  }
  Flow round(Interpreter& in, Activation& a, Value v) const {
    std::optional<Round> round;
    if (s_.captures) round.emplace(s_, a);
    target_.assign(in, a, std::move(v));
    return body_->run(in, a);
  }

  const ast::ForStmt& s_;
  CodePtr iterable_;
  Target target_;
  BlockPtr body_;
};

class WhileCode final : public StmtCode {
 public:
  WhileCode(const ast::WhileStmt& s, const Place& place)
      : StmtCode(s.span), condition_(compile(*s.condition, place)), body_(compile(*s.body, place)) {}
  Flow run(Interpreter& in, Activation& a) const override {
    while (condition_.truth(in, a)) {
      check_interrupt();
      const Flow flow = body_->run(in, a);
      if (flow == Flow::break_loop) break;
      if (leaves_body(flow)) return flow;
    }
    return Flow::normal;
  }

 private:
  Operand condition_;
  BlockPtr body_;
};

class ReturnCode final : public StmtCode {
 public:
  ReturnCode(const ast::ReturnStmt& s, const Place& place)
      : StmtCode(s.span),
        value_(s.value ? compile(*s.value, place) : compile_constant(s.span, Value())),
        checked_(s.checked) {}
  Flow run(Interpreter& in, Activation& a) const override {
    if (!value_.attempt(in, a, a.result)) return Flow::failed;
    if (checked_) a.returned = value_->span;
    return Flow::returned;
  }

 private:
  Operand value_;
  bool checked_;
};

class FlowCode final : public StmtCode {
 public:
  FlowCode(const Span& at, Flow flow) : StmtCode(at), flow_(flow) {}
  Flow run(Interpreter&, Activation&) const override { return flow_; }
  std::optional<Flow> flow() const override { return flow_; }

 private:
  Flow flow_;
};

/// `nonlocal name`: an enclosing body has the name.
class NonlocalCode final : public StmtCode {
 public:
  explicit NonlocalCode(const ast::NonlocalStmt& s) : StmtCode(s.span), s_(s), places_(s.items.size()) {}
  Flow run(Interpreter& in, Activation& a) const override {
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_[i].body(a)) continue;
      const auto& [name, at] = s_.items[i];
      const ScopePtr found = nonlocal_scope(a.scope->outer, name);
      if (!found) throw_no_outer(in, a, name, at);
      const Value* bound = found->round ? nullptr : found->find_here(name);
      if (bound) places_[i].note(a, name, *bound);
    }
    return Flow::normal;
  }

 private:
  const ast::NonlocalStmt& s_;
  mutable std::vector<OuterPlace> places_;  ///< by name, where it was found last
};

/// A statement that runs from the syntax tree: a declaration, or control flow in a look.
class WrittenCode final : public StmtCode {
 public:
  explicit WrittenCode(const ast::Stmt& s) : StmtCode(s.span), s_(s) {}
  Flow run(Interpreter& in, Activation& a) const override {
    return located(in, span, [&] { return run_written(in, a); });
  }

 private:
  Flow run_written(Interpreter& in, Activation& a) const {
    switch (s_.kind) {
      case StmtKind::if_: return look_at_if(in, as<ast::IfStmt>(s_), a);
      case StmtKind::for_: return look_at_for(in, as<ast::ForStmt>(s_), a);
      case StmtKind::while_: return look_at_while(in, as<ast::WhileStmt>(s_), a);
      case StmtKind::try_: return look_at_try(in, as<ast::TryStmt>(s_), a);
      case StmtKind::with: {
        const auto& with = as<ast::WithStmt>(s_);
        Flow flow = Flow::normal;
        with_contexts(in, with.items, a, [&] { flow = execute(in, *with.body, a); });
        return flow;
      }
      case StmtKind::def: def_statement(in, as<ast::DefStmt>(s_), a); break;
      case StmtKind::import: import_statement(in, as<ast::ImportStmt>(s_), a); break;
      case StmtKind::from_import: from_statement(in, as<ast::FromImportStmt>(s_), a); break;
      case StmtKind::assert_: run_assert(in, as<ast::AssertStmt>(s_), a); break;
      case StmtKind::module:
        declare_module(in, as<ast::ModuleStmt>(s_), a);
        evaluator_of(in).remember(a.closure());
        break;
      case StmtKind::record:
        declare_record(in, as<ast::RecordStmt>(s_), a);
        evaluator_of(in).remember(a.closure());
        break;
      case StmtKind::program: declare_program(in, as<ast::ProgramStmt>(s_), a); break;
      case StmtKind::param: declare_param(in, as<ast::ParamStmt>(s_), a); break;
      case StmtKind::next: set_next(in, as<ast::NextStmt>(s_), a); break;
      case StmtKind::stream: declare_stream(in, as<ast::StreamStmt>(s_), a); break;
      case StmtKind::variable:
      case StmtKind::constant: declare_variable(in, as<ast::VariableStmt>(s_), a); break;
      case StmtKind::option: declare_option(in, as<ast::OptionStmt>(s_), a); break;
      default: break;  // run_tests runs the tests
    }
    return Flow::normal;
  }

  const ast::Stmt& s_;
};

StmtPtr compile_assignment(const ast::AssignStmt& s, const Place& place) {
  if (s.augmented) return compile_augmented(s, place);
  if (s.outlined || s.targets.size() != 1) return std::make_unique<AssignAllCode>(s, place);
  if (AssignEachCode::takes(s, place)) return std::make_unique<AssignEachCode>(s, place);
  return std::make_unique<AssignCode>(s, place);
}

}  // namespace

StmtPtr compile(const ast::Stmt& s, const Place& place) {
  switch (s.kind) {
    case StmtKind::expression: return std::make_unique<ExpressionCode>(as<ast::ExprStmt>(s), place);
    case StmtKind::assign: return compile_assignment(as<ast::AssignStmt>(s), place);
    case StmtKind::break_: return std::make_unique<FlowCode>(s.span, Flow::break_loop);
    case StmtKind::continue_: return std::make_unique<FlowCode>(s.span, Flow::continue_loop);
    case StmtKind::pass: return std::make_unique<FlowCode>(s.span, Flow::normal);
    case StmtKind::return_: return std::make_unique<ReturnCode>(as<ast::ReturnStmt>(s), place);
    case StmtKind::nonlocal: return std::make_unique<NonlocalCode>(as<ast::NonlocalStmt>(s));
    default: break;
  }
  if (!place.look) {
    if (s.kind == StmtKind::if_) return std::make_unique<IfCode>(as<ast::IfStmt>(s), place);
    if (s.kind == StmtKind::for_) return std::make_unique<ForCode>(as<ast::ForStmt>(s), place);
    if (s.kind == StmtKind::try_) return compile_try(as<ast::TryStmt>(s), place);
    if (s.kind == StmtKind::while_) return std::make_unique<WhileCode>(as<ast::WhileStmt>(s), place);
  }
  return std::make_unique<WrittenCode>(s);
}

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
    // A name becomes unknown in a look if code that may not run binds it.
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

}  // namespace pxl
