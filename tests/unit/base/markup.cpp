// Text within HTML and SVG, and bytes in base64.
#include "runtime/base/text/markup.hpp"

#include <doctest/doctest.h>

using namespace pxl;

TEST_CASE("markup is escaped") { CHECK(escape_markup("a<b> & \"c\"\x01") == "a&lt;b&gt; &amp; &quot;c&quot; "); }
TEST_CASE("base64 as in RFC 4648") {
  CHECK(base64("").empty());
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64(std::string_view("\x00\xff\x10", 3)) == "AP8Q");
}
