#include "runtime/base/threads/pool_turn.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

#include "runtime/base/threads/fork.hpp"
#include "runtime/base/threads/thread_pool.hpp"

using namespace pxl;

namespace {

/// The number of chunks that a job is divided into.
int chunks(ThreadPool& pool) {
  std::atomic<int> most{0};
  pool.run([&](int, int shares) { most = shares; });
  return most;
}

}  // namespace

TEST_CASE("one thread has the pool, others run serially meanwhile") {
  ThreadPool pool(2);
  std::optional<PoolTurn> turn(std::in_place);
  CHECK_FALSE(runs_without_pool);
  CHECK(chunks(pool) == 2);
  std::thread([&] {
    const PoolTurn other;
    CHECK(runs_without_pool);
    CHECK(chunks(pool) == 1);
  }).join();
  turn.reset();
  std::thread([&] {
    const PoolTurn other;
    CHECK_FALSE(runs_without_pool);
  }).join();
  CHECK_FALSE(runs_without_pool);
}

TEST_CASE("the child of a fork has a pool of its own, and the turn if another thread had it") {
  thread_pool().run([](int, int) {});
  std::atomic<int> stage{0};
  std::thread other([&] {
    const PoolTurn turn;
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  });
  while (stage != 1) std::this_thread::yield();
  const uint32_t before = fork_generation();
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    const PoolTurn turn;
    std::atomic<int> sum{0};
    for (int i = 0; i < 100; ++i) thread_pool().run([&](int chunk, int) { sum += chunk == 0; });
    _exit(!runs_without_pool && sum == 100 && fork_generation() == before + 1 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  stage = 2;
  other.join();
}
