// The table of machines and the parser.
#include "runtime/tiles/machine.hpp"

#include <doctest/doctest.h>

#include "runtime/base/diagnostic.hpp"

using namespace pxl;
using namespace pxl::tiles;

namespace {
std::string refusal(std::string_view text) {
  try {
    parse_machine(text);
  } catch (const Error& e) {
    return e.first().message;
  }
  return {};
}
}  // namespace

TEST_CASE("built-in machines") {
  CHECK(machine_table().size() == 4);
  for (const Machine& m : machine_table()) {
    CAPTURE(m.name);
    CHECK(parse_machine(m.name).clock == m.clock);
    for (const MachineField& f : machine_fields()) {
      CAPTURE(f.key);
      CHECK(m.*f.field >= f.min);
      CHECK(m.*f.field <= f.max);
    }
  }
  CHECK(parse_machine("mk2").macs(2, 2) == 64);
  CHECK(parse_machine("mk2").macs(2, 4) == 32);
  CHECK(parse_machine("mk2").macs(4, 4) == 16);
  CHECK(parse_machine("c600").macs(1, 2) == 128);
  CHECK(parse_machine("mk1").macs(2, 2) == 32);
  CHECK(parse_machine("mk1").macs(4, 4) == 8);
}

TEST_CASE("what-if machines") {
  const Machine m = parse_machine("mk2, tiles=736, clock=1.5G, memory=1Mi");
  CHECK(m.tiles == 736);
  CHECK(m.clock == 1'500'000'000);
  CHECK(m.memory == 1 << 20);
  CHECK(m.executable == 212'992);
  CHECK(m.name == "mk2, tiles=736, clock=1.5G, memory=1Mi");
  CHECK(parse_machine("clock=2e9").clock == 2'000'000'000);
  CHECK(parse_machine("clock=2e9").tiles == parse_machine("bow").tiles);
  CHECK(parse_machine("memory=64Ki").executable == 64 * 1024);
}

TEST_CASE("errors of machine descriptions name the cause") {
  CHECK(refusal("mk3").find("unknown machine `mk3`") != std::string::npos);
  CHECK(refusal("mk2,tile=3").find("did you mean `tiles`") != std::string::npos);
  CHECK(refusal("mk2,tiles=many").find("expected a whole number") != std::string::npos);
  CHECK(refusal("tiles=0").find("must be in") != std::string::npos);
  CHECK(refusal("tiles=1e30").find("expected a whole number") != std::string::npos);
  CHECK(refusal("tiles=nan").find("expected a whole number") != std::string::npos);
  CHECK(refusal("").find("a name or KEY=VALUE is missing") != std::string::npos);
  CHECK(refusal("mk2,bow").find("unknown machine") != std::string::npos);
}
