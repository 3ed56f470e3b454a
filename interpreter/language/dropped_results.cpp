#include "interpreter/language/dropped_results.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/syntax/node_as.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/notices.hpp"
#include "interpreter/values/scope.hpp"
#include "runtime/base/diagnostics/library_sources.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {

namespace {

bool is_pure(const OpRow& row) {
  const bool computes = row.role == Role::compute || row.role == Role::composite;
  return computes && row.modifies == 0 && !row.side_effect && row.exchange == Exchange::none;
}

/// Whether a function is one of the library that accepts no module, since it could change or call a module.
bool is_pure(const FunctionObject& f) {
  if (!f.code->tree->source || !is_library(f.code->tree->source->name())) return false;
  bool takes_module = false;
  NameVisitor visitor;
  visitor.name = [&](const ast::NameExpr& n) { takes_module = takes_module || n.name == "module"; };
  visitor.lambda = [](const ast::Function&) {};
  visitor.target = [](const ast::Expr&) {};
  for (const ast::Parameter& p : f.code->parameters)
    if (p.annotation) visit_names(p.annotation, visitor);
  return !takes_module;
}

/// Whether the callee certainly changes nothing itself.
bool is_pure_call(const ast::Expr& callee, const Activation& a) {
  const Value* f = nullptr;
  if (callee.kind == ast::ExprKind::name) f = a.scope->find(as<ast::NameExpr>(callee).interned);
  if (callee.kind == ast::ExprKind::member) {
    const auto& member = as<ast::MemberExpr>(callee);
    if (member.base->kind != ast::ExprKind::name) return false;
    const Value* base = a.scope->find(as<ast::NameExpr>(*member.base).interned);
    if (!base) return false;
    if (const auto* space = base->as<NamespaceObject>()) {
      f = space->scope->find_here(member.name);
    } else {
      const OpRow* row = base->as_array() || base->type_name() == "tensor" ? find_op(member.name) : nullptr;
      return row && row->method && is_pure(*row);
    }
  }
  if (!f) return false;
  if (const auto* function = f->as<FunctionObject>()) return is_pure(*function);
  const auto* builtin = f->as<BuiltinObject>();
  const OpRow* row = builtin && builtin->kind == BuiltinObject::Kind::op ? find_op(builtin->name) : nullptr;
  return row && is_pure(*row);
}

}  // namespace

OpsSoFar::OpsSoFar(Interpreter& in) {
  const GraphBuilder& graphs = graphs_of(in);
  if (!graphs.has_target()) return;
  graph = graphs.targets().back().graph;
  count = graph->ops().size();
}

void note_dropped(Interpreter& in, const ast::CallExpr& call, const Activation& a, const OpsSoFar& before) {
  if (!is_pure_call(*call.callee, a)) return;
  if (before.graph) {
    const auto& ops = before.graph->ops();
    for (size_t i = before.count; i < ops.size(); ++i)
      if (!is_pure(*ops[i]->row)) return;
  }
  in.here = call.span;
  notice_once(in, Notice::dropped,
              fmt::format("nothing takes the result of `{0}`, which changes nothing: `y = {0}(...)`",
                          call.callee->span.text()));
}

}  // namespace pxl
