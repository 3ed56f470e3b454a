// The place where threads are made. A process may not be able to make any: a limit on processes, a container, too
// little address space. Their stacks are large enough, whatever the limit on stacks.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

namespace pxl {

inline constexpr size_t min_thread_stack = size_t{8} << 20;  ///< bytes; taken when they are used

/// A thread, which has to be joined.
class Thread {
 public:
  Thread() = default;
  Thread(Thread&& other) noexcept : handle_(std::exchange(other.handle_, std::nullopt)) {}
  Thread& operator=(Thread&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  void join() { ::pthread_join(*std::exchange(handle_, std::nullopt), nullptr); }
  bool joinable() const { return handle_.has_value(); }

 private:
  friend std::optional<Thread> try_to_start_thread(std::function<void()> body);
  std::optional<pthread_t> handle_;
};

/// A thread that runs `body`, which throws nothing. No signal is delivered to it: handlers run on threads that have an
/// alternate stack (signals.hpp). Nullopt if the system makes no thread.
std::optional<Thread> try_to_start_thread(std::function<void()> body);

/// The same. Throws run_error if the system makes no thread; `what` completes "no thread can be made that ...".
Thread start_thread(std::string_view what, std::function<void()> body);

}  // namespace pxl
