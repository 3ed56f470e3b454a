// The system makes no more threads: pools keep their threads, and code that needs a thread reports an error.
#include "runtime/base/threads/start_thread.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/threads/thread_pool.hpp"

namespace {
std::atomic<int> threads_left{std::numeric_limits<int>::max()};

/// While it lives, the system makes this many threads.
struct ThreadLimit {
  explicit ThreadLimit(int threads) { threads_left = threads; }
  ~ThreadLimit() { threads_left = std::numeric_limits<int>::max(); }
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;
};
}  // namespace

/// Replaces the C library's, for this test program.
extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*start)(void*), void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left.fetch_sub(1) <= 0) return EAGAIN;
  return create(thread, attributes, start, argument);
}

using namespace pxl;

TEST_CASE("a pool works with the threads that the system makes") {
  for (const int made : {0, 1, 2, 9, 20}) {
    const ThreadLimit limit(made);
    ThreadPool pool(12);
    CHECK(pool.size() == std::min(made + 1, 12));
    for (int job = 0; job < 100; ++job) {
      std::vector<int> times(static_cast<size_t>(pool.size()));
      int chunks = 0;
      pool.run([&](int chunk, int n) {
        ++times[static_cast<size_t>(chunk)];
        if (chunk == 0) chunks = n;
      });
      times.resize(static_cast<size_t>(chunks));
      CHECK(times == std::vector<int>(times.size(), 1));
    }
  }
}

TEST_CASE("code that needs a thread reports that there is none") {
  const ThreadLimit limit(0);
  CHECK(!try_to_start_thread([] {}));
  try {
    start_thread("reads messages", [] {});
    FAIL("a thread was made");
  } catch (const Error& e) {
    CHECK(e.first().message == "no thread can be made that reads messages");
    CHECK(!e.first().notes.empty());
  }
}

TEST_CASE("threads handle no signals, and their makers go on handling them") {
  sigset_t before, in_thread, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  start_thread("looks at its signals", [&] { pthread_sigmask(SIG_SETMASK, nullptr, &in_thread); }).join();
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) {
    CHECK(sigismember(&in_thread, number) == 1);
    CHECK(sigismember(&after, number) == sigismember(&before, number));
  }
}
