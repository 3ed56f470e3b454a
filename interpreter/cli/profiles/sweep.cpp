#include "interpreter/cli/profiles/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "interpreter/language/options.hpp"
#include "runtime/base/limits/interrupt.hpp"

namespace pxl::cli {

namespace {

constexpr size_t max_rows = 10'000;

struct Axis {
  std::string key;
  std::vector<std::string> values;
};

[[noreturn]] void refuse(const std::string& given, const std::string& why) {
  throw Error(
      fmt::format("profile: --sweep {}: {}", given, why),
      {"--sweep tiles=368..2944 doubles, --sweep batch=8..32..8 adds 8, --sweep partials=float16,float32 lists"},
      Fault::usage);
}

double number_of(const std::string& given, const std::string& word) {
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  if (word.empty() || *end || !std::isfinite(value)) refuse(given, fmt::format("expected a number, got `{}`", word));
  return value;
}

Axis axis_of(const std::string& given) {
  const size_t equals = given.find('=');
  if (equals == given.npos || equals == 0 || equals + 1 == given.size()) refuse(given, "expected KEY=VALUES");
  Axis axis{given.substr(0, equals), {}};
  std::string rest = given.substr(equals + 1);
  const size_t dots = rest.find("..");
  if (dots == rest.npos) {
    for (size_t comma; (comma = rest.find(',')) != rest.npos; rest.erase(0, comma + 1))
      axis.values.push_back(rest.substr(0, comma));
    axis.values.push_back(rest);
    return axis;
  }
  const size_t step_at = rest.find("..", dots + 2);
  const double first = number_of(given, rest.substr(0, dots)),
               last = number_of(given, rest.substr(dots + 2, step_at == rest.npos ? rest.npos : step_at - dots - 2)),
               step = step_at == rest.npos ? 0 : number_of(given, rest.substr(step_at + 2));
  if (first > last || step < 0 || (step_at != rest.npos && step == 0) || (step == 0 && first <= 0))
    refuse(given, "the range is empty or does not end");
  // The limit is a millionth higher, since sums of fractions are inexact.
  for (double v = first; v <= last * (1 + 1e-6) && axis.values.size() <= max_rows; v = step > 0 ? v + step : 2 * v)
    axis.values.push_back(fmt::format("{}", std::round(v * 1e9) / 1e9));
  if (step == 0 && axis.values.back() != fmt::format("{}", last)) axis.values.push_back(fmt::format("{}", last));
  return axis;
}

}  // namespace

tiles::Sweep sweep_script(const CommonFlags& common, const Script& script, const ProfileRequest& request,
                          const std::vector<std::string>& given, const std::string& machine,
                          const tiles::EstimateOptions& estimating) {
  std::vector<Axis> axes;
  tiles::Sweep sweep;
  size_t rows = 1;
  for (const std::string& text : given) {
    axes.push_back(axis_of(text));
    sweep.keys.push_back(axes.back().key);
    rows *= axes.back().values.size();
    if (rows > max_rows) refuse(text, fmt::format("more than {} combinations", max_rows));
  }
  std::vector<std::string> declared;
  for (const OptionInfo& option : scan_options(*tree_of(script))) declared.push_back(option.name);
  for (size_t row = 0; row < rows; ++row) {
    check_interrupt();
    Script changed = script;
    tiles::EstimateOptions with = estimating;
    std::string changed_machine = machine;
    std::vector<std::string> values;
    size_t left = row;
    for (size_t a = axes.size(); a-- > 0; left /= axes[a].values.size()) {
      const std::string& value = axes[a].values[left % axes[a].values.size()];
      const std::string& key = axes[a].key;
      values.insert(values.begin(), value);
      if (std::find(declared.begin(), declared.end(), key) != declared.end())
        changed.options.insert(changed.options.end(), {"--" + key, value});
      else if (key == "available-memory-proportion")
        tiles::parse_memory_proportions(value, with);
      else if (key == "partials")
        tiles::parse_partials(value, with);
      else
        changed_machine += fmt::format("{}{}={}", changed_machine.empty() ? "" : ",", key, value);
    }
    if (changed_machine != machine) with.machine = tiles::parse_machine(changed_machine);
    for (const tiles::Report& r : profile_script(common, changed, request, with))
      sweep.rows.push_back(tiles::sweep_row(values, r));
  }
  return sweep;
}

}  // namespace pxl::cli
