// Expressions without operators: atoms, calls, subscripts, lambdas, conditionals, lists, dicts, comprehensions.
#include <fmt/format.h>

#include <tuple>

#include "interpreter/syntax/nodes/builder.hpp"
#include "runtime/base/diagnostics/codes.hpp"

namespace pxl::syntax {

using namespace ast;

Span AstBuilder::span(uint32_t first, uint32_t last) const {
  return {list_.source, list_.tokens[first].begin, std::max(list_.tokens[first].end, list_.tokens[last].end)};
}
Span AstBuilder::span(const Node* node) const { return span(node->first, node->last); }

void AstBuilder::problem(std::string message, Span at, std::vector<std::string> notes) {
  problems.push_back(
      Diagnostic{Severity::error, Fault::refused, std::move(message), at, std::move(notes), nullptr, codes::syntax});
}

bool AstBuilder::too_deep(Span at) {
  if (depth_ <= max_depth) return false;
  if (!reported_depth_)
    problem(fmt::format("nested deeper than {} levels", max_depth), at, {"assign a part of it to a name"});
  reported_depth_ = true;
  return true;
}

std::vector<Expr*> AstBuilder::element_list(const Node* node) {
  std::vector<Expr*> out;
  for (const Node* n = node->child; n; n = n->next)
    if (n->is_rule(ids::RuleElement)) out.push_back(element(n));
  return out;
}

// One element stands alone. Several elements, or one with a comma, are a tuple.
Expr* AstBuilder::elements(const Node* node) {
  if (!node->child->next) {
    Expr* e = element(node->child);
    if (e->kind == ExprKind::starred)
      problem("a starred value is only allowed in a list or tuple", e->span, {"write `[*x]`, or `*x,` for a tuple"});
    return e;
  }
  auto* tuple = tree_.make<TupleExpr>(span(node));
  tuple->items = element_list(node);
  return tuple;
}

Expr* AstBuilder::starred(const Node* value, const Node* whole) {
  auto* e = tree_.make<StarredExpr>(span(whole));
  e->value = operation(value);
  return e;
}

Expr* AstBuilder::element(const Node* node) {
  if (const Node* value = node->rule(ids::RuleOperation)) return starred(value, node);
  return expression(node->child);
}

Expr* AstBuilder::expression(const Node* node) {
  if (!node->child->next) return operation(node->child);
  return conditional(node->child, node->last);
}

// Builds the rest of an expression from `part`: lambda heads, a value, optionally `if C else ...`.
Expr* AstBuilder::conditional(const Node* part, uint32_t last) {
  Deeper deeper(*this, 1);
  if (too_deep(span(part))) return tree_.make<NoneExpr>(span(part));
  if (part->is_rule(ids::RuleLambdaHead)) {
    auto* e = tree_.make<LambdaExpr>(span(part->first, last));
    e->function = tree_.make<Function>();
    e->function->name = "<lambda>";
    e->function->span = span(part);
    if (const Node* list = part->rule(ids::RuleParameterList)) {
      e->function->parameters = parameters(list);
    } else if (part->child->is(ids::LAMBDA_NAME)) {
      Parameter p;
      p.name = text(part->child);
      p.interned = p.name;
      p.span = span(part->child);
      e->function->parameters.push_back(std::move(p));
    }
    e->function->result = conditional(part->next, last);
    return e;
  }
  if (part->is_rule(ids::RuleTryHead)) {
    auto* e = tree_.make<AttemptExpr>(span(part->first, last));
    e->value = operation(part->rule(ids::RuleOperation));
    e->otherwise = conditional(part->next, last);
    return e;
  }
  Expr* value = operation(part);
  if (!part->next) return value;
  auto* e = tree_.make<ConditionalExpr>(span(part->first, last));
  const Node* condition = part->next->next;
  e->then_value = value;
  e->condition = operation(condition);
  e->else_value = conditional(condition->next->next, last);
  return e;
}

Expr* AstBuilder::postfix(const Node* node) {
  int trailers = 0;
  for (const Node* n = node->child->next; n; n = n->next) trailers += !n->is(ids::DOT);
  // The first trailer becomes the innermost node.
  Deeper deeper(*this, trailers > 1 ? trailers - 1 : 0);
  if (too_deep(span(node))) return tree_.make<NoneExpr>(span(node));
  Expr* e = atom(node->child);
  for (const Node* n = node->child->next; n; n = n->next) {
    Span whole = span(node->first, n->is(ids::DOT) ? n->next->last : n->last);
    if (n->is(ids::DOT)) {
      n = n->next;
      auto* m = tree_.make<MemberExpr>(whole);
      m->base = e;
      m->name = text(n);
      m->name_span = span(n);
      e = m;
    } else if (n->is_rule(ids::RuleArguments)) {
      auto* call = tree_.make<CallExpr>(whole);
      call->callee = e;
      call->arguments = arguments(n);
      e = call;
    } else {
      auto* index = tree_.make<IndexExpr>(whole);
      index->base = e;
      for (const Node* s = n->child; s; s = s->next)
        if (s->is_rule(ids::RuleSubscript)) index->subscripts.push_back(subscript(s));
      index->trailing_comma = n->token(ids::TRAILING_COMMA) != nullptr;
      e = index;
    }
  }
  return e;
}

Expr* AstBuilder::atom(const Node* node) {
  if (!node->is_token) {
    switch (node->id) {
      case ids::RuleStrings: return strings(node);
      case ids::RuleBrackets: return brackets(node);
      case ids::RuleList: return list(node);
      default: return dict(node);
    }
  }
  Span at = span(node);
  switch (node->id) {
    case ids::NAME: return name(node);
    case ids::INT:
    case ids::FLOAT: return number(node);
    case ids::ELLIPSIS: return tree_.make<EllipsisExpr>(at);
    case ids::TRUE:
    case ids::FALSE: {
      auto* e = tree_.make<BoolExpr>(at);
      e->value = node->id == ids::TRUE;
      return e;
    }
    default: return tree_.make<NoneExpr>(at);
  }
}

Expr* AstBuilder::name(const Node* node) {
  auto* e = tree_.make<NameExpr>(span(node));
  e->name = text(node);
  e->interned = e->name;
  if (e->name == "True" || e->name == "False" || e->name == "None") {
    std::string lower = e->name;
    lower[0] = static_cast<char>(lower[0] - 'A' + 'a');
    problem(fmt::format("`{}` is written `{}`", e->name, lower), e->span);
    problems.back().offer(e->span, lower);
    problems.back().code = codes::other_language;
  }
  return e;
}

Expr* AstBuilder::number(const Node* node) {
  std::string_view token = list_.text(node->first);
  if (node->id == ids::FLOAT) {
    auto* e = tree_.make<FloatExpr>(span(node));
    e->value = floating_value(token);
    return e;
  }
  auto* e = tree_.make<IntExpr>(span(node));
  uint64_t value = 0;
  if (!integer_value(token, value) || value > INT64_MAX)
    problem("this integer does not fit 64 bits", e->span, {"the largest is 9223372036854775807; write it as a float"});
  e->value = static_cast<int64_t>(value);
  return e;
}

Expr* AstBuilder::strings(const Node* node) {
  std::vector<FPiece> pieces;
  bool formatted = node->rule(ids::RuleFstring) != nullptr;
  std::string plain;
  for (const Node* n = node->child; n; n = n->next) {
    if (n->is_rule(ids::RuleFstring)) {
      fstring(n, pieces);
      continue;
    }
    std::string value = string_value(list_.text(n->first), span(n), problems);
    if (formatted)
      pieces.emplace_back().text = std::move(value);
    else
      plain += value;
  }
  if (formatted) {
    auto* e = tree_.make<FStringExpr>(span(node));
    e->pieces = std::move(pieces);
    return e;
  }
  auto* e = tree_.make<StringExpr>(span(node));
  e->value = std::move(plain);
  return e;
}

void AstBuilder::fstring(const Node* node, std::vector<FPiece>& out) {
  for (const Node* n = node->child; n; n = n->next) {
    if (n->is_rule(ids::RuleInterpolation)) out.push_back(interpolation(n));
    if (!n->is(ids::FTEXT)) continue;
    std::string value = unescape(list_.text(n->first), span(n), problems);
    std::string braces;
    for (size_t i = 0; i < value.size(); ++i) {
      braces += value[i];
      if ((value[i] == '{' || value[i] == '}') && i + 1 < value.size() && value[i + 1] == value[i]) ++i;
    }
    if (!out.empty() && !out.back().value)
      out.back().text += braces;
    else
      out.emplace_back().text = std::move(braces);
  }
}

FPiece AstBuilder::interpolation(const Node* node) {
  Deeper deeper(*this, 1);
  FPiece piece;
  const Node* value = node->rule(ids::RuleElements);
  piece.value = elements(value);
  if (const Node* equals = node->token(ids::ASSIGN)) {
    piece.show_source = true;
    // The source text up to the `=`.
    uint32_t begin = list_.tokens[node->first].end;
    uint32_t end = list_.tokens[equals->next->first].begin;
    piece.text = std::string(list_.source->text().substr(begin, end - begin));
  }
  if (const Node* bang = node->token(ids::BANG)) {
    std::string conversion = text(bang->next);
    if (conversion != "r" && conversion != "s" && conversion != "a")
      problem(fmt::format("unknown conversion `!{}`", conversion), span(bang->first, bang->next->last),
              {"supported: `!r` (as in code) and `!s` (as printed)"});
    piece.conversion = conversion == "s" ? 's' : 'r';
  }
  if (const Node* format = node->rule(ids::RuleFormat)) {
    for (const Node* n = format->child; n; n = n->next) {
      if (n->is(ids::FTEXT)) piece.format.emplace_back().text = text(n);
      if (n->is_rule(ids::RuleInterpolation)) piece.format.push_back(interpolation(n));
    }
  }
  return piece;
}

Expr* AstBuilder::brackets(const Node* node) {
  const Node* inside = node->rule(ids::RuleElements);
  if (!inside) return tree_.make<TupleExpr>(span(node));
  Expr* e = elements(inside);
  // The span of a tuple includes its brackets. The span of another expression does not, which keeps carets short.
  if (inside->child->next) e->span = span(node);
  return e;
}

Expr* AstBuilder::list(const Node* node) {
  const Node* first = node->rule(ids::RuleElement);
  if (const Node* clause = node->rule(ids::RuleClause)) {
    auto* e = tree_.make<ComprehensionExpr>(ExprKind::comprehension, span(node));
    e->value = element(first);
    if (e->value->kind == ExprKind::starred) problem("a comprehension yields one value per iteration", e->value->span);
    clauses(clause, e);
    return e;
  }
  auto* e = tree_.make<ListExpr>(span(node));
  e->items = element_list(node);
  return e;
}

std::pair<Expr*, Expr*> AstBuilder::dict_item(const Node* node) {
  if (const Node* mapping = node->rule(ids::RuleOperation)) return {nullptr, operation(mapping)};
  const Node* key = node->rule(ids::RuleExpression);
  return {expression(key), expression(node->rule(ids::RuleExpression, key))};
}

Expr* AstBuilder::dict(const Node* node) {
  const Node* first = node->rule(ids::RuleDictItem);
  if (const Node* clause = node->rule(ids::RuleClause)) {
    auto* e = tree_.make<ComprehensionExpr>(ExprKind::dict_comprehension, span(node));
    std::tie(e->key, e->value) = dict_item(first);
    if (!e->key) problem("a comprehension yields one item per iteration", span(first));
    clauses(clause, e);
    return e;
  }
  auto* e = tree_.make<DictExpr>(span(node));
  for (const Node* n = first; n; n = n->next)
    if (n->is_rule(ids::RuleDictItem)) e->items.push_back(dict_item(n));
  return e;
}

void AstBuilder::clauses(const Node* from, ComprehensionExpr* out) {
  for (const Node* n = from; n; n = n->next) {
    if (!n->is_rule(ids::RuleClause)) continue;
    Clause clause;
    clause.targets = targets(n->rule(ids::RuleTargets));
    const Node* iterable = n->rule(ids::RuleOperation);
    clause.iterable = operation(iterable);
    for (const Node* c = n->rule(ids::RuleOperation, iterable); c; c = n->rule(ids::RuleOperation, c))
      clause.conditions.push_back(operation(c));
    out->clauses.push_back(std::move(clause));
  }
}

std::vector<Expr*> AstBuilder::targets(const Node* node) {
  std::vector<Expr*> out;
  for (const Node* n = node->child; n; n = n->next) {
    if (!n->is_rule(ids::RuleTarget)) continue;
    Expr* e = postfix(n->rule(ids::RulePostfix));
    if (n->child->is(ids::STAR)) {
      auto* s = tree_.make<StarredExpr>(span(n));
      s->value = e;
      e = s;
    }
    out.push_back(e);
  }
  // `for x, in pairs` unpacks a tuple of one element.
  if (out.size() == 1 && node->token(ids::TRAILING_COMMA)) {
    auto* tuple = tree_.make<TupleExpr>(span(node));
    tuple->items = std::move(out);
    out = {tuple};
  }
  return out;
}

std::vector<Argument> AstBuilder::arguments(const Node* node) {
  std::vector<Argument> out;
  for (const Node* n = node->child; n; n = n->next) {
    if (!n->is_rule(ids::RuleArgument)) continue;
    Argument a;
    a.span = span(n);
    if (n->child->is(ids::ARGUMENT_NAME)) {
      a.kind = Argument::named;
      a.name = text(n->child);
    } else if (n->child->is(ids::STAR)) {
      a.kind = Argument::spread;
    } else if (n->child->is(ids::POWER)) {
      a.kind = Argument::spread_named;
    }
    const Node* value = n->rule(ids::RuleExpression);
    a.value = value ? expression(value) : operation(n->rule(ids::RuleOperation));
    out.push_back(std::move(a));
  }
  return out;
}

Expr* AstBuilder::subscript(const Node* node) {
  if (const Node* value = node->rule(ids::RuleOperation)) return starred(value, node);
  const Node* start = node->rule(ids::RuleExpression);
  const Node* slice = node->rule(ids::RuleSlice);
  if (!slice) return expression(start);
  auto* e = tree_.make<SliceExpr>(span(node));
  if (start) e->start = expression(start);
  Expr** part = &e->stop;
  for (const Node* n = slice->child->next; n; n = n->next) {
    if (n->is(ids::COLON))
      part = &e->step;
    else
      *part = expression(n);
  }
  return e;
}

}  // namespace pxl::syntax
