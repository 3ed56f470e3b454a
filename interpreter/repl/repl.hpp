// The REPL: reads inputs from a terminal, runs them in the engine, and prints the results.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/commands/console.hpp"
#include "interpreter/repl/history.hpp"
#include "interpreter/repl/line_editor.hpp"
#include "interpreter/tools/engine.hpp"

namespace pxl {

struct ReplOptions {
  bool init = true;                           ///< run the start-up file
  bool quiet = false;                         ///< no banner, notices or progress
  std::vector<std::string> files;             ///< loaded first
  bool only_after_error = false;              ///< ends after the files unless one of them fails
  std::map<std::string, std::string> values;  ///< of the options of the files
  std::string version;                        ///< for the banner
};

class Repl final : public Console {
 public:
  explicit Repl(const ReplOptions& options);
  /// Runs until the user exits; returns the exit status.
  int run();

  // ---- for commands
  Engine& engine() override { return engine_; }
  void print(std::string_view text) override;
  void print_schedule(std::string_view text) override;
  void print_long(std::string_view text) override;
  void print_error(std::string_view text) override;
  void report(const Outcome& outcome) override;
  bool colour() const override { return colour_; }
  int columns() const override { return LineEditor::size().first; }
  std::vector<std::string> history() override { return history_.inputs(); }
  bool interactive() const override { return true; }
  Read read(std::string_view prompt, std::string& line) override;

 private:
  /// Handles one text: a command, a help request or an input.
  void handle(const std::string& text);
  /// The prompt in its colour.
  std::string prompt(std::string_view text) const;
  Completions complete(std::string_view line, size_t cursor);
  std::string input_prompt() const;
  void echo(std::string_view shown_prompt, std::string_view line) const;

  ReplOptions options_;
  bool terminal_;
  bool colour_;        ///< colours standard output
  bool error_colour_;  ///< colours standard error
  Engine engine_;
  History history_;
  LineEditor editor_;
  std::string pending_;  ///< lines of an incomplete input
  int status_ = 0;
};

}  // namespace pxl
