// Schedules: what moves agrees with what the candidates are charged for.
#include "runtime/tiles/parts/lowering.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

#include "runtime/tiles/costs/move_code.hpp"
#include "runtime/tiles/mapped_program.hpp"
#include "tests/unit/support/arrays.hpp"
#include "tests/unit/support/ops.hpp"

using namespace pxl;
using namespace pxl::test;
using namespace pxl::tiles;

namespace {

/// The traffic of moves as one phase: maxima over tiles. `paired_in` belongs to the tile with the largest `in`.
Traffic traffic_of(const std::vector<SliceMove>& moves, int64_t element_bytes) {
  struct OfTile {
    int64_t in = 0, paired = 0, out = 0, ranges_in = 0, ranges_out = 0, receives = 0, sends = 0;
  };
  std::map<int32_t, OfTile> tiles;
  Traffic t;
  for (const SliceMove& move : moves) {
    const int64_t bytes = move.region.size() * element_bytes, ranges = std::ssize(move.region.ranges());
    OfTile& from = tiles[move.from];
    from.out += bytes, from.ranges_out += ranges, ++from.sends;
    for (const int32_t to : move.to) {
      OfTile& receiver = tiles[to];
      receiver.in += bytes, receiver.ranges_in += ranges, ++receiver.receives;
      if (std::find(move.to.begin(), move.to.end(), to ^ 1) != move.to.end()) receiver.paired += bytes;
      t.total += bytes;
    }
  }
  for (const auto& [number, tile] : tiles) {
    if (tile.in > t.in || (tile.in == t.in && tile.paired < t.paired_in)) t.in = tile.in, t.paired_in = tile.paired;
    t.out = std::max(t.out, tile.out);
    t.fragments = std::max({t.fragments, tile.ranges_in, tile.ranges_out});
    t.runs = std::max(t.runs, tile.receives), t.sends = std::max(t.sends, tile.sends);
  }
  return t;
}

/// A program of one op on variables, mapped to a machine.
struct OneOp {
  std::shared_ptr<Ir> ir = std::make_shared<Ir>();
  std::unique_ptr<MappedProgram> program;
  const ::pxl::Op* op = nullptr;

  OneOp(std::string_view name, const std::vector<Shape>& operands, const std::string& machine,
        bool separately = false) {
    std::vector<Tensor*> in;
    for (const Shape& shape : operands) in.push_back(ir->main().add_variable(counting(shape), "x"));
    Tensor* out = ::pxl::test::op(name, in);
    op = out->producer;
    plan(machine, separately);
  }
  /// An op of a larger program.
  OneOp(std::shared_ptr<Ir> of, const ::pxl::Op* one, const std::string& machine) : ir(std::move(of)), op(one) {
    plan(machine, false);
  }
  void plan(const std::string& machine, bool separately) {
    EstimateOptions options;
    options.machine = parse_machine(machine);
    options.candidates.max_candidates = 1000;
    options.candidates.separately = separately;
    program = std::make_unique<MappedProgram>(ir->main(), options);
  }
  /// The schedule of a candidate whose operands lie as it wants them.
  LoweredOp lowered(const OpCandidate& candidate) const {
    const OpContextStorage storage(*op);
    OpParts parts = op_parts(
        {program->machine(), program->options().candidates, *op, storage.site, candidate, program->mappings()});
    REQUIRE(parts.as_planned);
    std::vector<std::unique_ptr<Layout>> layouts;
    std::vector<const Layout*> memories;
    std::vector<TensorPlace> operands, results;
    const auto place = [&](int32_t mapping, const TensorSpec& spec) -> TensorPlace {
      layouts.push_back(std::make_unique<Layout>(program->machine(), program->mapping(mapping), spec.shape));
      memories.push_back(layouts.back().get());
      return {memories.size() - 1, nullptr};
    };
    for (size_t i = 0; i < op->inputs.size(); ++i) operands.push_back(place(candidate.in[i], op->inputs[i]->spec));
    for (size_t i = 0; i < op->outputs.size(); ++i) results.push_back(place(candidate.out[i], op->outputs[i]->spec));
    return lower(std::move(parts), memories, operands, results);
  }
};

std::vector<Traffic> exchanges_of(const OpCandidate& candidate) {
  std::vector<Traffic> found;
  for (const CandidateStep& step : candidate.steps)
    if (step.kind == BspPhaseKind::exchange) found.push_back(step.traffic);
  return found;
}
std::vector<Traffic> exchanges_of(const LoweredOp& op) {
  std::vector<Traffic> found;
  for (const LoweredStep& step : op.steps)
    for (const std::vector<SliceMove>* moves : {&step.gather, &step.deliver})
      if (!moves->empty()) found.push_back(traffic_of(*moves, 4));
  for (const std::vector<SliceMove>* moves : {&op.collect, &op.spread})
    if (!moves->empty()) found.push_back(traffic_of(*moves, 4));
  return found;
}

}  // namespace

TEST_CASE("products move what they are charged for") {
  // Extents that all partitions divide evenly: bytes are equal, phase by phase.
  int gathered = 0, rotated = 0, serial = 0, partial = 0;
  for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{{{64, 128}, {128, 64}},
                                                                 {{16, 256}, {256, 32}},
                                                                 {{8, 32, 64}, {64, 128}},
                                                                 {{4, 32, 64}, {4, 64, 32}},
                                                                 {{2, 4, 32, 64}, {2, 4, 64, 32}}})
    for (const char* machine : {"mk2,tiles=4", "mk2,tiles=16", "mk2,tiles=64"}) {
      const OneOp product("matmul", {a, b}, machine);
      for (const OpCandidate& c : product.program->candidates(*product.op)) {
        const ProductCut& cut = *c.product;
        // Blocks of unequal extents are counted as the largest; more stages of partial sums than one are not carried
        // out.
        const auto power = [](int64_t n) { return (n & (n - 1)) == 0; };
        if (!power(cut.groups) || !power(cut.rows) || !power(cut.depth) || !power(cut.columns) || cut.depth >= 16)
          continue;
        const std::vector<Traffic> charged = exchanges_of(c), moved = exchanges_of(product.lowered(c));
        INFO(c.text, " on ", std::string(machine));
        if (cut.serial > 1) {
          // The phases are others: the first part of the columns comes with the left operand, and partial sums are
          // added after the last part.
          const auto sum = [](const std::vector<Traffic>& all, int64_t Traffic::*count) {
            int64_t n = 0;
            for (const Traffic& t : all) n += t.*count;
            return n;
          };
          CHECK(sum(moved, &Traffic::total) == sum(charged, &Traffic::total));
          if (cut.depth == 1) CHECK(sum(moved, &Traffic::in) == sum(charged, &Traffic::in));
          ++serial;
          continue;
        }
        // The first pieces of two rotated operands are charged as if all of both moved.
        const bool both = cut.shift_a && cut.shift_b;
        REQUIRE(moved.size() == charged.size());
        for (size_t i = both ? 1 : 0; i < moved.size(); ++i) {
          CHECK(moved[i].in == charged[i].in);
          // A tile of a pair receives by itself only what the other tile stores.
          const int64_t others = std::max<int64_t>(1, cut.columns - 1);
          CHECK(moved[i].paired_in >= charged[i].paired_in - charged[i].paired_in / others);
          // A tile fetches a piece from the tile that has it, and none if that is the tile itself.
          CHECK((both ? moved[i].total <= charged[i].total : moved[i].total == charged[i].total));
          CHECK(moved[i].runs <= std::max(charged[i].runs, charged[i].fragments));
        }
        ++(cut.shifts > 1 ? rotated : gathered);
        partial += cut.depth > 1;
      }
    }
  CHECK(gathered > 20);
  CHECK(rotated > 5);
  CHECK(serial > 5);
  CHECK(partial > 5);
}

namespace {

/// Tiles that compute parts have shares of both operands: what moves is what they lack of their blocks, no more. Calls
/// f with each candidate.
template <class F>
void check_operands(const OneOp& product, F&& f) {
  for (const OpCandidate& c : product.program->candidates(*product.op)) {
    f(c);
    if (c.product->shift_a && c.product->shift_b) continue;  // the first pieces move to where they meet
    const LoweredOp op = product.lowered(c);
    INFO(c.text);
    // The readers of a slice store all of it. Slices that are small beside their readers have fewer shares.
    std::map<std::pair<size_t, std::string>, std::pair<Region, Region>> slices;  // what is read, and what is stored
    for (const PlacedPart& part : op.steps[0].parts)
      for (const PlacedSlice& read : part.reads) {
        const Shape& shape = product.op->inputs[read.tensor]->spec.shape;
        const Layout layout(product.program->machine(), product.program->mapping(c.in[read.tensor]), shape);
        const Region& region = read.slices[0].region;
        if (c.product->shifts > 1) {  // pieces of a ring are of unequal extents
          CHECK(!intersection(layout.on(part.tile), region).empty());
          continue;
        }
        auto& [wanted, stored] = slices[{read.tensor, text(region, shape)}];
        wanted = region;
        stored = merged(stored, intersection(layout.on(part.tile), region));
      }
    for (const auto& [slice, regions] : slices) CHECK(regions.first == regions.second);
  }
}

}  // namespace

TEST_CASE("each operand of a product lies where it is used") {
  int swapped = 0;
  for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{{{30, 100}, {100, 70}}, {{3, 50, 60}, {3, 60, 20}}})
    for (const bool separately : {false, true})
      check_operands(OneOp("matmul", {a, b}, "mk2,tiles=24", separately),
                     [&](const OpCandidate& c) { swapped += c.product->operands == ProductOperands::swapped; });
  CHECK(swapped > 0);
}

TEST_CASE("products of a variable have one layout of it, and of what they share besides") {
  const auto ir = std::make_shared<Ir>();
  Tensor* x = ir->main().add_variable(counting({16, 40}), "x");
  Tensor* w = ir->main().add_variable(counting({40, 30}), "w");
  Tensor* y = ::pxl::test::op("matmul", {x, w});
  Tensor* dx = ::pxl::test::op("matmul", {y, ::pxl::test::op("transpose", {w})});
  Tensor* dw = ::pxl::test::op("matmul", {::pxl::test::op("transpose", {x}), y});
  std::vector<std::vector<OpCandidate>> joint;  // by product: its cut, in each order of the result
  std::unique_ptr<MappedProgram> program;
  for (const Tensor* t : {y, dx, dw}) {
    OneOp product(ir, t->producer, "mk2,tiles=24");
    joint.emplace_back();
    check_operands(product, [&](const OpCandidate& c) {
      if (c.product->joint) joint.back().push_back(c);
    });
    REQUIRE(!joint.back().empty());
    program = std::move(product.program);
  }
  // Blocks and tiles without the order of elements.
  const auto blocks = [&](int32_t id) {
    TileMapping l = program->mapping(id);
    l.group = 1, l.inner_axis = 0;
    return l;
  };
  const auto transposed = [&](int32_t id) { return transpose_mapping(blocks(id), {1, 0}); };
  const OpCandidate &forward = joint[0][0], &data = joint[1][0], &weights = joint[2][0];
  CHECK(blocks(forward.in[1]) == blocks(weights.out[0]));
  CHECK(blocks(forward.in[1]) == transposed(data.in[1]));
  CHECK(blocks(forward.in[0]) == transposed(weights.in[0]));
  // The gradient of the variable can have its order too: what is read as terms of a sum is written as rows.
  CHECK(std::any_of(joint[2].begin(), joint[2].end(), [&](const OpCandidate& c) { return c.out[0] == forward.in[1]; }));
}

TEST_CASE("exchange code of rearrangements is counted by tile as their slices move") {
  const Machine m = parse_machine("mk2,tiles=32");
  std::mt19937 rng(5);
  const auto draw = [&](int64_t n) { return static_cast<int32_t>(rng() % static_cast<uint64_t>(n)); };
  int exact = 0, uneven = 0;
  for (int i = 0; i < 600; ++i) {
    const TensorSpec s{{1 + draw(9), 1 + draw(20), 1 + draw(30)}, DType::float32, {}};
    const auto random = [&] {
      tiles::TileMapping l;
      do
        l = draw(4) == 0 ? row_mapping(m, s, 1 + draw(40))
                         : block_mapping(s, {1 + draw(4), 1 + draw(4), 1 + draw(4)}, draw(4) ? 1 : 2);
      while (l.tiles() > m.tiles);
      l.first = draw(32);
      return l;
    };
    const tiles::TileMapping from = random(), to = random();
    const std::vector<TileMoves> counted = moves_by_tile(m, from, to, s);
    if (counted.empty()) continue;
    std::vector<TileMoves> moved(32);
    for (const SliceMove& move : rearranging_moves(Layout(m, from, s.shape), Layout(m, to, s.shape))) {
      REQUIRE(move.to.size() == 1);
      const int64_t pieces = std::ssize(move.region.ranges());
      moved[static_cast<size_t>(move.from)].sends += pieces;
      moved[static_cast<size_t>(move.from)].out += move.region.size() * 4;
      moved[static_cast<size_t>(move.to[0])].pieces += pieces;
      ++moved[static_cast<size_t>(move.to[0])].senders;
    }
    CAPTURE(text(from));
    CAPTURE(text(to));
    CHECK(counted == moved);
    ++exact;
    // Tiles differ: the largest code is not that of all.
    const Rearrangement r = rearrangement(m, from, to, s);
    for (const int64_t bytes : r.code) uneven += bytes > 0 && bytes < r.code_bytes();
  }
  CHECK(exact > 200);
  CHECK(uneven > 200);
}
