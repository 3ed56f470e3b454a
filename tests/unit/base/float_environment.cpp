// Rounding, traps, flags and subnormal numbers of a caller change nothing that the library computes, and stay.
#include "runtime/base/threads/float_environment.hpp"

#include <doctest/doctest.h>

#include <cfenv>
#include <limits>
#include <vector>

#include "runtime/base/threads/subnormals.hpp"

using namespace pxl;

namespace {

/// The environment of the test is as it was at the end.
struct Restored {
  std::fenv_t before;
  Restored() { std::fegetenv(&before); }
  ~Restored() { std::fesetenv(&before); }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;
};

double third() {
  volatile double one = 1, three = 3;
  return one / three;
}
float half_of_smallest() {
  volatile float smallest = std::numeric_limits<float>::min();
  return smallest * 0.5F;
}
double infinite() {
  volatile double one = 1, zero = 0;
  return one / zero;
}

}  // namespace

TEST_CASE("a call computes in the environment that a process begins with") {
  const Restored restored;
  const double expected = third();
  for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST})
    for (const int traps : {0, FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW}) {
      std::feclearexcept(FE_ALL_EXCEPT);
      std::fesetround(rounding);
      ::feenableexcept(traps);
      const int enabled = ::fegetexcept();  // some processors have no traps
      if (traps == 0) std::feraiseexcept(FE_INVALID);
      bool equal = false, infinity = false;
      {
        const OwnFloatEnvironment own;
        equal = third() == expected && half_of_smallest() > 0;
        infinity = infinite() == std::numeric_limits<double>::infinity();
      }
      const int rounding_after = std::fegetround(), traps_after = ::fegetexcept();
      const bool invalid = std::fetestexcept(FE_INVALID) != 0, by_zero = std::fetestexcept(FE_DIVBYZERO) != 0;
      ::fedisableexcept(FE_ALL_EXCEPT);
      std::fesetround(FE_TONEAREST);
      CHECK(equal);
      CHECK(infinity);
      CHECK(rounding_after == rounding);
      CHECK(traps_after == enabled);
      CHECK(invalid == (traps == 0));
      CHECK(!by_zero);
    }
}

TEST_CASE("a call keeps subnormal numbers, and its caller's way with them") {
  const FlushSubnormals flush;
  {
    const OwnFloatEnvironment own;
    CHECK(half_of_smallest() > 0);
  }
  CHECK(half_of_smallest() == 0);
}

TEST_CASE("ops run in one mode, whatever their caller's is") {
  const Restored restored;
  const double expected = third();
  std::fesetround(FE_UPWARD);
  ::feenableexcept(FE_DIVBYZERO);
  double in_run = 0, limit = 0;
  {
    const FlushSubnormals runs;
    in_run = third();
    limit = infinite();
  }
  const int rounding = std::fegetround();
  ::fedisableexcept(FE_ALL_EXCEPT);
  std::fesetround(FE_TONEAREST);
  CHECK(in_run == expected);
  CHECK(limit == std::numeric_limits<double>::infinity());
  CHECK(rounding == FE_UPWARD);
}
