#include "runtime/base/cancel.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "runtime/base/interrupt.hpp"

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
