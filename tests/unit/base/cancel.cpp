#include "runtime/base/limits/cancel.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "runtime/base/limits/interrupt.hpp"

using namespace pxl;

TEST_CASE("a scope's thread hears its flag, and no request to the process") {
  std::atomic<bool> flag{false};
  request_interrupt();
  {
    const CancelScope scope(flag);
    CHECK_NOTHROW(check_interrupt());
    flag = true;
    CHECK(interrupt_requested());
    CHECK_THROWS_AS(check_interrupt(), Interrupted);
    CHECK_FALSE(flag);  // one request ends one task
    CHECK_NOTHROW(check_interrupt());
    std::thread([] { CHECK_THROWS_AS(check_interrupt(), Interrupted); }).join();
    CHECK(&interrupt_flag() == &flag);
  }
  CHECK_NOTHROW(check_interrupt());
}

TEST_CASE("scopes nest") {
  std::atomic<bool> outer{false}, inner{true};
  const CancelScope first(outer);
  {
    const CancelScope second(inner);
    CHECK_THROWS_AS(check_interrupt(), Interrupted);
  }
  CHECK(&interrupt_flag() == &outer);
}

TEST_CASE("a thread answers a request in the middle of its work, and goes on unless the answer is no") {
  std::atomic<bool> asked{false}, flag{false};
  int answers = 0;
  bool goes_on = true;
  const std::function<bool()> answer = [&] {
    ++answers;
    return goes_on;
  };
  const CancelScope heard(flag);
  {
    const AttentionScope scope(asked, answer);
    CHECK_NOTHROW(check_interrupt());
    CHECK(answers == 0);
    asked = true;
    CHECK_NOTHROW(check_interrupt());
    CHECK_NOTHROW(check_interrupt());
    CHECK(answers == 1);
    asked = true;
    std::thread([] { CHECK_NOTHROW(check_interrupt()); }).join();  // another thread is not asked
    CHECK(answers == 1);
    goes_on = false;
    CHECK_THROWS_AS(check_interrupt(), Interrupted);
    CHECK(answers == 2);
    CHECK_FALSE(flag);
    flag = true;  // a request to cancel is not answered
    CHECK_THROWS_AS(check_interrupt(), Interrupted);
    CHECK(answers == 2);
    asked = true;
  }
  CHECK_NOTHROW(check_interrupt());
  CHECK(answers == 2);
}
