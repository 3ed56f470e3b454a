// The engine of tiles: its results, and that each move of its schedule is needed.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/execute/tiled_net.hpp"
#include "tests/unit/support/errors.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

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

/// Changes the schedules of a net in one place at a time, and counts the places. Each change must end the run.
/// `change(moves, at)` changes the moves where `at`, the number of places left, is zero, and returns whether it did.
template <class F>
size_t failing_changes(F&& change) {
  size_t places = 0;
  for (const int64_t tiles : {4, 16}) {
    for (size_t which = 0;; ++which) {
      Net net(layer);
      TilesEngine engine(net.task(tiles));
      net.run(engine);
      size_t at = which;
      bool changed = false;
      const auto in = [&](std::vector<tiles::SliceMove>& moves) { changed = changed || change(moves, at); };
      for (auto& [key, op] : engine.store().schedules()) {
        for (tiles::LoweredStep& step : op.steps) in(step.gather), in(step.deliver);
        in(op.collect), in(op.spread);
      }
      if (!changed) break;
      ++places;
      CHECK_CONTAINS(error_of([&] { net.run(engine); }), "which it neither stores nor has received");
    }
  }
  return places;
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
  CHECK(failing_changes([](std::vector<tiles::SliceMove>& moves, size_t& at) {
          if (at >= moves.size()) return at -= moves.size(), false;
          moves.erase(moves.begin() + static_cast<std::ptrdiff_t>(at));
          return true;
        }) > 50);
}

TEST_CASE("a tile does not forward what arrives in the same phase") {
  // Each multicast in turn becomes a chain: its first receiver sends to the others, later in the same phase.
  CHECK(failing_changes([](std::vector<tiles::SliceMove>& moves, size_t& at) {
          for (size_t i = 0; i < moves.size(); ++i) {
            if (moves[i].to.size() < 2 || at-- > 0) continue;
            tiles::SliceMove next = moves[i];
            next.from = next.to[0];
            next.to.erase(next.to.begin());
            moves[i].to.resize(1);
            moves.insert(moves.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(next));
            return true;
          }
          return false;
        }) > 5);
}

TEST_CASE("a tile with too many bytes of tensors ends the run") {
  // The memory of a tile is reduced until the tensors do not fit.
  bool ran = false, refused = false;
  for (int64_t memory = 64 * 1024; memory >= 4096 && !refused; memory = memory * 9 / 10) {
    Net net(layer);
    TilesEngine engine(net.task(16, memory));
    const std::string error = error_of([&] { net.run(engine); });
    ran = ran || error.empty();
    refused = !error.empty();
    if (!refused) continue;
    CHECK_CONTAINS(error, "bytes of tensors, and the tile has");
    CHECK(!engine.store().report().fits);
  }
  CHECK(ran);
  CHECK(refused);
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

TEST_CASE("peaks of tiles are near the report's") {
  const auto wide = [](Graph& g) {
    Ops op(g);
    Tensor* x = g.add_variable(drawn({32, 96}, 1), "x");
    for (unsigned i = 0; i < 3; ++i) {
      Tensor* w = g.add_variable(drawn({96, 96}, 2 + i), "w");
      x = op("gelu", {op("add", {op("matmul", {x, w}), g.add_variable(drawn({96}, 9 + i), "b")})});
    }
    return op("softmax", {x}, {{"axis", int64_t{-1}}});
  };
  for (const std::function<Tensor*(Graph&)>& build : {std::function<Tensor*(Graph&)>(layer), {wide}})
    for (const int64_t tiles : {4, 16}) {
      CAPTURE(tiles);
      Net net(build);
      TilesEngine engine(net.task(tiles));
      net.run(engine);
      const std::vector<int64_t> peaks = engine.store().chip().peaks();
      const std::vector<tiles::TileMemory>& planned = engine.store().report().tiles;
      REQUIRE(planned.size() == peaks.size());
      int64_t measured = 0, reported = 0;
      for (size_t t = 0; t < peaks.size(); ++t) {
        CAPTURE(t);
        const int64_t data = planned[t].tensors();
        CHECK(peaks[t] <= 2 * data + 256);
        measured += peaks[t];
        reported += data;
      }
      CHECK(measured * 4 >= reported * 3);
      CHECK(measured * 2 <= reported * 3);
    }
}
