// Machines: their descriptions, the table, and the parser.
#include "runtime/tiles/machine/machine.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/effects.hpp"
#include "runtime/tiles/costs/cost.hpp"
#include "runtime/tiles/costs/exchange.hpp"
#include "runtime/tiles/costs/second_level.hpp"
#include "runtime/tiles/machine/machine_file.hpp"

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

/// The message of the description's reader, and the text that its caret points at.
std::pair<std::string, std::string> refused_description(std::string_view text) {
  try {
    read_machine("here.machine", text);
  } catch (const Error& e) {
    return {e.first().message, std::string(e.first().span.text())};
  }
  return {};
}

std::string with_line(std::string_view line) { return "extends = \"mk2\"\n\n[tile]\n" + std::string(line) + "\n"; }
}  // namespace

TEST_CASE("built-in machines") {
  CHECK(machine_table().size() >= 4);
  CHECK(machine_table().size() == machine_files().size());
  for (const Machine& m : machine_table()) {
    CAPTURE(m.name);
    CHECK(parse_machine(m.name).clock == m.clock);
    for (const MachineField& f : machine_fields()) {
      const Machine::Given& given = m.given[static_cast<size_t>(&f - machine_fields().data())];
      CAPTURE(f.key);
      if (f.presence == Presence::required) CHECK(given.given);
      if (!given.given) continue;
      CHECK_FALSE(given.source.empty());
      CHECK(m.*f.field >= f.min);
      CHECK(m.*f.field <= f.max);
    }
    CHECK_FALSE(m.chip.empty());
    CHECK(m.macs(2, 4) > 0);
    CHECK(m.macs(4, 4) > 0);
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

TEST_CASE("a description: units, sources, what it extends") {
  const Machine m = read_machine("folder/mine.machine",
                                 "# a machine\n"
                                 "extends = \"bow\"  # with less memory\n"
                                 "chip = \"Mine\"\n"
                                 "[sources]\n"
                                 "sheet = \"a data sheet\"\n"
                                 "[tile]\n"
                                 "memory = 0.5 MiB [sheet]\n"
                                 "clock = 1850 MHz\n"
                                 "[host]\n"
                                 "host_latency = 20 us [sheet]");
  const Machine bow = parse_machine("bow");
  CHECK(m.name == "mine");
  CHECK(m.chip == "Mine");
  CHECK(m.memory == 512 * 1024);
  CHECK(m.clock == bow.clock);
  CHECK(m.host_latency == 20'000);
  CHECK(m.tiles == bow.tiles);
  for (size_t i = 0; i < machine_fields().size(); ++i) {
    const std::string_view key = machine_fields()[i].key;
    CAPTURE(key);
    if (key == "memory" || key == "host_latency")
      CHECK(m.given[i].source == "a data sheet");
    else if (key == "clock")
      CHECK(m.given[i].source.empty());
    else
      CHECK(m.given[i].source == bow.given[i].source);
  }
}

TEST_CASE("errors of descriptions point at the text at fault") {
  using Refusal = std::pair<std::string, std::string>;
  CHECK(refused_description(with_line("tile = 3")) ==
        Refusal{"machine: unknown constant `tile`; did you mean `tiles`?", "tile"});
  CHECK(refused_description(with_line("sync = 3 cycles")) == Refusal{"machine: `sync` belongs to [exchange]", "sync"});
  CHECK(refused_description(with_line("memory = 3 cycles")) == Refusal{"machine: expected a unit of memory", "cycles"});
  CHECK(refused_description(with_line("memory = 64")).first == "machine: expected a unit of memory");
  CHECK(refused_description(with_line("tiles = 3 bytes")) == Refusal{"machine: tiles has no unit", "bytes"});
  CHECK(refused_description(with_line("memory = 0.0001 KiB")).first ==
        "machine: memory must be a whole number of bytes in 4096..1073741824");
  CHECK(refused_description(with_line("memory = many KiB")) == Refusal{"machine: expected a number", "many KiB"});
  CHECK(refused_description(with_line("tiles = 1e999")).first == "machine: expected a number");
  CHECK(refused_description(with_line("tiles = 4 [sheet]")) == Refusal{"machine: unknown source `sheet`", "[sheet]"});
  CHECK(refused_description(with_line("tiles = 4\ntiles = 5")) == Refusal{"machine: `tiles` is given twice", "tiles"});
  CHECK(refused_description(with_line("tiles = 4 5")).first == "machine: tiles has no unit");
  CHECK(refused_description(with_line("tiles = 4 ]")).first == "machine: expected the end of the line");
  CHECK(refused_description(with_line("tiles 4")).first == "machine: expected `=`");
  CHECK(refused_description("[tiles]\n") ==
        Refusal{"machine: unknown section `tiles`; did you mean `tile`?", "[tiles]"});
  CHECK(refused_description("[tile").first == "machine: expected `]`");
  CHECK(refused_description("name = \"x\"\n") == Refusal{"machine: unknown entry `name`", "name"});
  CHECK(refused_description("chip = \"x\n").first == "machine: the text does not end on its line");
  CHECK(refused_description("extends = \"mk4\"\n") ==
        Refusal{"machine: unknown machine `mk4`; did you mean `mk1`?", "\"mk4\""});
  CHECK(refused_description("chip = \"x\"\nextends = \"mk2\"\n").first == "machine: `extends` must come first");
  CHECK(refused_description("").first.find("the description lacks tiles in [tile], workers in [tile]") !=
        std::string::npos);
  CHECK(refused_description("extends = \"mk2\"\n[exchange]\nmesh_columns = 32\n").first ==
        "machine: mesh_columns needs link_bytes");
  CHECK(refusal("mk2,dram_memory=1G") == "machine: dram_memory needs dram_bytes");
}

TEST_CASE("damaged descriptions are refused or read, never more") {
  std::mt19937 rng(7);
  int refused = 0, read = 0;
  for (const MachineFile& f : machine_files())
    for (int turn = 0; turn < 200; ++turn) {
      std::string text(f.text);
      for (unsigned change = rng() % 3; change < 3; ++change) {
        const size_t at = rng() % text.size();
        switch (rng() % 3) {
          case 0: text[at] = static_cast<char>(rng()); break;
          case 1: text.erase(at, rng() % 20); break;
          default: text.insert(at, text.substr(rng() % text.size(), rng() % 20)); break;
        }
      }
      try {
        const Machine m = read_machine("damaged.machine", text);
        for (const MachineField& field : machine_fields())
          if (m.given[static_cast<size_t>(&field - machine_fields().data())].given) {
            CHECK(m.*field.field <= field.max);
          }
        ++read;
      } catch (const Error& e) {
        CHECK((e.first().span.file || e.first().fault == Fault::unreadable));  // a path in `extends`
        ++refused;
      }
    }
  CHECK(refused > 100);
  CHECK(read > 100);
}

TEST_CASE("descriptions in files") {
  const auto folder = std::filesystem::temp_directory_path() / ("pxl-machines-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "base.machine") << "extends = \"mk2\"\n[tile]\ntiles = 12\n";
  std::ofstream(folder / "mine.machine") << "extends = \"base.machine\"\n[tile]\nworkers = 3\n";
  std::ofstream(folder / "loop.machine") << "extends = \"./loop.machine\"\n";
  const std::string mine = (folder / "mine.machine").string();
  const Machine m = parse_machine(mine + ",sync=7");
  CHECK(m.tiles == 12);
  CHECK(m.workers == 3);
  CHECK(m.sync == 7);
  CHECK(m.name == mine + ",sync=7");
  CHECK(parse_machine(mine).name == "mine");
  CHECK(refusal((folder / "loop.machine").string()) == "machine: machines extend each other more than 8 times");
  CHECK(refusal((folder / "none.machine").string()).find("cannot read") != std::string::npos);
  {
    const EffectScope look(look_effects);
    CHECK_THROWS_AS(parse_machine(mine), Unevaluated);
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("meshes, matrix units of blocks, wide vectors, fixed costs") {
  const std::string mesh = "mk2,tiles=64,mesh_columns=8,link_bytes=8,hop_latency=";
  Traffic t;
  t.in = t.out = 4000;
  t.total = 64 * 4000;
  t.runs = t.sends = t.fragments = 1;
  const int64_t flat = scheduled_cycles(parse_machine("mk2,tiles=64"), t);
  // 1,000 words a tile; 224 links carry 256,000 bytes over 5 links each: 714 cycles.
  CHECK(scheduled_cycles(parse_machine(mesh + "0"), t) == flat);
  CHECK(scheduled_cycles(parse_machine(mesh + "9"), t) == flat + 14 * 9);
  CHECK(scheduled_cycles(parse_machine("mk2,tiles=64,mesh_columns=8,link_bytes=1"), t) == 134 + div_up(5715 * 100, 83));

  Machine m = parse_machine("mk2");
  m.block_rows = m.block_depth = m.block_columns = 32;
  m.block_f32 = 64, m.block_f16 = 32, m.block_f8 = 16;
  m.block_load_bytes = 64, m.block_overhead = 3, m.block_store = 10, m.product_cycles = 100;
  ProductShape s{2, 33, 64, 32, 2, 4};
  CHECK(product_cycles(m, s).cycles == 100 + 2 * 2 * (2 * (64 + 3) + 10));  // the load of 4,096 bytes takes longer
  s.operand_bytes = 1;
  CHECK(product_cycles(m, s).cycles == 100 + 2 * 2 * (2 * (32 + 3) + 10));
  CHECK(m.macs(4, 4) == 512);

  const Machine wide = parse_machine("mk2,workers=1,vector_bytes=32");
  CHECK(inner_cycles(wide, tile_add.vector, 800, 4) == 100 * 3);
}

TEST_CASE("streamed products read each operand once for each part along the other one") {
  // Sums of 4 x 4 bytes a row and column, slices of two times 128 x 2 bytes.
  const StreamedProduct whole = streamed_product(64, 64, 1024, 2, 4, 1 << 20);
  CHECK(whole.left_reads == 1);
  CHECK(whole.right_reads == 1);
  CHECK(whole.bytes == 64 * 64 * 4 + 128 * 512);
  const StreamedProduct parts = streamed_product(256, 128, 1024, 2, 4, 150'000);
  CHECK(parts.bytes <= 150'000);
  CHECK(parts.left_reads == 1);
  CHECK(parts.right_reads == 4);
  const StreamedProduct tight = streamed_product(256, 128, 1024, 2, 4, 1);
  CHECK(tight.left_reads == 128);
  CHECK(tight.right_reads == 256);
}
