#include "interpreter/language/look.hpp"

#include <algorithm>
#include <set>

#include "interpreter/graphs/graph_builder.hpp"
#include "interpreter/graphs/graphs.hpp"
#include "interpreter/graphs/modules.hpp"
#include "interpreter/graphs/trees.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/exit_request.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/effects.hpp"
#include "runtime/base/interrupt.hpp"

namespace pxl {
namespace {

/// Maximum nesting of conditions and loops over unknowns that are followed; deeper ones are only forgotten. Not
/// measured.
constexpr int max_uncertain_depth = 6;
/// Maximum number of statements of one loop after it has run a session: further rounds of a training loop add no
/// information. Not measured.
constexpr int64_t max_training_steps = 20000;

// After the look a value may be shown: hover, completion.
void need_run() {
  if (!permits(Effect::runs_session)) throw Unevaluated{};
}

bool holds_unknown_within(const Value& v, int depth, int& budget) {
  if (is_unknown(v)) return true;
  if (!v.is_object() || depth == 0) return false;
  if (auto* list = v.as<SequenceObject>()) {
    for (const Value& item : list->items) {
      if (--budget < 0) return false;
      if (holds_unknown_within(item, depth - 1, budget)) return true;
    }
  } else if (auto* dict = v.as<DictObject>()) {
    for (const auto& [key, item] : dict->items) {
      if (--budget < 0) return false;
      if (holds_unknown_within(item, depth - 1, budget)) return true;
    }
  }
  return false;
}

bool is_of_graph(const Value& v) {
  if (auto* list = v.as<SequenceObject>()) return std::any_of(list->items.begin(), list->items.end(), is_of_graph);
  return as_tensor(v) || v.as<StreamObject>() || v.as<GraphObject>() || v.as<TreeObject>();
}

// Whether code that was not followed might have changed the value.
bool can_change(const Value& v) {
  return v.as<DictObject>() || v.as<TreeObject>() || v.as<ModuleInstance>() ||
         (v.as<SequenceObject>() && !v.as<TupleObject>()) || v.as_array();
}

// Makes the outer names that a function binds unknown.
void forget_rebound(const ast::Function& code, const ScopePtr& closure) {
  for (const Name name : code.own.rebinds)
    if (const ScopePtr at = nonlocal_scope(closure, name)) at->bind(name, unknown_value());
}

void forget_changed(const std::vector<std::string>& names, const ScopePtr& scope, std::set<const void*>& seen) {
  for (const std::string& name : names) {
    for (Scope* s = scope.get(); s; s = s->outer.get()) {
      const Value* found = s->find_here(name);
      if (!found) continue;
      if (can_change(*found)) found->object()->forget();
      // A mentioned function might have been called.
      if (auto* f = found->as<FunctionObject>(); f && seen.insert(f->code).second) {
        const ScopePtr closure = f->closure;
        const ast::Function& code = *f->code;
        forget_changed(names_in(code), closure, seen);
        forget_rebound(code, closure);
      }
      break;
    }
  }
}

enum Leaves : uint8_t { leaves_loop = 1, leaves_function = 2 };

uint8_t leaves_by(Flow flow) {
  switch (flow) {
    case Flow::break_loop:
    case Flow::continue_loop: return leaves_loop;
    case Flow::returned: return leaves_function;
    case Flow::normal: break;
  }
  return 0;
}

// Follows code that may or may not run.
void follow(Interpreter& in, const ast::Stmt& s, Activation& a, const std::function<Flow()>& code) {
  CheckState& c = *in.checking;
  if (graphs_of(in).in_program()) lacks_part(in);
  if (c.uncertain_depth >= max_uncertain_depth) {
    forget(s, a);
    if (names_of(s).leaves) c.left |= leaves_loop | leaves_function;
    return;
  }
  const Value result = a.result;
  try {
    const UncertainScope scope(in, true);
    c.left |= leaves_by(code());
  } catch (const Unevaluated&) {
    forget(s, a);
    if (names_of(s).leaves) c.left |= leaves_loop | leaves_function;
  } catch (const Error&) {
    forget(s, a);
    if (names_of(s).leaves) c.left |= leaves_loop | leaves_function;
  } catch (const ExitRequest&) {
  }
  a.result = result;
  forget_bound(s, a);
}

/// Decides in a look, round by round, whether a loop is followed further.
class LoopLook {
 public:
  LoopLook(Interpreter& in, const ast::Stmt& s, Activation& a)
      : in_(in), s_(s), a_(a), outer_left_(in.checking->left), steps_(in.checking->steps), runs_(in.checking->runs) {
    in.checking->left = 0;
  }
  /// Follows the rounds until one leaves the loop, or `next` returns nothing: there is no other.
  template <class Next>
  Flow follow_rounds(bool endless, Next&& next) {
    for (;;) {
      check_interrupt();
      const std::optional<Flow> flow = next();
      if (!flow || *flow == Flow::break_loop) break;
      if (*flow == Flow::returned) {
        if (in_.checking->left) break;
        in_.checking->left = outer_left_;
        return *flow;
      }
      if (!go_on(endless)) break;
    }
    end();
    return Flow::normal;
  }

 private:
  /// Whether another round is to be followed.
  bool go_on(bool endless) {
    CheckState& c = *in_.checking;
    if (c.left) {
      if (endless) return false;
      if (!rest_) rest_.emplace(in_, false);
    }
    if (c.runs > runs_ && c.steps - steps_ > max_training_steps) {
      cut_ = true;
      return false;
    }
    return true;
  }
  void end() {
    CheckState& c = *in_.checking;
    rest_.reset();
    if (cut_ || c.left) forget(s_, a_);
    c.left = static_cast<uint8_t>(outer_left_ | (c.left & leaves_function));
  }

  Interpreter& in_;
  const ast::Stmt& s_;
  Activation& a_;
  uint8_t outer_left_;
  int64_t steps_, runs_;
  bool cut_ = false;
  std::optional<UncertainScope> rest_;
};

/// Runs one statement; returns false if it was skipped.
bool attempt(Interpreter& in, const ast::Stmt& s, Activation& a, Flow& flow, bool& failed) {
  CheckState& c = *in.checking;
  try {
    flow = execute(in, s, a);
    return true;
  } catch (const Unevaluated&) {
    if (graphs_of(in).in_program() || declares_tensor(s)) lacks_part(in);
  } catch (const Error& e) {
    if (c.expecting > 0) throw;
    if (c.silent == 0) {
      failed = true;
      for (const Diagnostic& d : e.all()) c.errors.push_back(d);
    }
  } catch (const ExitRequest&) {
    // The script may end here; the look continues.
    if (c.uncertain_depth == 0) throw;
  }
  forget(s, a);
  return false;
}

}  // namespace

// ---- unknown values

std::string UnknownObject::type_name() const {
  need_run();
  return "unknown value";
}
std::string UnknownObject::repr(Interpreter&) {
  need_run();
  return "<unknown>";
}
std::optional<Value> UnknownObject::member(Interpreter&, std::string_view name) {
  if (spec && name == "shape") return make_tuple(std::vector<Value>(spec->shape.begin(), spec->shape.end()));
  if (spec && name == "dtype") return Value(spec->dtype);
  return unknown_value();
}
std::vector<std::string> UnknownObject::member_names() const {
  return spec ? std::vector<std::string>{"shape", "dtype"} : std::vector<std::string>{};
}
Value UnknownObject::call(Interpreter& in, Arguments args) {
  for (const Value& v : args.positional) {
    if (can_change(v)) v.object()->forget();
    forget_changed_by(v);
  }
  if (in.checking) lacks_part_of(in, args);
  return unknown_value();
}
Value UnknownObject::index(Interpreter&, const Value&) { return unknown_value(); }
std::optional<int64_t> UnknownObject::length(Interpreter&) {
  if (spec && !spec->shape.empty()) return spec->shape[0];
  need_run();
  return std::nullopt;
}
std::optional<Iterator> UnknownObject::iterate(Interpreter&) {
  if (!spec || spec->shape.empty()) {
    need_run();
    return std::nullopt;
  }
  TensorSpec row = *spec;
  row.shape.erase(row.shape.begin());
  return Iterator([row, left = spec->shape[0]]() mutable -> std::optional<Value> {
    if (left == 0) return std::nullopt;
    --left;
    return unknown_array(row);
  });
}
bool UnknownObject::contains(Interpreter&, const Value&) {
  need_run();
  return false;
}
bool UnknownObject::truth(Interpreter&) {
  need_run();
  return false;
}
bool UnknownObject::equals(Interpreter&, const Value&) {
  need_run();
  return false;
}
std::optional<std::string> UnknownObject::hash_key() const {
  need_run();
  return std::nullopt;
}
Value UnknownObject::enter(Interpreter&) { return unknown_value(); }

Value unknown_value() { return std::make_shared<UnknownObject>(); }
Value unknown_array(TensorSpec spec) { return std::make_shared<UnknownObject>(std::move(spec)); }
Value unknown_array(Shape shape, DType dtype) {
  TensorSpec spec;
  spec.shape = std::move(shape);
  spec.dtype = dtype;
  return unknown_array(std::move(spec));
}

bool holds_unknown(const Value& v) {
  int budget = 10000;
  return holds_unknown_within(v, 4, budget);
}

bool holds_unknown(const Arguments& args) {
  return std::any_of(args.positional.begin(), args.positional.end(), [](const Value& v) { return holds_unknown(v); }) ||
         std::any_of(args.named.begin(), args.named.end(), [](const NamedArg& n) { return holds_unknown(n.value); });
}

std::optional<TensorSpec> unknown_spec(const Value& v) {
  if (auto* u = v.as<UnknownObject>()) return u->spec;
  if (const Array* a = v.as_array(); a && v.object()->forgotten()) return a->spec();
  return std::nullopt;
}

Value as_known(Value v) {
  if (!v.is_object() || !v.object()->forgotten()) return v;
  if (const Array* a = v.as_array()) return unknown_array(a->spec());
  return unknown_value();
}

void lacks_part(Interpreter& in) {
  if (!graphs_of(in).has_target()) return;
  in.checking->incomplete.try_emplace(graphs_of(in).targets().back().ir.get(), in.here);
}

void lacks_part_of(Interpreter& in, const Arguments& args) {
  const bool graph =
      std::any_of(args.positional.begin(), args.positional.end(), is_of_graph) ||
      std::any_of(args.named.begin(), args.named.end(), [](const NamedArg& n) { return is_of_graph(n.value); });
  if (graph || graphs_of(in).in_program()) lacks_part(in);
}

// ---- forgetting

UncertainScope::UncertainScope(Interpreter& in, bool silent)
    : in_(in), silent_(silent), forgets_(Object::forgets_changes), era_(Object::recording_era) {
  Object::recording_era = ++Object::latest_era;
  Object::forgets_changes = true;
  ++in.checking->uncertain_depth;
  if (silent) ++in.checking->silent;
  if (graphs_of(in).has_target()) {
    ir_ = graphs_of(in).targets().back().ir;
    ops_ = graphs_of(in).targets().back().graph->ops().size();
  }
}

UncertainScope::~UncertainScope() {
  Object::recording_era = era_;
  Object::forgets_changes = forgets_;
  --in_.checking->uncertain_depth;
  if (silent_) --in_.checking->silent;
  if (graphs_of(in_).has_target() && graphs_of(in_).targets().back().ir == ir_.lock() &&
      graphs_of(in_).targets().back().graph->ops().size() != ops_)
    lacks_part(in_);
}

void forget_bound(const ast::Stmt& s, Activation& a) {
  for (const std::string& name : names_of(s).bound) bind_in_body(a, name, unknown_value());
}

void forget(const ast::Stmt& s, Activation& a) {
  const BoundNames names = names_of(s);
  std::set<const void*> seen;
  forget_changed(names.mentioned, a.scope, seen);
  for (const std::string& name : names.bound) bind_in_body(a, name, unknown_value());
}

void forget_mentioned(const ast::Expr& e, Activation& a) {
  std::vector<std::string> names;
  NameVisitor visitor;
  visitor.name = [&](const ast::NameExpr& n) { names.push_back(n.name); };
  visitor.target = [](const ast::Expr&) {};
  visitor.lambda = [&](const ast::Function& f) { visit_names(f.result, visitor); };
  visit_names(&e, visitor);
  std::set<const void*> seen;
  forget_changed(names, a.scope, seen);
}

void forget_changed_by(const Value& function) {
  auto* f = function.as<FunctionObject>();
  if (!f) return;
  std::set<const void*> seen{f->code};
  const ScopePtr closure = f->closure;
  forget_changed(names_in(*f->code), closure, seen);
  forget_rebound(*f->code, closure);
}

// ---- statements

std::optional<bool> known_truth(Interpreter& in, const Value& v) {
  if (is_unknown(v)) return std::nullopt;
  try {
    return truth_of(in, v);
  } catch (const Unevaluated&) {
    return std::nullopt;
  }
}

bool declares_tensor(const ast::Stmt& s) {
  return s.kind == ast::StmtKind::param || s.kind == ast::StmtKind::stream || s.kind == ast::StmtKind::variable ||
         s.kind == ast::StmtKind::constant;
}

void look_at_statement(Interpreter& in, const ast::Stmt& s, Activation& a) {
  Flow flow = Flow::normal;
  bool failed = false;
  attempt(in, s, a, flow, failed);
}

Flow look_at_block(Interpreter& in, const ast::Block& block, Activation& a) {
  CheckState& c = *in.checking;
  bool failed = false;
  std::optional<UncertainScope> rest;  // after a statement that may have left the block
  std::vector<const ast::Stmt*> uncertain;
  auto end = [&] {
    rest.reset();
    for (const ast::Stmt* s : uncertain) forget_bound(*s, a);
  };
  for (const ast::Stmt* s : block.statements) {
    check_interrupt();
    ++c.steps;
    if (rest) uncertain.push_back(s);
    Flow flow = Flow::normal;
    if (!attempt(in, *s, a, flow, failed)) {
      if (names_of(*s).leaves) c.left |= leaves_loop | leaves_function;
    }
    if (flow != Flow::normal) {
      end();
      if (rest || c.left) c.left |= leaves_by(flow);
      return flow;
    }
    if (c.left && !rest) rest.emplace(in, false);
  }
  end();
  // Statements after a failed one would report follow-up errors.
  if (failed) throw Unevaluated{};
  return Flow::normal;
}

Flow look_at_if(Interpreter& in, const ast::IfStmt& s, Activation& a) {
  for (size_t i = 0; i < s.arms.size(); ++i) {
    const Value v = evaluate(in, *s.arms[i].condition, a);
    std::optional<bool> yes;
    try {
      in.here = s.arms[i].condition->span;
      yes = known_truth(in, v);
    } catch (Error& e) {
      e.locate(s.arms[i].condition->span, in.frames);
      throw;
    }
    if (yes) {
      if (*yes) return execute(in, *s.arms[i].body, a);
      continue;
    }
    for (size_t k = i; k < s.arms.size(); ++k) {
      follow(in, s, a, [&] {
        if (k > i) evaluate(in, *s.arms[k].condition, a);
        return execute(in, *s.arms[k].body, a);
      });
    }
    if (s.else_body) follow(in, s, a, [&] { return execute(in, *s.else_body, a); });
    return Flow::normal;
  }
  return s.else_body ? execute(in, *s.else_body, a) : Flow::normal;
}

namespace {

void assign_item(Interpreter& in, const ast::ForStmt& s, Value item, Activation& a) {
  if (s.targets.size() == 1) return assign(in, *s.targets[0], std::move(item), a);
  ast::TupleExpr tuple(join(s.targets.front()->span, s.targets.back()->span));
  tuple.items = s.targets;
  assign(in, tuple, std::move(item), a);
}

// A loop whose number of rounds is unknown.
Flow some_rounds(Interpreter& in, const ast::Stmt& s, Activation& a, const std::function<Flow()>& round) {
  follow(in, s, a, round);
  forget(s, a);
  return Flow::normal;
}

}  // namespace

Flow look_at_for(Interpreter& in, const ast::ForStmt& s, Activation& a) {
  const Value iterable = evaluate(in, *s.iterable, a);
  LoopLook loop(in, s, a);
  Iterator it;
  auto next = [&]() -> std::optional<Value> {
    try {
      in.here = s.iterable->span;
      if (!it) it = iterator_of(in, iterable);
      return it();
    } catch (Error& e) {
      e.locate(s.iterable->span, in.frames);
      throw;
    }
  };
  return loop.follow_rounds(false, [&]() -> std::optional<Flow> {
    std::optional<Value> v;
    try {
      if (is_unknown(iterable) && !unknown_spec(iterable)) throw Unevaluated{};
      v = next();
    } catch (const Unevaluated&) {
      some_rounds(in, s, a, [&] {
        const Round round(s, a);
        auto* u = iterable.as<UnknownObject>();
        assign_item(in, s, u && u->element ? *u->element : unknown_value(), a);
        return execute(in, *s.body, a);
      });
      return std::nullopt;
    }
    if (!v) return std::nullopt;
    const Round round(s, a);
    assign_item(in, s, std::move(*v), a);
    return execute(in, *s.body, a);
  });
}

Flow look_at_while(Interpreter& in, const ast::WhileStmt& s, Activation& a) {
  LoopLook loop(in, s, a);
  return loop.follow_rounds(true, [&]() -> std::optional<Flow> {
    const Value v = evaluate(in, *s.condition, a);
    std::optional<bool> yes;
    try {
      in.here = s.condition->span;
      yes = known_truth(in, v);
    } catch (Error& e) {
      e.locate(s.condition->span, in.frames);
      throw;
    }
    if (!yes) some_rounds(in, s, a, [&] { return execute(in, *s.body, a); });
    if (!yes || !*yes) return std::nullopt;
    return execute(in, *s.body, a);
  });
}

}  // namespace pxl
