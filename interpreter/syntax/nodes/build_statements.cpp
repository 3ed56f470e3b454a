// Statements other than declarations.
#include <algorithm>

#include "interpreter/syntax/fixes/syntax_fixes.hpp"
#include "interpreter/syntax/nodes/builder.hpp"

namespace pxl::syntax {

using namespace ast;

Block* AstBuilder::statements(const Node* node) {
  auto* out = tree_.make<Block>();
  out->span = span(node);
  for (const Node* n = node->child; n; n = n->next)
    if (n->is_rule(ids::RuleStatement)) out->statements.push_back(statement(n));
  return out;
}

Stmt* AstBuilder::statement(const Node* node) {
  const Node* n = node->child;
  if (n->is_token) {
    if (n->id == ids::BREAK) return tree_.make<BreakStmt>(span(n));
    if (n->id == ids::CONTINUE) return tree_.make<ContinueStmt>(span(n));
    return tree_.make<PassStmt>(span(n));
  }
  switch (n->id) {
    case ids::RuleIfStatement: return if_statement(n);
    case ids::RuleForStatement: return for_statement(n);
    case ids::RuleWhileStatement: return while_statement(n);
    case ids::RuleWithStatement: return with_statement(n);
    case ids::RuleTryStatement: return try_statement(n);
    case ids::RuleReturnStatement: return return_statement(n);
    case ids::RuleAssertStatement: return assert_statement(n);
    case ids::RuleImportStatement: return import_statement(n);
    case ids::RuleFromStatement: return from_statement(n);
    case ids::RuleNonlocalStatement: return nonlocal_statement(n);
    case ids::RuleDefStatement: return def_statement(n, false);
    case ids::RuleOutlinedStatement: return outlined_statement(n);
    case ids::RuleModuleStatement: return module_statement(n);
    case ids::RuleRecordStatement: return record_statement(n);
    case ids::RuleProgramStatement: return program_statement(n);
    case ids::RuleBuildStatement: {
      // Modules handle their `build` themselves.
      problem("`build` is only allowed directly in a module", span(n->first, n->first),
              {"elsewhere, declare a function: `def NAME(...) { ... }`"});
      return tree_.make<PassStmt>(span(n));
    }
    case ids::RuleParamStatement:
    case ids::RuleStateStatement: return param_statement(n);
    case ids::RuleNextStatement: return next_statement(n);
    case ids::RuleStreamStatement: return stream_statement(n);
    case ids::RuleVariableStatement: return variable_statement(n, StmtKind::variable);
    case ids::RuleConstantStatement: return variable_statement(n, StmtKind::constant);
    case ids::RuleOptionStatement: return option_statement(n);
    case ids::RuleTestStatement: return test_statement(n);
    default: return simple(n, false);
  }
}

Stmt* AstBuilder::simple(const Node* node, bool outlined) {
  int first = list_.tokens[node->first].type;
  const auto before = list_.tokens.begin() + node->first;
  const bool above = std::any_of(list_.tokens.begin(), before, [](const auto& t) { return t.type != ids::NEWLINE; });
  if (above && (first == ids::PLUS || first == ids::MINUS)) {
    problem("a statement does not begin with `" + std::string(list_.text(node->first)) + "`",
            span(node->first, node->first),
            {"the line above ended its statement; to continue it, end it with the operator, or use brackets"});
    mend_leading_operator(list_, node->first, problems.back());
  }
  if (const Node* update = node->token(ids::UPDATE)) {
    auto* s = tree_.make<AssignStmt>(span(node));
    s->augmented = true;
    s->outlined = outlined;
    std::string op = text(update);
    op.pop_back();
    for (auto candidate = BinaryOp::add; candidate <= BinaryOp::shift_right;
         candidate = static_cast<BinaryOp>(static_cast<int>(candidate) + 1))
      if (ast::text(candidate) == op) s->op = candidate;
    s->targets.push_back(elements(node->child));
    s->value = elements(update->next);
    s->doc = doc(node);
    return s;
  }
  if (!node->token(ids::ASSIGN)) {
    auto* s = tree_.make<ExprStmt>(span(node));
    s->value = elements(node->child);
    return s;
  }
  auto* s = tree_.make<AssignStmt>(span(node));
  s->outlined = outlined;
  s->doc = doc(node);
  for (const Node* n = node->child; n; n = n->next) {
    if (n->is_token) continue;
    if (n->next)
      s->targets.push_back(elements(n));
    else
      s->value = elements(n);
  }
  return s;
}

Stmt* AstBuilder::if_statement(const Node* node) {
  auto* s = tree_.make<IfStmt>(span(node));
  for (const Node* n = node->child; n; n = n->next) {
    if (n->is_rule(ids::RuleExpression)) {
      Expr* condition = expression(n);
      s->arms.push_back({condition, statements(n->next)});
    }
    if (n->is(ids::ELSE)) s->else_body = statements(n->next);
  }
  return s;
}

Stmt* AstBuilder::for_statement(const Node* node) {
  auto* s = tree_.make<ForStmt>(span(node));
  s->targets = targets(node->rule(ids::RuleTargets));
  s->iterable = elements(node->rule(ids::RuleElements));
  s->body = statements(node->rule(ids::RuleBlock));
  return s;
}

Stmt* AstBuilder::while_statement(const Node* node) {
  auto* s = tree_.make<WhileStmt>(span(node));
  s->condition = expression(node->rule(ids::RuleExpression));
  s->body = statements(node->rule(ids::RuleBlock));
  return s;
}

std::vector<WithItem> AstBuilder::with_items(const Node* node) {
  std::vector<WithItem> out;
  for (const Node* n = node->child; n; n = n->next) {
    if (!n->is_rule(ids::RuleWithItem)) continue;
    WithItem item;
    item.context = expression(n->child);
    if (const Node* as = n->token(ids::AS)) {
      item.as = text(as->next);
      item.as_span = span(as->next);
    }
    out.push_back(std::move(item));
  }
  return out;
}

Stmt* AstBuilder::with_statement(const Node* node) {
  auto* s = tree_.make<WithStmt>(span(node));
  s->items = with_items(node);
  s->body = statements(node->rule(ids::RuleBlock));
  return s;
}

Stmt* AstBuilder::try_statement(const Node* node) {
  auto* s = tree_.make<TryStmt>(span(node));
  for (const Node* n = node->child; n; n = n->next) {
    if (n->is(ids::TRY_BLOCK)) s->body = statements(n->next);
    if (n->is(ids::FINALLY)) s->finally_body = statements(n->next);
    if (n->is_rule(ids::RuleCatchClause)) s->catches.push_back(catch_clause(n));
  }
  return s;
}

TryStmt::Catch AstBuilder::catch_clause(const Node* node) {
  TryStmt::Catch c;
  const Node* as = node->token(ids::AS);
  for (const Node* n = node->child; n && n != as; n = n->next)
    if (n->is(ids::NAME)) c.kinds.push_back({text(n), span(n)});
  if (as) c.as = static_cast<NameExpr*>(name(as->next));
  c.body = statements(node->rule(ids::RuleBlock));
  return c;
}

Stmt* AstBuilder::return_statement(const Node* node) {
  auto* s = tree_.make<ReturnStmt>(span(node));
  s->checked = checks_results_;
  if (const Node* value = node->rule(ids::RuleElements)) s->value = elements(value);
  return s;
}

Stmt* AstBuilder::assert_statement(const Node* node) {
  auto* s = tree_.make<AssertStmt>(span(node));
  const Node* condition = node->rule(ids::RuleExpression);
  s->condition = expression(condition);
  if (const Node* message = node->rule(ids::RuleExpression, condition)) s->message = expression(message);
  return s;
}

std::vector<std::string> AstBuilder::path(const Node* node) {
  std::vector<std::string> out;
  for (const Node* n = node->child; n; n = n->next)
    if (n->is(ids::NAME)) out.push_back(text(n));
  return out;
}

Stmt* AstBuilder::import_statement(const Node* node) {
  auto* s = tree_.make<ImportStmt>(span(node));
  s->path = path(node->rule(ids::RulePath));
  if (const Node* as = node->token(ids::AS)) s->as = text(as->next);
  return s;
}

Stmt* AstBuilder::nonlocal_statement(const Node* node) {
  auto* s = tree_.make<NonlocalStmt>(span(node));
  for (const Node* n = node->child; n; n = n->next)
    if (n->is(ids::NAME)) s->items.push_back({Name(text(n)), span(n)});
  return s;
}

Stmt* AstBuilder::from_statement(const Node* node) {
  auto* s = tree_.make<FromImportStmt>(span(node));
  if (const Node* file = node->token(ids::STRING))
    s->file = string_value(list_.text(file->first), span(file), problems);
  else
    s->path = path(node->rule(ids::RulePath));
  if (const Node* dots = node->rule(ids::RuleRelative))
    s->path.insert(s->path.begin(),
                   span(dots).text().size() - static_cast<size_t>(std::ranges::count(span(dots).text(), ' ')), ".");
  for (const Node* n = node->rule(ids::RuleImportItems)->child; n; n = n->next) {
    if (!n->is_rule(ids::RuleImportItem)) continue;
    FromImportStmt::Item item;
    item.name = text(n->child);
    item.span = span(n);
    if (const Node* as = n->token(ids::AS)) item.as = text(as->next);
    s->items.push_back(std::move(item));
  }
  return s;
}

}  // namespace pxl::syntax
