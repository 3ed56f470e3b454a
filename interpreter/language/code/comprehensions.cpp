// Comprehensions. The targets have a separate scope, as in Python. If the comprehension makes functions, each round of
// a clause has a scope inside that of the preceding clause.
#include <algorithm>

#include "interpreter/language/code/code.hpp"
#include "interpreter/language/code/walk.hpp"
#include "interpreter/language/located.hpp"
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
  ComprehensionCode(const ast::ComprehensionExpr& e, const Place& place)
      : Code(e.span),
        layout_(layout_of(e)),
        captures_(e.captures),
        key_(compile_or_null(e.key, {&layout_, place.look})),
        value_(compile(*e.value, {&layout_, place.look})) {
    const Place inner{&layout_, place.look};
    for (const ast::Clause& c : e.clauses)
      clauses_.push_back({compile_iterable(*c.iterable, clauses_.empty() ? place : inner),
                          Target(compile_targets(c.targets, inner)), compile(c.conditions, inner)});
  }

  Value value(Interpreter& in, Activation& a) const override {
    Activation inner;
    inner.self = a.self;
    inner.build = a.build;
    inner.kind = a.kind;
    inner.scope = new_scope(a.closure());
    Made made;
    if (key_) made.dict = make_ref<DictObject>();
    run_clause(in, 0, a, inner, made);
    if (key_) return std::move(made.dict);
    return make_list(std::move(made.items));
  }

 private:
  struct Clause {
    CodePtr iterable;
    Target target;
    std::vector<Operand> conditions;
  };
  struct Made {
    std::vector<Value> items;
    Ref<DictObject> dict;
  };

  /// `outside` is the activation in which the clause's iterable is evaluated.
  void run_clause(Interpreter& in, size_t index, Activation& outside, Activation& inner, Made& made) const {
    const Clause& clause = clauses_[index];
    const bool last = index + 1 == clauses_.size();
    Walk walk(in, clause.iterable->value(in, outside), clause.iterable->span);
    if (index == 0 && last && clause.conditions.empty()) made.items.reserve(walk.reserved());
    const ScopePtr scope = captures_ ? outside.closure() : nullptr;
    const bool by_row = clause.target.takes_rows(walk.width()) && !in.checking;
    for (Value row[Target::max_width]; by_row ? walk.next_row(row) : walk.next(row[0]);) {
      if (captures_) inner.scope = new_scope(scope);
      if (by_row)
        clause.target.assign_row(in, inner, row);
      else
        clause.target.assign(in, inner, std::move(row[0]));
      if (!std::all_of(clause.conditions.begin(), clause.conditions.end(),
                       [&](const Operand& condition) { return condition.truth(in, inner); }))
        continue;
      if (last) {
        add_to(in, inner, made);
      } else {
        const DepthGuard guard(in);
        run_clause(in, index + 1, inner, inner, made);
      }
    }
  }

  void add_to(Interpreter& in, Activation& inner, Made& made) const {
    if (!key_) {
      made.items.push_back(value_.value(in, inner));
      return;
    }
    const Value key = key_->value(in, inner);
    Value value = value_.value(in, inner);
    located(in, key_->span, [&] { made.dict->put(key, std::move(value)); });
  }

  ScopePtr new_scope(const ScopePtr& outer) const {
    static const auto& none = never_destroyed(std::vector<Name>());
    auto scope = make_ref<Scope>(outer, layout_);
    scope->round = &none;
    return scope;
  }

  static Layout layout_of(const ast::ComprehensionExpr& e) {
    Layout layout;
    std::vector<std::string> names;
    for (const ast::Clause& c : e.clauses)
      for (const ast::Expr* t : c.targets) bound_by(*t, names);
    for (const std::string& name : names)
      if (std::find(layout.begin(), layout.end(), Name(name)) == layout.end()) layout.emplace_back(name);
    return layout;
  }

  Layout layout_;  ///< layout with all targets
  bool captures_;
  std::vector<Clause> clauses_;
  CodePtr key_;  ///< null means a list
  Operand value_;
};

}  // namespace

CodePtr compile_comprehension(const ast::ComprehensionExpr& e, const Place& place) {
  return std::make_unique<ComprehensionCode>(e, place);
}

}  // namespace pxl
