// Each op of the table that computes has a cost, and steps that account for it.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "runtime/tiles/candidates/candidates.hpp"
#include "tests/unit/ops/samples.hpp"
#include "tests/unit/tiles/consistent.hpp"
#include "tests/unit/tiles/programs.hpp"

using namespace pxl;
using namespace pxl::tiles;
using namespace pxl::tiles::test;

namespace {

/// Ops without work of their own: views and transpositions share their operand's bytes, calls are charged for the
/// called graph.
bool costs_nothing(const OpRow& row) {
  const bool permutes =
      std::any_of(row.params.begin(), row.params.end(), [](const Param& p) { return p.name == "permutation"; });
  return row.tiles.strategy == TileStrategy::view || row.tiles.strategy == TileStrategy::control || permutes;
}

}  // namespace

TEST_CASE("every op of the table has a cost") {
  std::set<std::string_view> ops;
  for (const OpRow* row : op_table()) {
    if (row->role != Role::compute && row->role != Role::composite) continue;
    for (const DType dtype : {DType::float32, DType::float16}) {
      CAPTURE(row->name);
      CAPTURE(name(dtype));
      Ir ir;
      GraphOpBuilder graph(ir.main());
      try {
        const auto operand = [&](const Array& a) { return graph.of(ir.main().add_variable(a, "v")); };
        graph.emit(*row, pxl::test::arguments(*row, pxl::test::sample_for(*row, dtype), operand));
      } catch (const Error&) {
        // Some ops do not accept float16.
        CHECK(dtype == DType::float16);
        continue;
      }
      const Report r = report(ir, "mk2,tiles=4");
      check_consistent(r);
      CHECK((row->role == Role::composite || !r.ops.empty()));
      size_t at = 0;
      for (const Op* op : schedule_order(ir.main())) {
        const ReportOp& o = r.ops[at++];
        CAPTURE(o.name);
        ops.insert(op->row->name);
        if (costs_nothing(*op->row)) continue;
        CHECK(o.cycles.total() > 0);
        CHECK(o.alternatives.size() > 0);
      }
    }
  }
  // The whole table is covered; composites are covered by the ops that they expand to.
  for (const OpRow* row : op_table())
    if (row->role == Role::compute) {
      CAPTURE(row->name);
      CHECK(ops.count(row->name) == 1);
    }
}

TEST_CASE("slices that are read move from a table in the second level") {
  const auto moved = [](int64_t indices) {
    Ir ir;
    Tensor* table = variable(ir, {1 << 20, 256}, "table");
    Tensor* wanted = ir.main().add_variable(Array::zeros(DType::int32, {indices}), "indices");
    op("gather", {table, wanted});
    const Report r = report(ir, "wormhole");
    REQUIRE(r.fits);
    int64_t bytes = 0;
    for (const ReportStep& s : r.steps)
      if (s.what == "operands and results in the second memory level") bytes += s.bytes;
    return bytes;
  };
  const int64_t few = moved(64), many = moved(4096);
  // The slices, once read and once written, and the indices: far from the 512 MiB of the table.
  CHECK(few >= 2 * 64 * 256 * 2);
  CHECK(few <= 3 * 64 * 256 * 2);
  CHECK(many >= 2 * 4096 * 256 * 2);
  CHECK(many <= 3 * 4096 * 256 * 2);
}
