#include "runtime/base/limits/stack.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <exception>

#include "runtime/base/threads/start_thread.hpp"

namespace pxl {
namespace {

const char* frame_address() noexcept { return static_cast<const char*>(__builtin_frame_address(0)); }

}  // namespace

constinit thread_local const char* stack_detail::bottom = nullptr;

const char* stack_bottom() noexcept {
  if (stack_detail::bottom) return stack_detail::bottom;
  stack_detail::bottom = [] {
    const char* here = frame_address();
    const char* lowest = nullptr;
    pthread_attr_t attr;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
      void* base = nullptr;
      size_t size = 0;
      if (pthread_attr_getstack(&attr, &base, &size) == 0 && base) {
        // A stack reported as unlimited is not.
        constexpr size_t most = size_t{64} << 20;
        lowest = static_cast<const char*>(base);
        if (static_cast<size_t>(here - lowest) > most) lowest = here - most;
      }
      pthread_attr_destroy(&attr);
    }
    return lowest ? lowest : here - (size_t{4} << 20);
  }();
  return stack_detail::bottom;
}

void run_with_stack(const std::function<void()>& body) {
  if (stack_room() >= min_stack) return body();
  sigset_t all, mask;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &mask);
  std::exception_ptr thrown;
  const auto run = [&] {
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    try {
      body();
    } catch (...) {
      thrown = std::current_exception();
    }
  };
  try {
    start_thread(fmt::format("has a larger stack: {} KiB are left of this one", stack_room() >> 10), run).join();
  } catch (...) {
    thrown = std::current_exception();
  }
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace pxl
