// Remedies for a program that does not fit, sources, sweeps, and programs on other machines.
#include "runtime/tiles/report/remedies.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/tiles/report/report_json.hpp"
#include "runtime/tiles/sweep.hpp"
#include "runtime/transform/outline.hpp"
#include "tests/unit/tiles/consistent.hpp"
#include "tests/unit/tiles/programs.hpp"

using namespace pxl;
using namespace pxl::tiles;
using namespace pxl::tiles::test;

namespace {

const Remedy* remedy(const Report& r, std::string_view what) {
  for (const Remedy& one : r.remedies)
    if (one.what.find(what) != std::string::npos) return &one;
  return nullptr;
}

EstimateOptions options_for(std::string_view machine) {
  EstimateOptions options;
  options.machine = parse_machine(machine);
  return options;
}

}  // namespace

TEST_CASE("remedies of what does not fit are planned, and say what they take") {
  Ir ir;
  layers(ir, variable(ir, {512, 1024}, "x"), 6, false);
  const EstimateOptions options = options_for("mk2,tiles=64,memory=200000");
  Report r = estimate(ir.main(), options);
  CHECK_FALSE(r.fits);
  try_remedies(r, ir, options);
  REQUIRE_FALSE(r.remedies.empty());
  CHECK(remedy(r, "float16 partial sums"));
  CHECK(remedy(r, "outlined"));
  CHECK_FALSE(remedy(r, "float16 for float32"));  // it is float16
  const Remedy* chips = nullptr;
  for (const Remedy& one : r.remedies) {
    CAPTURE(one.what);
    if (one.fits) CHECK(one.bytes <= 200000);
    if (one.what.find("chips as one") != std::string::npos) chips = &one;
  }
  REQUIRE(chips);
  CHECK(chips->fits);  // the last one tried
  CHECK(chips == &r.remedies.back());
  EstimateOptions more = options;
  more.machine.tiles *= std::stoi(chips->what);
  const bool together = chips->what.find(", outlined") != std::string::npos;
  const Report planned = estimate(together ? outline(ir).ir->main() : ir.main(), more);
  CHECK(planned.fits);
  CHECK(planned.cycles.device() == chips->cycles);
  const std::string text = summary_text(r);
  CHECK(text.find("cycles a run,") == std::string::npos);  // none are claimed for what does not fit
  CHECK(text.find("what was tried") != std::string::npos);
  CHECK(text.find("does not fit: tile") != std::string::npos);
  CHECK(text.find(grouped(chips->cycles) + " cycles a run") != std::string::npos);

  Report fits = report(ir);
  try_remedies(fits, ir, options_for("mk2"));
  CHECK(fits.remedies.empty());
}

TEST_CASE("float16 for float32 halves the variables") {
  Ir ir;
  Tensor* x = ir.main().add_variable(Array(DType::float32, {256, 512}), "x");
  Tensor* w = ir.main().add_variable(Array(DType::float32, {512, 512}), "w");
  op("matmul", {x, w});
  const Report before = report(ir), after = report(*in_float16(ir));
  CHECK(after.parameter_bytes * 2 == before.parameter_bytes);
  CHECK(after.cycles.device() < before.cycles.device());
  CHECK(x->spec.dtype == DType::float32);
}

TEST_CASE("the share of float32 partial sums") {
  Ir ir;
  layers(ir, variable(ir, {2048, 1024}, "x"), 2, false);
  Report r = report(ir);
  try_float16_partials(r, ir.main(), options_for("mk2"));
  CHECK(r.float16_partials_cycles > 0);
  CHECK(r.float16_partials_cycles < r.cycles.device());
  CHECK(summary_text(r).find("float32 partial sums take ") != std::string::npos);
  EstimateOptions half = options_for("mk2");
  half.candidates.half_partial_bytes = 2;
  Report already = estimate(ir.main(), half);
  CHECK(already.cycles.device() == r.float16_partials_cycles);
  try_float16_partials(already, ir.main(), half);
  CHECK(already.float16_partials_cycles == 0);
}

TEST_CASE("waiting by op and the tensors at the peak") {
  Ir ir;
  layers(ir, variable(ir, {512, 1024}, "x"), 5, false);
  const Report r = report(ir, "mk2,tiles=100");
  int64_t waiting = 0;
  for (const ReportOp& o : r.ops) waiting += o.waiting_cycles;
  CHECK(waiting == r.waiting_cycles);
  REQUIRE(r.peak_op >= 0);
  CHECK(r.liveness[static_cast<size_t>(r.tiles[static_cast<size_t>(r.fullest_tile)].peak)].op == r.peak_op);
  // Weights w0 to w4 are one group.
  const auto weights =
      std::find_if(r.peak_tensors.begin(), r.peak_tensors.end(), [](const TensorGroup& g) { return g.name == "w*"; });
  REQUIRE(weights != r.peak_tensors.end());
  CHECK(weights->count == 5);
  CHECK(std::is_sorted(r.peak_tensors.begin(), r.peak_tensors.end(),
                       [](const TensorGroup& a, const TensorGroup& b) { return a.bytes > b.bytes; }));
}

TEST_CASE("rows of a sweep that no other one beats") {
  Sweep sweep;
  sweep.keys = {"tiles"};
  const auto add = [&](std::string value, bool fits, double seconds, int64_t bytes) {
    sweep.rows.push_back(
        {{std::move(value)}, "p", fits, static_cast<int64_t>(seconds * 1e9), seconds, bytes, 0, bytes});
  };
  add("1", true, 4, 100);
  add("2", true, 2, 200);
  add("3", true, 3, 300);  // slower and larger than the second
  add("4", false, 1, 50);  // does not fit
  add("5", true, 2, 200);  // as good as the second
  CHECK(pareto_rows(sweep) == std::vector<bool>{true, true, false, false, true});
  const std::string text = sweep_text(sweep);
  CHECK(text.find("does not fit") != std::string::npos);
  CHECK(text.find("1,000,000,000") == std::string::npos);
  CHECK(sweep_json(sweep).find("\"cycles\":null") != std::string::npos);
}

TEST_CASE("machines with a mesh, a matrix unit of blocks and a second memory level") {
  for (const char* machine : {"wormhole", "blackhole", "epyc"}) {
    CAPTURE(machine);
    Ir small;
    layers(small, variable(small, {512, 1024}, "x"), 3, false);
    const Report in_tiles = report(small, machine);
    check_consistent(in_tiles);
    CHECK(in_tiles.fits);

    Ir large;
    Tensor* a = large.main().add_variable(Array(DType::float16, {16384, 16384}), "a");
    Tensor* b = large.main().add_variable(Array(DType::float16, {16384, 16384}), "b");
    op("matmul", {a, b});
    const Report r = report(large, machine);
    check_consistent(r);
    CHECK(r.fits);
    CHECK(r.machine.spill > 0);
    // No faster than the matrix unit, nor than the second level reads both operands once and writes the result.
    const Machine& m = r.machine;
    CHECK(r.cycles.device() >= int64_t{16384} * 16384 * 16384 / (m.tiles * m.macs(2, 4)));
    CHECK(r.microseconds >= 3 * 2.0 * 16384 * 16384 / static_cast<double>(m.dram_bytes) * 1e6);
    // Half of the rate takes longer, and no second level does not fit.
    CHECK(report(large, std::string(machine) + ",dram_bytes=2G").microseconds > r.microseconds);
    CHECK_FALSE(report(large, std::string(machine) + ",dram_memory=0").fits);
  }
}
