// Makes everything unknown that skipped code may have changed.
#include <algorithm>
#include <set>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/modules/trees.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/scope.hpp"

namespace pxl {
namespace {

bool is_of_graph(const Value& v) {
  if (auto* list = v.as<SequenceObject>()) return std::any_of(list->items.begin(), list->items.end(), is_of_graph);
  return as_tensor(v) || v.as<StreamObject>() || v.as<GraphObject>() || v.as<TreeObject>();
}

// Makes the outer names unknown that a function binds.
void forget_rebound(const ast::Function& code, const ScopePtr& closure) {
  for (const Name name : code.own.rebinds)
    if (const ScopePtr at = nonlocal_scope(closure, name)) at->bind(name, unknown_value());
}

void forget_changed(const std::vector<std::string>& names, const ScopePtr& scope, std::set<const void*>& seen) {
  for (const std::string& name : names) {
    for (Scope* s = scope.get(); s; s = s->outer.get()) {
      const Value* found = s->find_here(name);
      if (!found) continue;
      if (can_change(*found)) found->object()->forget();
      // The code might have called a function that it mentions.
      if (auto* f = found->as<FunctionObject>(); f && seen.insert(f->code.get()).second) {
        const ScopePtr closure = f->closure;
        const ast::Function& code = *f->code;
        forget_changed(names_in(code), closure, seen);
        forget_rebound(code, closure);
      }
      break;
    }
  }
}

}  // namespace

bool can_change(const Value& v) {
  return v.as<DictObject>() || v.as<TreeObject>() || v.as<ModuleInstance>() ||
         (v.as<SequenceObject>() && !v.as<TupleObject>()) || v.as_array();
}

void lacks_part(Interpreter& in) {
  if (!graphs_of(in).has_target()) return;
  check_in_progress(in)->incomplete.try_emplace(graphs_of(in).targets().back().ir.get(), position_of(in).here);
}

void lacks_part_of(Interpreter& in, const Arguments& args) {
  const bool graph =
      std::any_of(args.positional.begin(), args.positional.end(), is_of_graph) ||
      std::any_of(args.named.begin(), args.named.end(), [](const NamedArg& n) { return is_of_graph(n.value); });
  if (graph || graphs_of(in).in_program()) lacks_part(in);
}

UncertainScope::UncertainScope(Interpreter& in, bool silent)
    : in_(in), silent_(silent), forgets_(Object::forgets_changes), era_(Object::recording_era) {
  Object::recording_era = ++Object::latest_era;
  Object::forgets_changes = true;
  ++check_in_progress(in)->uncertain_depth;
  if (silent) ++check_in_progress(in)->silent;
  if (graphs_of(in).has_target()) {
    ir_ = graphs_of(in).targets().back().ir;
    ops_ = graphs_of(in).targets().back().graph->ops().size();
  }
}

UncertainScope::~UncertainScope() {
  Object::recording_era = era_;
  Object::forgets_changes = forgets_;
  --check_in_progress(in_)->uncertain_depth;
  if (silent_) --check_in_progress(in_)->silent;
  if (graphs_of(in_).has_target() && graphs_of(in_).targets().back().ir == ir_.lock() &&
      graphs_of(in_).targets().back().graph->ops().size() != ops_)
    lacks_part(in_);
}

void forget_bound(const ast::Stmt& s, Activation& a) {
  for (const std::string& name : names_of(s).bound) bind_in_body(a, name, unknown_value());
}

void forget(const ast::Stmt& s, Activation& a) {
  const BoundNames names = names_of(s);
  std::set<const void*> seen;
  forget_changed(names.mentioned, a.scope, seen);
  for (const std::string& name : names.bound) bind_in_body(a, name, unknown_value());
}

void forget_mentioned(const ast::Expr& e, Activation& a) {
  std::vector<std::string> names;
  NameVisitor visitor;
  visitor.name = [&](const ast::NameExpr& n) { names.push_back(n.name); };
  visitor.target = [](const ast::Expr&) {};
  visitor.lambda = [&](const ast::Function& f) { visit_names(f.result, visitor); };
  visit_names(&e, visitor);
  std::set<const void*> seen;
  forget_changed(names, a.scope, seen);
}

void forget_changed_by(const Value& function) {
  auto* f = function.as<FunctionObject>();
  if (!f) return;
  std::set<const void*> seen{f->code.get()};
  const ScopePtr closure = f->closure;
  forget_changed(names_in(*f->code), closure, seen);
  forget_rebound(*f->code, closure);
}

}  // namespace pxl
