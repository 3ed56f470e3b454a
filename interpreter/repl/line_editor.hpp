// Line input: GNU readline or libedit on a terminal. Builds without a library and other inputs use plain lines
// (line_backend.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/tools/completion.hpp"

namespace pxl {

class LineEditor {
 public:
  /// `plain`: no line editing, even if a library is built in.
  explicit LineEditor(bool plain);

  enum class Result : uint8_t { line, end, interrupted };
  /// Reads one line without the newline (pasted text may contain several lines). `prompt` may contain escape sequences.
  /// An edited line begins with `typed`. An interrupt discards the line on a terminal. Other inputs lose no byte.
  Result read(const std::string& prompt, std::string& line, const std::string& typed = {});
  /// Colours lines while the user types: `paint` adds escape sequences to a line and changes nothing else. Returns
  /// false if the library cannot colour lines.
  bool set_painter(std::function<std::string(std::string_view)> paint);

  /// Sets the function that completion calls with the line and the cursor's byte offset.
  void set_completer(std::function<Completions(std::string_view line, size_t cursor)> completer);
  /// Appends an input to the recall list, newest last.
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
