// Functions: calls, the binding of arguments to parameters, and running bodies.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/elaborate/check.hpp"
#include "interpreter/elaborate/internal.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/base/suggest.hpp"

namespace pxl {

CallFrame::CallFrame(Interpreter& in, std::string what, Span at) : in_(in), frames_(in.frames), here_(in.here) {
  in.frames = std::make_shared<Frame>(Frame{std::move(what), at, frames_});
}
CallFrame::~CallFrame() {
  in_.frames = frames_;
  in_.here = here_;
}

Value Interpreter::call(const Value& callee, Arguments args) {
  const Span span = args.span ? args.span : here;
  check_interrupt();
  try {
    const DepthGuard guard(*this);
    if (!callee.is_object() || !callee.object()->callable()) {
      throw Error(with_article(callee.type_name()) + " is not callable").as(codes::type);
    }
    // The callee may be rebound while it runs.
    const ObjectPtr keep = callee.object();
    return keep->call(*this, std::move(args));
  } catch (Error& e) {
    e.locate(span, frames);
    throw;
  }
}

Value Interpreter::call(const Value& callee, std::vector<Value> positional) {
  Arguments args;
  args.span = here;
  args.positional = std::move(positional);
  return call(callee, std::move(args));
}

std::string FunctionObject::repr(Interpreter&) { return "<function " + qualified_name + ">"; }

Value FunctionObject::call(Interpreter& in, Arguments args) {
  Activation a;
  a.scope = std::make_shared<Scope>(closure);
  a.kind = Activation::Kind::function;
  a.self = self;
  if (!self.is_none()) a.scope->bind("self", self);
  in.bind_parameters(qualified_name, code->parameters, std::move(args), a.scope, closure);
  const CallFrame frame(in, qualified_name, in.here);
  return in.run_function(*code, a);
}

Value Interpreter::run_function(const ast::Function& f, Activation& a) {
  DepthGuard guard(*this);
  auto body = [&] {
    if (f.result)
      a.result = evaluate(*f.result, a);
    else if (f.body)
      execute(*f.body, a);
  };
  if (f.contexts.empty())
    body();
  else
    with_contexts(*this, f.contexts, a, body);
  return std::move(a.result);
}

namespace {

std::string counted(size_t n, const char* noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

}  // namespace

// Defaults are evaluated at the call, in the scope of the definition; so a mutable default is fresh every time.
void Interpreter::bind_parameters(const std::string& what, const std::vector<ast::Parameter>& parameters,
                                  Arguments args, const ScopePtr& scope, const ScopePtr& defaults_scope) {
  const Span span = args.span ? args.span : here;
  auto refuse = [&](std::string message, std::vector<std::string> notes, const Span& at) {
    Error e(std::move(message), std::move(notes));
    e.as(codes::arguments);
    e.locate(at ? at : span, frames);
    throw e;
  };
  size_t plain = 0;
  bool rest = false;
  for (const ast::Parameter& p : parameters) p.rest ? rest = true : (++plain, false);
  if (!rest && args.positional.size() > plain) {
    refuse(fmt::format("{} takes {}, got {}", what, plain ? counted(plain, "argument") : "no arguments",
                       args.positional.size()),
           {}, args.spans.size() > plain ? args.spans[plain] : span);
  }

  std::vector<std::optional<Value>> given(parameters.size());
  std::vector<Span> places(parameters.size(), span);
  size_t next = 0;
  for (size_t i = 0; i < parameters.size() && next < args.positional.size(); ++i) {
    if (parameters[i].rest) {
      std::vector<Value> items(args.positional.begin() + static_cast<std::ptrdiff_t>(next), args.positional.end());
      next = args.positional.size();
      given[i] = make_list(std::move(items));
      break;
    }
    if (next < args.spans.size()) places[i] = args.spans[next];
    given[i] = std::move(args.positional[next++]);
  }
  for (NamedArg& named : args.named) {
    size_t i = 0;
    while (i < parameters.size() && (parameters[i].rest || parameters[i].name != named.name)) ++i;
    if (i == parameters.size()) {
      std::vector<std::string> names, notes;
      for (const ast::Parameter& p : parameters) names.push_back(p.name);
      if (std::string hint = did_you_mean(named.name, names); !hint.empty()) notes.push_back(hint);
      refuse(fmt::format("{} has no argument named `{}`", what, named.name), notes, named.span);
    }
    if (given[i]) refuse(fmt::format("{}: argument `{}` was given twice", what, named.name), {}, named.span);
    given[i] = std::move(named.value);
    if (named.span) places[i] = named.span;
  }

  // The instance whose configuration the annotations may read.
  Activation a;
  a.scope = scope;
  if (const Value* self = scope->find_here("self")) a.self = *self;
  Activation outside;
  outside.scope = defaults_scope;
  outside.self = a.self;
  std::vector<std::string> missing;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!given[i] && !parameters[i].rest && !parameters[i].default_value)
      missing.push_back("`" + parameters[i].name + "`");
  }
  if (!missing.empty()) {
    std::string list;
    for (size_t i = 0; i < missing.size(); ++i)
      list += (i == 0 ? "" : i + 1 == missing.size() ? " and " : ", ") + missing[i];
    refuse(fmt::format("{}: missing argument{} {}", what, missing.size() == 1 ? "" : "s", list), {}, span);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ast::Parameter& p = parameters[i];
    Value v;
    if (given[i])
      v = std::move(*given[i]);
    else if (p.rest)
      v = make_list({});
    else
      v = evaluate(*p.default_value, outside);
    if (p.annotation && !(p.default_value && v.is_none())) {
      try {
        v = check_annotation(*this, what, p, std::move(v), a);
      } catch (Error& e) {
        e.locate(places[i] ? places[i] : p.span, frames);
        throw;
      }
    }
    observed(*this, p.span, v);
    scope->bind(p.name, std::move(v));
  }
}

}  // namespace pxl
