// Results that threads make ahead: their order, errors, interrupts, the number ahead, forks.
#include "runtime/base/threads/in_order.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

using namespace pxl;

TEST_CASE("results come in order, whatever the threads") {
  for (const int threads : {0, 1, 3})
    for (const int64_t ahead : {1, 2, 9}) {
      InOrder<int64_t> results(5, 60, ahead, threads, [](int64_t i) {
        if (i % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
        return i * i;
      });
      for (int64_t i = 5; i < 60; ++i) CHECK(results.next() == i * i);
    }
}

TEST_CASE("no more results are made than are allowed ahead") {
  std::atomic<int> made = 0;
  InOrder<int> results(0, 100, 3, 2, [&](int64_t) { return ++made; });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(made <= 3);
  results.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(made <= 4);
}

TEST_CASE("an error comes in the place of its result") {
  InOrder<int64_t> results(0, 10, 4, 2, [](int64_t i) {
    if (i == 3) throw std::runtime_error("three");
    return i;
  });
  for (int64_t i = 0; i < 3; ++i) CHECK(results.next() == i);
  CHECK_THROWS_WITH(results.next(), "three");
  CHECK(results.next() == 4);
}

TEST_CASE("an interrupt ends the wait, and the end of the queue interrupts what is made") {
  const auto slow = [](int64_t) {
    for (;;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      check_interrupt();
    }
    return 0;
  };
  InOrder<int> results(0, 10, 2, 2, slow);
  std::atomic<bool> cancelled = true;
  const CancelScope scope(cancelled);
  CHECK_THROWS_AS(results.next(), Interrupted);
}

TEST_CASE("the child of a fork makes its results itself") {
  InOrder<int64_t> results(0, 10, 4, 2, [](int64_t i) { return i + 1; });
  CHECK(results.next() == 1);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(results.next() == 2 && results.next() == 3 ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(results.next() == 2);
}
