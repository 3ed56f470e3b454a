// Operators. Operators on two ints or two floats compute at once. operators.hpp has all others.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "interpreter/language/code/code.hpp"
#include "interpreter/language/located.hpp"
#include "interpreter/language/operators.hpp"
#include "interpreter/language/written_operands.hpp"
#include "interpreter/syntax/node_as.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/limits.hpp"
#include "interpreter/values/notices.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/text/strings.hpp"
#include "runtime/base/limits/budget.hpp"

namespace pxl {
namespace {

using ast::BinaryOp;
using ast::CompareOp;
using ast::ExprKind;

class UnaryCode final : public Code {
 public:
  UnaryCode(const ast::UnaryExpr& e, const Place& place)
      : Code(e.span), op_(e.op), operand_(compile(*e.operand, place)) {}
  bool has_quick() const override {
    return (op_ == ast::UnaryOp::minus || op_ == ast::UnaryOp::logical_not) && operand_.has_quick();
  }
  const Value* quick(const Activation& a, Scalar& room) const override {
    const Value* v = operand_.quick(a, room);
    const int truth = op_ == ast::UnaryOp::logical_not ? quick_truth(v) : -1;
    if (truth >= 0) return room.put(truth == 0);
    if (!v || op_ != ast::UnaryOp::minus) return nullptr;
    if (v->is_float()) return room.put(-v->float64());
    return v->is_int64() && v->int64() != INT64_MIN ? room.put(-v->int64()) : nullptr;
  }
  Value value(Interpreter& in, Activation& a) const override {
    Scalar room;
    if (const Value* v = quick(a, room)) return *v;
    Value keep;
    operand_.keep(in, a, keep);
    if (op_ == ast::UnaryOp::logical_not) return !truth_at(in, keep, span);
    return told({{operand_->span, keep}},
                [&] { return located(in, span, [&] { return apply_unary(in, op_, keep); }); });
  }
  bool truth(Interpreter& in, Activation& a) const override {
    if (op_ != ast::UnaryOp::logical_not) return Code::truth(in, a);
    Value made;
    return !truth_at(in, operand_.borrow(in, a, made), span);
  }

 private:
  ast::UnaryOp op_;
  Operand operand_;
};

/// The two operands of an operator. The left operand is borrowed if no code runs before its use.
struct Operands {
  Value made_left, made_right;
  const Value *left = &made_left, *right = &made_right;
  /// Evaluates the operands. Returns false if one failed: `out` is then its error.
  PXL_INLINE bool attempt(Interpreter& in, Activation& a, const Operand& l, const Operand& r, Value& out) {
    if (r.is_leaf() && l.is_leaf())
      left = &l.borrow(in, a, made_left);
    else if (!l.attempt(in, a, made_left))
      return passed_on(made_left, out);
    if (r.is_leaf())
      right = &r.borrow(in, a, made_right);
    else if (!r.attempt(in, a, made_right))
      return passed_on(made_right, out);
    return true;
  }
};

/// Calls `f` with an operator, one of those up to `last`, as a compile-time constant.
template <auto last, class F>
auto with_constant(decltype(last) op, F&& f) {
  if constexpr (static_cast<int>(last) > 0)
    if (op != last) return with_constant<static_cast<decltype(last)>(static_cast<int>(last) - 1)>(op, f);
  return f(std::integral_constant<decltype(last), last>());
}
template <class F>
auto with_constant(BinaryOp op, F&& f) {
  return with_constant<BinaryOp::shift_right>(op, f);
}
template <class F>
auto with_constant(CompareOp op, F&& f) {
  return with_constant<CompareOp::is_not>(op, f);
}

/// Computes the result for ints or floats in `out`, which must hold no object. Returns false if the case is not quick.
template <BinaryOp op>
PXL_INLINE bool computed(const Value& x, const Value& y, Value& out) {
  if (x.is_int64() && y.is_int64()) {
    const int64_t a = x.int64(), b = y.int64();
    int64_t r = 0;
    if constexpr (op == BinaryOp::add) {
      if (__builtin_add_overflow(a, b, &r)) return false;
    } else if constexpr (op == BinaryOp::sub) {
      if (__builtin_sub_overflow(a, b, &r)) return false;
    } else if constexpr (op == BinaryOp::mul) {
      if (__builtin_mul_overflow(a, b, &r)) return false;
    } else if constexpr (op == BinaryOp::floor_div) {
      if (b <= 0) return false;
      r = a / b - (a % b < 0);
    } else if constexpr (op == BinaryOp::mod) {
      if (b <= 0) return false;
      r = a % b;
      if (r < 0) r += b;
    } else if constexpr (op == BinaryOp::bit_and) {
      r = a & b;
    } else if constexpr (op == BinaryOp::bit_or) {
      r = a | b;
    } else if constexpr (op == BinaryOp::bit_xor) {
      r = a ^ b;
    } else if constexpr (op == BinaryOp::div) {
      if (b == 0) return false;
      new (&out) Value(static_cast<double>(a) / static_cast<double>(b));
      return true;
    } else {
      return false;
    }
    new (&out) Value(r);
    return true;
  }
  if (!(x.is_float() || x.is_int64()) || !(y.is_float() || y.is_int64())) return false;
  const double a = x.is_float() ? x.float64() : static_cast<double>(x.int64());
  const double b = y.is_float() ? y.float64() : static_cast<double>(y.int64());
  if constexpr (op == BinaryOp::add) {
    new (&out) Value(a + b);
  } else if constexpr (op == BinaryOp::sub) {
    new (&out) Value(a - b);
  } else if constexpr (op == BinaryOp::mul) {
    new (&out) Value(a * b);
  } else if constexpr (op == BinaryOp::div) {
    if (b == 0) return false;
    new (&out) Value(a / b);
  } else if constexpr (op == BinaryOp::power) {
    if (!(a > 0)) return false;
    new (&out) Value(std::pow(a, b));
  } else {
    return false;
  }
  return true;
}

/// Appends a text to a text, or a list to a list, which no more than this number of references hold.
bool joined_in_place(const Value& left, const Value& right, long holders) {
  if (!left.is_object() || left.object().use_count() != holders) return false;
  if (auto* s = left.as<StringObject>()) {
    const std::string* more = right.as_string();
    if (!more || s->value.size() + more->size() > max_text) return false;
    s->append(*more);
    return true;
  }
  auto *list = left.as<ListObject>(), *more = right.as<ListObject>();
  if (!list || !more || list == more || list->items.size() + more->items.size() > max_elements) return false;
  list->changing();
  list->items.insert(list->items.end(), more->items.begin(), more->items.end());
  return true;
}

/// Whether code is a slot or a literal.
bool is_simple(const Code& code) { return code.slot() >= 0 || code.constant(); }

/// `simple`: the operands are slots and literals.
template <BinaryOp op, bool simple>
class BinaryCode final : public AttemptedCode<BinaryCode<op, simple>> {
 public:
  using AttemptedCode<BinaryCode>::span;
  BinaryCode(const Span& at, CodePtr left, CodePtr right)
      : AttemptedCode<BinaryCode>(at), left_(std::move(left)), right_(std::move(right)), tries_{&left_, &right_} {}
  bool is_leaf() const override { return right_.is_leaf() && left_.is_leaf(); }
  bool has_quick() const override { return static_cast<bool>(tries_); }
  const Value* quick(const Activation& a, Scalar& room) const override {
    return quickly(a, room, room.value) ? &room.value : nullptr;
  }
  bool attempt(Interpreter& in, Activation& a, Value& out) const override {
    Scalar room;
    return quickly(a, room, out) || full(in, a, out);
  }

 private:
  PXL_INLINE bool quickly(const Activation& a, Scalar& room, Value& out) const {
    if constexpr (simple) return computed<op>(left_.simple(a), right_.simple(a), out);
    if (!tries_) return false;
    Scalar other;
    const Value* x = left_.quick(a, room);
    const Value* y = x ? right_.quick(a, other) : nullptr;
    if (y && computed<op>(*x, *y, out)) return true;
    tries_.failed();
    return false;
  }
  __attribute__((noinline)) bool full(Interpreter& in, Activation& a, Value& out) const {
    Operands o;
    if (!o.attempt(in, a, left_, right_, out)) return false;
    if (computed<op>(*o.left, *o.right, out)) return true;
    const bool copies = op == BinaryOp::add && o.left != &o.made_left && o.left->is_text() && o.right->is_text();
    if (copies) o.left = new (&o.made_left) Value(*o.left->as_string());
    if (op == BinaryOp::add && o.left == &o.made_left && joined_in_place(o.made_left, *o.right, 1))
      new (&out) Value(std::move(o.made_left));
    else
      new (&out) Value(slow(in, o));
    return true;
  }

  __attribute__((noinline)) Value slow(Interpreter& in, const Operands& o) const {
    const Value left = *o.left, right = *o.right;
    return told({{left_->span, left, "lhs"}, {right_->span, right, "rhs"}},
                [&] { return located(in, span, [&] { return apply_binary(in, op, left, right); }); });
  }

  Operand left_, right_;
  QuickTries tries_;
};

/// `target += value`. A stored number is replaced where it is. Otherwise the parts of the target (names, members,
/// subscripts) are evaluated twice, for the read and the write.
template <BinaryOp op>
class AugmentedCode final : public StmtCode {
 public:
  AugmentedCode(const ast::AssignStmt& s, const Place& place)
      : StmtCode(s.span),
        target_(compile_target(*s.targets[0], place)),
        left_(compile(*s.targets[0], place)),
        right_(compile(*s.value, place)),
        leaf_right_(right_->is_leaf()),
        tries_{&left_, &right_} {}
  Flow run(Interpreter& in, Activation& a) const override {
    if (tries_) {
      Scalar room;
      Value* at = target_.stored(in, a);
      const Value* right = at ? right_.quick(a, room) : nullptr;
      if (right && computed<op>(*at, *right, *at)) return Flow::normal;
      tries_.failed();
    }
    return full(in, a);
  }

 private:
  __attribute__((noinline)) Flow full(Interpreter& in, Activation& a) const {
    Value made_left, made_right;
    const Value& left = leaf_right_ ? left_.borrow(in, a, made_left) : left_.keep(in, a, made_left);
    if (!leaf_right_ && !right_.attempt(in, a, made_right)) return failed(a, std::move(made_right));
    const Value& right = leaf_right_ ? right_.borrow(in, a, made_right) : made_right;
    in.here = span;
    if (Value out; computed<op>(left, right, out)) {
      target_.assign(in, a, std::move(out));
      return Flow::normal;
    }
    if (const Value* at = op == BinaryOp::add && left.is_object() ? target_.stored(in, a) : nullptr)
      if (at->is_object() && at->object() == left.object() && joined_in_place(*at, right, &left == at ? 1 : 2))
        return Flow::normal;
    const Value x = left, y = right;
    target_.assign(in, a, located(in, span, [&] { return apply_binary(in, op, x, y); }));
    return Flow::normal;
  }

  Target target_;
  Operand left_, right_;
  bool leaf_right_;
  QuickTries tries_;
};

CodePtr make_binary(BinaryOp op, const Span& at, CodePtr left, CodePtr right) {
  return with_constant(op, [&](auto constant) -> CodePtr {
    if (is_simple(*left) && is_simple(*right))
      return std::make_unique<BinaryCode<constant(), true>>(at, std::move(left), std::move(right));
    return std::make_unique<BinaryCode<constant(), false>>(at, std::move(left), std::move(right));
  });
}

/// `x ^ 2` of ints: a notice, since other languages write a power so. A literal that is not in decimal means bits.
class XorCode final : public Code {
 public:
  explicit XorCode(CodePtr made, const Span& at) : Code(made->span), made_(std::move(made)), sign_(at) {}
  static bool is_doubtful(const ast::Expr& left, const ast::Expr& right) {
    const auto decimal = [](const ast::Expr& e) {
      return e.kind == ExprKind::integer && e.span.text().find_first_not_of("0123456789_") == std::string_view::npos;
    };
    constexpr int64_t cube = 3;
    const bool is_exponent = decimal(right) && as<ast::IntExpr>(right).value > 1;
    return is_exponent && (decimal(left) || as<ast::IntExpr>(right).value <= cube);
  }
  Value value(Interpreter& in, Activation& a) const override {
    const Value v = made_->value(in, a);
    if (!v.is_int64()) return v;
    in.here = sign_;
    notice_once(in, Notice::power, "`^` is exclusive or, bit by bit: a power is `**`; `0b10` says that bits are meant");
    in.here = span;
    return v;
  }

 private:
  CodePtr made_;
  Span sign_;
};

/// A long chain `a + b + ...` is evaluated in a loop, so that its length does not matter.
class LongChainCode final : public Code {
 public:
  LongChainCode(const ast::ChainExpr& e, const Place& place) : Code(e.span), e_(e), first_(compile(*e.first, place)) {
    for (const auto& step : e.rest) rest_.push_back(compile(*step.operand, place));
  }
  Value value(Interpreter& in, Activation& a) const override {
    Value v = first_->value(in, a);
    for (size_t i = 0; i < rest_.size(); ++i) {
      const auto& step = e_.rest[i];
      const Value right = rest_[i]->value(in, a);
      const Span left = join(e_.first->span, i == 0 ? e_.first->span : e_.rest[i - 1].operand->span);
      v = told({{left, v, "lhs"}, {step.operand->span, right, "rhs"}}, [&] {
        return located(in, join(left, step.operand->span), [&] { return apply_binary(in, step.op, v, right); });
      });
    }
    return v;
  }

 private:
  const ast::ChainExpr& e_;
  CodePtr first_;
  std::vector<CodePtr> rest_;
};

CodePtr compile_chain(const ast::ChainExpr& e, const Place& place) {
  constexpr size_t longest_nested = 8;
  if (e.rest.size() > longest_nested) return std::make_unique<LongChainCode>(e, place);
  CodePtr left = compile(*e.first, place);
  for (const auto& step : e.rest) {
    left =
        make_binary(step.op, join(e.first->span, step.operand->span), std::move(left), compile(*step.operand, place));
    const bool is_first = &step == e.rest.data();
    if (is_first && step.op == BinaryOp::bit_xor && XorCode::is_doubtful(*e.first, *step.operand))
      left = std::make_unique<XorCode>(std::move(left), step.op_span);
  }
  return left;
}

template <CompareOp op, class T>
inline bool ordered(T a, T b) {
  if constexpr (op == CompareOp::eq) return a == b;
  if constexpr (op == CompareOp::ne) return a != b;
  if constexpr (op == CompareOp::lt) return a < b;
  if constexpr (op == CompareOp::le) return a <= b;
  if constexpr (op == CompareOp::gt) return a > b;
  if constexpr (op == CompareOp::ge) return a >= b;
  return false;
}
constexpr bool is_order(CompareOp op) { return op <= CompareOp::ge; }

/// Whether texts of one length are equal. Most unequal texts differ in their first character.
inline bool same_text(const std::string& a, const std::string& b) {
  return a[0] == b[0] && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

/// The truth of a comparison, 0 or 1. The result is -1 if the case is not quick. `look`: an operand may be unknown.
template <CompareOp op>
PXL_INLINE int compared(const Value& x, const Value& y, [[maybe_unused]] bool look) {
  if constexpr (op == CompareOp::is || op == CompareOp::is_not) {
    if (look) return -1;
    bool same = false;
    if (x.is_object() && y.is_object()) {
      same = x.object() == y.object();
      if (!same && x.object()->is_handle()) return -1;
    } else if (x.is_none() || y.is_none()) {
      same = x.is_none() && y.is_none();
    } else {
      return -1;
    }
    return same == (op == CompareOp::is);
  } else if constexpr (is_order(op)) {
    if (x.is_int64() && y.is_int64()) return ordered<op>(x.int64(), y.int64());
    if (x.is_float() && y.is_float()) return ordered<op>(x.float64(), y.float64());
    if (!x.is_object() || !y.is_object()) return -1;
    if constexpr (op == CompareOp::eq || op == CompareOp::ne) {
      if (auto* s = x.as<StringObject>(), *t = y.as<StringObject>(); s && t) {
        if (s == t) return op == CompareOp::eq;
        if (s->value.size() != t->value.size()) return op == CompareOp::ne;
        charge(static_cast<int64_t>(s->value.size() / 8));
        return same_text(s->value, t->value) == (op == CompareOp::eq);
      }
    }
    const int order = quick_order(x, y);
    return order == no_quick_order ? -1 : ordered<op>(order, 0);
  } else {
    if (auto* t = y.as<StringObject>())
      if (auto* s = x.as<StringObject>()) {
        charge_text(t->value.size());
        return (find_text(t->value, s->value, 0) != std::string::npos) == (op == CompareOp::in);
      }
    auto* d = y.as<DictObject>();
    if (!d || (look && x.is_object() && !x.is_text())) return -1;  // `x` may be unknown
    return (d->find(x) != nullptr) == (op == CompareOp::in);
  }
}

template <CompareOp op, bool simple>
class CompareCode final : public AttemptedCode<CompareCode<op, simple>> {
 public:
  using AttemptedCode<CompareCode>::span;
  CompareCode(const Span& at, CodePtr left, CodePtr right, bool look)
      : AttemptedCode<CompareCode>(at),
        look_(look),
        left_(std::move(left)),
        right_(std::move(right)),
        tries_{&left_, &right_} {}
  bool is_leaf() const override { return right_.is_leaf() && left_.is_leaf(); }
  bool has_quick() const override { return static_cast<bool>(tries_); }
  const Value* quick(const Activation& a, Scalar& room) const override {
    const int quickly = quick_truth(a);
    return quickly >= 0 ? room.put(quickly != 0) : nullptr;
  }
  bool attempt(Interpreter& in, Activation& a, Value& out) const override {
    const int quickly = quick_truth(a);
    if (quickly < 0) return full(in, a, out);
    new (&out) Value(quickly != 0);
    return true;
  }
  bool truth(Interpreter& in, Activation& a) const override {
    const int quickly = quick_truth(a);
    if (quickly >= 0) return quickly != 0;
    Value out;
    if (!full(in, a, out)) throw_failure(out);
    return truth_at(in, out, span);
  }

 private:
  PXL_INLINE int quick_truth(const Activation& a) const {
    if constexpr (simple) {
      const Value &x = left_.simple(a), &y = right_.simple(a);
      if constexpr (is_order(op))
        if (x.is_int64() && y.is_int64()) [[likely]]
          return ordered<op>(x.int64(), y.int64());
      return quick_other(x, y);
    } else {
      if (!tries_) return -1;
      Scalar room, other;
      const Value* x = left_.quick(a, room);
      const Value* y = x ? right_.quick(a, other) : nullptr;
      const int quickly = y ? compared<op>(*x, *y, look_) : -1;
      if (quickly < 0) tries_.failed();
      return quickly;
    }
  }
  __attribute__((noinline)) int quick_other(const Value& x, const Value& y) const {
    return x.is_unset() || y.is_unset() ? -1 : compared<op>(x, y, look_);
  }
  __attribute__((noinline)) bool full(Interpreter& in, Activation& a, Value& out) const {
    Operands o;
    if (!o.attempt(in, a, left_, right_, out)) return false;
    const int quickly = compared<op>(*o.left, *o.right, look_);
    if (quickly >= 0)
      new (&out) Value(quickly != 0);
    else
      new (&out) Value(slow(in, o));
    return true;
  }
  __attribute__((noinline)) Value slow(Interpreter& in, const Operands& o) const {
    const Value left = *o.left, right = *o.right;
    return told({{left_->span, left}, {right_->span, right}},
                [&] { return located(in, span, [&] { return apply_comparison(in, op, left, right); }); });
  }

  bool look_;
  Operand left_, right_;
  QuickTries tries_;
};

CodePtr make_compare(CompareOp op, const Span& at, CodePtr left, CodePtr right, bool look) {
  return with_constant(op, [&](auto constant) -> CodePtr {
    if (is_simple(*left) && is_simple(*right))
      return std::make_unique<CompareCode<constant(), true>>(at, std::move(left), std::move(right), look);
    return std::make_unique<CompareCode<constant(), false>>(at, std::move(left), std::move(right), look);
  });
}

/// `a < b <= c`: each operand is evaluated once.
class CompareChainCode final : public Code {
 public:
  CompareChainCode(const ast::CompareExpr& e, const Place& place)
      : Code(e.span), look_(place.look), first_(compile(*e.first, place)) {
    const ast::Expr* left = e.first;
    for (const auto& step : e.rest) {
      rest_.push_back({step.op, join(left->span, step.operand->span), compile(*step.operand, place)});
      left = step.operand;
    }
    tries_ = QuickTries{&first_};
    for (const Step& step : rest_)
      if (!step.operand.has_quick()) tries_ = QuickTries();
  }
  bool has_quick() const override { return static_cast<bool>(tries_); }
  const Value* quick(const Activation& a, Scalar& room) const override {
    const int quickly = quick_truth(a);
    return quickly >= 0 ? room.put(quickly != 0) : nullptr;
  }
  bool truth(Interpreter& in, Activation& a) const override {
    const int quickly = quick_truth(a);
    return quickly >= 0 ? quickly != 0 : Code::truth(in, a);
  }
  Value value(Interpreter& in, Activation& a) const override {
    if (const int quickly = quick_truth(a); quickly >= 0) return quickly != 0;
    Value left = first_.value(in, a);
    for (const Step& step : rest_) {
      Value right = step.operand.value(in, a);
      const int quickly = compared_by(step.op, left, right);
      const Value result = quickly >= 0
                               ? Value(quickly != 0)
                               : located(in, step.at, [&] { return apply_comparison(in, step.op, left, right); });
      if (&step == &rest_.back() || !truth_at(in, result, step.at)) return result;
      left = std::move(right);
    }
    return true;
  }

 private:
  struct Step {
    CompareOp op;
    Span at;
    Operand operand;
  };
  int compared_by(CompareOp op, const Value& x, const Value& y) const {
    return with_constant(op, [&](auto constant) { return compared<constant()>(x, y, look_); });
  }
  int quick_truth(const Activation& a) const {
    if (!tries_) return -1;
    Scalar rooms[2];
    const Value* left = first_.quick(a, rooms[1]);
    int quickly = 1;
    for (size_t i = 0; i < rest_.size() && quickly == 1; ++i) {
      const Value* right = left ? rest_[i].operand.quick(a, rooms[i % 2]) : nullptr;
      quickly = right ? compared_by(rest_[i].op, *left, *right) : -1;
      left = right;
    }
    if (quickly < 0) tries_.failed();
    return quickly;
  }

  bool look_;
  Operand first_;
  std::vector<Step> rest_;
  QuickTries tries_;
};

CodePtr compile_compare(const ast::CompareExpr& e, const Place& place) {
  if (e.rest.size() != 1) return std::make_unique<CompareChainCode>(e, place);
  const auto& step = e.rest[0];
  return make_compare(step.op, join(e.first->span, step.operand->span), compile(*e.first, place),
                      compile(*step.operand, place), place.look);
}

class LogicalCode final : public AttemptedCode<LogicalCode> {
 public:
  LogicalCode(const ast::LogicalExpr& e, const Place& place)
      : AttemptedCode(e.span), is_and_(e.is_and), operands_(compile(e.operands, place)) {}
  bool has_quick() const override {
    return std::all_of(operands_.begin(), operands_.end(), [](const Operand& o) { return o.has_quick(); });
  }
  const Value* quick(const Activation& a, Scalar& room) const override {
    for (size_t i = 0;; ++i) {
      const Value* v = operands_[i].quick(a, room);
      if (i + 1 == operands_.size()) return v;
      const int truth = quick_truth(v);
      if (truth != static_cast<int>(is_and_)) return truth < 0 ? nullptr : v;
    }
  }
  bool attempt(Interpreter& in, Activation& a, Value& out) const override {
    for (size_t i = 0; i + 1 < operands_.size(); ++i) {
      Value v;
      if (!operands_[i].attempt(in, a, v)) return passed_on(v, out);
      if (truth_at(in, v, operands_[i]->span) == is_and_) continue;
      new (&out) Value(std::move(v));
      return true;
    }
    return operands_.back().attempt(in, a, out);
  }
  bool truth(Interpreter& in, Activation& a) const override {
    for (size_t i = 0; i + 1 < operands_.size(); ++i)
      if (operands_[i].truth(in, a) != is_and_) return !is_and_;
    return operands_.back().truth(in, a);
  }

 private:
  bool is_and_;
  std::vector<Operand> operands_;
};

}  // namespace

StmtPtr compile_augmented(const ast::AssignStmt& s, const Place& place) {
  return with_constant(s.op,
                       [&](auto constant) -> StmtPtr { return std::make_unique<AugmentedCode<constant()>>(s, place); });
}

CodePtr compile_operator(const ast::Expr& e, const Place& place) {
  switch (e.kind) {
    case ExprKind::unary: return std::make_unique<UnaryCode>(as<ast::UnaryExpr>(e), place);
    case ExprKind::chain: return compile_chain(as<ast::ChainExpr>(e), place);
    case ExprKind::power: {
      const auto& p = as<ast::PowerExpr>(e);
      return make_binary(BinaryOp::power, e.span, compile(*p.base, place), compile(*p.exponent, place));
    }
    case ExprKind::compare: return compile_compare(as<ast::CompareExpr>(e), place);
    default: return std::make_unique<LogicalCode>(as<ast::LogicalExpr>(e), place);
  }
}

}  // namespace pxl
