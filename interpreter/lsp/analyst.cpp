#include "interpreter/lsp/analyst.hpp"

#include <chrono>

namespace pxl::lsp {

Analyst::Analyst(std::function<void()> done) : done_(std::move(done)) {
  thread_ = start_thread("analyses texts", [this] { work(); });
}

Analyst::~Analyst() {
  stop(-1);
  if (thread_.joinable()) thread_.join();
}

bool Analyst::busy() const {
  const std::lock_guard lock(mutex_);
  return busy_;
}

void Analyst::start(Job job) {
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = false;
    busy_ = true;
    job_ = std::move(job);
  }
  changed_.notify_all();
}

std::optional<Analyst::Answer> Analyst::take() {
  const std::lock_guard lock(mutex_);
  if (!answer_) return std::nullopt;
  std::optional<Answer> out = std::move(answer_);
  answer_.reset();
  busy_ = false;
  return out;
}

void Analyst::discard(std::unique_ptr<Analysis> analysis) {
  if (!analysis) return;
  {
    const std::lock_guard lock(mutex_);
    discarded_.push_back(std::move(analysis));
  }
  changed_.notify_all();
}

bool Analyst::stop(int milliseconds) {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  cancelled_ = true;
  changed_.notify_all();
  const auto ended = [this] { return stopped_; };
  if (milliseconds < 0) {
    changed_.wait(lock, ended);
    return true;
  }
  return changed_.wait_for(lock, std::chrono::milliseconds(milliseconds), ended);
}

void Analyst::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || job_ || !discarded_.empty(); });
    if (stopping_) break;
    std::vector<std::unique_ptr<Analysis>> garbage = std::move(discarded_);
    discarded_.clear();
    std::optional<Job> job = std::move(job_);
    job_.reset();
    lock.unlock();
    garbage.clear();
    std::unique_ptr<Analysis> analysis;
    if (job) {
      try {
        analysis = analyse(job->path, job->text, &cancelled_, job->open_texts);
      } catch (const std::exception&) {
        // The analysis failed, for example for lack of memory: the editor continues with the last analysis.
        analysis = std::make_unique<Analysis>();
        analysis->finished = true;
        analysis->open_texts = job->open_texts;
      }
    }
    lock.lock();
    if (!job) continue;
    answer_ = Answer{*std::move(job), std::move(analysis)};
    lock.unlock();
    done_();
    lock.lock();
  }
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace pxl::lsp
