// The output of replicas in several processes has the order of one process.
#include "runtime/processes/run_output.hpp"

#include <doctest/doctest.h>

#include "runtime/base/files/standard_streams.hpp"

using namespace pxl;

namespace {

/// What `body` writes.
template <class F>
std::string written(const F& body) {
  std::string all;
  redirect_streams(
      [](void* to, bool to_err, std::string_view text) {
        static_cast<std::string*>(to)->append(to_err ? "err " : "out ").append(text);
      },
      &all);
  body();
  redirect_streams(nullptr, nullptr);
  return all;
}

}  // namespace

TEST_CASE("texts are printed by collectives passed, then by replica") {
  RunOutput own, other;
  own.begin();
  own.turn(0, 0);
  write_out("a\n");
  own.turn(0, 1);
  write_err("b\n");
  write_out("c\n");
  own.turn(1, 0);
  write_out("g\n");
  const std::string here = own.end();
  other.begin();
  other.turn(0, 2);
  write_out("d\n");
  other.turn(0, 3);
  write_out("e");
  write_out("f\n");
  other.turn(1, 3);
  write_err("h \xff\n");
  const std::string there = other.end();
  CHECK(written([&] {
          RunOutput::print({here, there});
        }) == "out a\nerr b\nout c\nout d\nout ef\nout g\nerr h \xef\xbf\xbd\n");
  CHECK(written([&] { RunOutput::print({there, "", here}); }) == written([&] { RunOutput::print({here, there}); }));
}

TEST_CASE("a run that prints nothing keeps nothing, and gives the streams back") {
  RunOutput output;
  output.begin();
  CHECK(output.end() == "");
  CHECK(output.end() == "");
  {
    RunOutput left;
    left.begin();
    write_out("dropped with the run");
  }
  CHECK(written([&] { write_out("x"); }) == "out x");
}
