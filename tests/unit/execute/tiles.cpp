// The engine of tiles: its results, and that each move of its schedule is needed.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "runtime/execute/tiles_store.hpp"
#include "tests/unit/support/arrays.hpp"
#include "tests/unit/support/errors.hpp"
#include "tests/unit/support/ops.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

Array drawn(const Shape& shape, unsigned seed) {
  std::mt19937 rng(seed);
  Array a(DType::float32, shape);
  for (int64_t i = 0; i < a.size(); ++i)
    a.mutable_data<float>()[i] = static_cast<float>(static_cast<int>(rng() % 65) - 32) / 16;
  return a;
}

/// A program whose output is the last tensor that `build` makes.
struct Net {
  std::shared_ptr<Ir> ir = std::make_shared<Ir>();
  Stream* out = nullptr;
  explicit Net(const std::function<Tensor*(Graph&)>& build) { out = &store(*ir, build(ir->main())); }

  EngineTask task(int64_t tiles) {
    auto options = std::make_shared<tiles::EstimateOptions>();
    options->machine = tiles::parse_machine("mk2,tiles=" + std::to_string(tiles));
    EngineTask t{.ir = *ir, .variable = {}};
    t.variable = [this](const Tensor* v) { return values.try_emplace(v, v->data.clone()).first->second.mutable_raw(); };
    t.machine = options;
    return t;
  }
  Array run(ExecutionEngine& engine) {
    Array result(out->spec().dtype, out->spec().shape);
    engine.ports()[0].next = result.mutable_raw();
    const std::function<bool()> commit = [] { return true; };
    engine.begin(commit);
    engine.advance();
    return result;
  }
  std::map<const Tensor*, Array> values;
};

/// A layer whose weights do not lie where they are used, with partial sums, a change of order and a reduction.
Tensor* layer(Graph& g) {
  Ops op(g);
  Tensor* x = g.add_variable(drawn({12, 64}, 1), "x");
  Tensor* w = g.add_variable(drawn({64, 40}, 2), "w");
  Tensor* bias = g.add_variable(drawn({40}, 3), "bias");
  Tensor* y = op("relu", {op("add", {op("matmul", {x, w}), bias})});
  Tensor* turned = op("transpose", {y}, {{"permutation", std::vector<int64_t>{1, 0}}});
  return op("sum", {op("mul", {turned, turned})}, {{"axis", std::vector<int64_t>{0}}});
}

}  // namespace

TEST_CASE("tiles compute what definitions compute") {
  for (const int64_t tiles : {1, 2, 5, 16, 64}) {
    Net net(layer);
    const std::unique_ptr<ExecutionEngine> reference = find_engine("reference").make(net.task(tiles));
    const Array expected = net.run(*reference);
    TilesEngine engine(net.task(tiles));
    const Array found = net.run(engine);
    for (int64_t i = 0; i < found.size(); ++i)
      CHECK(found.data<float>()[i] == doctest::Approx(expected.data<float>()[i]).epsilon(1e-6));
    CHECK(engine.store().chip().totals().vertices >= 5);
    if (tiles > 1) CHECK(engine.store().chip().totals().moves > 0);
    // A second run carries out the same schedule.
    const size_t schedules = engine.store().schedules().size();
    const Array again = net.run(engine);
    CHECK(std::equal(found.raw(), found.raw() + found.bytes(), again.raw()));
    CHECK(engine.store().schedules().size() == schedules);
  }
}

TEST_CASE("a schedule without one of its moves fails") {
  // Each move of each op in turn is dropped: the tile that needs it says so.
  size_t dropped = 0;
  for (const int64_t tiles : {4, 16}) {
    for (size_t which = 0;; ++which) {
      Net net(layer);
      TilesEngine engine(net.task(tiles));
      net.run(engine);
      size_t at = 0;
      bool found = false;
      const auto drop = [&](std::vector<tiles::SliceMove>& moves) {
        if (!found && which < at + moves.size()) {
          moves.erase(moves.begin() + static_cast<std::ptrdiff_t>(which - at));
          found = true;
        }
        at += moves.size();
      };
      for (auto& [key, op] : engine.store().schedules()) {
        for (tiles::LoweredStep& step : op.steps) drop(step.gather), drop(step.deliver);
        drop(op.collect);
      }
      if (!found) break;
      ++dropped;
      CHECK_CONTAINS(error_of([&] { net.run(engine); }), "which it neither stores nor has received");
    }
  }
  CHECK(dropped > 50);
}

TEST_CASE("memories are freed, and peaks are counted") {
  Net net(layer);
  TilesEngine engine(net.task(8));
  net.run(engine);
  const std::vector<int64_t> peaks = engine.store().chip().peaks();
  const int64_t variables = (12 * 64 + 64 * 40 + 40) * 4;
  int64_t sum = 0;
  for (const int64_t p : peaks) sum += p;
  CHECK(sum > variables);
  CHECK(sum < 8 * variables);
  net.run(engine);
  CHECK(engine.store().chip().peaks() == peaks);
}
