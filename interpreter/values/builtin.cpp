// Functions written in C++: calls, and the reading of their arguments.
#include "interpreter/values/builtin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "interpreter/values/argument_names.hpp"
#include "interpreter/values/arrays/arrays.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"

namespace pxl {

Value make_method(Effects effects, std::string name, BuiltinObject::Body body, InLook in_look) {
  auto m = make_ref<BuiltinObject>(effects, std::move(name), FunctionTexts{}, std::move(body), in_look);
  m->kind = BuiltinObject::Kind::method;
  return m;
}
Value make_method(Effects effects, const MemberInfo& row, BuiltinObject::Body body, InLook in_look) {
  auto m = make_ref<BuiltinObject>(effects, std::string(row.name), FunctionTexts{}, std::move(body), in_look);
  m->kind = BuiltinObject::Kind::method;
  m->row = &row;
  return m;
}
const Signature* BuiltinObject::declared() const { return row ? row : declared_.name.empty() ? nullptr : &declared_; }
std::string BuiltinObject::repr(Interpreter&) { return "<function " + name + ">"; }

Value BuiltinObject::call(Interpreter& in, Arguments args) { return call_body(in, std::move(args)); }
Value BuiltinObject::call_body(Interpreter& in, Arguments&& args) {
  args.callee = declared();
  if (in.checking) [[unlikely]]
    return look_at_call(in, std::move(args));
  return body(in, std::move(args));
}

void define(Scope& scope, Effects effects, FunctionTexts texts, BuiltinObject::Body body, InLook in_look) {
  const std::string name = texts.signature.substr(0, texts.signature.find('('));
  scope.bind(name, make_ref<BuiltinObject>(effects, name, std::move(texts), std::move(body), in_look));
}

void define_raising(Scope& scope, FunctionTexts texts, BuiltinObject::Raised raised, InLook in_look,
                    BuiltinObject::Body body) {
  const std::string name = texts.signature.substr(0, texts.signature.find('('));
  define(scope, no_effects, std::move(texts), std::move(body), in_look);
  scope.find_here(name)->as<BuiltinObject>()->raised = raised;
}

void define_direct(Scope& scope, std::string_view name, uint8_t min, uint8_t max, BuiltinObject::Direct direct,
                   BuiltinObject::Quick quick, BuiltinObject::Refusal refusal) {
  auto* f = scope.find_here(name)->as<BuiltinObject>();
  f->direct = direct;
  f->direct_min = min;
  f->direct_max = max;
  f->quick = quick;
  f->refusal = refusal;
}

ArgReader::ArgReader(const Arguments& args) : callee_(args.callee) {
  if (!callee_) throw Error("internal: a function that declares no parameters reads them", {}, Fault::internal);
  function_ = callee_->name;
  bool by_position = true;
  each_parameter(callee_->parameters, [&](std::string_view name, std::string_view) {
    if (collects(name)) {
      by_position = false;
      collects_ = true;
    } else {
      add(name);
    }
    if (by_position) positional_ = count_;
  });
  bind(args);
}
ArgReader::ArgReader(std::string_view function, const Arguments& args,
                     std::initializer_list<std::string_view> parameters)
    : function_(function) {
  for (const std::string_view name : parameters) add(name);
  positional_ = count_;
  bind(args);
}

void ArgReader::add(std::string_view name) {
  if (count_ == few) more_names_.assign(names_, names_ + few);
  if (count_ >= few) {
    more_names_.push_back(name);
    more_values_.resize(count_ + 1);
    names_ = more_names_.data();
    values_ = more_values_.data();
  } else {
    names_[count_] = name;
  }
  ++count_;
}

void ArgReader::bind(const Arguments& args) {
  args_ = &args;
  if (args.positional.size() > positional_ && !collects_) {
    Error e(fmt::format("{}: takes {} argument{}, got {}", function_,
                        positional_ == 0 ? "no" : fmt::format("at most {}", positional_), positional_ == 1 ? "" : "s",
                        args.positional.size()));
    e.as(codes::arguments);
    if (args.spans.size() > positional_) e.locate(args.spans[positional_], nullptr);
    throw e;
  }
  for (size_t i = 0; i < std::min(args.positional.size(), positional_); ++i) values_[i] = &args.positional[i];
  for (const NamedArg& n : args.named) {
    const auto i = static_cast<size_t>(std::find(names_, names_ + count_, n.name) - names_);
    if (i == count_) {
      Error e(fmt::format("{}: no argument is named `{}`", function_, n.name));
      const size_t given = std::min(args.positional.size(), positional_);
      explain_unknown_argument(e, n, {names_, names_ + count_}, args, {names_, names_ + given});
      e.as(codes::arguments);
      if (n.span) e.locate(n.span, nullptr);
      throw e;
    }
    if (values_[i]) throw Error(fmt::format("{}: `{}` was given twice", function_, n.name)).as(codes::arguments);
    values_[i] = &n.value;
  }
}

size_t ArgReader::index(std::string_view name) const {
  for (size_t i = 0; i < count_; ++i)
    if (names_[i].data() == name.data() || names_[i] == name) return i;
  throw Error("internal: a builtin asks for an argument it has not declared: " + std::string(name), {},
              Fault::internal);
}

std::vector<Value> values_by_parameter(const MemberInfo& row, const Arguments& args) {
  args.callee = &row;
  const ArgReader reader(args);
  std::vector<Value> values;
  each_parameter(row.parameters, [&](std::string_view name, std::string_view fallback) {
    values.push_back(fallback.empty() ? reader.value(name) : reader.value_or(name, Value()));
  });
  return values;
}

namespace {

/// The value of a literal, as a signature writes a default: none, true, false, a number or a text, of which
/// a new line is the only escape.
std::optional<Value> literal(std::string_view text) {
  if (text == "none") return Value();
  if (text == "true" || text == "false") return Value(text == "true");
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'')) {
    const std::string_view inside = text.substr(1, text.size() - 2);
    return inside == "\\n" ? Value("\n") : Value(inside);
  }
  const char* const end = text.data() + text.size();
  int64_t whole = 0;
  if (const auto read = std::from_chars(text.data(), end, whole); read.ec == std::errc() && read.ptr == end)
    return Value(whole);
  double number = 0;
  if (const auto read = std::from_chars(text.data(), end, number); read.ec == std::errc() && read.ptr == end)
    return Value(number);
  return std::nullopt;
}

}  // namespace

std::optional<Value> ArgReader::fallback(std::string_view name) const {
  std::optional<Value> found;
  if (!callee_) return found;
  each_parameter(callee_->parameters, [&](std::string_view parameter, std::string_view text) {
    if (parameter == name && !text.empty()) found = literal(text);
  });
  return found;
}

bool ArgReader::has(std::string_view name) const {
  const Value* v = given(name);
  return v && !v->is_none();
}
Value ArgReader::value(std::string_view name) const {
  if (const Value* v = given(name)) return *v;
  if (std::optional<Value> v = fallback(name)) return std::move(*v);
  throw Error(fmt::format("{}: missing argument `{}`", function_, name)).as(codes::arguments);
}
/// The default stands for none too.
Value ArgReader::wanted(std::string_view name) const {
  if (!has(name))
    if (std::optional<Value> v = fallback(name)) return std::move(*v);
  return value(name);
}
Value ArgReader::value_or(std::string_view name, Value fallback) const {
  const Value* v = given(name);
  return v ? *v : fallback;
}
Span ArgReader::place(std::string_view name) const {
  const Value* v = given(name);
  for (size_t i = 0; i < args_->positional.size() && i < args_->spans.size(); ++i)
    if (&args_->positional[i] == v) return args_->spans[i];
  for (const NamedArg& n : args_->named)
    if (&n.value == v) return n.span;
  return {};
}
void ArgReader::refuse(std::string_view name, std::string_view expected, const Value& v) const {
  Error e(fmt::format("{}: `{}`: expected {}, got {}", function_, name, expected, with_article(v.type_name())));
  e.as(codes::type);
  if (const Span span = place(name)) e.locate(span, nullptr);
  throw e;
}
int64_t ArgReader::integer(std::string_view name) const {
  return at(name, [&] { return to_index(wanted(name), fmt::format("{}: `{}`", function_, name)); });
}
int64_t ArgReader::integer_or(std::string_view name, int64_t fallback) const {
  return has(name) ? integer(name) : fallback;
}
double ArgReader::number_or(std::string_view name, double fallback) const {
  return has(name) ? number(name) : fallback;
}
double ArgReader::number(std::string_view name) const {
  const Value v = wanted(name);
  if (v.is_number()) return v.as_double();
  if (std::optional<Value> s = scalar_of(v)) return s->as_double();
  refuse(name, "a number", v);
}
bool ArgReader::boolean_or(std::string_view name, bool fallback) const { return has(name) ? boolean(name) : fallback; }
bool ArgReader::boolean(std::string_view name) const {
  const Value v = wanted(name);
  if (!v.is_bool()) refuse(name, "true or false", v);
  return v.as_bool();
}
std::string ArgReader::string(std::string_view name) const {
  const Value v = wanted(name);
  if (const std::string* s = v.as_string()) return *s;
  refuse(name, "a str", v);
}
std::string ArgReader::string_or(std::string_view name, std::string fallback) const {
  return has(name) ? string(name) : fallback;
}
Shape ArgReader::shape(std::string_view name) const {
  const Value v = wanted(name);
  const std::string what = fmt::format("{}: `{}`", function_, name);
  return at(name, [&]() -> Shape {
    const auto* s = v.as<SequenceObject>();
    if (!s) return {to_index(v, what)};
    Shape shape;
    for (const Value& d : s->items) shape.push_back(to_index(d, what));
    return shape;
  });
}

}  // namespace pxl
