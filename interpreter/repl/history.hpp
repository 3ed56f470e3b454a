// The history of inputs, which includes earlier sessions: $XDG_STATE_HOME/pxl/history, by default
// ~/.local/state/pxl/history. One input per line, with newlines and backslashes escaped. Each input is appended by one
// write, so that concurrent sessions do not lose each other's inputs. An incomplete last line is ignored. A file longer
// than twice the limit is rewritten.
#pragma once

#include <string>
#include <vector>

namespace pxl {

class History {
 public:
  static constexpr size_t most = 10000;
  /// If the path is empty, nothing is read from or written to disk.
  explicit History(std::string path);
  /// Oldest first, including this session's.
  const std::vector<std::string>& inputs() const { return inputs_; }
  /// Ignores repetitions of the last input and inputs that begin with a space. If the folder or file cannot be written,
  /// only later sessions lose the input.
  bool add(const std::string& input);

 private:
  std::string path_;
  std::vector<std::string> inputs_;
};

/// Paths of the history and the start-up file; empty without a home folder.
std::string history_path();
std::string init_path();

}  // namespace pxl
