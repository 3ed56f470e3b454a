#include "interpreter/language/names/habits.hpp"

#include <fmt/format.h>

namespace pxl {

namespace {

constexpr Habit table[] = {
#define HABIT(callable, told_by, framework, example, here, reason) \
  {callable, told_by, framework, example, here, reason},
#include "interpreter/language/names/habits.inc"
#undef HABIT
};

std::string filled(std::string_view form, const std::vector<std::string>& values) {
  std::string out;
  for (size_t i = 0; i < form.size(); ++i) {
    const size_t number = i + 2 < form.size() && form[i] == '{' && form[i + 2] == '}' ? form[i + 1] - '0' : 10;
    if (number > 9) {
      out += form[i];
      continue;
    }
    if (number >= values.size()) return {};
    out += values[number];
    i += 2;
  }
  return out;
}

/// The call as the other framework writes it: an instance calls its build.
std::string other_call(std::string_view callable, const std::string& arguments) {
  const size_t dot = callable.find(".build");
  return fmt::format("{}({})", dot == callable.npos ? callable : "layer", arguments);
}

std::string_view value_text(const Span& named) {
  const std::string_view text = named.text();
  const size_t equals = text.find('=');
  const size_t from = equals == text.npos ? text.npos : text.find_first_not_of(" \t\r\n", equals + 1);
  return from == text.npos ? text : text.substr(from);
}

}  // namespace

std::span<const Habit> habits() { return table; }

Written written(const Arguments& args) {
  Written out;
  const auto add = [&](std::string_view whole, std::string_view value) {
    if (!out.arguments.empty()) out.arguments += ", ";
    out.arguments += whole;
    out.values.emplace_back(value);
  };
  for (const Span& at : args.spans) add(at.text(), at.text());
  for (const NamedArg& n : args.named)
    add(n.span ? n.span.text() : n.name, n.span ? value_text(n.span) : std::string_view(n.name));
  return out;
}

std::string habit_of(std::string_view callable, std::string_view told_by, const Written& call) {
  for (const Habit& h : table) {
    if (h.callable != callable || h.told_by != told_by) continue;
    const std::string here = filled(h.here, call.values);
    if (here.empty()) continue;
    return fmt::format("{}, so {}'s `{}` is `{}`", h.reason, h.framework, other_call(callable, call.arguments), here);
  }
  return {};
}

}  // namespace pxl
