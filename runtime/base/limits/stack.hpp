// The machine stack of a thread, and work on one that is large enough.
#pragma once

#include <cstddef>
#include <functional>

namespace pxl {

/// Bytes that a call leaves: for one call's expressions (the parser allows 200 levels), kernels, and the report of an
/// error.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr size_t stack_reserve = size_t{1536} << 10;
#else
inline constexpr size_t stack_reserve = size_t{768} << 10;
#endif
/// Below this, calls of the language have too few levels.
inline constexpr size_t min_stack = stack_reserve + (size_t{256} << 10);

/// The lowest address of this thread's stack; of one without a limit, 64 MB below the first call.
const char* stack_bottom() noexcept;
namespace stack_detail {
extern constinit thread_local const char* bottom;  ///< null before the first call of stack_bottom
}
/// Bytes between this function's frame and the bottom.
inline size_t stack_room() noexcept {
  const char* here = static_cast<const char*>(__builtin_frame_address(0));
  const char* bottom = stack_detail::bottom ? stack_detail::bottom : stack_bottom();
  return here > bottom ? static_cast<size_t>(here - bottom) : 0;
}

/// Runs `body` on this thread if its stack has room for `min_stack` more. Otherwise runs it on a new thread
/// (start_thread.hpp), while this thread waits. Signals go to the thread that runs `body`. Throws the exceptions of
/// `body`, and run_error if the system makes no thread.
void run_with_stack(const std::function<void()>& body);

}  // namespace pxl
