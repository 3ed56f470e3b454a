// Calls. A call to a function of the program puts its arguments into the slots of the new scope.
#include <fmt/format.h>

#include <algorithm>
#include <typeinfo>

#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/language/code/code.hpp"
#include "interpreter/language/code/member_cache.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/language/located.hpp"
#include "interpreter/language/names/foreign_names.hpp"
#include "interpreter/language/names/name_fixes.hpp"
#include "interpreter/language/written_operands.hpp"
#include "interpreter/syntax/node_as.hpp"
#include "interpreter/values/arrays/arrays.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/unknown.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/budget.hpp"

namespace pxl {

void note_member(Interpreter& in, const Value& base, const std::string& name, Error& error) {
  if (error.first().code != codes::unknown_member) return;
  if (const auto* module = base.as<NamespaceObject>()) return explain_unknown_import(error.first(), module->name, name);
  const bool noted = base.is_object() && !base.object()->note_on_missing(name).empty();
  if (noted && !foreign_member(name, base.type_name())) return;
  const Value* function = evaluator_of(in).prelude()->find(name);
  explain_unknown_member(error.first(), base, name, function && function->as<BuiltinObject>());
}

namespace {

using ast::ExprKind;

/// The last statement `name = ...` up to the line of the name, or null.
Span last_binding(const Span& name) {
  const SourceFile& file = *name.file;
  for (int number = file.position(name.begin).line; number > 0; --number) {
    const std::string_view line = file.line(number);
    const size_t at = line.find_first_not_of(" \t");
    if (at == line.npos || !line.substr(at).starts_with(name.text())) continue;
    const size_t sign = line.find_first_not_of(' ', at + name.text().size());
    if (sign == line.npos || line[sign] != '=' || line.substr(sign).starts_with("==")) continue;
    const uint32_t begin = file.line_start(number) + static_cast<uint32_t>(at);
    return {name.file, begin, begin + static_cast<uint32_t>(name.text().size())};
  }
  return {};
}

/// A call of a value that is no function: what the code may have meant.
void note_uncallable(const ast::CallExpr& call, const Value& value, const Activation& a, Error& error) {
  const ast::Expr& callee = *call.callee;
  if (const auto* pair = value.as<TupleObject>(); pair && pair->items.size() == 2 && pair->items[1].as<GraphObject>())
    error.first().notes.push_back(
        "`create_graph` returns the params and the graph: `facts, graph = ...`, then `graph.bind(facts.init())`");
  if (callee.kind == ExprKind::member) {
    const std::string& name = as<ast::MemberExpr>(callee).name;
    if (name == "size" && call.arguments.size() == 1) {
      const std::string extent = fmt::format("{}.shape[{}]", as<ast::MemberExpr>(callee).base->span.text(),
                                             call.arguments[0].value->span.text());
      error.first().notes.push_back(fmt::format("the extent of an axis is `{}`", extent));
      error.offer(call.span, extent);
    } else {
      error.first().notes.push_back("`" + name + "` is a value, not a method: leave out the parentheses");
      if (call.arguments.empty())
        error.offer({call.span.file, callee.span.end, call.span.end}, "", "Remove the parentheses");
    }
  }
  if (callee.kind != ExprKind::name) return;
  const auto& name = as<ast::NameExpr>(callee);
  error.relate(last_binding(callee.span), fmt::format("`{}` is bound here", name.name));
  for (const Scope* s = a.scope.get(); s; s = s->outer.get()) {
    const Value* hidden = s->find_here(name.interned);
    if (!hidden || !can_be_called(*hidden)) continue;
    error.first().notes.push_back("a function outside is called `" + name.name + "` too: give this value another name");
    return;
  }
}

/// A call. The class has the arguments, and the ways to pass them to functions.
class CallCode : public Code {
 public:
  CallCode(const ast::CallExpr& e, const Place& place) : Code(e.span), e_(e), look_(place.look) {
    if (place.assignment && place.assignment->value == &e)
      assigned_ = &as<ast::NameExpr>(*place.assignment->targets[0]).name;
    count_ = e.arguments.size();
    arguments_.reserve(count_);
    for (const ast::Argument& arg : e.arguments) {
      arguments_.push_back(compile(*arg.value, place));
      leaves_ = leaves_ && arguments_.back()->is_leaf();
      positional_ = positional_ && arg.kind == ast::Argument::positional;
      spread_ = spread_ || arg.kind == ast::Argument::spread || arg.kind == ast::Argument::spread_named;
      named_ += arg.kind == ast::Argument::named;
    }
  }

 protected:
  bool is_between(uint8_t min, uint8_t max) const { return count_ >= min && count_ <= max && max <= max_direct; }
  /// Calls C++ code with few values, which `body` receives.
  template <class F>
  PXL_INLINE bool call_direct(Interpreter& in, Activation& a, size_t max, Value& out, F&& body,
                              BuiltinObject::Refusal refusal = nullptr) const {
    constexpr size_t few = 2;
    if (max > few) return call_with_values<max_direct>(in, a, out, body, refusal);
    if (max > 1) return call_with_values<few>(in, a, out, body, refusal);
    Value made;
    Scalar room;
    const Value* value = &made;
    if (count_ == 1) {
      value = arguments_[0].quick(a, room);
      if (!value) {
        if (!arguments_[0].attempt(in, a, made)) return passed_on(made, out);
        value = &made;
      }
    }
    return located_call(in, value, out, body, refusal);
  }
  template <size_t most, class F>
  __attribute__((noinline)) bool call_with_values(Interpreter& in, Activation& a, Value& out, F& body,
                                                  BuiltinObject::Refusal refusal) const {
    Value values[most];
    for (size_t i = 0; i < count_; ++i)
      if (!arguments_[i].attempt(in, a, values[i])) return passed_on(values[i], out);
    return located_call(in, values, out, body, refusal);
  }
  template <class F>
  PXL_INLINE bool located_call(Interpreter& in, const Value* values, Value& out, F& body,
                               BuiltinObject::Refusal refusal) const {
    in.here = span;
    charge(call_ns);
    try {
      new (&out) Value(body(values));
      if (!out.is_unset()) [[likely]]
        return true;
      Error error = refusal(values);
      return refused(in, values, error, out);
    } catch (Error& error) {
      return refused(in, values, error, out);
    }
  }
  /// The failure of a call of C++ code.
  __attribute__((noinline, cold)) bool refused(Interpreter& in, const Value* values, Error& error, Value& out) const {
    tell_operands(in, values, error);
    return failed(in, error, out);
  }
  __attribute__((noinline, cold)) void tell_operands(Interpreter& in, const Value* values, Error& error) const {
    error.locate(span, in.frames);
    WrittenOperands operands;
    for (size_t i = 0; i < count_; ++i) operands.note(e_.arguments[i].value->span, values[i]);
    operands.tell(error);
  }

  /// Whether a function accepts the arguments without a check. Notes the parameter for each argument.
  PXL_INLINE bool takes(const ast::Function& f) const { return f.serial == function_ || finds_places(f); }
  __attribute__((noinline)) bool finds_places(const ast::Function& f) const {
    if (!f.ordinary || spread_) return false;
    const FunctionCode& code = code_of(f, &f.own.slots);
    if (!code.quick) return false;
    const bool exact = positional_ && f.parameters.size() == count_;
    std::vector<uint32_t> slots, absent;
    std::vector<bool> given(exact ? 0 : f.parameters.size());
    for (size_t i = 0; i < count_ && !exact; ++i) {
      const ast::Argument& arg = e_.arguments[i];
      size_t at = i;
      if (arg.kind == ast::Argument::named)
        for (at = 0; at < f.parameters.size() && f.parameters[at].name != arg.name;) ++at;
      if (at >= f.parameters.size() || given[at]) return false;
      given[at] = true;
      slots.push_back(static_cast<uint32_t>(at));
    }
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i]) continue;
      if (!f.parameters[i].default_value) return false;
      absent.push_back(static_cast<uint32_t>(i));
    }
    exact_ = exact;
    slots_ = std::move(slots);
    absent_ = std::move(absent);
    code_ = &code;
    function_ = f.serial;
    return true;
  }

  /// Calls the function that `takes` noted. `callee` is a FunctionObject, or the ModuleInstance of a method.
  template <class Callee>
  PXL_INLINE bool call_plain(Interpreter& in, Activation& a, Callee& callee, Value& out) const {
    return exact_ ? call_quick<true>(in, a, callee, out) : call_quick<false>(in, a, callee, out);
  }

  /// `exact`: the call has one positional value for each parameter.
  template <bool exact, class Callee>
  __attribute__((noinline)) bool call_quick(Interpreter& in, Activation& a, Callee& callee, Value& out) const {
    constexpr bool is_method = std::is_same_v<Callee, ModuleInstance>;
    const FunctionCode& code = *code_;
    const ast::Function& f = *code.function;
    const ScopePtr& closure = closure_of(callee);
    BodyScope memory;
    Activation inner(memory.begin(closure, f));
    Scope& scope = *inner.scope;
    // The name of the callee may be bound to another value meanwhile.
    std::conditional_t<is_method, std::nullptr_t, Ref<Callee>> keep = nullptr;
    if constexpr (is_method) {
      if constexpr (!exact) inner.self = Ref<Callee>::to(&callee);
      scope.fill(static_cast<size_t>(f.self_slot), Ref<Callee>::to(&callee));
    } else {
      keep = Ref<Callee>::to(&callee);
    }
    for (size_t i = 0; i < count_; ++i) {
      if constexpr (exact) {
        if (!arguments_[i].attempt(in, a, scope.slot(i))) return passed_on(scope.slot(i), out);
      } else {
        Value v;
        if (!arguments_[i].attempt(in, a, v)) return passed_on(v, out);
        if (!leaves_) takes(f);  // the argument may have called another function at this place
        scope.fill(slots_[i], std::move(v));
      }
    }
    in.here = span;
    charge(call_ns);
    if constexpr (!exact)
      if (!leaves_) takes(f);
    if (!code.kinds.empty() && !admits<exact>(code, scope)) [[unlikely]] {
      new (&out) Value(call_with_checks(in, kept_value(callee, f), scope, exact ? nullptr : slots_.data()));
      return true;
    }
    if constexpr (!exact) set_absent(in, code, defaults_of(callee), closure, inner);
    if (code.passing && code.find_result(inner, out)) return true;
    if (DepthGuard::is_full(in)) [[unlikely]]
      return failure_of(in, out, [&] { const DepthGuard refusing(in); });
    const DepthGuard guard(in, DepthGuard::Room::checked);
    const CodeFrame frame(in, is_method ? f.qualified : f.name, span);
    try {
      if (!attempt_body(in, code, inner, out)) return false;
      if (code.result_kinds == Value::any_kind || (code.result_kinds & out.kind_bit()) != 0) [[likely]]
        return true;
      out = code.checked_result(in, inner, std::move(out));
      return true;
    } catch (Error& error) {
      return failed(in, error, out);
    } catch (const std::bad_alloc&) {
      return failure_of(in, out, [&] { refuse_memory(in); });
    }
  }

  template <bool exact>
  PXL_INLINE bool admits(const FunctionCode& code, const Scope& scope) const {
    if constexpr (exact) return code.admits(scope);
    for (size_t i = 0; i < count_; ++i)
      if ((code.kinds[slots_[i]] & scope.slot(slots_[i]).kind_bit()) == 0) return false;
    return true;
  }
  static const ScopePtr& closure_of(const FunctionObject& f) { return f.closure; }
  static const ScopePtr& closure_of(const ModuleInstance& m) { return m.scope; }
  static const std::vector<Value>* defaults_of(const FunctionObject& f) { return &f.defaults; }
  static const std::vector<Value>* defaults_of(const ModuleInstance&) { return nullptr; }
  static Value kept_value(FunctionObject& callee, const ast::Function&) { return callee.shared_from_this(); }
  static Value kept_value(ModuleInstance& m, const ast::Function& f) {
    auto method = make_ref<MethodObject>();
    method->code = ast::held(f);
    method->strong = ModuleInstancePtr::to(&m);
    return method;
  }
  /// `defaults`: those of a function; null for a method, whose defaults are evaluated at each call.
  void set_absent(Interpreter& in, const FunctionCode& code, const std::vector<Value>* defaults,
                  const ScopePtr& closure, Activation& inner) const {
    try {
      for (const size_t at : absent_)
        inner.scope->slot(at) = !code.defaults.empty() ? code.defaults[at]->value(in, inner)
                                : defaults             ? (*defaults)[at]
                                           : default_of(in, code.function->parameters[at], closure, inner.self);
    } catch (Error& e) {
      e.locate(span, in.frames);
      throw;
    }
  }
  /// The failure of a check that throws.
  template <class F>
  __attribute__((noinline, cold)) static bool failure_of(Interpreter& in, Value& out, F&& check) {
    try {
      check();
    } catch (Error& error) {
      failed(in, error, out);
    }
    return false;
  }

  /// Calls with the arguments that were put into slots. The general way converts them, or refuses one of them.
  __attribute__((noinline, cold)) Value call_with_checks(Interpreter& in, const Value& callee, Scope& scope,
                                                         const uint32_t* slots) const {
    Arguments args;
    args.span = span;
    for (size_t i = 0; i < count_; ++i) {
      const ast::Argument& arg = e_.arguments[i];
      Value& v = scope.slot(slots ? slots[i] : i);
      if (arg.kind == ast::Argument::named) {
        args.named.push_back({arg.name, std::move(v), arg.span});
      } else {
        args.positional.push_back(std::move(v));
        args.spans.push_back(arg.value->span);
      }
    }
    return invoke(in, callee, std::move(args));
  }

  static Value default_of(Interpreter& in, const ast::Parameter& p, const ScopePtr& closure, const Value& self) {
    Activation outside;
    outside.scope = closure;
    outside.self = self;
    return evaluate(in, *p.default_value, outside);
  }

  bool call(Interpreter& in, Activation& a, const Value& callee, Value& out) const {
    if (auto* builtin = callee.as<BuiltinObject>())
      return call_builtin(in, a, out, [&](Arguments& args) {
        if (builtin->raised && !in.checking) return raise(in, *builtin, args, out);
        new (&out) Value(builtin->call_body(in, std::move(args)));
        return true;
      });
    new (&out) Value(call_object(in, a, callee));
    return true;
  }
  Value call_object(Interpreter& in, Activation& a, const Value& callee) const {
    if (positional_ && count_ <= max_direct && !look_ && callee.is_object() &&
        callee.object()->takes_by_position(count_)) {
      Value values[max_direct];
      for (size_t i = 0; i < count_; ++i) arguments_[i].keep(in, a, values[i]);
      in.here = span;
      if (callee.object()->admits(values, count_)) return invoke(in, callee, values, count_);
      Arguments args;
      args.span = span;
      for (size_t i = 0; i < count_; ++i) {
        args.positional.push_back(std::move(values[i]));
        args.spans.push_back(e_.arguments[i].value->span);
      }
      return call_with(in, a, callee, std::move(args));
    }
    Arguments args;
    evaluate_arguments(in, a, args);
    in.here = span;
    return call_with(in, a, callee, std::move(args));
  }
  Value call_with(Interpreter& in, Activation& a, const Value& callee, Arguments args) const {
    try {
      return invoke(in, callee, std::move(args));
    } catch (Error& error) {
      if (!can_be_called(callee) || unknown_spec(callee)) note_uncallable(e_, callee, a, error);
      throw;
    }
  }

  /// Calls C++ code with the arguments, in memory that all calls of this expression share. `body` sets `out`.
  template <class F>
  __attribute__((noinline)) bool call_builtin(Interpreter& in, Activation& a, Value& out, F&& body) const {
    Arguments own;
    const Use use(*this, own);
    Arguments& args = use.args;
    evaluate_arguments(in, a, args);
    in.here = span;
    charge(call_ns);
    if (assigned_) {
      in.target = assigned_;
      in.target_call = span;
    }
    WrittenOperands operands;
    for (size_t i = 0; i < e_.arguments.size() && i < args.positional.size(); ++i) {
      if (e_.arguments[i].kind != ast::Argument::positional) break;
      operands.note(e_.arguments[i].value->span, args.positional[i]);
    }
    try {
      const DepthGuard guard(in);
      return body(args);
    } catch (Error& error) {
      locate_part(in, error);
      error.locate(span, in.frames);
      operands.tell(error);
      return failed(in, error, out);
    }
  }

  static bool raise(Interpreter& in, const BuiltinObject& builtin, Arguments& args, Value& out) {
    args.callee = builtin.declared();
    Error error = builtin.raised(in, args);
    return failed(in, error, out);
  }

  /// `zeros([2, -1])`: an extent of the only list among the arguments.
  __attribute__((noinline, cold)) void locate_part(Interpreter& in, Error& error) const {
    const auto* of_part = dynamic_cast<const ErrorOfPart*>(&error);
    const std::vector<ast::Expr*>* items = nullptr;
    for (const ast::Argument& arg : e_.arguments) {
      const ast::Expr& e = *arg.value;
      if (e.kind != ExprKind::list && e.kind != ExprKind::tuple) continue;
      if (items) return;
      items = e.kind == ExprKind::list ? &as<ast::ListExpr>(e).items : &as<ast::TupleExpr>(e).items;
    }
    if (of_part && items && of_part->part < items->size()) error.locate((*items)[of_part->part]->span, in.frames);
  }

  /// Uses the shared memory, or other memory while an outer call uses it.
  struct Use {
    const CallCode& code;
    Arguments& args;
    Use(const CallCode& c, Arguments& own) : code(c), args(c.busy_ ? own : c.shared_) {
      if (&args == &c.shared_) c.busy_ = true;
    }
    ~Use() {
      if (&args != &code.shared_) return;
      args.positional.clear();
      args.spans.clear();
      args.named.clear();
      code.busy_ = false;
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
  };

  void evaluate_arguments(Interpreter& in, Activation& a, Arguments& args) const {
    args.span = span;
    args.positional.reserve(count_ - named_);
    args.spans.reserve(count_ - named_);
    args.named.reserve(named_);
    for (size_t i = 0; i < count_; ++i) {
      const ast::Argument& arg = e_.arguments[i];
      Value v = arguments_[i].value(in, a);
      switch (arg.kind) {
        case ast::Argument::positional:
          args.positional.push_back(std::move(v));
          args.spans.push_back(arg.value->span);
          break;
        case ast::Argument::named: args.named.push_back({arg.name, std::move(v), arg.span}); break;
        case ast::Argument::spread:
          located(in, arg.span, [&] {
            for (Value& item : elements_of(in, v)) {
              args.positional.push_back(std::move(item));
              args.spans.push_back(arg.span);
            }
          });
          break;
        case ast::Argument::spread_named:
          located(in, arg.span, [&] {
            auto* dict = v.as<DictObject>();
            if (!dict) type_error("`**` in a call needs a dict, not " + with_article(v.type_name()));
            for (auto& [key, value] : dict->items) {
              const std::string* name = key.as_string();
              if (!name) type_error("`**` in a call needs a dict with str keys, got the key " + repr_of(in, key));
              args.named.push_back({*name, value, arg.span});
            }
          });
          break;
      }
    }
  }

  static constexpr int64_t call_ns = 100;  // cost of a call, as in `invoke`
  static constexpr size_t max_direct = 4;  // maximum positional values that need no Arguments
  const ast::CallExpr& e_;
  bool look_;
  bool positional_ = true, spread_ = false;
  bool leaves_ = true;  ///< all arguments are leaves
  size_t named_ = 0;
  const std::string* assigned_ = nullptr;  ///< the name that the value is assigned to
  std::vector<Operand> arguments_;
  size_t count_ = 0;  ///< number of arguments
  mutable Arguments shared_;
  mutable bool busy_ = false;
  mutable uint64_t function_ = UINT64_MAX;  ///< serial of the function that was called last; the rest belongs to it
  mutable bool exact_ = false;              ///< it has a parameter for each argument by position, and no others
  mutable const FunctionCode* code_ = nullptr;
  mutable std::vector<uint32_t> slots_, absent_;  ///< slots by argument, and of parameters without an argument
};

/// A call of an expression's value, which is usually a name.
class ValueCallCode final : public AttemptedCode<ValueCallCode, CallCode> {
 public:
  ValueCallCode(const ast::CallExpr& e, const Place& place)
      : AttemptedCode(e, place), callee_(compile(*e.callee, place)) {
    if (count_ == 1 && positional_) tries_ = QuickTries{&callee_, &arguments_[0]};
  }
  bool has_quick() const override { return static_cast<bool>(tries_); }
  const Value* quick(const Activation& a, Scalar& room) const override {
    if (!tries_) return nullptr;
    Scalar other;
    const Value* callee = callee_.quick(a, other);
    auto* b = callee ? callee->as<BuiltinObject>() : nullptr;
    const Value* v = b && b->quick ? arguments_[0].quick(a, other) : nullptr;
    if (v && b->quick(*v, *new (&room.value) Value())) return &room.value;
    tries_.failed();
    return nullptr;
  }

  bool attempt(Interpreter& in, Activation& a, Value& out) const override {
    const Value* callee = callee_.named(a);
    if (auto* f = callee ? callee->as<FunctionObject>() : nullptr)
      if (!look_ && takes(*f->code)) [[likely]]
        return call_plain(in, a, *f, out);
    return call_other(in, a, out);
  }

 private:
  __attribute__((noinline)) bool call_other(Interpreter& in, Activation& a, Value& out) const {
    Scalar room;
    if (const Value* callee = callee_.quick(a, room)) return call_found(in, a, *callee, out);
    Value made;
    return call_found(in, a, callee_.borrow(in, a, made), out);
  }
  PXL_INLINE bool call_found(Interpreter& in, Activation& a, const Value& callee, Value& out) const {
    if (auto* f = callee.as<FunctionObject>()) {
      if (!look_ && takes(*f->code)) return call_plain(in, a, *f, out);
    } else if (auto* b = callee.as<BuiltinObject>()) {
      if (b->direct && positional_ && !look_ && is_between(b->direct_min, b->direct_max))
        return call_direct(
            in, a, b->direct_max, out,
            [&, direct = b->direct](const Value* values) { return direct(in, values, count_); }, b->refusal);
    }
    return call_kept(in, a, callee, out);
  }
  __attribute__((noinline)) bool call_kept(Interpreter& in, Activation& a, Value callee, Value& out) const {
    return call(in, a, callee, out);
  }

  Operand callee_;
  QuickTries tries_{};
};

/// A call of a member.
class MemberCallCode final : public AttemptedCode<MemberCallCode, CallCode> {
 public:
  MemberCallCode(const ast::CallExpr& e, const Place& place, bool iterated)
      : AttemptedCode(e, place),
        member_(as<ast::MemberExpr>(*e.callee)),
        name_(member_.name),
        pairs_(iterated && e.arguments.empty() && member_.name == "items"),
        base_(compile(*member_.base, place)) {}

  bool attempt(Interpreter& in, Activation& a, Value& out) const override {
    Scalar room;
    if (const Value* base = base_.quick(a, room)) {
      if (ModuleInstance* m = takes_method(*base)) return call_plain(in, a, *m, out);
      if (leaves_) return call_member(in, a, *base, out);
    }
    return call_kept(in, a, out);
  }

 private:
  /// The instance if its method accepts the arguments without a check; otherwise null.
  PXL_INLINE ModuleInstance* takes_method(const Value& base) const {
    auto* m = base.as<ModuleInstance>();
    const MethodObject* method = m ? methods_.method(*m, name_) : nullptr;
    if (!method) return nullptr;
    const ast::Function& f = *method->code;
    return f.serial == function_ || (!f.outlined && f.self_slot >= 0 && finds_places(f)) ? m : nullptr;
  }
  /// The base is kept alive if the arguments may change the place where it is stored.
  __attribute__((noinline)) bool call_kept(Interpreter& in, Activation& a, Value& out) const {
    Value made;
    const Value& base = leaves_ ? base_.borrow(in, a, made) : base_.keep(in, a, made);
    if (ModuleInstance* m = takes_method(base)) return call_plain(in, a, *m, out);
    return call_member(in, a, base, out);
  }
  bool call_member(Interpreter& in, Activation& a, const Value& base, Value& out) const {
    if (auto* dict = pairs_ ? base.as<DictObject>() : nullptr) {
      in.here = span;
      new (&out) Value(pairs_of(*dict));
      return true;
    } else if (base.is_object()) {
      Object& self = *base.object();
      if (const std::type_info* type = &typeid(self); type != type_) {
        type_ = type;
        method_ = self.method_of_class(member_.name);
      }
      if (method_.direct && positional_ && is_between(method_.direct_min, method_.direct_max))
        return call_direct(in, a, method_.direct_max, out,
                           [&](const Value* values) { return method_.direct(method_.row, in, self, values, count_); });
      if (method_) {
        const ObjectPtr keep = base.object();
        return call_builtin(in, a, out, [&](const Arguments& args) {
          new (&out) Value(method_.call(method_.row, in, self, args));
          return true;
        });
      }
    }
    return call_found_member(in, a, base, out);
  }
  __attribute__((noinline)) bool call_found_member(Interpreter& in, Activation& a, Value base, Value& out) const {
    const OpRow* op = base.as_array() ? array_op_method(member_.name) : nullptr;
    if (op)
      return call_builtin(in, a, out, [&](Arguments& args) {
        new (&out) Value(call_op_method(in, *op, base, std::move(args)));
        return true;
      });
    Value found;
    try {
      found = located(in, member_.span, [&] { return member_of(in, base, member_.name, member_.name_span); });
    } catch (Error& error) {
      note_member(in, base, member_.name, error);
      throw;
    }
    return call(in, a, found, out);
  }

  const ast::MemberExpr& member_;
  Name name_;
  bool pairs_;  ///< `d.items()` in a loop, which makes no list of the dict's pairs
  FieldCache methods_;
  Operand base_;
  mutable const std::type_info* type_ = nullptr;  ///< type of the object whose method was called last
  mutable Method method_;
};

}  // namespace

CodePtr compile_call(const ast::CallExpr& e, const Place& place, bool iterated) {
  if (e.callee->kind == ExprKind::member && !place.look) return std::make_unique<MemberCallCode>(e, place, iterated);
  return std::make_unique<ValueCallCode>(e, place);
}

}  // namespace pxl
