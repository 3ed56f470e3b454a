// Inputs of earlier sessions: $XDG_STATE_HOME/pxl/history, ~/.local/state/pxl/history where that is unset. One input a
// line, newlines and backslashes escaped. Each is appended by one write, so that sessions side by side keep each
// other's; a last line that was torn is ignored. Files that grew beyond twice the limit are rewritten as a whole.
#pragma once

#include <string>
#include <vector>

namespace pxl {

class History {
 public:
  static constexpr size_t most = 10000;
  /// Empty: nothing is read or kept on disk.
  explicit History(std::string path);
  /// Oldest first; this session's included.
  const std::vector<std::string>& inputs() const { return inputs_; }
  /// Repetitions of the last input and those that begin with a space are not kept. A folder that cannot be made or a
  /// file that cannot be written loses nothing but the recall.
  bool add(const std::string& input);

 private:
  std::string path_;
  std::vector<std::string> inputs_;
};

/// The place of the history, and of the start-up file; empty where there is no home folder.
std::string history_path();
std::string init_path();

}  // namespace pxl
