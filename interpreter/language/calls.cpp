// Calls: what is called, and its arguments.
#include <algorithm>

#include "interpreter/language/evaluate.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/foreign_names.hpp"
#include "interpreter/language/located.hpp"
#include "interpreter/language/named_tensors.hpp"
#include "interpreter/syntax/ast.hpp"
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
  if (function && function->as<BuiltinObject>())
    error.first().notes.push_back("`" + name + "` is a function, not a member: `" + name + "(...)`");
  else if (const std::string_view way_out = way_out_of_method(name); !way_out.empty())
    error.first().notes = {std::string(way_out)};
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

/// What a call calls: a value, or an op with the value as its first argument.
struct Callee {
  Value value;
  const OpRow* method = nullptr;
};

// The methods of arrays are ops: one that is called at once needs no function object.
Callee callee_of(Interpreter& in, const ast::Expr& e, Activation& a) {
  if (e.kind != ExprKind::member || in.checking) return {evaluate(in, e, a)};
  const auto& member = as<ast::MemberExpr>(e);
  Value base = evaluate(in, *member.base, a);
  const OpRow* method = base.as_array() ? array_op_method(member.name) : nullptr;
  if (method) return {std::move(base), method};
  try {
    return {located(in, e.span, [&] { return member_of(in, base, member.name, member.name_span); })};
  } catch (Error& error) {
    note_member(in, base, member.name, error);
    throw;
  }
}

Value call_method(Interpreter& in, const Callee& callee, Arguments args) {
  charge(100);  // as `invoke`
  const Span span = args.span;
  return located(in, span, [&] {
    const DepthGuard guard(in);
    return call_op_method(in, *callee.method, callee.value, std::move(args));
  });
}

}  // namespace

Value call_value(Interpreter& in, const ast::CallExpr& e, Activation& a) {
  const Callee callee = callee_of(in, *e.callee, a);
  Arguments args = evaluate_arguments(in, e, a);
  in.here = e.span;
  if (!callee.method && !callee.value.as<BuiltinObject>()) {
    try {
      return invoke(in, callee.value, std::move(args));
    } catch (Error& error) {
      if (!can_be_called(callee.value)) note_uncallable(*e.callee, a, error);
      throw;
    }
  }
  NamedTensors operands;
  for (size_t i = 0; i < e.arguments.size() && i < args.positional.size(); ++i) {
    if (e.arguments[i].kind != ast::Argument::positional) break;
    operands.note(*e.arguments[i].value, args.positional[i]);
  }
  try {
    return callee.method ? call_method(in, callee, std::move(args)) : invoke(in, callee.value, std::move(args));
  } catch (Error& error) {
    operands.tell(error);
    throw;
  }
}

Arguments evaluate_arguments(Interpreter& in, const ast::CallExpr& call, Activation& a) {
  Arguments args;
  args.span = call.span;
  const auto named =
      static_cast<size_t>(std::count_if(call.arguments.begin(), call.arguments.end(),
                                        [](const ast::Argument& arg) { return arg.kind == ast::Argument::named; }));
  args.positional.reserve(call.arguments.size() - named);
  args.spans.reserve(call.arguments.size() - named);
  args.named.reserve(named);
  for (const ast::Argument& arg : call.arguments) {
    Value v = evaluate(in, *arg.value, a);
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
  return args;
}

}  // namespace pxl
