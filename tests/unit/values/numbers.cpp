// Numbers, ranges and dict keys at the edges of 64 bits.
#include "interpreter/values/numbers.hpp"

#include <doctest/doctest.h>

#include "interpreter/values/containers.hpp"
#include "tests/unit/support/host_session.hpp"

using namespace pxl;
using namespace pxl::test;

TEST_CASE("dict keys: equal values are one key") {
  CHECK(is_same_key(Value(1), Value(1.0)));
  CHECK(is_same_key(Value(1), Value(true)));
  CHECK(is_same_key(Value(0.0), Value(-0.0)));
  CHECK(hash_of(Value(1)) == hash_of(Value(1.0)));
  CHECK(hash_of(Value(-7)) == hash_of(Value(-7.0)));
  CHECK_FALSE(is_same_key(Value("1"), Value(1)));
  CHECK_FALSE(is_same_key(Value::natural(UINT64_MAX), Value(-1)));
  CHECK(is_same_key(make_tuple({Value("a"), Value(2)}), make_tuple({Value("a"), Value(2.0)})));
  CHECK(hash_of(make_tuple({Value("a"), Value(2)})) == hash_of(make_tuple({Value("a"), Value(2.0)})));
  CHECK_FALSE(is_same_key(make_tuple({Value("a"), Value("b")}), make_tuple({Value("a,1:b")})));
  CHECK_FALSE(hash_of(make_list({})));
}

TEST_CASE("numbers at the edges") {
  HostSession s;
  CHECK(s.error("2 ** 64") == "2 ** 64 does not fit a 64-bit int");
  CHECK(s.shown("(-2) ** 63") == "-9223372036854775808");
  CHECK(s.shown("range(-9223372036854775807, 9223372036854775807, 9223372036854775807)[1]") == "0");
  CHECK(s.error("range(9223372036854775807)[9223372036854775807]")
            .starts_with("index 9223372036854775807 is out of range"));
  CHECK(s.shown("[1, 2, 3][::-9223372036854775807]") == "[3]");
  CHECK(s.shown("arange(5)[4:0:-2]") == "array([4, 2], int32)");
  CHECK(s.shown("round(-0.5), round(1.5), round(1234, -2), round(0.15, 1)") == "(0, 2, 1200, 0.1)");
}
