// Tensors that are in memory at the same time: results over operands, arguments and results of calls.
#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/tiles/memory.hpp"
#include "tests/unit/tiles/consistent.hpp"
#include "tests/unit/tiles/programs.hpp"

using namespace pxl;
using namespace pxl::tiles;
using namespace pxl::tiles::test;

namespace {

constexpr int64_t rows = 256, width = 256, tensor = rows * width * 4;  // bytes

Tensor* loaded(Ir& ir) {
  return ir.main().add_host_load(ir.add_stream(spec({rows, width}, DType::float32), "x", true), "x")->outputs[0];
}
void stored(Ir& ir, Tensor* t) { ir.main().add_host_store(ir.add_stream(t->spec, "y", false), t); }

/// Bytes of results on all tiles at the fullest point of the timeline.
int64_t live(const Ir& ir) {
  const Report r = report(ir, "mk2,tiles=16");
  check_consistent(r);
  int64_t most = 0;
  for (const LivenessPoint& p : r.liveness) most = std::max(most, p.live_bytes - p.temp_bytes);
  return most;
}

}  // namespace

TEST_CASE("an elementwise result is written over an operand that is not read again") {
  Ir ir;
  stored(ir, op("exp", {op("negate", {op("tanh", {loaded(ir)})})}));
  CHECK(live(ir) == tensor);

  Ir sum;  // the second operand is kept until the end
  Tensor* x = loaded(sum);
  stored(sum, op("add", {op("tanh", {x}), x}));
  CHECK(live(sum) == 2 * tensor);

  Ir square;  // both operands are one tensor
  x = loaded(square);
  x = op("tanh", {x});
  stored(square, op("mul", {x, x}));
  CHECK(live(square) == 2 * tensor);

  Ir narrow;  // a result of another size
  stored(narrow, op("cast", {loaded(narrow)}, {{"data_type", DType::float16}}));
  CHECK(live(narrow) == tensor + tensor / 2);

  Ir variables;  // a variable keeps its value
  stored(variables, op("exp", {variable(variables, {rows, width}, "v", DType::float32)}));
  CHECK(live(variables) == tensor);
}

TEST_CASE("a vertex that writes over its operand starts later") {
  for (const bool kept : {false, true}) {
    Ir ir;
    Tensor* x = op("tanh", {loaded(ir)});
    Tensor* y = op("negate", {x});
    stored(ir, kept ? op("add", {y, x}) : y);
    const Report r = report(ir, "mk2,tiles=16");
    int64_t beyond = -1;
    for (const ReportOp& o : r.ops)
      for (const ReportCandidate& c : o.alternatives)
        if (o.strategy == "unary" && c.chosen) beyond = o.cycles.compute - o.rearrangement_cycles - c.cycles;
    CHECK(beyond == (kept ? 0 : 6 * (55 - 17)));
  }
}

TEST_CASE("mere arguments are not live while the graph runs, and neither are results") {
  for (const bool kept : {false, true}) {
    Ir ir;
    Graph& body = ir.create_graph("Body");
    body.add_output(op("exp", {body.add_input(spec({rows, width}, DType::float32), "x")}));
    Tensor* x = op("tanh", {loaded(ir)});
    Tensor* y = ir.main().add_call(body, {x})->outputs[0];
    stored(ir, kept ? op("add", {y, x}) : y);
    const Report r = report(ir, "mk2,tiles=16");
    check_consistent(r);
    // The argument and its copy are in memory on entry; an argument that is read again stays.
    int64_t most = 0;
    for (const TileMemory& t : r.tiles) most += t.bytes[static_cast<size_t>(MemoryCategory::activations)];
    CHECK(most == (kept ? 3 : 2) * tensor);
    for (const ReportTensor& t : r.tensors) {
      if (t.name == x->name && !kept) CHECK(t.last == r.graphs[1].entries[0] - 1);
      if (t.name == y->name) CHECK(t.first >= r.graphs[1].entries[0]);
    }
  }
}

TEST_CASE("a tensor that a loop does not carry is kept for its next iteration") {
  Ir ir;
  Graph& body = ir.create_graph("Body");
  Tensor* carried = body.add_input(spec({rows, width}, DType::float32), "x");
  Tensor* kept = body.add_input(spec({rows, width}, DType::float32), "k");
  body.add_output(op("add", {op("exp", {kept}), carried}));
  stored(ir, pxl::test::add_repeat(ir.main(), body, 3, {loaded(ir), loaded(ir)})->outputs[0]);
  const Report r = report(ir, "mk2,tiles=16");
  check_consistent(r);
  int64_t most = 0;
  for (const TileMemory& t : r.tiles) most += t.bytes[static_cast<size_t>(MemoryCategory::activations)];
  CHECK(most == 4 * tensor);  // on entry both operands and their copies
  const int64_t first = r.graphs[1].entries[0];
  int64_t inside = 0;
  for (size_t p = static_cast<size_t>(first);
       p < r.liveness.size() && r.ops[static_cast<size_t>(r.liveness[p].op)].graph == 1; ++p)
    inside = std::max(inside, r.liveness[p].live_bytes - r.liveness[p].temp_bytes);
  CHECK(inside == 3 * tensor);  // exp(k) is not written over k
  const LivenessPoint& entry = r.liveness[static_cast<size_t>(first) - 1];
  CHECK(entry.live_bytes == 4 * tensor);
}

TEST_CASE("a join takes its operands from where they lie: no copies in another layout") {
  Ir ir;
  Tensor* a = op("tanh", {loaded(ir)});
  Tensor* b = op("tanh", {loaded(ir)});
  GraphOpBuilder builder(ir.main());
  std::vector<Expr> both{builder.of(a), builder.of(b)};
  stored(ir, builder.one("concat", {std::move(both)}, {{"axis", int64_t{0}}}).tensor());
  const Report r = report(ir, "mk2,tiles=16");
  check_consistent(r);
  for (const ReportOp& o : r.ops)
    if (o.name == "Concat") CHECK(o.temp_bytes == 0);
  CHECK(live(ir) == 4 * tensor);
}

TEST_CASE("tiles of a class store as much of everything") {
  const TileBytes a{{4, 4, 0, 0, 4, 4}, 0, 6}, b{{1, 1, 1, 2, 2, 2}, 0, 6};
  const TileClasses classes = classes_of_tiles(6, {&a, &b}, {{1, 2}});
  CHECK(classes.count() == 5);
  CHECK(classes.of[4] == classes.of[5]);
  CHECK(classes.of[0] != classes.of[1]);  // the range begins there
  for (size_t t = 0; t < 6; ++t) CHECK(classes.tile[classes.of[t]] <= t);
  CHECK(classes_of_tiles(6, {}, {}).count() == 1);
  CHECK(classes_of_tiles(6, {}, {{5, 2}}).of[1] != classes_of_tiles(6, {}, {{5, 2}}).of[0]);  // of tiles 5 and 0
  CHECK(classes_of_tiles(6, {}, {{0, 6}}).count() == 1);
}
