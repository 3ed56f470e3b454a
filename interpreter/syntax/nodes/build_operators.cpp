// Operator precedence parsing: builds expressions from the flat operand-operator list of an `operation`. Chains are
// built in loops. Only prefix operators and `**` recurse, with a depth limit.
#include <fmt/format.h>

#include "interpreter/syntax/nodes/builder.hpp"

namespace pxl::syntax {

using namespace ast;

namespace {

// Listed in order of increasing precedence. `not` and the signs are prefix operators; `power` is right-associative.
enum class Precedence { or_, and_, not_, comparison, bit_or, bit_xor, bit_and, shift, sum, product, sign, power };

Precedence above(Precedence level) { return static_cast<Precedence>(static_cast<int>(level) + 1); }

struct Binary {
  Precedence level;
  BinaryOp op;
};

Binary binary(int type) {
  switch (type) {
    case ids::BAR: return {Precedence::bit_or, BinaryOp::bit_or};
    case ids::CARET: return {Precedence::bit_xor, BinaryOp::bit_xor};
    case ids::AMPERSAND: return {Precedence::bit_and, BinaryOp::bit_and};
    case ids::SHIFT_LEFT: return {Precedence::shift, BinaryOp::shift_left};
    case ids::SHIFT_RIGHT: return {Precedence::shift, BinaryOp::shift_right};
    case ids::PLUS: return {Precedence::sum, BinaryOp::add};
    case ids::MINUS: return {Precedence::sum, BinaryOp::sub};
    case ids::STAR: return {Precedence::product, BinaryOp::mul};
    case ids::SLASH: return {Precedence::product, BinaryOp::div};
    case ids::FLOOR: return {Precedence::product, BinaryOp::floor_div};
    case ids::PERCENT: return {Precedence::product, BinaryOp::mod};
    case ids::AT: return {Precedence::product, BinaryOp::matmul};
    default: return {Precedence::or_, BinaryOp::add};  // no operator of a chain
  }
}

bool comparison_op(int type, CompareOp& op) {
  switch (type) {
    case ids::EQUAL: op = CompareOp::eq; return true;
    case ids::NOT_EQUAL: op = CompareOp::ne; return true;
    case ids::LESS: op = CompareOp::lt; return true;
    case ids::LESS_EQUAL: op = CompareOp::le; return true;
    case ids::GREATER: op = CompareOp::gt; return true;
    case ids::GREATER_EQUAL: op = CompareOp::ge; return true;
    case ids::IN: op = CompareOp::in; return true;
    case ids::IS: op = CompareOp::is; return true;
    default: return false;
  }
}

}  // namespace

struct AstBuilder::Operators {
  AstBuilder& b;
  const Node* at;  ///< the next part; null at the end

  int type() const { return at && at->is_token ? at->id : end_of_text; }
  Span take() {
    Span s = b.span(at);
    at = at->next;
    return s;
  }

  Expr* fold(Precedence level) {
    switch (level) {
      case Precedence::or_: return logical(ids::OR, Precedence::and_);
      case Precedence::and_: return logical(ids::AND, Precedence::not_);
      case Precedence::not_:
        return type() == ids::NOT ? prefix(UnaryOp::logical_not, Precedence::not_) : fold(Precedence::comparison);
      case Precedence::comparison: return compare();
      case Precedence::sign: return signs();
      case Precedence::power: return powers();
      default: return chain(level);
    }
  }

  Expr* logical(int op, Precedence tighter) {
    Expr* first = fold(tighter);
    if (type() != op) return first;
    auto* e = b.tree_.make<LogicalExpr>(first->span);
    e->is_and = op == ids::AND;
    e->operands.push_back(first);
    while (type() == op) {
      take();
      e->operands.push_back(fold(tighter));
    }
    e->span = join(first->span, e->operands.back()->span);
    return e;
  }

  Expr* compare() {
    Expr* first = fold(Precedence::bit_or);
    CompareExpr* e = nullptr;
    while (true) {
      CompareOp op = CompareOp::not_in;
      Span op_span;
      if (type() == ids::NOT) {  // after an operand the grammar allows only `not in`
        op_span = take();
        op_span = join(op_span, take());
      } else if (comparison_op(type(), op)) {
        op_span = take();
        if (op == CompareOp::is && type() == ids::NOT) {
          op = CompareOp::is_not;
          op_span = join(op_span, take());
        }
      } else {
        return e ? e : first;
      }
      if (!e) {
        e = b.tree_.make<CompareExpr>(first->span);
        e->first = first;
      }
      e->rest.push_back({op, op_span, fold(Precedence::bit_or)});
      e->span = join(e->span, e->rest.back().operand->span);
    }
  }

  Expr* chain(Precedence level) {
    Expr* first = fold(above(level));
    ChainExpr* e = nullptr;
    while (binary(type()).level == level) {
      if (!e) {
        e = b.tree_.make<ChainExpr>(first->span);
        e->first = first;
      }
      BinaryOp op = binary(type()).op;
      Span op_span = take();
      e->rest.push_back({op, op_span, fold(above(level))});
      e->span = join(e->span, e->rest.back().operand->span);
    }
    return e ? e : first;
  }

  Expr* signs() {
    switch (type()) {
      case ids::MINUS:
        if (Expr* e = lowest_integer()) return e;
        return prefix(UnaryOp::minus, Precedence::sign);
      case ids::PLUS: return prefix(UnaryOp::plus, Precedence::sign);
      case ids::TILDE: return prefix(UnaryOp::invert, Precedence::sign);
      case ids::NOT:
        b.problem("`not` needs brackets here", b.span(at),
                  {"it has lower precedence than the operator before it: write `(not x)`"});
        return prefix(UnaryOp::logical_not, Precedence::sign);
      default: return fold(Precedence::power);
    }
  }

  // 9223372036854775808 overflows without its sign. With the sign it is the smallest integer.
  Expr* lowest_integer() {
    const Node* operand = at->next;
    if (!operand || !operand->is_rule(ids::RulePostfix) || operand->child->next || !operand->child->is(ids::INT))
      return nullptr;
    if (operand->next && operand->next->is(ids::POWER)) return nullptr;
    uint64_t value = 0;
    if (!integer_value(b.list_.text(operand->first), value) || value != 1ull << 63) return nullptr;
    auto* e = b.tree_.make<IntExpr>(join(b.span(at), b.span(operand)));
    e->value = INT64_MIN;
    at = operand->next;
    return e;
  }

  Expr* prefix(UnaryOp op, Precedence operand_level) {
    Deeper deeper(b, 1);
    if (b.too_deep(b.span(at))) return give_up();
    auto* e = b.tree_.make<UnaryExpr>(take());
    e->op = op;
    e->operand = fold(operand_level);
    e->span = join(e->span, e->operand->span);
    return e;
  }

  Expr* powers() {
    Expr* base = b.postfix(at);
    at = at->next;
    if (type() != ids::POWER) return base;
    Deeper deeper(b, 1);
    if (b.too_deep(b.span(at))) return give_up();
    auto* e = b.tree_.make<PowerExpr>(base->span);
    e->base = base;
    e->op_span = take();
    e->exponent = fold(Precedence::sign);
    e->span = join(base->span, e->exponent->span);
    return e;
  }

  Expr* give_up() {
    Span s = b.span(at);
    at = nullptr;
    return b.tree_.make<NoneExpr>(s);
  }
};

Expr* AstBuilder::operation(const Node* node) {
  if (!node->child->next) return postfix(node->child);
  Operators fold{*this, node->child};
  return fold.fold(Precedence::or_);
}

}  // namespace pxl::syntax

namespace pxl::ast {

std::string_view text(BinaryOp op) {
  static constexpr std::string_view texts[] = {"+", "-", "*", "/", "//", "%", "@", "**", "&", "|", "^", "<<", ">>"};
  return texts[static_cast<size_t>(op)];
}

std::string_view text(CompareOp op) {
  static constexpr std::string_view texts[] = {"==", "!=", "<", "<=", ">", ">=", "in", "not in", "is", "is not"};
  return texts[static_cast<size_t>(op)];
}

}  // namespace pxl::ast
