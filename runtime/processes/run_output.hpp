// The text that replicas print while they run in several processes. Each process keeps its text; process 0 prints all
// of it in the order that one process would have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pxl {

class RunOutput {
 public:
  RunOutput() = default;
  ~RunOutput();
  RunOutput(const RunOutput&) = delete;
  RunOutput& operator=(const RunOutput&) = delete;

  /// Begins to keep the text that this process writes to its standard streams.
  void begin();
  /// Announces that the replica writes the text that comes next, after this number of collectives.
  void turn(int64_t passed, int replica);
  /// The text that was kept; empty if there is none.
  std::string text() const;
  /// Stops keeping the text, and returns the text that was kept.
  std::string end();
  /// Writes the text that all processes have kept.
  static void print(const std::vector<std::string>& kept);

 private:
  struct Text {
    int64_t passed = 0;
    int replica = 0;
    bool to_err = false;
    std::string text = {};
  };
  static void keep(void* own, bool to_err, std::string_view text);

  std::vector<Text> texts_;
  int64_t passed_ = 0;
  int replica_ = 0;
  bool on_ = false;
};

}  // namespace pxl
