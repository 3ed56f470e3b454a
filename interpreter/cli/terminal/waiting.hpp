// A line on the terminal that says what a command is at, where that takes long.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/base/threads/start_thread.hpp"

namespace pxl::cli {

/// While it lives, and from the first second on, stderr shows the work and the seconds that it took: "looking at
/// net.pxl  12 s". The line is gone afterwards. Nothing is shown elsewhere than on a terminal, or if `quiet`.
class Waiting {
 public:
  Waiting(const std::string& work, bool quiet);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  void show();

  std::string work_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  std::optional<Thread> thread_;
};

}  // namespace pxl::cli
