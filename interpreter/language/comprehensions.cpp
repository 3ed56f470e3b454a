// Comprehensions. The targets have a scope of their own, as in Python. If functions are made, each round of a clause
// has one, inside that of the preceding clause.
#include <algorithm>

#include "interpreter/language/code.hpp"
#include "interpreter/language/located.hpp"
#include "interpreter/language/walk.hpp"
#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "runtime/base/never_destroyed.hpp"

namespace pxl {
namespace {

class ComprehensionCode final : public Code {
 public:
  ComprehensionCode(const ast::ComprehensionExpr& e, const Place& place) : Code(e.span), captures_(e.captures) {
    std::vector<std::string> names;
    for (const ast::Clause& c : e.clauses)
      for (const ast::Expr* t : c.targets) bound_by(*t, names);
    for (const std::string& name : names)
      if (std::find(layout_.begin(), layout_.end(), Name(name)) == layout_.end()) layout_.emplace_back(name);
    const Place inner{&layout_, place.look};
    for (const ast::Clause& c : e.clauses)
      clauses_.push_back({compile_iterable(*c.iterable, clauses_.empty() ? place : inner),
                          compile_targets(c.targets, inner), compile(c.conditions, inner)});
    key_ = compile_or_null(e.key, inner);
    value_ = compile(*e.value, inner);
  }

  Value value(Interpreter& in, Activation& a) const override {
    Activation inner;
    inner.self = a.self;
    inner.build = a.build;
    inner.kind = a.kind;
    inner.scope = new_scope(a.closure());
    std::vector<ScopePtr> rounds(captures_ ? clauses_.size() : 0);
    std::vector<Value> items;
    auto dict = key_ ? make_ref<DictObject>() : nullptr;
    // One walk per clause, innermost last: a loop instead of a recursion over clauses.
    std::vector<Walk> open;
    open.reserve(clauses_.size());
    start(in, a, open);
    for (Value v; !open.empty();) {
      const size_t clause = open.size() - 1;
      const Clause& c = clauses_[clause];
      if (!open.back().next(v)) {
        open.pop_back();
        continue;
      }
      if (captures_) inner.scope = rounds[clause] = new_scope(clause == 0 ? a.closure() : rounds[clause - 1]);
      c.target->assign(in, inner, std::move(v));
      if (!std::all_of(c.conditions.begin(), c.conditions.end(),
                       [&](const Operand& condition) { return condition->truth(in, inner); }))
        continue;
      if (open.size() < clauses_.size()) {
        start(in, inner, open);
        continue;
      }
      if (!dict) {
        items.push_back(value_->value(in, inner));
        continue;
      }
      const Value key = key_->value(in, inner);
      Value value = value_->value(in, inner);
      located(in, key_->span, [&]() -> Value {
        dict->put(key, std::move(value));
        return {};
      });
    }
    if (dict) return dict;
    return make_list(std::move(items));
  }

 private:
  struct Clause {
    CodePtr iterable;
    TargetPtr target;
    std::vector<Operand> conditions;
  };

  void start(Interpreter& in, Activation& a, std::vector<Walk>& open) const {
    const Code& iterable = *clauses_[open.size()].iterable;
    open.emplace_back(in, iterable.value(in, a), iterable.span);
  }

  ScopePtr new_scope(const ScopePtr& outer) const {
    static const auto& none = never_destroyed(std::vector<Name>());
    auto scope = make_ref<Scope>(outer, layout_);
    scope->round = &none;
    return scope;
  }

  Layout layout_;  ///< all targets
  bool captures_;
  std::vector<Clause> clauses_;
  CodePtr key_, value_;  ///< no key: a list
};

}  // namespace

CodePtr compile_comprehension(const ast::ComprehensionExpr& e, const Place& place) {
  return std::make_unique<ComprehensionCode>(e, place);
}

}  // namespace pxl
