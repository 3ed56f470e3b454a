// The REPL's and the notebooks' commands, which begin with `:`. A table has each command's name, arguments, help and
// handler.
#pragma once

#include <span>
#include <string_view>

#include "interpreter/commands/console.hpp"

namespace pxl {

struct ReplCommand {
  /// The kind of argument, for completion.
  enum class Argument : uint8_t { none, expression, file, program_file, topic, on_off, error_kind };
  std::string_view name;
  std::string_view arguments;  ///< "[GRAPH]"
  std::string_view doc;        ///< one line
  Argument argument;
  /// Whether the command asks the user questions, which only some consoles can (Console::interactive).
  enum class Place : uint8_t { anywhere, terminal } place;
  void (*run)(Console& console, std::string_view arguments);
};
std::span<const ReplCommand> repl_commands();

/// Runs "help gelu" (without the colon). A name may be abbreviated to any unique prefix. Throws what the command
/// throws.
void run_command(Console& console, std::string_view text);
/// Completes a line that begins with `:` or `?`.
Completions complete_command(Console& console, std::string_view line, size_t cursor);

#define PXL_REPL_COMMAND(name, arguments, doc, argument, place) void command_##name(Console&, std::string_view);
#include "interpreter/commands/commands.inc"
#undef PXL_REPL_COMMAND

}  // namespace pxl
