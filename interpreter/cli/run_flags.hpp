// The flags before FILE, with and without the word `run`. Each flag is one row, from which parsing, help, manual and
// completion are made.
#pragma once

#include <array>

#include "interpreter/cli/command.hpp"
#include "interpreter/language/packages/packages.hpp"
#include "runtime/execute/tiles/allow_one_tile.hpp"

namespace pxl::cli {

/// Sets the flag's value; returns false if the flag does not accept the value.
using SetFlag = bool (*)(CommonFlags& flags, const std::string& value);
bool set_ranks(CommonFlags& flags, const std::string& value);
bool set_timeout(CommonFlags& flags, const std::string& value);

struct RunFlag {
  Flag flag;
  SetFlag set;
  std::string_view takes = {};    ///< description of the value, for errors
  std::string_view example = {};  ///< example for the hint if the value is missing
};

inline constexpr RunFlag run_flag_table[] = {
    {{"--quiet", "", "no progress, no notices"},
     [](CommonFlags& flags, const std::string&) { return flags.quiet = true; }},
    {{"--profile", "", "before FILE: each session prints a time profile when it ends"},
     [](CommonFlags& flags, const std::string&) { return flags.profile = true; }},
    {{"--engine", "NAME", "before FILE: default engine of sessions (docs/engines.md)", "", engine_words},
     [](CommonFlags& flags, const std::string& value) { return flags.engine = value, true; },
     "a name",
     "`--engine reference`"},
    {{"--nancheck", "", "before FILE: stop runs at the first op that produces a NaN or an infinity"},
     [](CommonFlags& flags, const std::string&) { return flags.nancheck = true; }},
    {{"--allow-one-tile", "",
      "before FILE: with --engine tiles, ops that cannot be divided as planned run on one tile"},
     [](CommonFlags&, const std::string&) { return allow_one_tile(), true; }},
    {{"--on-error", "exit|repl", "before FILE: what follows an error: the end, or the REPL with the script's session"},
     [](CommonFlags& flags, const std::string& value) {
       flags.repl_on_error = value == "repl";
       return value == "repl" || value == "exit";
     },
     "`exit` or `repl`",
     "`--on-error repl`"},
    {path_flag, [](CommonFlags&, const std::string& value) { return add_import_folder(value), true; }, "a folder",
     "`--path ../lib`"},
    {{"--ranks", "N", "before FILE: run the script in N processes, which share its replicas (docs/replicas.md)"},
     set_ranks,
     "a number of processes, from 1",
     "`--ranks 4`"},
    {{"--hosts", "A,B,...", "with --ranks: the machines on which they run"},
     [](CommonFlags& flags, const std::string& value) { return flags.hosts = value, true; },
     "names of machines",
     "`--hosts a,b`"},
    {{"--timeout", "SECONDS", "before FILE: how long a process waits for another one; 60"},
     set_timeout,
     "a number of seconds, from 0.1",
     "`--timeout 60`"},
    {{"--json", "", "before FILE: one JSON object a line on standard output (docs/json.md)"},
     [](CommonFlags& flags, const std::string&) { return flags.json = use_json({.json = true}); }},
};

/// The table's flags, as help lists them.
inline constexpr auto run_flags = [] {
  std::array<Flag, std::size(run_flag_table)> flags{};
  for (size_t i = 0; i < flags.size(); ++i) flags[i] = run_flag_table[i].flag;
  return flags;
}();

}  // namespace pxl::cli
