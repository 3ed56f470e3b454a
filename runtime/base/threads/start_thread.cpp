#include "runtime/base/threads/start_thread.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <memory>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl {

std::optional<Thread> try_to_start_thread(std::function<void()> body) {
  using Body = std::function<void()>;
  auto given = std::make_unique<Body>(std::move(body));
  const auto run = [](void* argument) -> void* {
    const std::unique_ptr<Body> own(static_cast<Body*>(argument));
    (*own)();
    return nullptr;
  };
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return std::nullopt;
  size_t usual_stack = 0;
  ::pthread_attr_getstacksize(&attributes, &usual_stack);
  ::pthread_attr_setstacksize(&attributes, std::max(usual_stack, min_thread_stack));
  // The new thread inherits the mask: it is set before, so that no signal comes in between.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t handle{};
  const bool made = ::pthread_create(&handle, &attributes, run, given.get()) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  if (!made) return std::nullopt;
  static_cast<void>(given.release());
  Thread thread;
  thread.handle_ = handle;
  return thread;
}

Thread start_thread(std::string_view what, std::function<void()> body) {
  std::optional<Thread> made = try_to_start_thread(std::move(body));
  if (made) return *std::move(made);
  throw run_error(fmt::format("no thread can be made that {}", what),
                  {"raise the limit on processes (`ulimit -u`) or that on address space (`ulimit -v`)"})
      .as(codes::memory);
}

}  // namespace pxl
