// A call that takes too long ends the process, with an error; an interrupt ends it too.
#include "runtime/processes/watchdog.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <thread>

#include "runtime/base/limits/interrupt.hpp"

using namespace pxl;

namespace {

/// The way in which a watchdog ends a process, which is a thread of the test here.
struct Ended {
  std::promise<std::string> with;
  Watchdog::End end() {
    return [this](const Error* error) {
      with.set_value(error ? error->first().message : "an interrupt");
      std::this_thread::sleep_for(std::chrono::hours(1));  // until the test program ends
    };
  }
};

Error late() { return run_error("too late"); }

/// A watchdog that has ended its process is never destroyed.
std::string end_of(double seconds, const std::function<void()>& meanwhile) {
  auto& ended = *new Ended;
  auto& dog = *new Watchdog(ended.end());
  std::thread([&dog, seconds] {
    dog.during(seconds, late, [] { std::this_thread::sleep_for(std::chrono::hours(1)); });
  }).detach();
  meanwhile();
  return ended.with.get_future().get();
}

}  // namespace

TEST_CASE("a call that ends in time is not disturbed") {
  Ended ended;
  {
    Watchdog dog(ended.end());
    int calls = 0;
    for (int i = 0; i < 100; ++i) dog.during(60, late, [&] { ++calls; });
    CHECK(calls == 100);
    CHECK_THROWS_AS(dog.during(60, late, [] { throw run_error("the call's own"); }), Error);
    std::this_thread::sleep_for(std::chrono::milliseconds(150));  // longer than between two looks at the clock
  }
  ended.with.set_value("nothing");  // throws if the watchdog has set one
  CHECK(ended.with.get_future().get() == "nothing");
}

TEST_CASE("a call that takes too long ends the process") {
  CHECK(end_of(0.2, [] {}) == "too late");
}

TEST_CASE("an interrupt ends a process that waits") {
  CHECK(end_of(3600, [] { request_interrupt(); }) == "an interrupt");
  clear_interrupt();
}
