// The REPL's `:` commands: a table with name, arguments, help and handler.
#pragma once

#include <span>
#include <string_view>

#include "interpreter/repl/repl.hpp"

namespace pxl {

struct ReplCommand {
  /// Completion of the argument.
  enum class Argument : uint8_t { none, expression, file, program_file, topic, on_off, error_kind };
  std::string_view name;
  std::string_view arguments;  ///< "[GRAPH]"
  std::string_view doc;        ///< one line
  Argument argument;
  void (*run)(Repl& repl, std::string_view arguments);
};
std::span<const ReplCommand> repl_commands();

/// Runs "help gelu" (without the colon). A name may be abbreviated to any unique prefix.
void run_command(Repl& repl, std::string_view text);
/// Completes a line that begins with `:` or `?`.
Completions complete_command(Repl& repl, std::string_view line, size_t cursor);

#define PXL_REPL_COMMAND(name, arguments, doc, argument) void command_##name(Repl&, std::string_view);
#include "interpreter/repl/commands.inc"
#undef PXL_REPL_COMMAND

}  // namespace pxl
