// Literals, containers, subscripts, members, conditionals.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "interpreter/language/code/code.hpp"
#include "interpreter/language/code/member_cache.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/language/located.hpp"
#include "interpreter/language/written_operands.hpp"
#include "interpreter/syntax/node_as.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/text/strings.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/text.hpp"

namespace pxl {
namespace {

using ast::ExprKind;

class ConstantCode final : public Code {
 public:
  ConstantCode(const Span& at, Value v) : Code(at), value_(std::move(v)) {}
  Value value(Interpreter&, Activation&) const override { return value_; }
  const Value& borrow(Interpreter&, Activation&, Value&) const override { return value_; }
  const Value* quick(const Activation&, Scalar&) const override { return &value_; }
  bool is_leaf() const override { return true; }
  const Value* constant() const override { return &value_; }

 private:
  Value value_;
};

/// The elements of a list or tuple, or subscripts. Some may be `*iterable`.
class ItemsCode {
 public:
  ItemsCode(const std::vector<ast::Expr*>& list, const Place& place) {
    for (const ast::Expr* e : list) {
      const bool starred = e->kind == ExprKind::starred;
      items_.push_back({compile(starred ? *as<ast::StarredExpr>(*e).value : *e, place), e->span, starred});
      any_starred_ = any_starred_ || starred;
    }
  }
  /// Computes the values, as Code::attempt does.
  bool attempt(Interpreter& in, Activation& a, std::vector<Value>& values, Value& failure) const {
    if (any_starred_) {
      add_to(values, in, a);
      return true;
    }
    values = std::vector<Value>(items_.size());
    for (size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].code.attempt(in, a, values[i])) continue;
      failure = std::move(values[i]);
      return false;
    }
    return true;
  }
  std::vector<Value> values(Interpreter& in, Activation& a) const {
    std::vector<Value> out;
    if (Value failure; !attempt(in, a, out, failure)) throw_failure(failure);
    return out;
  }

 private:
  void add_to(std::vector<Value>& out, Interpreter& in, Activation& a) const {
    out.reserve(items_.size());
    for (const Item& item : items_) {
      if (!item.starred) {
        out.push_back(item.code.value(in, a));
        continue;
      }
      const Value v = item.code.value(in, a);
      located(in, item.span, [&] {
        for (Value& e : elements_of(in, v)) out.push_back(std::move(e));
      });
    }
  }

  struct Item {
    Operand code;
    Span span;
    bool starred;
  };
  std::vector<Item> items_;
  bool any_starred_ = false;
};

/// `Sequence`: ListObject or TupleObject.
template <class Sequence>
class SequenceCode final : public AttemptedCode<SequenceCode<Sequence>> {
 public:
  SequenceCode(const Span& at, const std::vector<ast::Expr*>& items, const Place& place)
      : AttemptedCode<SequenceCode<Sequence>>(at), items_(items, place) {}
  bool attempt(Interpreter& in, Activation& a, Value& out) const override {
    auto made = make_ref_inline<Sequence>();
    if (!items_.attempt(in, a, made->items, out)) return false;
    new (&out) Value(std::move(made));
    return true;
  }

 private:
  ItemsCode items_;
};

class DictCode final : public AttemptedCode<DictCode> {
 public:
  DictCode(const ast::DictExpr& e, const Place& place) : AttemptedCode(e.span) {
    for (auto& [key, value] : e.items)
      items_.emplace_back(key ? std::optional<Operand>(compile(*key, place)) : std::nullopt, compile(*value, place));
  }
  bool attempt(Interpreter& in, Activation& a, Value& out) const override {
    auto dict = make_ref<DictObject>();
    for (auto& [key, value] : items_) {
      if (!key) {
        const Value v = value->value(in, a);
        located(in, value->span, [&] {
          auto* other = v.as<DictObject>();
          if (!other) type_error("`**` in a dict needs a dict, not " + with_article(v.type_name()));
          for (auto& [k, w] : other->items) dict->put(k, w);
        });
        continue;
      }
      Value made, v;
      const Value& k = value.is_leaf() ? key->borrow(in, a, made) : key->keep(in, a, made);
      if (!value.attempt(in, a, v)) return passed_on(v, out);
      located(in, (*key)->span, [&] { dict->put(k, std::move(v)); });
    }
    new (&out) Value(std::move(dict));
    return true;
  }

 private:
  std::vector<std::pair<std::optional<Operand>, Operand>> items_;
};

class FStringCode final : public Code {
 public:
  FStringCode(const ast::FStringExpr& e, const Place& place) : Code(e.span), pieces_(pieces(e.pieces, place)) {}
  Value value(Interpreter& in, Activation& a) const override {
    std::string out;
    out.reserve(std::min(size_, max_reserved));
    add(in, a, pieces_, out);
    size_ = out.size();
    return out;
  }

 private:
  struct Piece {
    std::string text;  ///< also the text that `{x=}` shows before the value
    CodePtr code;
    char conversion;
    std::vector<Piece> format;
    bool plain;  ///< has no conversion and no format
  };

  static std::vector<Piece> pieces(const std::vector<ast::FPiece>& list, const Place& place) {
    std::vector<Piece> out;
    for (const ast::FPiece& p : list) {
      Piece made{p.text, compile_or_null(p.value, place), p.conversion, pieces(p.format, place), false};
      if (p.show_source && p.text.empty()) made.text = std::string(p.value->span.text()) + "=";
      if (p.show_source && !p.conversion && p.format.empty()) made.conversion = 'r';
      made.plain = !made.conversion && made.format.empty();
      out.push_back(std::move(made));
    }
    return out;
  }

  static void add(Interpreter& in, Activation& a, const std::vector<Piece>& pieces, std::string& out) {
    for (const Piece& p : pieces) {
      out += p.text;
      if (!p.code) continue;
      Value made;
      const Value& v = p.format.empty() ? p.code->borrow(in, a, made) : *new (&made) Value(p.code->value(in, a));
      if (p.plain) {
        if (auto* s = v.as<StringObject>()) {
          out += s->value;
          continue;
        }
        if (v.is_int64()) {
          char digits[24];
          out.append(digits, std::to_chars(digits, std::end(digits), v.int64()).ptr);
          continue;
        }
      }
      std::string format;
      add(in, a, p.format, format);
      const auto add_value = [&]() -> Value {
        if (p.conversion == 'r')
          out += format_value(in, Value(repr_of(in, v)), format);
        else if (p.conversion == 's')
          out += format_value(in, Value(str_of(in, v)), format);
        else
          out += format_value(in, v, format);
        return {};
      };
      told({{p.code->span, v}}, [&] { return located(in, p.code->span, add_value); });
    }
  }

  std::vector<Piece> pieces_;
  static constexpr size_t max_reserved = 128;  // bytes; longer texts grow in few steps
  mutable size_t size_ = 0;                    ///< size of the text that was made last
};

class LambdaCode final : public Code {
 public:
  explicit LambdaCode(const ast::LambdaExpr& e) : Code(e.span), e_(e) {}
  Value value(Interpreter& in, Activation& a) const override { return make_function(in, *e_.function, a); }

 private:
  const ast::LambdaExpr& e_;
};

class ConditionalCode final : public AttemptedCode<ConditionalCode> {
 public:
  ConditionalCode(const ast::ConditionalExpr& e, const Place& place)
      : AttemptedCode(e.span),
        condition_(compile(*e.condition, place)),
        then_(compile(*e.then_value, place)),
        else_(compile(*e.else_value, place)) {}
  bool has_quick() const override { return condition_.has_quick() && then_.has_quick() && else_.has_quick(); }
  const Value* quick(const Activation& a, Scalar& room) const override {
    const int truth = quick_truth(condition_.quick(a, room));
    return truth < 0 ? nullptr : (truth > 0 ? then_ : else_).quick(a, room);
  }
  bool attempt(Interpreter& in, Activation& a, Value& out) const override {
    return condition_.truth(in, a) ? then_.attempt(in, a, out) : else_.attempt(in, a, out);
  }

 private:
  Operand condition_, then_, else_;
};

class SliceCode final : public Code {
 public:
  SliceCode(const ast::SliceExpr& e, const Place& place)
      : Code(e.span),
        start_(bound(e.start, e, place)),
        stop_(bound(e.stop, e, place)),
        step_(bound(e.step, e, place)) {}
  using Bounds = std::array<Value, 3>;
  Bounds bounds(Interpreter& in, Activation& a) const {
    Bounds b;
    start_.keep(in, a, b[0]);
    stop_.keep(in, a, b[1]);
    step_.keep(in, a, b[2]);
    return b;
  }
  bool is_leaf() const override { return start_.is_leaf() && stop_.is_leaf() && step_.is_leaf(); }
  Value value(Interpreter& in, Activation& a) const override {
    Bounds b = bounds(in, a);
    return make_ref<SliceObject>(std::move(b[0]), std::move(b[1]), std::move(b[2]));
  }

 private:
  static CodePtr bound(const ast::Expr* e, const ast::SliceExpr& slice, const Place& place) {
    return e ? compile(*e, place) : compile_constant(slice.span, Value());
  }
  Operand start_, stop_, step_;
};

/// `base[start:stop:step]`, which makes no slice object for a list, tuple or str.
class SlicedCode final : public Code {
 public:
  SlicedCode(const ast::IndexExpr& e, const Place& place)
      : Code(e.span),
        base_(compile(*e.base, place)),
        slice_(as<ast::SliceExpr>(*e.subscripts[0]), place),
        leaf_slice_(slice_.is_leaf()) {}
  Value value(Interpreter& in, Activation& a) const override {
    Value made;
    const Value& base = leaf_slice_ ? base_.borrow(in, a, made) : base_.keep(in, a, made);
    const SliceCode::Bounds b = slice_.bounds(in, a);
    return located(in, span, [&]() -> Value {
      if (auto* s = base.as<SequenceObject>())
        return s->sliced(resolve_slice(b[0], b[1], b[2], static_cast<int64_t>(s->items.size())));
      if (auto* s = base.as<StringObject>()) return s->sliced(resolve_slice(b[0], b[1], b[2], s->characters()));
      if (!base.is_object()) type_error(with_article(base.type_name()) + " cannot be indexed");
      const ObjectPtr keep = base.object();
      return keep->index(in, make_ref<SliceObject>(b[0], b[1], b[2]));
    });
  }

 private:
  Operand base_;
  SliceCode slice_;
  bool leaf_slice_;
};

/// Several subscripts, or one that is starred or followed by a comma.
class SubscriptsCode final : public Code {
 public:
  SubscriptsCode(const ast::IndexExpr& e, const Place& place)
      : Code(e.span),
        items_(e.subscripts, place),
        one_(!e.trailing_comma && !(e.subscripts.size() == 1 && e.subscripts[0]->kind == ExprKind::starred)) {}
  Value value(Interpreter& in, Activation& a) const override {
    std::vector<Value> items = items_.values(in, a);
    if (items.size() == 1 && one_) return items[0];
    return make_tuple(std::move(items));
  }

 private:
  ItemsCode items_;
  bool one_;
};

CodePtr compile_subscript(const ast::IndexExpr& e, const Place& place) {
  if (e.subscripts.size() == 1 && !e.trailing_comma && e.subscripts[0]->kind != ExprKind::starred)
    return compile(*e.subscripts[0], place);
  return std::make_unique<SubscriptsCode>(e, place);
}

class IndexCode final : public StoredCode<IndexCode> {
 public:
  IndexCode(const ast::IndexExpr& e, const Place& place)
      : StoredCode(e.span),
        base_(compile(*e.base, place)),
        key_(compile_subscript(e, place)),
        leaf_key_(key_->is_leaf()),
        tries_{&base_, &key_},
        parts_(e.subscripts) {}
  bool is_leaf() const override { return leaf_key_ && base_->is_leaf(); }
  bool has_quick() const override { return static_cast<bool>(tries_); }
  PXL_INLINE const Value* stored(const Activation& a, Scalar& room) const {
    if (!tries_) return nullptr;
    if (base_.is_simple() && key_.is_simple())
      if (auto* list = base_.simple(a).as<SequenceObject>())
        if (const Value& key = key_.simple(a);
            key.is_int64() && static_cast<uint64_t>(key.int64()) < list->items.size())
          return &list->items[static_cast<size_t>(key.int64())];
    return searched(a, room);
  }
  const Value& borrow(Interpreter& in, Activation& a, Value& made) const override {
    Value made_base, made_key;
    const Value& base = leaf_key_ ? base_.borrow(in, a, made_base) : base_.keep(in, a, made_base);
    const Value& key = key_.borrow(in, a, made_key);
    // If the base is a temporary value, its element is copied, since both are destroyed together.
    if (const Value* item = &base != &made_base ? stored_element(base, key) : nullptr) return *item;
    if (!element(in, base, key, made)) throw_failure(made);
    return made;
  }
  bool attempt(Interpreter& in, Activation& a, Value& out) const override {
    Scalar room;
    if (const Value* v = stored(a, room)) {
      new (&out) Value(*v);
      return true;
    }
    Value made_base, made_key;
    const Value& base = leaf_key_ ? base_.borrow(in, a, made_base) : base_.keep(in, a, made_base);
    const Value& key = key_.borrow(in, a, made_key);
    return element(in, base, key, out);
  }

 private:
  __attribute__((noinline)) const Value* searched(const Activation& a, Scalar& room) const {
    Scalar other;
    const Value* base = base_.quick(a, room);
    const Value* key = base ? key_.quick(a, other) : nullptr;
    const Value* found = key ? stored_element(*base, *key) : nullptr;
    if (!found) tries_.failed();
    return found;
  }
  /// The stored element of a list, tuple or dict, or a character of an ASCII text. Null for other values.
  PXL_INLINE static const Value* stored_element(const Value& base, const Value& key) {
    if (key.is_int64()) {
      if (auto* s = base.as<SequenceObject>()) {
        const auto size = static_cast<int64_t>(s->items.size());
        const int64_t at = key.int64() < 0 ? key.int64() + size : key.int64();
        return static_cast<uint64_t>(at) < static_cast<uint64_t>(size) ? &s->items[static_cast<size_t>(at)] : nullptr;
      }
      if (auto* s = base.as<StringObject>()) return s->ascii_at(key.int64());
    }
    auto* d = base.as<DictObject>();
    return d ? d->find(key) : nullptr;
  }

  /// Computes an element, as Code::attempt does.
  bool element(Interpreter& in, const Value& base, const Value& key, Value& out) const {
    if (const Value* item = stored_element(base, key)) {
      new (&out) Value(*item);
      return true;
    }
    if (auto* s = base.as<StringObject>(); s && key.is_int64()) {
      const int64_t count = s->characters(), at = key.int64() < 0 ? key.int64() + count : key.int64();
      if (at >= 0 && at < count) {
        size_t offset = s->offset_of(at);
        new (&out) Value(s->character_at(offset));
        return true;
      }
    }
    in.here = span;
    try {
      if (std::optional<Error> missing = missing_element(in, base, key)) return failed(in, *missing, out);
      if (!base.is_object()) type_error(with_article(base.type_name()) + " cannot be indexed");
      const ObjectPtr keep = base.object();
      new (&out) Value(keep->index(in, key));
      return true;
    } catch (Error& e) {
      locate_part(in, parts_, e);
      e.locate(span, in.frames);
      WrittenOperands{{base_->span, base}}.tell(e);
      return failed(in, e, out);
    }
  }

  /// The error about an element that a list, tuple, str or dict lacks. Other errors are thrown.
  static std::optional<Error> missing_element(Interpreter& in, const Value& base, const Value& key) {
    auto* dict = base.as<DictObject>();
    if (dict && key.is_object() == key.is_text()) return dict->missing(in, key);
    if (!key.is_int64() || !(base.as<SequenceObject>() || base.is_text())) return std::nullopt;
    return index_error(std::to_string(key.int64()), length_of(in, base), with_article(base.type_name()));
  }

  Operand base_, key_;
  bool leaf_key_;
  QuickTries tries_;
  const std::vector<ast::Expr*>& parts_;
};

CodePtr compile_index(const ast::IndexExpr& e, const Place& place) {
  const bool is_slice = e.subscripts.size() == 1 && !e.trailing_comma && e.subscripts[0]->kind == ExprKind::slice;
  if (is_slice && !place.look) return std::make_unique<SlicedCode>(e, place);
  return std::make_unique<IndexCode>(e, place);
}

class MemberCode final : public StoredCode<MemberCode> {
 public:
  MemberCode(const ast::MemberExpr& e, const Place& place)
      : StoredCode(e.span), e_(e), name_(e.name), look_(place.look), base_(compile(*e.base, place)), tries_{&base_} {}
  bool is_leaf() const override { return base_->is_leaf() && !look_; }
  bool has_quick() const override { return static_cast<bool>(tries_); }
  PXL_INLINE const Value* stored(const Activation& a, Scalar& room) const {
    if (!tries_) return nullptr;
    const Value* base = base_.quick(a, room);
    const Value* field = base ? field_.find(*base, name_) : nullptr;
    if (!field) tries_.failed();
    return field;
  }
  const Value& borrow(Interpreter& in, Activation& a, Value& made) const override {
    Value made_base;
    const Value& base = base_.borrow(in, a, made_base);
    if (const Value* field = field_.find(base, name_)) {
      if (&base == &made_base) return made = *field;
      return *field;
    }
    return made = member(in, base);
  }

 private:
  Value member(Interpreter& in, const Value& base) const {
    const Value keep = base;
    try {
      return located(in, span, [&] { return member_of(in, keep, e_.name, e_.name_span); });
    } catch (Error& error) {
      note_member(in, keep, e_.name, error);
      throw;
    }
  }

  const ast::MemberExpr& e_;
  Name name_;
  bool look_;
  Operand base_;
  FieldCache field_;
  QuickTries tries_;
};

class EllipsisCode final : public Code {
 public:
  using Code::Code;
  Value value(Interpreter&, Activation&) const override { return make_ref<EllipsisObject>(); }
};

class StarCode final : public Code {
 public:
  using Code::Code;
  Value value(Interpreter& in, Activation&) const override {
    Error error("`*` unpacks only inside a list, a tuple, subscripts or a call");
    error.as(codes::syntax);
    error.locate(span, in.frames);
    throw error;
  }
};

std::optional<Value> literal_tuple(const std::vector<ast::Expr*>& list);

/// The value of a literal, a negated number, or a tuple with such elements. It is computed without compilation, so that
/// nested expressions are compiled only once.
std::optional<Value> literal_value(const ast::Expr& e) {
  switch (e.kind) {
    case ExprKind::none: return Value();
    case ExprKind::boolean: return Value(as<ast::BoolExpr>(e).value);
    case ExprKind::integer: return Value(as<ast::IntExpr>(e).value);
    case ExprKind::floating: return Value(as<ast::FloatExpr>(e).value);
    case ExprKind::string: return text_value(as<ast::StringExpr>(e).value);
    case ExprKind::unary: {
      const auto& u = as<ast::UnaryExpr>(e);
      if (u.op != ast::UnaryOp::minus) return std::nullopt;
      if (u.operand->kind == ExprKind::floating) return Value(-as<ast::FloatExpr>(*u.operand).value);
      if (u.operand->kind != ExprKind::integer || as<ast::IntExpr>(*u.operand).value == INT64_MIN) return std::nullopt;
      return Value(-as<ast::IntExpr>(*u.operand).value);
    }
    case ExprKind::tuple: return literal_tuple(as<ast::TupleExpr>(e).items);
    default: return std::nullopt;
  }
}

std::optional<Value> literal_tuple(const std::vector<ast::Expr*>& list) {
  std::vector<Value> values;
  for (const ast::Expr* e : list) {
    std::optional<Value> v = literal_value(*e);
    if (!v) return std::nullopt;
    values.push_back(*std::move(v));
  }
  return make_tuple(std::move(values));
}

CodePtr compile_tuple(const Span& at, const std::vector<ast::Expr*>& items, const Place& place) {
  if (std::optional<Value> v = literal_tuple(items)) return compile_constant(at, *std::move(v));
  return std::make_unique<SequenceCode<TupleObject>>(at, items, place);
}

}  // namespace

CodePtr compile_constant(const Span& at, Value v) { return std::make_unique<ConstantCode>(at, std::move(v)); }

CodePtr compile_iterable(const ast::Expr& e, const Place& place) {
  if (place.look) return compile(e, place);
  if (e.kind == ExprKind::list) return compile_tuple(e.span, as<ast::ListExpr>(e).items, place);
  return e.kind == ExprKind::call ? compile_call(as<ast::CallExpr>(e), place, true) : compile(e, place);
}

CodePtr compile_kind(const ast::Expr& e, const Place& place) {
  if (e.kind == ExprKind::unary)
    if (std::optional<Value> v = literal_value(e)) return compile_constant(e.span, *std::move(v));
  switch (e.kind) {
    case ExprKind::none: return std::make_unique<ConstantCode>(e.span, Value());
    case ExprKind::boolean: return std::make_unique<ConstantCode>(e.span, as<ast::BoolExpr>(e).value);
    case ExprKind::integer: return std::make_unique<ConstantCode>(e.span, as<ast::IntExpr>(e).value);
    case ExprKind::floating: return std::make_unique<ConstantCode>(e.span, as<ast::FloatExpr>(e).value);
    case ExprKind::string: return std::make_unique<ConstantCode>(e.span, text_value(as<ast::StringExpr>(e).value));
    case ExprKind::fstring: return std::make_unique<FStringCode>(as<ast::FStringExpr>(e), place);
    case ExprKind::name: return compile_name(as<ast::NameExpr>(e), place);
    case ExprKind::list: return std::make_unique<SequenceCode<ListObject>>(e.span, as<ast::ListExpr>(e).items, place);
    case ExprKind::tuple: return compile_tuple(e.span, as<ast::TupleExpr>(e).items, place);
    case ExprKind::dict: return std::make_unique<DictCode>(as<ast::DictExpr>(e), place);
    case ExprKind::comprehension:
    case ExprKind::dict_comprehension: return compile_comprehension(as<ast::ComprehensionExpr>(e), place);
    case ExprKind::unary:
    case ExprKind::chain:
    case ExprKind::power:
    case ExprKind::compare:
    case ExprKind::logical: return compile_operator(e, place);
    case ExprKind::conditional: return std::make_unique<ConditionalCode>(as<ast::ConditionalExpr>(e), place);
    case ExprKind::attempt: return compile_attempt(as<ast::AttemptExpr>(e), place);
    case ExprKind::lambda: return std::make_unique<LambdaCode>(as<ast::LambdaExpr>(e));
    case ExprKind::call: return compile_call(as<ast::CallExpr>(e), place);
    case ExprKind::index: return compile_index(as<ast::IndexExpr>(e), place);
    case ExprKind::slice: return std::make_unique<SliceCode>(as<ast::SliceExpr>(e), place);
    case ExprKind::member: return std::make_unique<MemberCode>(as<ast::MemberExpr>(e), place);
    case ExprKind::ellipsis: return std::make_unique<EllipsisCode>(e.span);
    case ExprKind::starred: break;
  }
  return std::make_unique<StarCode>(e.span);
}

}  // namespace pxl
