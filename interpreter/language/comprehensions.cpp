// Expressions that evaluate others several times, or as text: comprehensions and f-strings.
#include "interpreter/language/activation.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/language/located.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/interrupt.hpp"
#include "runtime/base/never_destroyed.hpp"

namespace pxl {

std::string fstring_text(Interpreter& in, const std::vector<ast::FPiece>& pieces, Activation& a) {
  std::string out;
  for (const ast::FPiece& p : pieces) {
    out += p.text;  // also what `{x=}` shows before the value
    if (!p.value) continue;
    if (p.show_source && p.text.empty()) out += std::string(p.value->span.text()) + "=";
    const Value v = evaluate(in, *p.value, a);
    const std::string format = fstring_text(in, p.format, a);
    located(position_of(in), p.value->span, [&]() -> Value {
      const bool as_repr = p.conversion == 'r' || (p.show_source && !p.conversion && format.empty());
      if (as_repr)
        out += format_value(in, Value(repr_of(in, v)), format);
      else if (p.conversion == 's')
        out += format_value(in, Value(str_of(in, v)), format);
      else
        out += format_value(in, v, format);
      return {};
    });
  }
  return out;
}

// Targets have a separate scope, as in Python. If functions are made, each round of a clause has one, nested in that of
// the preceding clause.
Value comprehension(Interpreter& in, const ast::ComprehensionExpr& e, Activation& a) {
  Activation inner;
  inner.self = a.self;
  inner.build = a.build;
  inner.kind = a.kind;
  static const auto& own = never_destroyed(std::vector<Name>());
  auto round_in = [](const ScopePtr& outer) {
    ScopePtr scope = std::make_shared<Scope>(outer);
    scope->round = &own;
    return scope;
  };
  inner.scope = round_in(a.closure());
  std::vector<ScopePtr> rounds(e.captures ? e.clauses.size() : 0);
  std::vector<Value> items;
  auto dict = e.key ? std::make_shared<DictObject>() : nullptr;
  // One iterator per clause, innermost last: a loop instead of a recursion over clauses.
  std::vector<Iterator> open;
  auto start = [&](size_t clause) {
    const ast::Clause& c = e.clauses[clause];
    const Value v = evaluate(in, *c.iterable, clause == 0 ? a : inner);
    located(position_of(in), c.iterable->span, [&]() -> Value {
      open.push_back(iterator_of(in, v));
      return {};
    });
  };
  start(0);
  while (!open.empty()) {
    check_interrupt();
    const ast::Clause& c = e.clauses[open.size() - 1];
    std::optional<Value> v;
    located(position_of(in), c.iterable->span, [&]() -> Value {
      v = open.back()();
      return {};
    });
    if (!v) {
      open.pop_back();
      continue;
    }
    if (e.captures) {
      const size_t clause = open.size() - 1;
      inner.scope = rounds[clause] = round_in(clause == 0 ? a.closure() : rounds[clause - 1]);
    }
    if (c.targets.size() == 1) {
      assign(in, *c.targets[0], std::move(*v), inner);
    } else {
      ast::TupleExpr tuple(join(c.targets.front()->span, c.targets.back()->span));
      tuple.items = c.targets;
      assign(in, tuple, std::move(*v), inner);
    }
    bool keep = true;
    for (const ast::Expr* condition : c.conditions) {
      const Value t = evaluate(in, *condition, inner);
      located(position_of(in), condition->span, [&]() -> Value {
        keep = truth_of(in, t);
        return {};
      });
      if (!keep) break;
    }
    if (!keep) continue;
    if (open.size() < e.clauses.size()) {
      start(open.size());
      continue;
    }
    if (dict) {
      const Value key = evaluate(in, *e.key, inner);
      Value value = evaluate(in, *e.value, inner);
      located(position_of(in), e.key->span, [&]() -> Value {
        dict->put(key, std::move(value));
        return {};
      });
    } else {
      items.push_back(evaluate(in, *e.value, inner));
    }
  }
  if (dict) return dict;
  return make_list(std::move(items));
}

}  // namespace pxl
