// The REPL: reads inputs from a terminal, runs them in the engine, and prints the results.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "interpreter/repl/history.hpp"
#include "interpreter/repl/line_editor.hpp"
#include "interpreter/tools/engine.hpp"

namespace pxl {

struct ReplOptions {
  bool init = true;                ///< run the start-up file
  bool quiet = false;              ///< no banner, notices or progress
  std::vector<std::string> files;  ///< loaded first
  std::string version;             ///< for the banner
};

class Repl {
 public:
  explicit Repl(const ReplOptions& options);
  /// Runs until the user exits; returns the exit status.
  int run();

  // ---- for commands
  Engine& engine() { return engine_; }
  History& history() { return history_; }
  LineEditor& editor() { return editor_; }
  bool colour() const { return colour_; }
  void print(std::string_view text);
  void print_schedule(std::string_view text);
  /// Prints an error of a command on standard error, in one line.
  void print_error(std::string_view text);
  /// Prints the outcome of an input.
  void report(const Outcome& outcome);
  void load(const std::string& path);
  std::vector<std::string> loaded;  ///< files, in order, for :reload
  bool done = false;
  std::string last_error;  ///< its kind, for :explain

  /// Handles one text: a command, a help request or an input.
  void handle(const std::string& text);
  /// The prompt for continuation lines.
  std::string prompt(std::string_view text) const;

 private:
  Completions complete(std::string_view line, size_t cursor);
  void echo(std::string_view line) const;

  ReplOptions options_;
  bool terminal_;
  bool colour_;
  Engine engine_;
  History history_;
  LineEditor editor_;
  std::string pending_;  ///< lines of an incomplete input
  int status_ = 0;
};

}  // namespace pxl
