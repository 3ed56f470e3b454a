// Which nodes may fail in a run, after others have read the same indices.
#include "runtime/plan/node.hpp"

#include "small_program.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

struct Reads : SmallProgram {
  InSequence order;
  Tensor *table, *indices, *others, *rows;

  Reads()
      : order(ir->main(), InSequence::Mode::yes),
        table(variable({8, 4}, 0)),
        indices(integers({3})),
        others(integers({3})),
        rows(variable({3, 4}, 0)) {}

  Tensor* integers(Shape shape) { return ir->main().add_variable(Array(DType::int32, std::move(shape)), "i"); }
  Tensor* gather(Tensor* from, bool zero = false) { return op("gather", {table, from}, {{"zero_OOR", zero}}); }
  void sums(Tensor* at, int64_t extent) {
    op.builder.emit("sum_duplicates", {op.builder.of(at), op.builder.of(rows)}, {{"extent", extent}});
  }
  std::vector<bool> failing() const {
    std::vector<Node> nodes;
    for (const auto& op : ir->main().ops()) nodes.push_back(lower(*op, {}));
    return failing_nodes(nodes);
  }
};

using Failing = std::vector<bool>;

}  // namespace

TEST_CASE("indices that were checked against a range as large do not fail again") {
  Reads same, smaller, other;
  same.gather(same.indices);
  same.sums(same.indices, 8);
  CHECK(same.failing() == Failing{true, false});
  smaller.gather(smaller.indices);
  smaller.sums(smaller.indices, 7);
  smaller.sums(smaller.indices, 7);
  CHECK(smaller.failing() == Failing{true, true, false});
  other.gather(other.indices);
  other.sums(other.others, 8);
  CHECK(other.failing() == Failing{true, true});
}

TEST_CASE("an op that ignores indices out of range does not fail, and proves nothing") {
  Reads r;
  r.gather(r.indices, true);
  r.sums(r.indices, 8);
  CHECK(r.failing() == Failing{false, true});
}

TEST_CASE("indices that change are checked again") {
  Reads r;
  r.gather(r.indices);
  r.op("copy_var_update_", {r.indices, r.others});
  r.sums(r.indices, 8);
  CHECK(r.failing() == Failing{true, false, true});
}

TEST_CASE("indices in another shape, and several in one list") {
  Reads r;
  Tensor* square = r.integers({3, 1});
  r.gather(square);
  r.sums(r.op("reshape", {square}, {{"shape", Shape{3}}}), 8);
  CHECK(r.failing() == Failing{true, false, false});

  for (const bool both : {false, true}) {
    Reads joined;
    joined.gather(joined.indices);
    if (both) joined.gather(joined.others);
    joined.rows = joined.variable({6, 4}, 0);
    std::vector<Expr> parts{joined.op.builder.of(joined.indices), joined.op.builder.of(joined.others)};
    joined.sums(joined.op.builder.one("concat", {OpArg(std::move(parts))}, {{"axis", int64_t{0}}}).tensor(), 8);
    CHECK(joined.failing().back() == !both);
  }
}
