#include "interpreter/cli/version.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "interpreter/cli/json.hpp"
#include "interpreter/repl/line_editor.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/execute/engines/engine.hpp"
#include "runtime/kernels/instruction_sets.hpp"

namespace pxl::cli {

namespace {

#if defined(__clang__)
constexpr std::string_view compiler = "clang " __clang_version__;
#else
constexpr std::string_view compiler = "g++ " __VERSION__;
#endif

}  // namespace

void print_version(const CommonFlags& flags) {
  const std::string_view used = supported_instruction_set();  // throws, if at all, before anything is printed
  std::vector<std::string> engines;
  for (const EngineRow& row : engine_table()) engines.emplace_back(row.name);
  if (flags.json) {
    emit({{"event", "version"},
          {"version", version()},
          {"commit", commit()},
          {"date", release_date()},
          {"compiler", compiler},
          {"engines", engines},
          {"instruction_sets", instruction_sets()},
          {"instruction_set", used},
          {"line_editor", LineEditor::backend()}});
    return;
  }
  print_out("pxl {} ({})\n", version(), release_date());
  print_out("commit: {}\ncompiler: {}\nengines: {}\n", commit(), compiler, join_texts(engines));
  print_out("instruction sets: {}; on this processor {}\n", join_texts(instruction_sets()), used);
  print_out("line editor: {}\n", LineEditor::backend());
}

}  // namespace pxl::cli
