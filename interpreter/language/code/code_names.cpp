// Names. A name of the body has a slot. Other names are searched outward once. The code remembers where it found the
// name, and the versions that prove that the name is still there.
#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/code/code.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/located.hpp"
#include "interpreter/language/names/name_fixes.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/scope.hpp"
#include "runtime/base/diagnostics/codes.hpp"

namespace pxl {
namespace {

const Name ir_name("ir");

[[noreturn]] void refuse_name(Interpreter& in, const ast::NameExpr& e, const Activation& a) {
  Error error("unknown name `" + e.name + "`");
  error.as(codes::unknown_name);
  error.first().span = e.span;
  explain_unknown_name(error.first(), e.name, a.scope->visible_names());
  error.locate(e.span, in.frames);
  throw error;
}

/// Searches all scopes for the value of a name.
const Value& searched(Interpreter& in, const ast::NameExpr& e, const Activation& a) {
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

template <class T>
class NameCode : public StoredCode<T> {
 public:
  explicit NameCode(const ast::NameExpr& e) : StoredCode<T>(e.span), e_(e) {}
  bool is_leaf() const override { return true; }

 protected:
  const ast::NameExpr& e_;
};

class SlotCode final : public NameCode<SlotCode> {
 public:
  SlotCode(const ast::NameExpr& e, int slot) : NameCode(e), slot_(static_cast<size_t>(slot)) {}
  int slot() const override { return static_cast<int>(slot_); }
  PXL_INLINE const Value* stored(const Activation& a, Scalar&) const {
    const Value& v = a.scope->slot(slot_);
    return v.is_unset() ? nullptr : &v;
  }
  const Value& borrow(Interpreter& in, Activation& a, Value&) const override {
    const Value& v = a.scope->slot(slot_);
    if (v.is_unset()) [[unlikely]]
      return searched(in, e_, a);
    return v;
  }

 private:
  size_t slot_;
};

/// A name in an enclosing body, in the file or in the prelude. Code at one place in a text always sees scopes with the
/// same layouts. Scopes with added names are compared by version.
class OuterCode final : public NameCode<OuterCode> {
 public:
  using NameCode::NameCode;
  bool has_quick() const override { return true; }
  const OuterPlace* outer() const override { return &place_; }
  PXL_INLINE const Value* stored(const Activation& a, Scalar&) const { return place_.find(a); }
  const Value& borrow(Interpreter& in, Activation& a, Value&) const override {
    if (const Value* v = place_.find(a)) return *v;
    const Value& v = searched(in, e_, a);
    place_.note(a, e_.interned, v);
    return v;
  }

 private:
  mutable OuterPlace place_;
};

// Inside a program, and in the defs that it calls, the `ir` that is being built hides a script's own `ir`.
class IrNameCode final : public NameCode<IrNameCode> {
 public:
  using NameCode::NameCode;
  static const Value* stored(const Activation&, Scalar&) { return nullptr; }
  const Value& borrow(Interpreter& in, Activation& a, Value&) const override {
    if (!graphs_of(in).in_program()) return searched(in, e_, a);
    const Evaluator& evaluator = evaluator_of(in);
    for (const Scope* s = a.scope.get(); s && s != evaluator.file_scope().get() && s != evaluator.prelude().get();
         s = s->outer.get())
      if (const Value* v = s->find_here(e_.interned)) return *v;
    return *evaluator.prelude()->find_here(e_.interned);
  }
};

class NameTarget final : public TargetCode {
 public:
  NameTarget(const ast::NameExpr& e, int slot) : e_(e), slot_(slot) {}
  int slot() const override { return e_.nonlocal ? -1 : slot_; }
  Value* stored(Activation& a) const override {
    if (e_.nonlocal) {
      const ScopePtr* body = place_.body(a);
      if (body) record_change(*body);
      return body ? &(*body)->slot(place_.slot()) : nullptr;
    }
    if (a.round) return nullptr;
    if (slot_ >= 0) return &a.scope->slot(static_cast<size_t>(slot_));
    return version_ && a.scope->version() == version_ ? &a.scope->added()[index_].value : nullptr;
  }
  void assign(Interpreter& in, Activation& a, Value value) const override {
    observed(in.checking, e_.span, value);
    // The old value is destroyed after the new value is in place, since its destructor may read the scope.
    if (Value* at = e_.nonlocal && in.checking ? nullptr : stored(a)) {
      *at = std::move(value);
      return;
    }
    if (e_.nonlocal && !in.checking) return assign_outside(in, a, std::move(value));
    if (e_.nonlocal || a.round) return located(in, e_.span, [&] { bind_name(in, a, e_.interned, std::move(value)); });
    Scope& s = *a.scope;
    s.bind(e_.interned, std::move(value));
    version_ = s.version();
    index_ = s.added().size();  // a new name is the last one
    while (!(s.added()[--index_].name == e_.interned)) {
    }
  }

 private:
  /// Assigns to a nonlocal name in an enclosing body, where the name keeps its place.
  void assign_outside(Interpreter& in, Activation& a, Value value) const {
    located(in, e_.span, [&] { bind_name(in, a, e_.interned, std::move(value)); });
    place_ = OuterPlace();
    const ScopePtr at = nonlocal_scope(a.scope->outer, e_.interned);
    const Value* bound = at && !at->round ? at->find_here(e_.interned) : nullptr;
    if (bound) place_.note(a, e_.interned, *bound);
  }

  const ast::NameExpr& e_;
  int slot_;
  mutable OuterPlace place_;  ///< of a nonlocal name
  mutable uint64_t version_ = 0;
  mutable size_t index_ = 0;
};

}  // namespace

const Value* OuterPlace::find_further(const Scope& first) const {
  const Scope* s = &first;
  bool shared = !value_;  // instances share versions
  for (uint32_t i = 1; i < known_; ++i) {
    s = s->outer.get();
    if (!s || s->version() != versions_[i]) return nullptr;
    shared = shared || s->instance;
  }
  next_ = first.outer.get();
  newest_ = shared ? UINT64_MAX : Scope::newest_version();
  return value_ ? value_ : &s->added_value(index_);
}

const ScopePtr* OuterPlace::body(const Activation& a) const {
  if (!layout_) return nullptr;
  const ScopePtr* s = &a.scope;
  for (uint32_t i = hops_; i > 0 && *s; --i) s = &(*s)->outer;
  return *s && (*s)->layout() == layout_ && !(*s)->slot(index_).is_unset() ? s : nullptr;
}

void OuterPlace::note(const Activation& a, Name name, const Value& v) {
  OuterPlace found;
  for (const Scope* s = a.scope.get(); s; s = s->outer.get()) {
    if (s->layout()) {
      if (found.known_) break;
      const auto at = std::find(s->layout()->begin(), s->layout()->end(), name);
      found.index_ = static_cast<uint32_t>(at - s->layout()->begin());
      if (at != s->layout()->end()) {
        if (&s->slot(found.index_) != &v) break;
        found.layout_ = s->layout();
        *this = found;
        return;
      }
      if (!s->added().empty()) break;
      ++found.hops_;
      continue;
    }
    if (found.known_ == max_versions) break;
    found.versions_[found.known_++] = s->version();
    for (size_t i = 0; i < s->added().size(); ++i) {
      if (&s->added()[i].value != &v) continue;
      found.index_ = static_cast<uint32_t>(i);
      if (!s->instance) found.value_ = &v;  // only instances share versions
      *this = found;
      return;
    }
  }
  *this = OuterPlace();
}

CodePtr compile_name(const ast::NameExpr& e, const Place& place) {
  if (e.interned == ir_name) return std::make_unique<IrNameCode>(e);
  if (const int slot = slot_of(e.interned, place); slot >= 0) return std::make_unique<SlotCode>(e, slot);
  return std::make_unique<OuterCode>(e);
}

TargetPtr compile_name_target(const ast::NameExpr& e, const Place& place) {
  return std::make_unique<NameTarget>(e, slot_of(e.interned, place));
}

}  // namespace pxl
