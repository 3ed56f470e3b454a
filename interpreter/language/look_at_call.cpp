// Calls of built-in functions in a look: a function is called if all its effects are permitted.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/language/check.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {
namespace {

// Checks the arguments of a skipped call against its signature. A function that collects arguments may find names among
// them, so its required ones are not checked.
void check_arguments(const BuiltinObject& f, const Arguments& args) {
  const Signature* declared = f.declared();
  if (!declared) return;
  bool open = false, rest = false;
  each_parameter(declared->parameters, [&](std::string_view name, std::string_view) {
    open = open || name == "...";
    rest = rest || collects(name);
  });
  if (open) return;
  args.callee = declared;
  const ArgReader a(args);
  each_parameter(declared->parameters, [&](std::string_view name, std::string_view fallback) {
    if (!rest && fallback.empty()) a.value(name);
  });
}

/// Notes a call that is not made.
void withhold(Interpreter& in, const BuiltinObject& f, const Arguments& args) {
  constexpr size_t noted = 16;
  CheckState& c = *in.checking;
  if (f.effects.within({Effect::prints, Effect::writes_files}) || c.withheld.size() >= noted) return;
  const bool reads = f.effects.has(Effect::reads_files) || f.effects.has(Effect::reads_environment);
  const std::string* path = reads && !args.positional.empty() ? args.positional[0].as_string() : nullptr;
  Withheld call{
      args.span,
      path && !path->empty() ? fmt::format("`{}` was not read", *path) : fmt::format("`{}` was not called", f.name),
      reads};
  const auto equal = [&](const Withheld& w) {
    return w.what == call.what && w.at.file == call.at.file && w.at.begin == call.at.begin;
  };
  if (std::none_of(c.withheld.begin(), c.withheld.end(), equal)) c.withheld.push_back(std::move(call));
}

}  // namespace

Value BuiltinObject::look_at_call(Interpreter& in, Arguments args) {
  CheckState& c = *in.checking;
  const bool permitted = permits(effects);
  if (effects.has(Effect::runs_session) || effects.has(Effect::computes)) ++c.runs;
  if (effects.has(Effect::writes_files)) c.may_have_written = true;
  if (!permitted && in_look == InLook::passed_over) {
    withhold(in, *this, args);
    if (!holds_unknown(args)) check_arguments(*this, args);
    return effects.within(Effect::prints) ? Value() : unknown_value();
  }
  if (in_look == InLook::takes_unknown) return body(in, std::move(args));
  auto not_known = [&] {
    for (const Value& v : args.positional) forget_changed_by(v);
    for (const NamedArg& n : args.named) forget_changed_by(n.value);
    if (kind != Kind::op) lacks_part_of(in, args);
    return unknown_value();
  };
  if (kind == Kind::function && permitted) {
    auto bare = [](const Value& v) { return is_unknown(v) && !unknown_spec(v); };
    for (const Value& v : args.positional)
      if (bare(v)) return not_known();
    for (const NamedArg& n : args.named)
      if (bare(n.value)) return not_known();
  }
  try {
    Value result = body(in, Arguments(args));
    if (!permitted && is_unknown(result) && !unknown_spec(result)) withhold(in, *this, args);
    return result;
  } catch (const Unevaluated&) {
    if (kind == Kind::method) throw;
  } catch (const Error&) {
    if (!holds_unknown(args)) throw;
    if (kind == Kind::method) throw Unevaluated{};
  }
  return not_known();
}

}  // namespace pxl
