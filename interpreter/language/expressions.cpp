// Evaluating expressions. Each kind has a separate function, so that stack frames in deep recursion are small; chains
// of operators are loops. The innermost expression that fails locates the error.
#include <algorithm>

#include "interpreter/graphs/graph_builder.hpp"
#include "interpreter/graphs/graph_values.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/language/located.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/language/named_tensors.hpp"
#include "interpreter/language/operators.hpp"
#include "interpreter/language/stdlib.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/arrays.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/budget.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

namespace {

using ast::ExprKind;

const Name ir_name("ir");

[[noreturn]] void refuse_name(Interpreter& in, const ast::NameExpr& e, const Activation& a) {
  Error error("unknown name `" + e.name + "`", unknown_name_notes(e.name, a.scope->visible_names()));
  error.as(codes::unknown_name);
  error.locate(e.span, in.frames);
  throw error;
}

Value name_value(Interpreter& in, const ast::NameExpr& e, Activation& a) {
  if (e.interned == ir_name && graphs_of(in).in_program()) {
    // Inside a program, and in the defs that it calls, a script's own `ir` does not hide the one that is being built.
    for (const Scope* s = a.scope.get();
         s && s != evaluator_of(in).file_scope().get() && s != evaluator_of(in).prelude().get(); s = s->outer.get())
      if (const Value* v = s->find_here(e.interned)) return *v;
    return *evaluator_of(in).prelude()->find_here(e.interned);
  }
  if (!e.unsure) {
    if (const Value* v = a.scope->find(e.interned)) return *v;
    refuse_name(in, e, a);
  }
  const Scope* missing = nullptr;
  if (const Value* v = a.scope->find_bound(e.interned, missing)) return *v;
  if (!missing) refuse_name(in, e, a);
  Error error = read_too_early(e.name, outer_kind(in, missing->outer.get(), e.interned));
  error.locate(e.span, in.frames);
  throw error;
}

std::vector<Value> items_of(Interpreter& in, const std::vector<ast::Expr*>& list, Activation& a) {
  std::vector<Value> out;
  out.reserve(list.size());
  for (const ast::Expr* e : list) {
    if (e->kind == ExprKind::starred) {
      const Value v = evaluate(in, *as<ast::StarredExpr>(*e).value, a);
      located(in, e->span, [&]() -> Value {
        for (Value& item : elements_of(in, v)) out.push_back(std::move(item));
        return {};
      });
    } else {
      out.push_back(evaluate(in, *e, a));
    }
  }
  return out;
}

Value dict_value(Interpreter& in, const ast::DictExpr& e, Activation& a) {
  auto dict = std::make_shared<DictObject>();
  for (auto& [key, value] : e.items) {
    if (!key) {
      const Value v = evaluate(in, *value, a);
      located(in, value->span, [&]() -> Value {
        auto* other = v.as<DictObject>();
        if (!other) type_error("`**` in a dict needs a dict, not " + with_article(v.type_name()));
        for (auto& [k, w] : other->items) dict->put(k, w);
        return {};
      });
      continue;
    }
    Value k = evaluate(in, *key, a);
    Value v = evaluate(in, *value, a);
    located(in, key->span, [&]() -> Value {
      dict->put(k, std::move(v));
      return {};
    });
  }
  return dict;
}

Value unary_value(Interpreter& in, const ast::UnaryExpr& e, Activation& a) {
  const Value v = evaluate(in, *e.operand, a);
  return located(in, e.span, [&]() -> Value { return apply_unary(in, e.op, v); });
}

Value chain_value(Interpreter& in, const ast::ChainExpr& e, Activation& a) {
  Value v = evaluate(in, *e.first, a);
  for (const auto& step : e.rest) {
    const Value right = evaluate(in, *step.operand, a);
    try {
      v = located(in, join(e.first->span, step.operand->span), [&] { return apply_binary(in, step.op, v, right); });
    } catch (Error& error) {
      NamedTensors operands;
      if (&step == &e.rest.front()) operands.note(*e.first, v);
      operands.note(*step.operand, right);
      operands.tell(error);
      throw;
    }
  }
  return v;
}

Value power_value(Interpreter& in, const ast::PowerExpr& e, Activation& a) {
  const Value base = evaluate(in, *e.base, a);
  const Value exponent = evaluate(in, *e.exponent, a);
  return located(in, e.span, [&] { return apply_binary(in, ast::BinaryOp::power, base, exponent); });
}

Value compare_value(Interpreter& in, const ast::CompareExpr& e, Activation& a) {
  Value left = evaluate(in, *e.first, a);
  Value result = true;
  for (size_t i = 0; i < e.rest.size(); ++i) {
    const auto& step = e.rest[i];
    Value right = evaluate(in, *step.operand, a);
    const Span span = join(i ? e.rest[i - 1].operand->span : e.first->span, step.operand->span);
    result = located(in, span, [&] { return apply_comparison(in, step.op, left, right); });
    if (i + 1 < e.rest.size()) {
      bool go_on = false;
      located(in, span, [&]() -> Value {
        go_on = truth_of(in, result);
        return {};
      });
      if (!go_on) return result;
    }
    left = std::move(right);
  }
  return result;
}

Value logical_value(Interpreter& in, const ast::LogicalExpr& e, Activation& a) {
  Value v;
  for (size_t i = 0; i < e.operands.size(); ++i) {
    v = evaluate(in, *e.operands[i], a);
    if (i + 1 == e.operands.size()) break;
    bool decided = false;
    located(in, e.operands[i]->span, [&]() -> Value {
      decided = truth_of(in, v) != e.is_and;
      return {};
    });
    if (decided) break;
  }
  return v;
}

Value conditional_value(Interpreter& in, const ast::ConditionalExpr& e, Activation& a) {
  const Value c = evaluate(in, *e.condition, a);
  bool yes = false;
  located(in, e.condition->span, [&]() -> Value {
    yes = truth_of(in, c);
    return {};
  });
  return evaluate(in, yes ? *e.then_value : *e.else_value, a);
}

Value lambda_value(Interpreter& in, const ast::LambdaExpr& e, Activation& a) {
  auto f = std::make_shared<FunctionObject>();
  f->code = ast::held(*e.function);
  f->closure = a.closure();
  f->defaults = make_defaults(in, *e.function, a);
  f->qualified_name = "<lambda>";
  evaluator_of(in).remember(f->closure);
  return f;
}

Value slice_bound(Interpreter& in, const ast::Expr* e, Activation& a) { return e ? evaluate(in, *e, a) : Value(); }

Value subscript(Interpreter& in, const ast::IndexExpr& e, Activation& a) {
  const bool starred = e.subscripts.size() == 1 && e.subscripts[0]->kind == ExprKind::starred;
  if (e.subscripts.size() == 1 && !e.trailing_comma && !starred) return evaluate(in, *e.subscripts[0], a);
  std::vector<Value> items = items_of(in, e.subscripts, a);
  if (items.size() == 1 && !e.trailing_comma && !starred) return items[0];
  return make_tuple(std::move(items));
}

Value index_value(Interpreter& in, const ast::IndexExpr& e, Activation& a) {
  const Value base = evaluate(in, *e.base, a);
  const Value key = subscript(in, e, a);
  return located(in, e.span, [&]() -> Value {
    if (!base.is_object()) type_error(with_article(base.type_name()) + " cannot be indexed");
    return base.object()->index(in, key);
  });
}

Value member_value(Interpreter& in, const ast::MemberExpr& e, Activation& a) {
  const Value base = evaluate(in, *e.base, a);
  try {
    return located(in, e.span, [&] { return member_of(in, base, e.name, e.name_span); });
  } catch (Error& error) {
    note_member(in, base, e.name, error);
    throw;
  }
}

Value slice_value(Interpreter& in, const ast::SliceExpr& e, Activation& a) {
  Value start = slice_bound(in, e.start, a), stop = slice_bound(in, e.stop, a);
  Value step = slice_bound(in, e.step, a);
  return std::make_shared<SliceObject>(std::move(start), std::move(stop), std::move(step));
}

[[noreturn]] void refuse_star(Interpreter& in, const ast::Expr& e) {
  Error error("`*` unpacks only inside a list, a tuple, subscripts or a call");
  error.as(codes::syntax);
  error.locate(e.span, in.frames);
  throw error;
}

// Literals of objects; separate from the other kinds, so that their stack frames stay small.
Value made_value(Interpreter& in, const ast::Expr& e, Activation& a) {
  switch (e.kind) {
    case ExprKind::string: return as<ast::StringExpr>(e).value;
    case ExprKind::fstring: return fstring_text(in, as<ast::FStringExpr>(e).pieces, a);
    case ExprKind::list: return make_list(items_of(in, as<ast::ListExpr>(e).items, a));
    case ExprKind::tuple: return make_tuple(items_of(in, as<ast::TupleExpr>(e).items, a));
    case ExprKind::ellipsis: return std::make_shared<EllipsisObject>();
    default: refuse_star(in, e);
  }
}

inline __attribute__((always_inline)) Value by_kind(Interpreter& in, const ast::Expr& e, Activation& a) {
  switch (e.kind) {
    case ExprKind::none: return {};
    case ExprKind::boolean: return as<ast::BoolExpr>(e).value;
    case ExprKind::integer: return as<ast::IntExpr>(e).value;
    case ExprKind::floating: return as<ast::FloatExpr>(e).value;
    case ExprKind::name: return name_value(in, as<ast::NameExpr>(e), a);
    case ExprKind::dict: return dict_value(in, as<ast::DictExpr>(e), a);
    case ExprKind::comprehension:
    case ExprKind::dict_comprehension: return comprehension(in, as<ast::ComprehensionExpr>(e), a);
    case ExprKind::unary: return unary_value(in, as<ast::UnaryExpr>(e), a);
    case ExprKind::chain: return chain_value(in, as<ast::ChainExpr>(e), a);
    case ExprKind::power: return power_value(in, as<ast::PowerExpr>(e), a);
    case ExprKind::compare: return compare_value(in, as<ast::CompareExpr>(e), a);
    case ExprKind::logical: return logical_value(in, as<ast::LogicalExpr>(e), a);
    case ExprKind::conditional: return conditional_value(in, as<ast::ConditionalExpr>(e), a);
    case ExprKind::lambda: return lambda_value(in, as<ast::LambdaExpr>(e), a);
    case ExprKind::call: return call_value(in, as<ast::CallExpr>(e), a);
    case ExprKind::index: return index_value(in, as<ast::IndexExpr>(e), a);
    case ExprKind::slice: return slice_value(in, as<ast::SliceExpr>(e), a);
    case ExprKind::member: return member_value(in, as<ast::MemberExpr>(e), a);
    default: return made_value(in, e, a);
  }
}

// Whether the operation itself may change objects, or skip code that would.
bool may_change(const ast::Expr& e) {
  switch (e.kind) {
    case ExprKind::call:
    case ExprKind::comprehension:
    case ExprKind::dict_comprehension:
    case ExprKind::logical:
    case ExprKind::conditional: return true;
    default: return false;
  }
}

// An expression that needs a value that only a run produces is unknown.
Value look_at(Interpreter& in, const ast::Expr& e, Activation& a) {
  try {
    return as_known(by_kind(in, e, a));
  } catch (const Unevaluated&) {
    if (graphs_of(in).in_program()) lacks_part(in);
  }
  if (may_change(e)) forget_mentioned(e, a);
  return unknown_value();
}

}  // namespace

Value evaluate(Interpreter& in, const ast::Expr& e, Activation& a) {
  if (in.checking) [[unlikely]]
    return look_at(in, e, a);
  return by_kind(in, e, a);
}

}  // namespace pxl
