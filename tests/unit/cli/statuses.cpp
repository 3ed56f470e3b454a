// The exit status of every way to end; those that a script can bring about are also in tests/cli/commands.py.
#include <doctest/doctest.h>

#include <new>
#include <stdexcept>

#include "interpreter/cli/command.hpp"
#include "runtime/base/limits/interrupt.hpp"

using namespace pxl;

TEST_CASE("each fault has its exit status") {
  const auto status = [](Fault fault) {
    return cli::guarded([&]() -> int { throw Error("what happened", {}, fault); });
  };
  CHECK(status(Fault::failed) == 1);
  CHECK(status(Fault::usage) == 2);
  CHECK(status(Fault::refused) == 65);
  CHECK(status(Fault::unreadable) == 66);
  CHECK(status(Fault::internal) == 70);
  CHECK(cli::guarded([] { return 0; }) == 0);
}

TEST_CASE("an exception that is no language error is an internal error, but not lack of memory") {
  CHECK(cli::guarded([]() -> int { throw std::logic_error("broken promise"); }) == 70);
  CHECK(cli::guarded([]() -> int { throw std::bad_alloc(); }) == 1);
  CHECK(cli::guarded([]() -> int { throw Interrupted(); }) == 130);
}
