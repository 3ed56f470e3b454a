// The thread that analyses texts, so that questions about them are answered meanwhile. One text at a time; the server
// hands it out and takes the analysis back.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "interpreter/tools/analysis.hpp"

namespace pxl::lsp {

class Analyst {
 public:
  struct Job {
    std::string uri, path, text;
    int64_t revision = 0;  ///< of the document when it was handed out
  };
  struct Answer {
    Job job;
    std::unique_ptr<Analysis> analysis;  ///< `finished` is false where it was cancelled
  };

  /// `done` is called in the analyst's thread when an answer is there.
  explicit Analyst(std::function<void()> done);
  ~Analyst();
  Analyst(const Analyst&) = delete;
  Analyst& operator=(const Analyst&) = delete;

  /// Whether a job was handed out whose answer was not taken yet.
  bool busy() const;
  void start(Job job);
  std::optional<Answer> take();
  /// Ends the present job soon. May be called in any thread.
  void cancel() { cancelled_ = true; }
  /// Frees an analysis in the analyst's thread: a large one takes a while.
  void discard(std::unique_ptr<Analysis> analysis);
  /// Ends the thread; false where it does not end within the time.
  bool stop(int milliseconds);

 private:
  void work();
  std::function<void()> done_;
  std::atomic<bool> cancelled_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Job> job_;        ///< handed out and not begun
  std::optional<Answer> answer_;  ///< not taken yet
  std::vector<std::unique_ptr<Analysis>> discarded_;
  bool busy_ = false, stopping_ = false, stopped_ = false;
  std::thread thread_;
};

}  // namespace pxl::lsp
