// Subscripts of arrays.
#include <doctest/doctest.h>

#include "tests/unit/support/host_session.hpp"

using namespace pxl;
using namespace pxl::test;

TEST_CASE("index arrays and masks follow NumPy's placement of axes") {
  HostSession s;
  s.run("a = arange(24).reshape(2, 3, 4)");
  CHECK(s.shown("a[:, [0, 2], 1].shape") == "(2, 2)");
  CHECK(s.shown("a[[0, 1], :, [1, 2]].tolist()") == "[[1, 5, 9], [14, 18, 22]]");
  CHECK(s.shown("a[a > 21].tolist()") == "[22, 23]");
  CHECK(s.shown("a[..., none].shape, a[none, 0].shape") == "((2, 3, 4, 1), (1, 3, 4))");
  CHECK(s.shown("a[:, array([true, false, true])].shape") == "(2, 2, 4)");
  s.run("b = a.copy()\nb[:, 1] = [9, 9, 9, 9]\nb[a > 20] = 0");
  CHECK(s.shown("b[:, 1].tolist(), b[1, 2].tolist(), a[0, 1].tolist()") ==
        "([[9, 9, 9, 9], [9, 9, 9, 9]], [20, 0, 0, 0], [4, 5, 6, 7])");
  CHECK(s.error("a[0, 0, 0, 0]") == "too many subscripts: 4 for an array of shape [2, 3, 4]");
  CHECK(s.error("a[[5]]").starts_with("index 5 is out of range for axis 0"));
}
