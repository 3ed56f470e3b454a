// Declarations: functions, modules, programs, and the statements that declare one name.
#include <utility>

#include "interpreter/syntax/nodes/builder.hpp"

namespace pxl::syntax {

using namespace ast;

std::string AstBuilder::doc(const Node* node) const {
  auto found = list_.docs.find(node->first);
  return found == list_.docs.end() ? std::string{} : found->second;
}

std::vector<Parameter> AstBuilder::parameters(const Node* node) {
  std::vector<Parameter> out;
  bool by_name = false;
  Span bare;  // span of a bare `*` that no parameter has followed yet
  for (const Node* n = node->child; n; n = n->next) {
    if (!n->is_rule(ids::RuleParameter)) continue;
    Parameter p;
    p.span = span(n);
    for (const Node* part = n->child; part; part = part->next) {
      if (part->is(ids::STAR)) p.rest = true;
      if (part->is(ids::POWER)) p.options = true;
      if (part->is(ids::REF)) p.by_ref = true;
      if (part->is(ids::NAME) || part->is(ids::ARGUMENT_NAME)) p.name = text(part);
      if (part->is(ids::COLON)) p.annotation = expression(part->next);
      if (part->is(ids::ASSIGN)) p.default_value = expression(part->next);
    }
    p.interned = p.name;
    if (p.rest && by_name) problem("only one parameter may be starred", p.span);
    if (!p.name.empty()) {
      bare = {};
      p.by_name = by_name;
      by_name = by_name || p.rest;
      out.push_back(std::move(p));
      continue;
    }
    if (p.options) {
      problem("`**` needs a name: `**options`", p.span);
      continue;
    }
    if (p.annotation || p.default_value) problem("`*` without a name takes nothing: name it, `*rest`", p.span);
    by_name = true;
    bare = p.span;
  }
  if (bare) problem("`*` needs a parameter after it", bare, {"those after `*` are given by name"});
  return out;
}

// Builds the shared form NAME (parameters) with contexts { body }.
Function* AstBuilder::function(const Node* node, std::string name) {
  auto* f = tree_.make<Function>();
  f->name = std::move(name);
  const Node* body = node->rule(ids::RuleBlock);
  f->span = span(node->first, body->first - 1);
  f->doc = doc(node);
  if (const Node* brackets = node->rule(ids::RuleParameters))
    if (const Node* list = brackets->rule(ids::RuleParameterList)) f->parameters = parameters(list);
  if (const Node* clause = node->rule(ids::RuleResultClause))
    for (const Node* n = clause->child; n; n = n->next)
      if (n->is_rule(ids::RuleExpression)) f->results.push_back(expression(n));
  if (const Node* with = node->rule(ids::RuleWithClause)) f->contexts = with_items(with);
  const bool outside = std::exchange(checks_results_, !f->results.empty());
  f->body = statements(body);
  checks_results_ = outside;
  return f;
}

Stmt* AstBuilder::def_statement(const Node* node, bool outlined) {
  auto* s = tree_.make<DefStmt>(span(node));
  s->function = function(node, text(node->token(ids::NAME)));
  s->function->outlined = outlined;
  return s;
}

Stmt* AstBuilder::outlined_statement(const Node* node) {
  const Node* inner = node->child->next;
  if (inner->is_rule(ids::RuleDefStatement)) {
    auto* s = static_cast<DefStmt*>(def_statement(inner, true));
    s->span = span(node);
    s->function->doc = doc(node);
    return s;
  }
  Stmt* s = simple(inner, true);
  s->span = span(node);
  if (s->kind == StmtKind::assign)
    static_cast<AssignStmt*>(s)->doc = doc(node);
  else
    problem("`outlined`: expected `def` or `NAME = MODULE`", span(node));
  return s;
}

Stmt* AstBuilder::module_statement(const Node* node) {
  auto* s = tree_.make<ModuleStmt>(span(node));
  const Node* name = node->token(ids::NAME);
  s->name = text(name);
  s->name_span = span(name);
  s->doc = doc(node);
  if (const Node* brackets = node->rule(ids::RuleParameters))
    if (const Node* list = brackets->rule(ids::RuleParameterList)) s->parameters = parameters(list);
  for (const Node* n = node->rule(ids::RuleBlock)->child; n; n = n->next)
    if (n->is_rule(ids::RuleStatement)) member(s, n->child);
  return s;
}

void AstBuilder::member(ModuleStmt* module, const Node* node) {
  if (node->is_rule(ids::RuleBuildStatement)) {
    if (module->build) problem("a module has one `build`", span(node->first, node->first));
    module->build = function(node, "build");
    return;
  }
  Stmt* s = node->is_token ? nullptr : node->is_rule(ids::RuleDefStatement) ? def_statement(node, false) : nullptr;
  if (!s && node->is_rule(ids::RuleOutlinedStatement)) s = outlined_statement(node);
  if (s && s->kind == StmtKind::def) {
    module->methods.push_back(static_cast<DefStmt*>(s)->function);
    return;
  }
  if (!s) {
    Node holder;
    holder.id = ids::RuleStatement;
    holder.first = node->first;
    holder.last = node->last;
    holder.child = node;
    s = statement(&holder);
  }
  module->fields.push_back(s);
}

Stmt* AstBuilder::record_statement(const Node* node) {
  auto* s = tree_.make<RecordStmt>(span(node));
  const Node* name = node->token(ids::NAME);
  s->name = text(name);
  s->name_span = span(name);
  s->doc = doc(node);
  if (const Node* list = node->rule(ids::RuleParameters)->rule(ids::RuleParameterList)) s->fields = parameters(list);
  return s;
}

Stmt* AstBuilder::program_statement(const Node* node) {
  auto* s = tree_.make<ProgramStmt>(span(node));
  s->function = function(node, text(node->token(ids::NAME)));
  return s;
}

std::vector<Argument> AstBuilder::options(const Node* node) {
  std::vector<Argument> out;
  const Node* clause = node->rule(ids::RuleOptionClause);
  if (!clause) return out;
  for (const Node* n = clause->child; n; n = n->next) {
    if (!n->is_rule(ids::RuleOptionItem)) continue;
    Argument a;
    a.kind = Argument::named;
    a.name = text(n->child);
    a.span = span(n);
    a.value = expression(n->rule(ids::RuleExpression));
    out.push_back(std::move(a));
  }
  return out;
}

Stmt* AstBuilder::param_statement(const Node* node) {
  auto* s = tree_.make<ParamStmt>(span(node));
  const Node* name = node->token(ids::NAME);
  s->name = text(name);
  s->name_span = span(name);
  s->by_ref = node->token(ids::REF) != nullptr;
  s->is_state = node->token(ids::STATE) != nullptr;
  s->spec = expression(node->token(ids::COLON)->next);
  if (const Node* equals = node->token(ids::ASSIGN)) s->init = expression(equals->next);
  s->options = options(node);
  s->doc = doc(node);
  return s;
}

Stmt* AstBuilder::next_statement(const Node* node) {
  auto* s = tree_.make<NextStmt>(span(node));
  for (const Node* n = node->child; n; n = n->next)
    if (n->is_token && n->id == ids::NAME) s->targets.push_back(static_cast<NameExpr*>(name(n)));
  s->value = elements(node->rule(ids::RuleElements));
  return s;
}

Stmt* AstBuilder::stream_statement(const Node* node) {
  auto* s = tree_.make<StreamStmt>(span(node));
  const Node* name = node->token(ids::NAME);
  s->name = text(name);
  s->name_span = span(name);
  s->is_input = node->token(ids::IN) != nullptr;
  if (const Node* colon = node->token(ids::COLON)) s->spec = expression(colon->next);
  if (const Node* equals = node->token(ids::ASSIGN)) s->value = expression(equals->next);
  if (s->is_input && !s->spec)
    problem("a stream in needs a spec", s->name_span, {"such as `stream in " + s->name + ": float32[8, 784]`"});
  if (s->is_input && s->value)
    problem("a `stream in` gets its values from `session.run`", s->value->span, {"only `stream out` is assigned"});
  s->doc = doc(node);
  return s;
}

Stmt* AstBuilder::variable_statement(const Node* node, StmtKind kind) {
  auto* s = tree_.make<VariableStmt>(kind, span(node));
  const Node* name = node->token(ids::NAME);
  s->name = text(name);
  s->name_span = span(name);
  s->spec = expression(node->token(ids::COLON)->next);
  s->init = expression(node->token(ids::ASSIGN)->next);
  s->options = options(node);
  s->doc = doc(node);
  return s;
}

Stmt* AstBuilder::option_statement(const Node* node) {
  auto* s = tree_.make<OptionStmt>(span(node));
  const Node* name = node->token(ids::NAME);
  s->name = text(name);
  s->name_span = span(name);
  s->type = expression(node->token(ids::COLON)->next);
  if (const Node* equals = node->token(ids::ASSIGN)) s->default_value = expression(equals->next);
  s->doc = doc(node);
  return s;
}

Stmt* AstBuilder::test_statement(const Node* node) {
  auto* s = tree_.make<TestStmt>(span(node));
  const Node* title = node->token(ids::STRING);
  s->title = string_value(list_.text(title->first), span(title), problems);
  s->body = statements(node->rule(ids::RuleBlock));
  return s;
}

}  // namespace pxl::syntax
