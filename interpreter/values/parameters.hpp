// The parameters of a function that is written in C++, as its declaration lists them.
#pragma once

#include <string_view>

namespace pxl {

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

}  // namespace pxl
