// The analysis thread, which keeps the server responsive. It analyses one text at a time. The server submits a job and
// collects the result. the server submits a job and collects the result.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "interpreter/tools/analysis.hpp"
#include "runtime/base/threads/start_thread.hpp"

namespace pxl::lsp {

class Analyst {
 public:
  struct Job {
    std::string path, text;
    int64_t revision = 0;  ///< revision of the document
    int64_t changes = 0;   ///< number of changes of all open texts, when the job was submitted
    std::shared_ptr<OpenTexts> open_texts;
  };
  struct Answer {
    Job job;
    std::unique_ptr<Analysis> analysis;  ///< `finished` is false if it was cancelled
  };

  /// `done` is called on the analysis thread when a result is available.
  explicit Analyst(std::function<void()> done);
  ~Analyst();
  Analyst(const Analyst&) = delete;
  Analyst& operator=(const Analyst&) = delete;

  /// Whether a submitted job's result has not been collected yet.
  bool busy() const;
  void start(Job job);
  std::optional<Answer> take();
  /// Cancels the current job. Thread-safe.
  void cancel() { cancelled_ = true; }
  /// Frees an analysis on the analysis thread, since freeing a large one takes long.
  void discard(std::unique_ptr<Analysis> analysis);
  /// Ends the thread; returns false if it does not end within the time.
  bool stop(int milliseconds);

 private:
  void work();
  std::function<void()> done_;
  std::atomic<bool> cancelled_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Job> job_;        ///< submitted, not started
  std::optional<Answer> answer_;  ///< not collected yet
  std::vector<std::unique_ptr<Analysis>> discarded_;
  bool busy_ = false, stopping_ = false, stopped_ = false;
  Thread thread_;
};

}  // namespace pxl::lsp
