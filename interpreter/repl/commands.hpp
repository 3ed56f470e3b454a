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

// One group per file.
void command_help(Repl&, std::string_view);      // command_help.cpp
void command_tour(Repl&, std::string_view);      // tour.cpp
void command_schedule(Repl&, std::string_view);  // command_graphs.cpp
void command_graphs(Repl&, std::string_view);
void command_grad(Repl&, std::string_view);
void command_dot(Repl&, std::string_view);
void command_memory(Repl&, std::string_view);
void command_tiles(Repl&, std::string_view);
void command_engine(Repl&, std::string_view);  // command_debug.cpp
void command_nancheck(Repl&, std::string_view);
void command_step(Repl&, std::string_view);
void command_break(Repl&, std::string_view);

}  // namespace pxl
