// Targets of assignments: members, elements, tuples of targets. Names are in code_names.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "interpreter/graphs/derivatives/gradients.hpp"
#include "interpreter/graphs/modules/trees.hpp"
#include "interpreter/language/code/code.hpp"
#include "interpreter/language/code/member_cache.hpp"
#include "interpreter/language/located.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/syntax/node_as.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/unknown.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/text.hpp"

namespace pxl {
namespace {

using ast::ExprKind;

class MemberTarget final : public TargetCode {
 public:
  MemberTarget(const ast::MemberExpr& e, const Place& place) : e_(e), name_(e.name), base_(compile(*e.base, place)) {}
  Value* stored(Activation& a) const override {
    Scalar room;
    const Value* base = base_.quick(a, room);
    return base ? field_.changing(*base, name_) : nullptr;
  }
  void assign(Interpreter& in, Activation& a, Value value) const override {
    try {
      Value made;
      const Value& base = base_.borrow(in, a, made);
      in.here = e_.span;
      if (!in.checking && field_.set(in, base, name_, value)) return;
      if (!base.is_object()) type_error(with_article(base.type_name()) + " has no fields");
      base.object()->set_member(in, e_.name, std::move(value));
    } catch (Error& e) {
      e.locate(e_.span, in.frames);
      throw;
    }
  }

 private:
  const ast::MemberExpr& e_;
  Name name_;
  Operand base_;
  FieldCache field_;
};

class ElementTarget final : public TargetCode {
 public:
  ElementTarget(const ast::IndexExpr& e, const Place& place)
      : e_(e),
        base_(compile(*e.base, place)),
        keys_(compile(e.subscripts, place)),
        one_leaf_(keys_.size() == 1 && !e.trailing_comma && keys_[0]->is_leaf()) {}
  Value* stored(Activation& a) const override {
    Scalar made, other;
    const Value* base = one_leaf_ ? base_.quick(a, made) : nullptr;
    const Value* key = base ? keys_[0].quick(a, other) : nullptr;
    if (Value* at = key ? list_element(*base, *key) : nullptr) return at;
    auto* dict = key ? base->as<DictObject>() : nullptr;
    const Value* value = dict ? dict->find(*key) : nullptr;
    if (value) dict->changing();
    return const_cast<Value*>(value);
  }
  void assign(Interpreter& in, Activation& a, Value value) const override {
    Scalar made, other;
    const Value* base = one_leaf_ && !in.checking ? base_.quick(a, made) : nullptr;
    const Value* key = base ? keys_[0].quick(a, other) : nullptr;
    if (Value* at = key ? list_element(*base, *key) : nullptr) {
      in.here = e_.span;
      *at = std::move(value);
      return;
    }
    if (auto* dict = key ? base->as<DictObject>() : nullptr)
      return located(in, e_.span, [&] { dict->put(*key, std::move(value)); });
    assign_in_full(in, a, std::move(value));
  }

 private:
  /// An element of a list, which is about to change; null for other values.
  static Value* list_element(const Value& base, const Value& key) {
    auto* list = base.as<ListObject>();
    if (!list || !key.is_int64() || static_cast<uint64_t>(key.int64()) >= list->items.size()) return nullptr;
    list->changing();
    return &list->items[static_cast<size_t>(key.int64())];
  }
  __attribute__((noinline)) void assign_in_full(Interpreter& in, Activation& a, Value value) const {
    try {
      Value made_base, made_key;
      const Value& base = one_leaf_ ? base_.borrow(in, a, made_base) : base_.keep(in, a, made_base);
      const Value& key = one_leaf_ ? keys_[0].borrow(in, a, made_key) : made_key = this->key(in, a);
      in.here = e_.span;
      if (!base.is_object()) type_error(with_article(base.type_name()) + " cannot be indexed");
      if (&base == &made_base && base.as_array() && base.object().use_count() == 1) refuse_copy();
      if (in.checking) return look_at_element(in, base, key, std::move(value));
      if (auto* dict = base.as<DictObject>()) return dict->put(key, std::move(value));
      base.object()->set_index(in, key, std::move(value));
    } catch (Error& e) {
      e.locate(e_.span, in.frames);
      throw;
    }
  }

  /// Refuses the assignment if only this statement holds the array.
  [[noreturn]] void refuse_copy() const {
    Error error(fmt::format("`{}` is a copy: an assignment to its elements changes nothing", e_.base->span.text()));
    if (e_.base->kind == ExprKind::index && !e_.subscripts.empty()) {
      const Span& first = e_.base->span;
      std::string_view outer = first.text(), inner = e_.span.text();
      inner.remove_prefix(std::min(inner.size(), outer.size() + 1));
      if (outer.ends_with(']'))
        error.first().notes.push_back(
            fmt::format("one index has all axes: `{}, {} = ...`", outer.substr(0, outer.size() - 1), inner));
    }
    throw error.as(codes::assignment);
  }

  Value key(Interpreter& in, Activation& a) const {
    if (keys_.size() == 1 && !e_.trailing_comma) return keys_[0].value(in, a);
    std::vector<Value> keys;
    for (const Operand& k : keys_) keys.push_back(k.value(in, a));
    return make_tuple(std::move(keys));
  }

  const ast::IndexExpr& e_;
  Operand base_;
  std::vector<Operand> keys_;
  bool one_leaf_;  ///< the key is one leaf, so no code runs before the element is set
};

class NoTarget final : public TargetCode {
 public:
  explicit NoTarget(const Span& at) : span_(at) {}
  void assign(Interpreter& in, Activation&, Value) const override {
    Error e("cannot assign to this expression", {"a target is a name, a field, an element or a tuple of these"});
    e.as(codes::assignment);
    e.locate(span_, in.frames);
    throw e;
  }

 private:
  Span span_;
};

/// Refuses trees and results of runs, whose parts have names and no position.
void refuse_unordered(const Value& v) {
  if (v.is_object() && !v.object()->own_names().empty())
    if (std::vector<std::string> notes = notes_on_misuse(v); !notes.empty())
      throw Error(fmt::format("{} is not unpacked by place: its parts have names", with_article(v.type_name())),
                  std::move(notes))
          .as(codes::type);
  const auto* gradients = v.as<GradientsObject>();
  const auto* tree = v.as<TreeObject>();
  if (!tree && !(gradients && gradients->of_tree)) return;
  throw Error(fmt::format("{} are not unpacked by place: their order is that of the alphabet",
                          tree ? "the names of a tree" : "gradients for a tree"),
              {tree ? "take each by its name: `tree.weight`"
                    : "take each by its name, `grads.weight`, or ask for a list: `backward(dy, [w, b])`"})
      .as(codes::type);
}

class TupleTarget final : public TargetCode {
 public:
  TupleTarget(const std::vector<ast::Expr*>& targets, const Span& at, const Place& place) : span_(at) {
    star_ = targets.size();
    for (size_t i = 0; i < targets.size(); ++i) {
      const bool starred = targets[i]->kind == ExprKind::starred;
      if (starred) star_ = i;
      parts_.emplace_back(compile_target(starred ? *as<ast::StarredExpr>(*targets[i]).value : *targets[i], place));
      are_slots_ = are_slots_ && parts_.back().slot() >= 0;
    }
  }
  size_t width() const override { return star_ == parts_.size() && star_ <= few ? star_ : 0; }
  void assign_row(Interpreter& in, Activation& a, Value* row) const override {
    for (size_t i = 0; i < parts_.size(); ++i) parts_[i].assign(in, a, std::move(row[i]));
  }
  void assign(Interpreter& in, Activation& a, Value value) const override {
    if (in.checking && is_unknown(value)) {
      for (const Target& t : parts_) t.assign(in, a, unknown_value());
      return;
    }
    auto* sequence = value.as<SequenceObject>();
    if (sequence && sequence->items.size() == parts_.size() && star_ == parts_.size() && parts_.size() <= few) {
      if (are_slots_) {  // no code runs between the assignments
        for (size_t i = 0; i < parts_.size(); ++i) parts_[i].assign_stored(in, a, sequence->items[i]);
        return;
      }
      Value items[few];  // the sequence may change while the parts are assigned
      std::copy(sequence->items.begin(), sequence->items.end(), items);
      for (size_t i = 0; i < parts_.size(); ++i) parts_[i].assign(in, a, std::move(items[i]));
      return;
    }
    std::vector<Value> items;
    try {
      refuse_unordered(value);
      items = elements_of(in, value);
      check_count(items.size());
    } catch (Error& e) {
      e.locate(span_, in.frames);
      throw;
    }
    const size_t extra = items.size() - (parts_.size() - (star_ < parts_.size() ? 1 : 0));
    for (size_t i = 0, next = 0; i < parts_.size(); ++i) {
      if (i != star_) {
        parts_[i].assign(in, a, std::move(items[next++]));
        continue;
      }
      const auto from = std::make_move_iterator(items.begin() + static_cast<std::ptrdiff_t>(next));
      parts_[i].assign(in, a, make_list(std::vector<Value>(from, from + static_cast<std::ptrdiff_t>(extra))));
      next += extra;
    }
  }

 private:
  static constexpr size_t few = Target::max_width;

  void check_count(size_t given) const {
    const bool starred = star_ < parts_.size();
    if (starred ? given + 1 >= parts_.size() : given == parts_.size()) return;
    throw Error(fmt::format("cannot unpack {} into {}{}", counted(given, "value"), starred ? "at least " : "",
                            counted(starred ? parts_.size() - 1 : parts_.size(), "name")))
        .as(codes::value);
  }

  Span span_;
  std::vector<Target> parts_;
  size_t star_;            ///< index of the starred part; the number of parts if none is starred
  bool are_slots_ = true;  ///< all parts are names with slots
};

}  // namespace

TargetPtr compile_target(const ast::Expr& target, const Place& place) {
  switch (target.kind) {
    case ExprKind::name: return compile_name_target(as<ast::NameExpr>(target), place);
    case ExprKind::tuple: return std::make_unique<TupleTarget>(as<ast::TupleExpr>(target).items, target.span, place);
    case ExprKind::list: return std::make_unique<TupleTarget>(as<ast::ListExpr>(target).items, target.span, place);
    case ExprKind::member: return std::make_unique<MemberTarget>(as<ast::MemberExpr>(target), place);
    case ExprKind::index: return std::make_unique<ElementTarget>(as<ast::IndexExpr>(target), place);
    default: return std::make_unique<NoTarget>(target.span);
  }
}

TargetPtr compile_targets(const std::vector<ast::Expr*>& targets, const Place& place) {
  if (targets.size() == 1) return compile_target(*targets[0], place);
  return std::make_unique<TupleTarget>(targets, join(targets.front()->span, targets.back()->span), place);
}

}  // namespace pxl
