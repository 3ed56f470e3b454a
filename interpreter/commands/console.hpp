// The place where a command that begins with `:` was typed, a terminal or a notebook: its output, its input and its
// state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "interpreter/tools/engine.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

class Console {
 public:
  virtual ~Console() = default;
  virtual Engine& engine() = 0;

  /// Prints a text, and ends its last line.
  virtual void print(std::string_view text) = 0;
  virtual void print_schedule(std::string_view text) { print(text); }
  /// Prints a text that may be long, through a pager on a terminal.
  virtual void print_long(std::string_view text) { print(text); }
  /// Prints the error of a command in one line.
  virtual void print_error(std::string_view text) = 0;
  /// Shows the outcome of an input: its value, or its diagnostics.
  virtual void report(const Outcome& outcome) = 0;
  /// Shows a graph as a picture; returns false if the console shows text only.
  virtual bool show_graph(const Graph&) { return false; }
  /// Whether texts may contain escape sequences for colours.
  virtual bool colour() const { return false; }
  /// The width in which texts are laid out.
  virtual int columns() const = 0;
  /// Earlier inputs, oldest first.
  virtual std::vector<std::string> history() = 0;

  enum class Read : uint8_t { line, end, interrupted };
  /// Whether read() can ask a user.
  virtual bool interactive() const { return false; }
  /// Reads one line after a prompt.
  virtual Read read(std::string_view, std::string&) { return Read::end; }

  /// Runs a file as one input.
  void load(const std::string& path) {
    const Outcome o = engine().load(path);
    report(o);
    if (o.ok()) loaded.push_back(path);
  }

  std::vector<std::string> loaded;  ///< loaded files, in order, for :reload
  bool done = false;                ///< after :quit or exit()
  std::string last_error;           ///< its kind, for :explain
};

}  // namespace pxl
