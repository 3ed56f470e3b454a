// The table of passes, constant folding, common subexpressions.
#include "runtime/plan/passes.hpp"

#include <cmath>
#include <set>

#include "runtime/execute/session.hpp"
#include "tests/unit/support/arrays.hpp"
#include "tests/unit/support/errors.hpp"
#include "tests/unit/support/ops.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// Ops that stay separate, so that they can be counted.
PlanOptions counted() { return PlanOptions().without("fuse_elementwise"); }

size_t instructions(const Graph& g, const PlanOptions& options) { return Planner(options).plan(g).instructions.size(); }

TensorSpec spec(Shape shape) { return {std::move(shape), DType::float32, {}}; }

}  // namespace

TEST_CASE("the table of passes") {
  std::set<std::string_view> names;
  for (const PlanPass& t : plan_passes()) {
    CHECK(names.insert(t.name).second);
    CHECK(!t.doc.empty());
    CHECK(plan_passes()[pass_index(t.name)].name == t.name);
    CHECK(PlanOptions().allows(t.name));
    CHECK(!PlanOptions().without(t.name).allows(t.name));
    CHECK(PlanOptions::reference().allows(t.name) == t.reference);
  }
  CHECK_THROWS_WITH_AS(pass_index("cs"), "unknown pass `cs`", Error);
}

TEST_CASE("ops on constants run while planning") {
  const auto build = [](Ir& ir) -> Graph& {
    Graph& g = ir.main();
    Ops op(g);
    Tensor* x = g.add_variable(counting({2, 3}), "x");
    Tensor* scale = op("exp", {op("add", {op.constant(floats({}, {1})), op.constant(floats({}, {0.5F}))})});
    store(ir, op("mul", {x, scale}));
    return g;
  };
  Ir ir;
  Graph& g = build(ir);
  CHECK(instructions(g, counted()) == 2);
  CHECK(instructions(g, counted().without("fold_constants")) == 4);
  // The values are those of the kernels.
  const auto shared = std::make_shared<Ir>();
  build(*shared);
  Session session(shared, "cpu");
  const Array y = session.run({}).begin()->second;
  CHECK(y.data<float>()[5] == doctest::Approx(5 * std::exp(1.5)));
}

TEST_CASE("a large result is not folded") {
  Ir ir;
  Graph& g = ir.main();
  Ops op(g);
  Tensor* one = op.constant(floats({}, {1}));
  Tensor* wide = op("broadcast_to", {one}, {{"shape", std::vector<int64_t>{512, 512}}});
  store(ir, op("exp", {wide}));
  CHECK(instructions(g, counted()) == 3);
}

TEST_CASE("an op that repeats an earlier one is merged while its result is in memory") {
  Ir ir;
  Graph& g = ir.create_graph("f");
  Ops op(g);
  Tensor* x = g.add_input(spec({4, 4}), "x");
  Tensor* a = op("exp", {op("add", {x, op.constant(floats({}, {1}))})});
  Tensor* b = op("exp", {op("add", {x, op.constant(floats({}, {1}))})});
  g.add_output(op("mul", {a, b}));
  CHECK(instructions(g, counted()) == 3);
  CHECK(instructions(g, counted().without("eliminate_common_subexpressions")) == 5);
}

TEST_CASE("results that nobody needs any more are computed again") {
  Ir ir;
  Graph& g = ir.create_graph("f");
  Ops op(g);
  Tensor* x = g.add_input(spec({64, 64}), "x");
  const InSequence in_order(g, InSequence::Mode::yes);
  Tensor* first = op("sum", {op("exp", {x})});
  Tensor* again = op("exp", {op("mul", {op("exp", {x}), first})});
  g.add_output(again);
  CHECK(instructions(g, counted()) == instructions(g, counted().without("eliminate_common_subexpressions")));
}

TEST_CASE("writes and attributes tell ops apart") {
  Ir ir;
  Graph& g = ir.main();
  Ops op(g);
  Tensor* v = g.add_variable(counting({4}), "v");
  Tensor* before = op("exp", {v});
  op("scaled_add_", {v, op.constant(floats({4}, {1, 1, 1, 1}))}, {{"b", 1.0}});
  Tensor* after = op("exp", {v});
  store(ir, op("add", {before, after}), "sum");
  Tensor* seed = g.add_variable(Array::zeros(DType::uint32, {2}), "seed");
  const auto uniform = [&](double high) {
    return op("random_uniform", {seed}, {{"shape", std::vector<int64_t>{8}}, {"high", high}});
  };
  Tensor* same = op("add", {uniform(1.0), uniform(1.0)});
  store(ir, op("add", {same, uniform(2.0)}), "random");
  CHECK(instructions(g, counted().without("eliminate_common_subexpressions")) == instructions(g, counted()) + 1);
}
