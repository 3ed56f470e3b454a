// Reading lines from a terminal: GNU readline, libedit where it was chosen, or plain lines where neither was found or
// the input is no terminal (line_backend.hpp).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/tools/completion.hpp"

namespace pxl {

class LineEditor {
 public:
  /// `plain`: no editing, whatever was built in.
  explicit LineEditor(bool plain);

  enum class Result : uint8_t { line, end, interrupted };
  /// One line (a pasted text may be several), without the newline. `prompt` may hold escapes. An interrupt gives up
  /// the line on a terminal; of other input no byte is lost.
  Result read(const std::string& prompt, std::string& line);

  /// Called with the line and the cursor's byte offset when the user asks for completion.
  void set_completer(std::function<Completions(std::string_view line, size_t cursor)> completer);
  /// Adds an input for recall; `newest` last.
  void remember(const std::string& input);
  void forget_all();

  /// "readline 8.2", "libedit", "plain lines".
  static std::string backend();
  bool edits() const { return edits_; }
  /// Columns and rows of the terminal.
  static std::pair<int, int> size();

 private:
  bool edits_;
};

}  // namespace pxl
