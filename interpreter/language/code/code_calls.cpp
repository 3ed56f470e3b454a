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
  PXL_INLINE Value call_direct(Interpreter& in, Activation& a, size_t max, F&& body) const {
    if (max > 1) return call_with_values(in, a, body);
    Value made;
    Scalar room;
    const Value* value = &made;
    if (count_ == 1) {
      value = arguments_[0].quick(a, room);
      if (!value)
        value = arguments_[0].has_quick() ? &arguments_[0].borrow(in, a, made) : &arguments_[0].keep(in, a, made);
    }
    return located_call(in, value, body);
  }
  template <class F>
  __attribute__((noinline)) Value call_with_values(Interpreter& in, Activation& a, F& body) const {
    Value values[max_direct];
    for (size_t i = 0; i < count_; ++i) arguments_[i].keep(in, a, values[i]);
    return located_call(in, values, body);
  }
  template <class F>
  PXL_INLINE Value located_call(Interpreter& in, const Value* values, F& body) const {
    in.here = span;
    charge(call_ns);
    try {
      return body(values);
    } catch (Error& error) {
      tell_operands(in, values, error);
      throw;
    }
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
    if (positional_ && f.parameters.size() == count_) {
      exact_ = true;
      absent_.clear();
      code_ = &code;
      function_ = f.serial;
      return true;
    }
    std::vector<uint32_t> slots;
    std::vector<bool> given(f.parameters.size());
    for (size_t i = 0; i < count_; ++i) {
      const ast::Argument& arg = e_.arguments[i];
      size_t at = i;
      if (arg.kind == ast::Argument::named)
        for (at = 0; at < f.parameters.size() && f.parameters[at].name != arg.name;) ++at;
      if (at >= f.parameters.size() || given[at]) return false;
      given[at] = true;
      slots.push_back(static_cast<uint32_t>(at));
    }
    std::vector<uint32_t> absent;
    for (size_t i = 0; i < f.parameters.size(); ++i) {
      if (given[i]) continue;
      if (!f.parameters[i].default_value) return false;
      absent.push_back(static_cast<uint32_t>(i));
    }
    exact_ = false;
    slots_ = std::move(slots);
    absent_ = std::move(absent);
    code_ = &code;
    function_ = f.serial;
    return true;
  }

  /// Calls the function that `takes` noted: `function`, or a method of the instance `self`.
  PXL_INLINE Value call_plain(Interpreter& in, Activation& a, const ast::Function& f, FunctionObject* function,
                              const Value* self) const {
    return exact_ ? call_exactly(in, a, f, function, self) : call_in_order(in, a, f, function, self);
  }

  /// Calls with one positional value for each parameter.
  __attribute__((noinline)) Value call_exactly(Interpreter& in, Activation& a, const ast::Function& f,
                                               FunctionObject* function, const Value* self) const {
    const auto keep = Ref<FunctionObject>::to(function);  // the name may be bound to another function meanwhile
    const FunctionCode& code = *code_;
    Activation inner(scope_of_body(function ? function->closure : self->as<ModuleInstance>()->scope, f));
    Scope& scope = *inner.scope;
    if (self) scope.fill(static_cast<size_t>(f.self_slot), *self);
    for (size_t i = 0; i < count_; ++i) arguments_[i].keep(in, a, scope.slot(i));
    in.here = span;
    charge(call_ns);
    if (!code.kinds.empty() && !code.admits(scope)) [[unlikely]]
      return call_with_checks(in, f, function, self, scope, nullptr);
    return run(in, code, inner, function ? function->qualified_name : f.qualified);
  }

  /// Calls with values by name, or with defaults.
  __attribute__((noinline)) Value call_in_order(Interpreter& in, Activation& a, const ast::Function& f,
                                                FunctionObject* function, const Value* self) const {
    const auto keep = Ref<FunctionObject>::to(function);
    const ScopePtr& closure = function ? function->closure : self->as<ModuleInstance>()->scope;
    const FunctionCode& code = *code_;
    Activation inner(scope_of_body(closure, f));
    Scope& scope = *inner.scope;
    if (self) {
      inner.self = *self;
      scope.fill(static_cast<size_t>(f.self_slot), *self);
    }
    for (size_t i = 0; i < count_; ++i) {
      Value v = arguments_[i].value(in, a);
      if (!leaves_) takes(f);  // the argument may have called another function at this place
      scope.fill(slots_[i], std::move(v));
    }
    in.here = span;
    charge(call_ns);
    if (!leaves_) takes(f);
    for (size_t i = 0; i < count_ && !code.kinds.empty(); ++i)
      if ((code.kinds[slots_[i]] & scope.slot(slots_[i]).kind_bit()) == 0)
        return call_with_checks(in, f, function, self, scope, slots_.data());
    try {
      for (const size_t at : absent_)
        scope.slot(at) = !code.defaults.empty() ? code.defaults[at]->value(in, inner)
                         : function             ? function->defaults[at]
                                                : default_of(in, f.parameters[at], closure, inner.self);
    } catch (Error& e) {
      e.locate(span, in.frames);
      throw;
    }
    return run(in, code, inner, function ? function->qualified_name : f.qualified);
  }

  /// Calls with the arguments that were put into slots. The general way converts them, or refuses one of them.
  __attribute__((noinline, cold)) Value call_with_checks(Interpreter& in, const ast::Function& f,
                                                         FunctionObject* function, const Value* self, Scope& scope,
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
    if (function) return invoke(in, Value(Ref<FunctionObject>::to(function)), std::move(args));
    auto method = make_ref<MethodObject>();
    method->code = ast::held(f);
    method->strong = self->ptr<ModuleInstance>();
    return invoke(in, Value(method), std::move(args));
  }

  PXL_INLINE Value run(Interpreter& in, const FunctionCode& code, Activation& inner, const std::string& what) const {
    CodePosition& position = in;
    const DepthGuard guard = located(position, span, [&] { return DepthGuard(position); });
    const CodeFrame frame(in, what, span);
    return in_memory(in, [&]() -> Value {
      if (code.result_kinds == Value::any_kind) [[likely]]
        return run_body(in, code, inner);
      Value result = run_body(in, code, inner);
      if ((code.result_kinds & result.kind_bit()) != 0) return result;
      return code.checked_result(in, inner, std::move(result));
    });
  }

  static Value default_of(Interpreter& in, const ast::Parameter& p, const ScopePtr& closure, const Value& self) {
    Activation outside;
    outside.scope = closure;
    outside.self = self;
    return evaluate(in, *p.default_value, outside);
  }

  Value call(Interpreter& in, Activation& a, const Value& callee) const {
    if (auto* builtin = callee.as<BuiltinObject>())
      return call_builtin(in, a, [&](Arguments& args) { return builtin->call_body(in, std::move(args)); });
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

  /// Calls C++ code with the arguments, in memory that all calls of this expression share.
  template <class F>
  __attribute__((noinline)) Value call_builtin(Interpreter& in, Activation& a, F&& body) const {
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
      throw;
    }
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
          located(in, arg.span, [&]() -> Value {
            for (Value& item : elements_of(in, v)) {
              args.positional.push_back(std::move(item));
              args.spans.push_back(arg.span);
            }
            return {};
          });
          break;
        case ast::Argument::spread_named:
          located(in, arg.span, [&]() -> Value {
            auto* dict = v.as<DictObject>();
            if (!dict) type_error("`**` in a call needs a dict, not " + with_article(v.type_name()));
            for (auto& [key, value] : dict->items) {
              const std::string* name = key.as_string();
              if (!name) type_error("`**` in a call needs a dict with str keys, got the key " + repr_of(in, key));
              args.named.push_back({*name, value, arg.span});
            }
            return {};
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
class ValueCallCode final : public CallCode {
 public:
  ValueCallCode(const ast::CallExpr& e, const Place& place) : CallCode(e, place), callee_(compile(*e.callee, place)) {
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

  Value value(Interpreter& in, Activation& a) const override {
    Scalar room;
    if (const Value* callee = callee_.quick(a, room)) return call_found(in, a, *callee);
    Value made;
    return call_found(in, a, callee_.borrow(in, a, made));
  }

 private:
  PXL_INLINE Value call_found(Interpreter& in, Activation& a, const Value& callee) const {
    if (auto* f = callee.as<FunctionObject>()) {
      if (f->self.is_none() && !look_ && takes(*f->code)) return call_plain(in, a, *f->code, f, nullptr);
    } else if (auto* b = callee.as<BuiltinObject>()) {
      if (b->direct && positional_ && !look_ && is_between(b->direct_min, b->direct_max))
        return call_direct(in, a, b->direct_max,
                           [&, direct = b->direct](const Value* values) { return direct(in, values, count_); });
    }
    return call_kept(in, a, callee);
  }
  __attribute__((noinline)) Value call_kept(Interpreter& in, Activation& a, Value callee) const {
    return call(in, a, callee);
  }

  Operand callee_;
  QuickTries tries_{};
};

/// A call of a member.
class MemberCallCode final : public CallCode {
 public:
  MemberCallCode(const ast::CallExpr& e, const Place& place, bool iterated)
      : CallCode(e, place),
        member_(as<ast::MemberExpr>(*e.callee)),
        name_(member_.name),
        pairs_(iterated && e.arguments.empty() && member_.name == "items"),
        base_(compile(*member_.base, place)) {}

  Value value(Interpreter& in, Activation& a) const override {
    Scalar room;
    if (const Value* base = base_.quick(a, room)) {
      if (const ast::Function* method = plain_method(*base)) return call_plain(in, a, *method, nullptr, base);
      if (leaves_) return call_member(in, a, *base);
    }
    return call_kept(in, a);
  }

 private:
  /// The method of an instance if it accepts the arguments without a check; otherwise null.
  PXL_INLINE const ast::Function* plain_method(const Value& base) const {
    auto* m = base.as<ModuleInstance>();
    const MethodObject* method = m ? methods_.method(*m, name_) : nullptr;
    if (!method) return nullptr;
    const ast::Function& f = *method->code;
    return takes(f) && !f.outlined && f.self_slot >= 0 ? &f : nullptr;
  }
  /// The base is kept alive if the arguments may change the place where it is stored.
  __attribute__((noinline)) Value call_kept(Interpreter& in, Activation& a) const {
    Value made;
    const Value& base = leaves_ ? base_.borrow(in, a, made) : base_.keep(in, a, made);
    if (const ast::Function* method = plain_method(base)) return call_plain(in, a, *method, nullptr, &base);
    return call_member(in, a, base);
  }
  Value call_member(Interpreter& in, Activation& a, const Value& base) const {
    if (auto* dict = pairs_ ? base.as<DictObject>() : nullptr) {
      in.here = span;
      return pairs_of(*dict);
    } else if (base.is_object()) {
      Object& self = *base.object();
      if (const std::type_info* type = &typeid(self); type != type_) {
        type_ = type;
        method_ = self.method_of_class(member_.name);
      }
      if (method_.direct && positional_ && is_between(method_.direct_min, method_.direct_max))
        return call_direct(in, a, method_.direct_max,
                           [&](const Value* values) { return method_.direct(method_.row, in, self, values, count_); });
      if (method_) {
        const ObjectPtr keep = base.object();
        return call_builtin(in, a, [&](const Arguments& args) { return method_.call(method_.row, in, self, args); });
      }
    }
    return call_found_member(in, a, base);
  }
  __attribute__((noinline)) Value call_found_member(Interpreter& in, Activation& a, Value base) const {
    const OpRow* op = base.as_array() ? array_op_method(member_.name) : nullptr;
    if (op) return call_builtin(in, a, [&](Arguments& args) { return call_op_method(in, *op, base, std::move(args)); });
    Value found;
    try {
      found = located(in, member_.span, [&] { return member_of(in, base, member_.name, member_.name_span); });
    } catch (Error& error) {
      note_member(in, base, member_.name, error);
      throw;
    }
    return call(in, a, found);
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
