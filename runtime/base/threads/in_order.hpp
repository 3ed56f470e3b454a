// Numbered results that threads make ahead of their use, and that one thread takes in order.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/base/limits/cancel.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/threads/fork.hpp"
#include "runtime/base/threads/start_thread.hpp"

namespace pxl {

template <class T>
class InOrder {
 public:
  /// Makes the results of [first, end), at most `ahead` of them before they are taken. `make` depends on the number
  /// alone, and several threads call it. A request to end reaches it as an interrupt of its thread.
  InOrder(int64_t first, int64_t end, int64_t ahead, int threads, std::function<T(int64_t)> make)
      : make_(std::move(make)), taken_(first), begun_(first), end_(end), ahead_(ahead) {
    for (int t = 0; t < threads; ++t) {
      std::atomic<bool>& cancelled = cancelled_.emplace_back(false);
      std::optional<Thread> thread = try_to_start_thread([this, &cancelled] { work(cancelled); });
      if (!thread) break;
      threads_.push_back(*std::move(thread));
    }
  }
  ~InOrder() {
    if (forked()) {  // the child has none of the threads, so their objects stay as they are
      for (Thread& t : threads_) new Thread(std::move(t));
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    for (std::atomic<bool>& c : cancelled_) c = true;
    changed_.notify_all();
    for (Thread& t : threads_) t.join();
  }
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;

  /// Returns the next result, or throws what `make` threw. Throws Interrupted while it waits.
  T next() {
    const int64_t number = taken_;
    if (forked() || threads_.empty()) return make_(taken_++);
    std::unique_lock lock(mutex_);
    while (!made_.contains(number)) {
      changed_.wait_for(lock, std::chrono::milliseconds(20));
      if (made_.contains(number)) break;
      lock.unlock();
      check_interrupt();
      lock.lock();
    }
    Made made = std::move(made_.extract(number).mapped());
    ++taken_;
    lock.unlock();
    changed_.notify_all();
    if (made.error) std::rethrow_exception(made.error);
    return *std::move(made.value);
  }

 private:
  struct Made {
    std::optional<T> value;
    std::exception_ptr error;
  };
  bool forked() const { return fork_generation() != generation_; }
  void work(std::atomic<bool>& cancelled) {
    const CancelScope scope(cancelled);
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ends_ || begun_ == end_ || begun_ < taken_ + ahead_; });
      if (ends_ || begun_ == end_) return;
      const int64_t number = begun_++;
      lock.unlock();
      Made made;
      try {
        made.value.emplace(make_(number));
      } catch (...) {
        made.error = std::current_exception();
      }
      lock.lock();
      made_.emplace(number, std::move(made));
      changed_.notify_all();
    }
  }

  std::function<T(int64_t)> make_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, Made> made_;
  int64_t taken_, begun_;  ///< the next number that is taken, and the next that a thread begins
  int64_t end_, ahead_;
  bool ends_ = false;
  std::list<std::atomic<bool>> cancelled_;  ///< by thread
  std::list<Thread> threads_;
  uint32_t generation_ = fork_generation();
};

}  // namespace pxl
