// Functions written in C++, and the reader of their arguments.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/effects.hpp"

namespace pxl {

/// The treatment of a function whose effects a look does not permit.
enum class InLook : uint8_t {
  passed_over,    ///< its arguments are checked against its signature; its result is unknown (none if it only prints)
  takes_unknown,  ///< its body runs, also with unknown arguments
  calls_body,     ///< its body checks `permits`, and returns what the look knows about the result
};

/// The name and the parameters of a function in C++: "range" and "(start, stop = none, step = 1)". Both outlive calls.
struct Signature {
  std::string_view name;
  std::string_view parameters;
};

/// Calls `visit(name, fallback)` for each parameter in "(text, count = -1)". `fallback` is the text of the default, and
/// empty for a parameter without one. The name of a parameter that collects arguments begins with `*` or is `...`.
template <class F>
constexpr void each_parameter(std::string_view parameters, F&& visit) {
  const auto trimmed = [](std::string_view s) {
    while (s.starts_with(' ')) s.remove_prefix(1);
    while (s.ends_with(' ')) s.remove_suffix(1);
    return s;
  };
  int depth = 0;
  bool quoted = false;
  size_t begin = 1, equals = 0;
  for (size_t i = 1; i < parameters.size(); ++i) {
    const char c = parameters[i];
    if (c == '"' && parameters[i - 1] != '\\') quoted = !quoted;
    if (quoted) continue;
    if (c == '=' && depth == 0 && equals == 0) equals = i;
    if ((c == ',' || c == ')') && depth == 0) {
      const std::string_view name = trimmed(parameters.substr(begin, (equals ? equals : i) - begin));
      if (!name.empty())
        visit(name.substr(0, name.find_first_of(" :")),
              equals ? trimmed(parameters.substr(equals + 1, i - equals - 1)) : std::string_view());
      if (c == ')') return;
      begin = i + 1;
      equals = 0;
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
  }
}
/// Whether a parameter of this name collects arguments.
constexpr bool collects(std::string_view name) { return name.starts_with('*') || name == "..."; }

struct MemberInfo;

/// The text about a function in help and on the reference page.
struct FunctionTexts {
  std::string signature;     ///< "range(start, stop = none, step = 1)"
  std::string doc;           ///< in sentences
  std::string_view example;  ///< a program of which the last line is an expression; it outlives the function
};

/// A function written in C++. A look at a program calls it only if all of its effects are permitted.
class BuiltinObject final : public Object {
 public:
  static constexpr ClassTag class_tag = ClassTag::builtin;
  using Body = std::function<Value(Interpreter&, Arguments&&)>;
  Effects effects;
  std::string name;
  FunctionTexts texts;
  Body body;
  InLook in_look;
  /// A form of `body` for calls with positional values only, from `direct_min` to `direct_max` of them; may be null.
  using Direct = Value (*)(Interpreter&, const Value* values, size_t count);
  Direct direct = nullptr;
  uint8_t direct_min = 0, direct_max = 0;
  /// The error of values for which `direct` returns an unset value. Null if it throws all its errors.
  using Refusal = Error (*)(const Value* values);
  Refusal refusal = nullptr;
  /// A form for one value that cannot fail and returns a number or a bool. Sets `out`, which must hold no object, and
  /// returns true; returns false for other values. Runs no code of the program. May be null.
  using Quick = bool (*)(const Value& v, Value& out);
  Quick quick = nullptr;
  /// The form of a function that only raises errors: it returns the one that `body` throws. May be null.
  using Raised = Error (*)(Interpreter&, const Arguments&);
  Raised raised = nullptr;
  const MemberInfo* row = nullptr;  ///< of a method: what help tells of it (members.hpp)
  BuiltinObject(Effects e, std::string n, FunctionTexts t, Body b, InLook l = InLook::passed_over)
      : effects(e), name(std::move(n)), texts(std::move(t)), body(std::move(b)), in_look(l) {
    const std::string_view signature = texts.signature;
    if (const size_t open = signature.find('('); open != signature.npos) declared_ = {name, signature.substr(open)};
  }
  BuiltinObject(const BuiltinObject&) = delete;
  BuiltinObject& operator=(const BuiltinObject&) = delete;
  std::string type_name() const override { return "function"; }
  std::string repr(Interpreter&) override;
  bool callable() const override { return true; }
  Value call(Interpreter& in, Arguments args) override;
  /// Calls the body for a caller that keeps the memory of the arguments.
  Value call_body(Interpreter& in, Arguments&& args);

  /// The name and the parameters; null for a method that declares none.
  const Signature* declared() const;
  /// Decides how a look treats unknown arguments: an op is added to the graph, a method may have changed its object.
  enum class Kind : uint8_t { function, method, op } kind = Kind::function;

 private:
  Value look_at_call(Interpreter& in, Arguments args);
  Signature declared_;  ///< in `name` and `texts`
};

/// A method bound to its object: effects, name and body.
Value make_method(Effects effects, std::string name, BuiltinObject::Body body, InLook in_look = InLook::passed_over);
/// Makes a method from a row in a table of members. The row has static storage duration.
Value make_method(Effects effects, const MemberInfo& row, BuiltinObject::Body body,
                  InLook in_look = InLook::passed_over);

/// Reads arguments against a list of parameter names. C++ functions use it to accept names and defaults. Throws an
/// Error that names the function for missing, surplus and unknown arguments (with a suggestion).
class ArgReader {
 public:
  /// Reads the arguments of a call by the signature of the function that is called. It doesn't read those that
  /// a parameter collects. Parameters after such a parameter are passed by name.
  explicit ArgReader(const Arguments& args);
  /// The names and the arguments must outlive the reader.
  ArgReader(std::string_view function, const Arguments& args, std::initializer_list<std::string_view> parameters);
  template <std::same_as<std::string> S>
  ArgReader(S&& function, const Arguments& args, std::initializer_list<std::string_view>) = delete;
  ArgReader(const ArgReader&) = delete;
  ArgReader& operator=(const ArgReader&) = delete;
  bool has(std::string_view name) const;  ///< passed and not none
  /// The value of an argument, or the default in the signature. The other functions read defaults too, also for an
  /// argument that is none.
  Value value(std::string_view name) const;
  Value value_or(std::string_view name, Value fallback) const;
  int64_t integer(std::string_view name) const;
  int64_t integer_or(std::string_view name, int64_t fallback) const;
  double number(std::string_view name) const;
  double number_or(std::string_view name, double fallback) const;
  bool boolean(std::string_view name) const;
  bool boolean_or(std::string_view name, bool fallback) const;
  std::string string(std::string_view name) const;
  std::string string_or(std::string_view name, std::string fallback) const;
  Shape shape(std::string_view name) const;  ///< accepts an int, or a list or tuple of ints

 private:
  static constexpr size_t few = 4;
  void add(std::string_view name);
  void bind(const Arguments& args);
  size_t index(std::string_view name) const;
  const Value* given(std::string_view name) const { return values_[index(name)]; }  ///< null if not given
  /// The default in the signature if it is a literal.
  std::optional<Value> fallback(std::string_view name) const;
  Value wanted(std::string_view name) const;
  /// Runs what reads an argument; an error is at its place.
  template <class F>
  auto at(std::string_view name, F&& read) const {
    try {
      return read();
    } catch (Error& e) {
      if (const Span span = place(name)) e.locate(span, nullptr);
      throw;
    }
  }
  Span place(std::string_view name) const;
  [[noreturn]] void refuse(std::string_view name, std::string_view expected, const Value& v) const;

  const Signature* callee_ = nullptr;
  const Arguments* args_ = nullptr;

  std::string_view function_;
  size_t count_ = 0, positional_ = 0;  ///< number of names, and of those that can be passed by position
  bool collects_ = false;              ///< positional arguments may be more
  std::string_view few_names_[few];
  const Value* few_values_[few] = {};
  std::vector<std::string_view> more_names_;  ///< names for functions with more parameters
  std::vector<const Value*> more_values_;
  std::string_view* names_ = few_names_;
  const Value** values_ = few_values_;
};

/// The built-in function with a name in the prelude. Throws if there is none.
const Value& builtin_named(const Interpreter& in, std::string_view name);

/// Registers a built-in under the name in its signature: `effects` lists everything it does outside the program.
void define(Scope& scope, Effects effects, FunctionTexts texts, BuiltinObject::Body body,
            InLook in_look = InLook::passed_over);
/// Registers a built-in that only raises errors.
void define_raising(Scope& scope, FunctionTexts texts, BuiltinObject::Raised raised, InLook in_look,
                    BuiltinObject::Body body);
/// Gives a registered built-in a direct form, and a quick one.
void define_direct(Scope& scope, std::string_view name, uint8_t min, uint8_t max, BuiltinObject::Direct direct,
                   BuiltinObject::Quick quick = nullptr, BuiltinObject::Refusal refusal = nullptr);

}  // namespace pxl
