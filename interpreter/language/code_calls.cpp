// Calls. A call of a function of the program puts its arguments into the slots of the new scope.
#include <algorithm>
#include <typeinfo>

#include "interpreter/graphs/modules.hpp"
#include "interpreter/language/code.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/foreign_names.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/language/located.hpp"
#include "interpreter/language/member_cache.hpp"
#include "interpreter/language/named_tensors.hpp"
#include "interpreter/syntax/node_as.hpp"
#include "interpreter/values/arrays.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/scope.hpp"
#include "runtime/base/budget.hpp"
#include "runtime/base/codes.hpp"

namespace pxl {

void note_member(Interpreter& in, const Value& base, const std::string& name, Error& error) {
  if (error.first().code != codes::unknown_member || base.as<NamespaceObject>()) return;
  if (base.is_object() && !base.object()->note_on_missing(name).empty()) return;
  const Value* function = evaluator_of(in).prelude()->find(name);
  if (const std::string_view way_out = way_out_of_method(name); !way_out.empty())
    error.first().notes = {std::string(way_out)};
  else if (function && function->as<BuiltinObject>())
    error.first().notes.push_back("`" + name + "` is a function, not a member: `" + name + "(...)`");
}

namespace {

using ast::ExprKind;

/// A call of a value that is no function: what the code may have meant.
void note_uncallable(const ast::Expr& callee, const Activation& a, Error& error) {
  if (callee.kind == ExprKind::member) {
    const std::string& name = as<ast::MemberExpr>(callee).name;
    error.first().notes.push_back("`" + name + "` is a value, not a method: leave out the parentheses");
  }
  if (callee.kind != ExprKind::name) return;
  const auto& name = as<ast::NameExpr>(callee);
  for (const Scope* s = a.scope.get(); s; s = s->outer.get()) {
    const Value* hidden = s->find_here(name.interned);
    if (!hidden || !can_be_called(*hidden)) continue;
    error.first().notes.push_back("a function outside is called `" + name.name + "` too: give this value another name");
    return;
  }
}

class CallCode final : public Code {
 public:
  CallCode(const ast::CallExpr& e, const Place& place, bool iterated)
      : Code(e.span),
        e_(e),
        look_(place.look),
        pairs_(iterated && e.arguments.empty() && e.callee->kind == ExprKind::member &&
               as<ast::MemberExpr>(*e.callee).name == "items"),
        member_(e.callee->kind == ExprKind::member && !look_ ? &as<ast::MemberExpr>(*e.callee) : nullptr),
        callee_(compile(member_ ? *member_->base : *e.callee, place)) {
    if (member_) member_name_ = member_->name;
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

  Value value(Interpreter& in, Activation& a) const override {
    Value made;
    // A base is kept if its arguments may change where it is stored.
    if (member_) return call_member(in, a, leaves_ ? callee_.borrow(in, a, made) : callee_.keep(in, a, made));
    const Value& callee = callee_.borrow(in, a, made);
    if (!look_) {
      if (auto* f = callee.as<FunctionObject>()) {
        if (f->self.is_none() && takes(*f->code)) {
          const auto keep = Ref<FunctionObject>::to(f);  // the name may be bound to another while it runs
          return call_plain(in, a, *f->code, f, nullptr);
        }
      } else if (auto* b = callee.as<BuiltinObject>()) {
        if (b->direct && positional_ && is_between(b->direct_min, b->direct_max))
          return call_direct(in, a, b->direct_max,
                             [&, direct = b->direct](const Value* values) { return direct(in, values, count_); });
      }
    }
    return call(in, a, Value(callee));
  }

 private:
  bool is_between(uint8_t min, uint8_t max) const { return count_ >= min && count_ <= max && max <= max_direct; }
  /// Calls code in C++ with few values.
  template <class F>
  PXL_INLINE Value call_direct(Interpreter& in, Activation& a, size_t max, F&& body) const {
    Value made[max_direct];
    const Value* values = made;
    if (count_ == 1 && max == 1)
      values = &arguments_[0].borrow(in, a, made[0]);
    else
      for (size_t i = 0; i < count_; ++i) arguments_[i].keep(in, a, made[i]);
    in.here = span;
    charge(call_ns);
    try {
      return body(values);
    } catch (Error& error) {
      error.locate(span, in.frames);
      NamedTensors operands;
      for (size_t i = 0; i < count_; ++i) operands.note(*e_.arguments[i].value, values[i]);
      operands.tell(error);
      throw;
    }
  }

  /// Whether a function takes the arguments without a check; notes which parameter each is for.
  PXL_INLINE bool takes(const ast::Function& f) const { return f.serial == function_ || finds_places(f); }
  __attribute__((noinline)) bool finds_places(const ast::Function& f) const {
    if (!f.plain || spread_) return false;
    if (positional_ && f.parameters.size() == count_) {
      absent_.clear();
      code_ = &code_of(f, &f.own.slots);
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
    slots_ = std::move(slots);
    absent_ = std::move(absent);
    code_ = &code_of(f, &f.own.slots);
    function_ = f.serial;
    return true;
  }

  Value call_member(Interpreter& in, Activation& a, const Value& base) const {
    if (auto* m = base.as<ModuleInstance>()) {
      const MethodObject* method = methods_.method(*m, member_name_);
      if (method && !method->code->outlined && method->code->self_slot >= 0 && takes(*method->code)) {
        try {
          return call_plain(in, a, *method->code, nullptr, &base);
        } catch (Error& e) {
          e.locate(in.here, in.frames);
          throw;
        }
      }
    } else if (auto* dict = pairs_ ? base.as<DictObject>() : nullptr) {
      in.here = span;
      return pairs_of(*dict);
    } else if (base.is_object()) {
      Object& self = *base.object();
      if (const std::type_info* type = &typeid(self); type != type_) {
        type_ = type;
        method_ = self.method_of_class(member_->name);
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
    const OpRow* op = base.as_array() ? array_op_method(member_->name) : nullptr;
    if (op) return call_builtin(in, a, [&](Arguments& args) { return call_op_method(in, *op, base, std::move(args)); });
    Value found;
    try {
      found = located(in, member_->span, [&] { return member_of(in, base, member_->name, member_->name_span); });
    } catch (Error& error) {
      note_member(in, base, member_->name, error);
      throw;
    }
    return call(in, a, found);
  }

  /// Calls the function that `takes` noted: `function`, or a method of the instance `self`.
  Value call_plain(Interpreter& in, Activation& a, const ast::Function& f, const FunctionObject* function,
                   const Value* self) const {
    const ScopePtr& closure = function ? function->closure : self->as<ModuleInstance>()->scope;
    const FunctionCode& code = *code_;
    Activation inner;
    inner.scope = scope_of_body(closure, f);
    Scope& scope = *inner.scope;
    if (self) {
      new (&inner.self) Value(*self);
      scope.fill(static_cast<size_t>(f.self_slot), *self);
    }
    if (positional_)
      for (size_t i = 0; i < count_; ++i) arguments_[i].keep(in, a, scope.slot(i));
    else
      for (size_t i = 0; i < count_; ++i) {
        Value v = arguments_[i].value(in, a);
        takes(f);  // the argument may have called another function at this place
        scope.fill(slots_[i], std::move(v));
      }
    in.here = span;
    charge(call_ns);
    CodePosition& position = in;
    try {
      takes(f);
      for (const size_t at : absent_)
        scope.slot(at) = function && !function->defaults.empty()
                             ? function->defaults[at]
                             : default_of(in, f.parameters[at], closure, inner.self);
      const CallFrame frame(position, function ? function->qualified_name : f.qualified, span);
      const DepthGuard guard(position);
      return run_body(in, code, inner);
    } catch (Error& e) {
      e.locate(span, in.frames);
      throw;
    }
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
      return invoke(in, callee, values, count_);
    }
    Arguments args;
    evaluate_arguments(in, a, args);
    in.here = span;
    try {
      return invoke(in, callee, std::move(args));
    } catch (Error& error) {
      if (!can_be_called(callee)) note_uncallable(*e_.callee, a, error);
      throw;
    }
  }

  /// Calls code in C++ with the arguments, which are in memory that calls of this expression share.
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
    NamedTensors operands;
    for (size_t i = 0; i < e_.arguments.size() && i < args.positional.size(); ++i) {
      if (e_.arguments[i].kind != ast::Argument::positional) break;
      operands.note(*e_.arguments[i].value, args.positional[i]);
    }
    try {
      const DepthGuard guard(in);
      return body(args);
    } catch (Error& error) {
      error.locate(span, in.frames);
      operands.tell(error);
      throw;
    }
  }

  /// The shared memory, or other memory while an outer call uses it.
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

  static constexpr int64_t call_ns = 100;  // as `invoke`
  static constexpr size_t max_direct = 4;  // of values by position that need no Arguments
  const ast::CallExpr& e_;
  bool look_;
  bool pairs_;  ///< `d.items()` in a loop, which makes no list of a dict's pairs
  bool positional_ = true, spread_ = false;
  bool leaves_ = true;  ///< all arguments are leaves
  size_t named_ = 0;
  const std::string* assigned_ = nullptr;  ///< the name that the value is assigned to
  const ast::MemberExpr* member_;          ///< the callee, if it is a member; then callee_ is its base
  Name member_name_;
  FieldCache methods_;
  Operand callee_;
  std::vector<Operand> arguments_;
  size_t count_ = 0;                              ///< of the arguments
  mutable const std::type_info* type_ = nullptr;  ///< of the object whose method was called last
  mutable Method method_;
  mutable Arguments shared_;
  mutable bool busy_ = false;
  mutable uint64_t function_ = UINT64_MAX;  ///< serial of the one that was called last; of it:
  mutable const FunctionCode* code_ = nullptr;
  mutable std::vector<uint32_t> slots_, absent_;  ///< of the parameters by argument, and without an argument
};

}  // namespace

CodePtr compile_call(const ast::CallExpr& e, const Place& place, bool iterated) {
  return std::make_unique<CallCode>(e, place, iterated);
}

}  // namespace pxl
