// Functions: calls, the binding of arguments to parameters, and the running of bodies.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/code/code.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/language/located.hpp"
#include "interpreter/language/names/habits.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/values/argument_names.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/library_sources.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/text.hpp"

namespace pxl {

namespace {
const Name self_name("self");
}

std::string FunctionObject::repr(Interpreter&) { return "<function " + code->name + ">"; }

Value FunctionObject::call(Interpreter& in, Arguments args) {
  if (args.named.empty() && takes(in, args.positional.size()))
    return call_by_position(in, args.positional.data(), args.positional.size());
  Activation a;
  a.scope = scope_of_body(closure, *code);
  bind_parameters(in, code->name, code->parameters, std::move(args), a.scope, closure, defaults);
  const CallFrame frame(in, code->name, in.here);
  return run_function(in, *code, a);
}

/// Whether `count` positional values bind to parameters without a check, and the other parameters have defaults.
bool FunctionObject::takes(const Interpreter& in, size_t count) const {
  const auto& parameters = code->parameters;
  return code->plain && !in.checking && count <= parameters.size() &&
         std::all_of(parameters.begin() + static_cast<std::ptrdiff_t>(count), parameters.end(),
                     [](const ast::Parameter& p) { return p.default_value != nullptr; });
}

void FunctionObject::set_defaults(Interpreter& in, Scope& scope, size_t given) const {
  if (given == code->parameters.size()) return;
  const FunctionCode& compiled = code_of(*code, &code->own.slots);
  Activation none;
  for (size_t i = given; i < code->parameters.size(); ++i)
    scope.fill(i, compiled.defaults.empty() ? defaults[i] : compiled.defaults[i]->value(in, none));
}

Value FunctionObject::call_by_position(Interpreter& in, const Value* values, size_t count) {
  if (!takes(in, count)) return Object::call_by_position(in, values, count);
  const FunctionCode& compiled = code_of(*code, &code->own.slots);
  BodyScope scope;
  Activation a(scope.begin(closure, *code));
  for (size_t i = 0; i < count; ++i) a.scope->fill(i, values[i]);
  set_defaults(in, *a.scope, count);
  if (Value out; compiled.passing && compiled.find_result(a, out)) return out;
  const CallFrame frame(in, code->name, in.here);
  return in_memory(in, [&] { return run_body(in, compiled, a); });
}

namespace {

// A function that may have returned early has an unknown result in a look.
class LeavingScope {
 public:
  LeavingScope(Interpreter& in, Activation& a)
      : checking_(in.checking), a_(a), outer_(in.checking ? in.checking->left : uint8_t{0}) {
    if (checking_) checking_->left = 0;
  }
  ~LeavingScope() {
    if (checking_) checking_->left = outer_;
  }
  void end() const {
    if (checking_ && checking_->left) a_.result = unknown_value();
  }
  LeavingScope(const LeavingScope&) = delete;
  LeavingScope& operator=(const LeavingScope&) = delete;

 private:
  CheckState* checking_;
  Activation& a_;
  uint8_t outer_;
};

}  // namespace

Value make_function(Interpreter& in, const ast::Function& f, Activation& a) {
  auto made = make_ref<FunctionObject>();
  made->code = ast::held(f);
  made->closure = a.closure();
  made->defaults = make_defaults(in, f, a);
  evaluator_of(in).remember(made->closure);
  return made;
}

std::vector<Value> make_defaults(Interpreter& in, const ast::Function& f, Activation& a) {
  std::vector<Value> out;
  if (!f.makes_defaults) return out;
  for (const ast::Parameter& p : f.parameters)
    out.push_back(p.default_value ? evaluate(in, *p.default_value, a) : Value());
  return out;
}

Value run_function(Interpreter& in, const ast::Function& f, Activation& a) {
  DepthGuard guard(in);
  auto body = [&] {
    if (in.checking) {
      if (f.result)
        a.result = evaluate(in, *f.result, a);
      else if (f.body)
        execute(in, *f.body, a);
      return;
    }
    const FunctionCode& code = code_of(f, a.scope->layout());
    a.result = located_here(in, [&] { return run_body(in, code, a); });
    if (!a.returned && code.result) a.returned = (*code.result)->span;
  };
  const LeavingScope leaving(in, a);
  DeclaredResults results(in, f, a);
  if (f.contexts.empty())
    body();
  else
    with_contexts(in, f.contexts, a, body);
  leaving.end();
  return results.check(std::move(a.result), a.returned);
}

namespace {

/// Binds the arguments of one call.
class ParameterBinder {
 public:
  ParameterBinder(Interpreter& in, const std::string& what, const std::vector<ast::Parameter>& parameters,
                  Arguments& args, const ScopePtr& scope, const ScopePtr& defaults_scope,
                  const std::vector<Value>& defaults)
      : in_(in),
        what_(what),
        parameters_(parameters),
        args_(args),
        span_(args.span ? args.span : in.here),
        scope_(scope),
        defaults_scope_(defaults_scope),
        defaults_(defaults) {
    if (const Value* self = scope->find_here(self_name)) self_ = *self;
  }

  void bind() {
    // Fast path: one positional argument per parameter.
    const auto by_position = [](const ast::Parameter& p) { return !p.collects() && !p.by_name; };
    if (args_.named.empty() && args_.positional.size() == parameters_.size() &&
        std::all_of(parameters_.begin(), parameters_.end(), by_position)) {
      for (size_t i = 0; i < parameters_.size(); ++i)
        bind(parameters_[i], std::move(args_.positional[i]), i < args_.spans.size() ? args_.spans[i] : span_);
      return;
    }
    given_.resize(parameters_.size());
    places_.assign(parameters_.size(), span_);
    take_positional();
    take_named();
    refuse_missing();
    for (size_t i = 0; i < parameters_.size(); ++i)
      bind(parameters_[i], given_[i] ? *std::move(given_[i]) : absent(parameters_[i]), places_[i]);
  }

 private:
  [[noreturn]] void refuse(std::string message, std::vector<std::string> notes, const Span& at) {
    Error e(std::move(message), std::move(notes));
    e.as(codes::arguments);
    e.locate(at ? at : span_, in_.frames);
    throw e;
  }

  [[noreturn]] void refuse_positional(size_t most) {
    std::string named;
    for (const ast::Parameter& p : parameters_)
      if (p.by_name && !p.collects()) named += fmt::format("{}`{}`", named.empty() ? "" : ", ", p.name);
    const Span at = args_.spans.size() > most ? args_.spans[most] : span_;
    const size_t given = args_.positional.size();
    if (named.empty()) {
      const std::string takes = most ? counted(most, "argument") : "no arguments";
      refuse(fmt::format("{} takes {}, got {}", what_, takes, given), {}, at);
    }
    constexpr std::string_view numbers[] = {"no", "one", "two", "three", "four"};
    const std::string takes = most < std::size(numbers) ? std::string(numbers[most]) : std::to_string(most);
    std::string message =
        fmt::format("{} takes {} argument{} without a name, got {}", what_, takes, most == 1 ? "" : "s", given);
    Arguments by_position;
    by_position.spans = args_.spans;
    if (const std::string shown = written(by_position).arguments; !shown.empty() && shown.size() <= 40)
      message += " (" + shown + ")";
    Error e(message);
    if (!offer_name(e, most))
      if (const std::string habit = library_habit(std::to_string(given)); !habit.empty())
        e.first().message += ": " + habit;
    e.first().notes.push_back("by name it takes " + named);
    e.as(codes::arguments);
    e.locate(at ? at : span_, in_.frames);
    throw e;
  }

  /// `RMSNorm(1e-5)`: one value too many, and one parameter by name that has its type: `eps = 1e-5`.
  bool offer_name(Error& e, size_t most) const {
    if (args_.positional.size() != most + 1 || args_.spans.size() != most + 1) return false;
    const Value& v = args_.positional[most];
    if (!v.is_float()) return false;  // an int may be a size, which other frameworks ask for
    const ast::Parameter* meant = nullptr;
    for (const ast::Parameter& p : parameters_) {
      const bool given =
          std::any_of(args_.named.begin(), args_.named.end(), [&](const NamedArg& n) { return n.name == p.name; });
      const bool fits =
          p.by_name && !p.collects() && !given && p.default_value && p.default_value->kind == ast::ExprKind::floating;
      if (fits && meant) return false;
      if (fits) meant = &p;
    }
    if (!meant) return false;
    const std::string here = fmt::format("{} = {}", meant->name, args_.spans[most].text());
    e.first().notes.push_back(fmt::format("write `{}`", here));
    e.offer(args_.spans[most], here);
    return true;
  }

  /// The meaning of a library call that is written as in another framework; empty if it is not.
  std::string library_habit(const std::string& told_by) const {
    const bool of_library =
        !parameters_.empty() && parameters_[0].span.file && is_library(parameters_[0].span.file->name());
    return of_library ? habit_of(what_, told_by, written(args_)) : std::string();
  }

  void take_positional() {
    size_t next = 0;
    for (size_t i = 0; next < args_.positional.size(); ++i) {
      if (i == parameters_.size() || parameters_[i].options || (parameters_[i].by_name && !parameters_[i].rest))
        refuse_positional(i);
      if (next < args_.spans.size()) places_[i] = args_.spans[next];
      if (parameters_[i].rest) {
        std::vector<Value> items(args_.positional.begin() + static_cast<std::ptrdiff_t>(next), args_.positional.end());
        given_[i] = make_list(std::move(items));
        break;
      }
      given_[i] = std::move(args_.positional[next++]);
    }
  }

  [[noreturn]] void refuse_name(const NamedArg& named) {
    std::vector<std::string> names, by_position;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i].rest) continue;
      names.push_back(parameters_[i].name);
      if (given_[i] && i < args_.positional.size()) by_position.push_back(names.back());
    }
    std::string message = fmt::format("{} has no argument named `{}`", what_, named.name);
    if (const std::string habit = library_habit("name:" + named.name); !habit.empty()) message += ": " + habit;
    Error e(std::move(message));
    explain_unknown_argument(e, named, names, args_, by_position);
    if (!names.empty()) e.first().notes.push_back("it takes " + join_texts(names, ", "));
    e.as(codes::arguments);
    e.locate(named.span ? named.span : span_, in_.frames);
    throw e;
  }

  void take_named() {
    const bool options = !parameters_.empty() && parameters_.back().options;
    if (options) given_.back() = make_ref<DictObject>();
    for (NamedArg& named : args_.named) {
      size_t i = 0;
      while (i < parameters_.size() && (parameters_[i].collects() || parameters_[i].name != named.name)) ++i;
      if (i == parameters_.size() && options) {
        auto& dict = *given_.back()->as<DictObject>();
        if (dict.find(Value(named.name)))
          refuse(fmt::format("{}: argument `{}` was given twice", what_, named.name), {}, named.span);
        dict.put(Value(named.name), std::move(named.value));
        if (named.span && dict.items.size() == 1) places_.back() = named.span;
        continue;
      }
      if (i == parameters_.size()) refuse_name(named);
      if (given_[i]) refuse(fmt::format("{}: argument `{}` was given twice", what_, named.name), {}, named.span);
      given_[i] = std::move(named.value);
      if (named.span) places_[i] = named.span;
    }
  }

  void refuse_missing() {
    std::vector<std::string> missing;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (!given_[i] && !parameters_[i].collects() && !parameters_[i].default_value)
        missing.push_back("`" + parameters_[i].name + "`");
    }
    if (missing.empty()) return;
    std::string list;
    for (size_t i = 0; i < missing.size(); ++i)
      list += (i == 0 ? "" : i + 1 == missing.size() ? " and " : ", ") + missing[i];
    Error e(fmt::format("{}: missing argument{} {}", what_, missing.size() == 1 ? "" : "s", list));
    if (const ast::Parameter& first = parameters_.front(); first.name == "self" && !self_.is_none()) {
      e.first().notes.emplace_back("`self` is known in methods without being a parameter: remove it");
      const std::string_view text = first.span.file->text();
      const size_t next = text.find_first_not_of(", ", first.span.end);
      e.relate(first.span, "the parameter `self`");
      e.offer({first.span.file, first.span.begin, static_cast<uint32_t>(next)}, "", "Remove the parameter `self`");
    }
    e.as(codes::arguments);
    e.locate(span_, in_.frames);
    throw e;
  }

  Activation activation(const ScopePtr& scope) const {
    Activation a;
    a.scope = scope;
    a.self = self_;
    return a;
  }

  // Defaults of a def or lambda were evaluated where the function was made. Defaults of methods, builds, programs and
  // module configurations are evaluated at each call, in the scope of the definition.
  Value absent(const ast::Parameter& p) {
    if (p.rest) return make_list({});
    if (p.options) return make_ref<DictObject>();
    if (!defaults_.empty()) return defaults_[static_cast<size_t>(&p - parameters_.data())];
    Activation outside = activation(defaults_scope_);
    return evaluate(in_, *p.default_value, outside);
  }

  // If the value is unknown, so are the sizes that its pattern would bind.
  void bind_unknown(const ast::Parameter& p) {
    if (!p.annotation) return;
    for (const ast::NameExpr* n : extents_of_pattern(*p.annotation))
      if (!scope_->find(n->interned)) scope_->bind(n->interned, unknown_value());
  }

  void bind(const ast::Parameter& p, Value v, const Span& place) {
    if (in_.checking && holds_unknown(v)) {
      bind_unknown(p);
    } else if (p.annotation && (kinds_of(p) & v.kind_bit()) == 0 && !(p.default_value && v.is_none())) {
      const Value given = v;
      try {
        Activation a = activation(scope_);
        v = check_argument(in_, what_, p, std::move(v), a);
      } catch (Error& e) {
        const auto [at, wrong] = p.rest ? item_at_fault(p, given, place) : std::pair(place, given);
        e.locate(at ? at : p.span, in_.frames);
        if (offer_other_order(e, p, given)) throw;
        explain_mismatch(e, wrong, at);
        if (const std::string habit = library_habit("type:" + p.name); !habit.empty()) e.first().notes.push_back(habit);
        throw;
      }
    }
    observed(in_.checking, p.span, v);
    scope_->bind(p.interned, std::move(v));
  }

  /// The first of several arguments that does not match, and its place.
  std::pair<Span, Value> item_at_fault(const ast::Parameter& p, const Value& items, const Span& place) {
    const auto first = std::find_if(args_.spans.begin(), args_.spans.end(),
                                    [&](const Span& s) { return s.file == place.file && s.begin == place.begin; });
    const std::vector<Value>& all = items.as<SequenceObject>()->items;
    if (args_.spans.end() - first != static_cast<std::ptrdiff_t>(all.size())) return {place, items};
    for (size_t i = 0; i < all.size(); ++i)
      if (!fits(p, make_list({all[i]}), make_ref<Scope>(scope_)))
        return {first[static_cast<std::ptrdiff_t>(i)], all[i]};
    return {place, items};
  }

  bool fits(const ast::Parameter& p, const Value& v, const ScopePtr& scope) {
    try {
      Activation a = activation(scope);
      if (p.annotation) check_argument(in_, what_, p, v, a);
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  /// `cross_entropy(labels, scores)`: the first two arguments match in the other order only.
  bool offer_other_order(Error& e, const ast::Parameter& p, const Value& second) {
    if (args_.spans.size() < 2 || parameters_.size() < 2 || &p != &parameters_[1] || !args_.spans[0]) return false;
    const Value* first = scope_->find_here(parameters_[0].interned);
    if (!first || !parameters_[0].annotation || first->type_name() == "str") return false;
    const ScopePtr fresh = make_ref<Scope>(scope_->outer);
    if (!fits(parameters_[0], second, fresh) || !fits(p, *first, fresh)) return false;
    const std::string a(args_.spans[0].text()), b(args_.spans[1].text());
    e.first().notes.push_back(fmt::format("the arguments match in the other order: `{}`, then `{}`", b, a));
    e.first().fixes.push_back({"Exchange the arguments", {{args_.spans[0], b}, {args_.spans[1], a}}});
    return true;
  }

  /// A tensor where gradients are expected: the gradient of one variable, or a loss.
  static void explain_gradients(const auto& say, const Span& place, const std::string& text) {
    const size_t comma = text.find(", ");
    const bool of_one = text.starts_with("grad(") && text.ends_with(")") && comma != text.npos &&
                        comma == text.rfind(',') && text.find('(', 5) == text.npos;
    const std::string edit =
        of_one ? fmt::format("{}[{}])", text.substr(0, comma + 2), text.substr(comma + 2, text.size() - comma - 3))
               : fmt::format("grad({}, variables)", text);
    if (of_one)
      say(fmt::format("`{}` gives the gradients of a list", edit), place, edit, "Give a list");
    else
      say(fmt::format("`{}` gives the gradients", edit), {}, {}, {});
  }

  /// A guess at the value that was meant in place of one with a wrong type.
  static void explain_mismatch(Error& e, const Value& given, const Span& place) {
    const std::string text(place.text());
    const Span after{place.file, place.end, place.end};
    const auto say = [&](std::string note, const Span& at, std::string edit, std::string title) {
      e.first().notes.push_back(std::move(note));
      if (place && !text.empty()) e.offer(at, std::move(edit), std::move(title));
    };
    const std::string& expected = e.first().message;
    const auto* list = given.as<SequenceObject>();
    if (list && list->items.size() == 1 && list->items[0].as<SequenceObject>())
      list = list->items[0].as<SequenceObject>();
    if (const auto* m = given.as<ModuleObject>(); m && expected.find("expected a module") != expected.npos) {
      say(fmt::format("`{}()` makes one", m->code->name), after, "()", "Add `()`");
    } else if (given.as<BoundGraphObject>() && expected.find("tree") != expected.npos) {
      say(fmt::format("its tree of variables is `{}.vars`", text.empty() ? "net" : text), after, ".vars",
          "Add `.vars`");
    } else if (expected.find("expected gradients") != expected.npos && given.type_name() == "tensor") {
      explain_gradients(say, place, text);
    } else if (const std::string* word = given.as_string();
               word && expected.find("expected a function") != expected.npos && text.size() == word->size() + 2) {
      say(fmt::format("a function is given by its name, without quotes: `{}`", *word), place, *word, {});
    } else if (list && expected.find("a function, got a list") != expected.npos && text.starts_with('[') &&
               text.ends_with(']')) {
      say("they are given one by one, without the brackets", place, text.substr(1, text.size() - 2),
          "Remove the brackets");
    } else if (list && expected.find("expected tensor") != expected.npos &&
               (text.starts_with('(') || text.starts_with('['))) {
      const std::string spec = fmt::format("float32[{}]", text.substr(1, text.size() - 2));
      say(fmt::format("a shape with a dtype is a spec: `{}`", spec), place, spec, {});
    }
  }

  Interpreter& in_;
  const std::string& what_;
  const std::vector<ast::Parameter>& parameters_;
  Arguments& args_;
  Span span_;
  const ScopePtr& scope_;
  const ScopePtr& defaults_scope_;
  const std::vector<Value>& defaults_;
  Value self_;  ///< the instance whose configuration annotations and defaults may read
  std::vector<std::optional<Value>> given_;
  std::vector<Span> places_;
};

}  // namespace

void bind_parameters(Interpreter& in, const std::string& what, const std::vector<ast::Parameter>& parameters,
                     Arguments args, const ScopePtr& scope, const ScopePtr& defaults_scope,
                     const std::vector<Value>& defaults) {
  ParameterBinder(in, what, parameters, args, scope, defaults_scope, defaults).bind();
}

}  // namespace pxl
