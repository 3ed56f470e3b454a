// The REPL: lines from a terminal to inputs of the engine, what they give to the terminal.
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
  bool quiet = false;              ///< no banner, no notices, no progress
  std::vector<std::string> files;  ///< loaded first
  std::string version;             ///< for the banner
};

class Repl {
 public:
  explicit Repl(const ReplOptions& options);
  /// Until the user leaves; gives the exit status.
  int run();

  // ---- for commands
  Engine& engine() { return engine_; }
  History& history() { return history_; }
  LineEditor& editor() { return editor_; }
  bool colour() const { return colour_; }
  void print(std::string_view text);
  void print_schedule(std::string_view text);
  /// An error of a command's own: one line on standard error.
  void complain(std::string_view text);
  /// Prints what an input did.
  void report(const Outcome& outcome);
  void load(const std::string& path);
  std::vector<std::string> loaded;  ///< files, in order, for :reload
  bool done = false;
  std::string last_error;  ///< its kind, for :explain

  /// Handles one whole text: a command, a question or an input.
  void handle(const std::string& text);
  /// What the user is asked where input goes on.
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
  std::string pending_;  ///< lines of an input that is not whole yet
  int status_ = 0;
};

}  // namespace pxl
