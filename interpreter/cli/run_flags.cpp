// Reads the flags before FILE.
#include "interpreter/cli/run_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "runtime/base/never_destroyed.hpp"

namespace pxl::cli {

namespace {

/// Parses a whole text as a number from `least` to `most`.
std::optional<double> number_within(const std::string& text, double least, double most) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = fault == std::errc() && end == text.data() + text.size();
  return whole && value >= least && value <= most ? std::optional(value) : std::nullopt;
}

constexpr Flag first_flags[] = {
    {"-e", "CODE", "run the code"},
    {"-", "", "run standard input"},
    {"-i", "FILE ...", "run the files, then start the REPL (same as `pxl repl FILE ...`)"},
};
constexpr Flag last_flags[] = {
    {"--version", "", "print version, commit, compiler, engines, instruction sets and line editor"},
    {"--help", "", "show this help; `pxl FILE --help` lists a script's options", "-h"},
};

}  // namespace

bool set_ranks(CommonFlags& flags, const std::string& value) {
  const std::optional<double> count = number_within(value, 1, 1 << 20);
  flags.ranks = static_cast<int>(count.value_or(0));
  return count.has_value();
}

bool set_timeout(CommonFlags& flags, const std::string& value) {
  const std::optional<double> seconds = number_within(value, 0.1, 1e9);
  flags.timeout = seconds.value_or(0);
  return seconds.has_value();
}

std::span<const Flag> main_flags() {
  static const auto& all = never_destroyed([] {
    std::vector<Flag> flags(std::begin(first_flags), std::end(first_flags));
    flags.insert(flags.end(), run_flags.begin(), run_flags.end());
    flags.insert(flags.end(), std::begin(last_flags), std::end(last_flags));
    return flags;
  }());
  return all;
}

void take_leading_flags(CommonFlags& flags, std::vector<std::string>& arguments) {
  size_t taken = 0;
  while (taken < arguments.size()) {
    const auto row = std::find_if(std::begin(run_flag_table), std::end(run_flag_table),
                                  [&](const RunFlag& f) { return f.flag.name == arguments[taken]; });
    if (row == std::end(run_flag_table)) break;
    ++taken;
    const bool valued = !row->flag.value.empty(), missing = valued && taken == arguments.size();
    const std::string value = valued && !missing ? arguments[taken++] : std::string();
    if (missing || !row->set(flags, value)) {
      throw Error(fmt::format("{} takes {}{}", row->flag.name, row->takes,
                              missing ? std::string() : fmt::format(", not `{}`", value)),
                  {std::string(row->example)}, Fault::usage);
    }
  }
  arguments.erase(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(taken));
}

}  // namespace pxl::cli
