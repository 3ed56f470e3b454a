// Cycle formulas, exchange and tile mappings: figures worked out by hand, and properties of all shapes.
#include "runtime/tiles/costs/cost.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "runtime/tiles/costs/exchange.hpp"
#include "runtime/tiles/tile_mapping.hpp"

using namespace pxl;
using namespace pxl::tiles;

namespace {
const Machine mk2 = parse_machine("mk2");
ProductShape shape(int64_t rows, int64_t depth, int64_t columns, int64_t operand = 2, int64_t partial = 2) {
  return {1, rows, depth, columns, operand, partial};
}
}  // namespace

TEST_CASE("figures of the vertex formulas") {
  CHECK(amp_cycles(mk2, shape(16, 16, 16)) == 409);
  const VertexState state = amp_state(mk2, shape(365, 80, 16));
  CHECK(state.fields == 32);
  CHECK(state.lists == 36 + 4 * (5 + 5 + 1));
  CHECK(nonlinearity_cycles(mk2, tile_gelu.vector, 1408, 2) == 9 + 6 * (20 + 2 + 5 + 58 * 5 + 1 + 5));
  CHECK(unary_cycles(mk2, tile_exp.vector, 240, 4) == 20 + 6 * (17 + 20 * 6));
  CHECK(binary_cycles(mk2, tile_add.vector, 240, 4) == 11 + 6 * (29 + 20 * 3));
  CHECK(binary_cycles(mk2, tile_add.vector, 240, 2) == 11 + 6 * (26 + 10 * 3));
  CHECK(broadcast_scalar_cycles(mk2, tile_add.vector, 240, 2) == 11 + 6 * (20 + 10 * 3 - 10));
  CHECK(broadcast_vector_cycles(mk2, tile_add.vector, 12, 64, 2) == 11 + 6 * (15 + 2 * (7 + 16 * 3 - 16)));
  // A single row is distributed by columns.
  CHECK(broadcast_vector_cycles(mk2, tile_add.vector, 1, 64, 2) == 11 + 6 * (15 + 25 + 3 * 3 - 3));
  CHECK(update_cycles(mk2, tile_update.vector, 240, 4, false) == 57 + 6 * (21 + 20 * 3));
  CHECK(cast_cycles(mk2, 240, 4, 2) == 6 * (20 + 26));
  CHECK(reduce_cycles(mk2, 12, 64, 4, true) == 6 * (17 + 2 * (12 + 32)));
  CHECK(gather_cycles(mk2, 10, 10, 64, 4) == 6 * (30 + 2 * (19 + 64)));
  CHECK(reorder_cycles(mk2, 1000, 8) == 587 + 440);
  CHECK(sum_partials_cycles(mk2, 1, 100, 4, 4) == 0);
}

TEST_CASE("no elements cost no cycles") {
  CHECK(unary_cycles(mk2, tile_exp.vector, 0, 4) == 0);
  CHECK(binary_cycles(mk2, tile_add.vector, 0, 4) == 0);
  CHECK(memcpy_cycles(mk2, 0) == 0);
  CHECK(exchange_cycles(mk2, {}) == 0);
  CHECK(exchange_code_bytes({}) == 0);
}

TEST_CASE("more never costs less") {
  for (const int64_t operand : {1, 2, 4})
    for (const int64_t partial : {2, 4}) {
      const Machine& m = operand == 1 ? parse_machine("c600") : mk2;
      int64_t before = 0;
      for (int64_t rows = 18; rows <= 600; rows += 6) {
        const int64_t cycles = amp_cycles(m, shape(rows, 64, 32, operand, partial));
        CHECK(cycles >= before);
        before = cycles;
      }
      before = 0;
      for (int64_t depth = 8; depth <= 512; depth += 8) {
        const int64_t cycles = amp_cycles(m, shape(64, depth, 32, operand, partial));
        CHECK(cycles >= before);
        before = cycles;
      }
    }
  int64_t before = 0;
  for (int64_t n = 1; n < 3000; n += 7) {
    const int64_t cycles = unary_cycles(mk2, tile_tanh.vector, n, 2) + binary_cycles(mk2, tile_div.vector, n, 4);
    CHECK(cycles >= before);
    before = cycles;
  }
}

TEST_CASE("two groups of columns take at least 1.9 times one") {
  for (int64_t rows = 128; rows <= 2048; rows *= 2)
    CHECK(amp_cycles(mk2, shape(rows, 64, 32)) * 10 >= amp_cycles(mk2, shape(rows, 64, 16)) * 19);
}

TEST_CASE("float32 partial sums never beat half the rate") {
  // Multiply-accumulates per cycle: 64 with float16 partial sums, 32 with float32, 16 for float32 operands.
  const auto rate = [](int64_t operand, int64_t partial) {
    return 4096.0 * 1024 * 64 / static_cast<double>(amp_cycles(mk2, shape(4096, 1024, 64, operand, partial)));
  };
  CHECK(rate(2, 2) < 64);
  CHECK(rate(2, 2) > 60);
  CHECK(rate(2, 4) < 32);
  CHECK(rate(2, 4) > 30);
  CHECK(rate(4, 4) < 16);
  CHECK(rate(4, 4) > 14);
}

TEST_CASE("transpositions by hand") {
  // Two rows and 16 columns for each worker; 8 matrices of 4 x 4, two for some workers.
  CHECK(transpose_cycles(mk2, 1, 12, 16, 4) == 7 + 6 * (29 + 18 + 12 + 3 * 6));
  CHECK(transpose_cycles(mk2, 8, 4, 4, 2) == 7 + 6 * 37);
  CHECK(transpose_cycles(mk2, 1, 4, 8, 2) == 7 + 6 * (29 + 18 + 12));
  // Extents that are no multiples of the grain, and atoms of 8 bytes, are copied.
  CHECK(transpose_cycles(mk2, 1, 3, 16, 4) == reorder_cycles(mk2, 192, 4));
  CHECK(transpose_cycles(mk2, 1, 4, 6, 2) == reorder_cycles(mk2, 48, 2));
  CHECK(transpose_cycles(mk2, 1, 4, 4, 8) == reorder_cycles(mk2, 128, 8));
}

TEST_CASE("an exchange by hand") {
  // 400 bytes received: 100 words at 83 percent efficiency, latency of the first word, phase overhead.
  CHECK(exchange_cycles(mk2, {400, 100, 2, 400, 0}) == 134 + 121 + 238);
  CHECK(exchange_cycles(mk2, {400, 100, 2, 400, 400}) == 134 + 61 + 238);
  CHECK(exchange_cycles(mk2, {400, 100, 2, 400, 200}) == 134 + 91 + 238);
  CHECK(exchange_cycles(mk2, {400, 100, 200, 400, 0}) == 134 + 600 + 238);
  CHECK(exchange_code_bytes({256, 0, 1, 256, 0}) == 4 + 8);
  CHECK(exchange_code_bytes({256, 256, 2, 256, 0}) == 8 + 2 * 4 + 8 + 8);
  // One long multicast and four receives; then four short sends; then receives one after the other.
  CHECK(exchange_code_bytes({4096, 1024, 16, 4096, 0, 4, 1}) == 12 + 4 * 4 + 3 * 8 + 8);
  CHECK(exchange_code_bytes({64, 64, 4, 64, 0, 4, 4}) == 32 + 4 * 4 + 3 * 8 + 8);
  CHECK(exchange_code_bytes({64, 64, 4, 64, 0, 4, 4, 0}) == 32 + 4 * 4 + 8);
}

TEST_CASE("tile mappings store each element once per copy") {
  const TensorSpec specs[] = {{{}, DType::float32, {}},         {{7}, DType::float16, {}},
                              {{1000}, DType::float32, {}},     {{13, 29}, DType::float16, {}},
                              {{64, 1024}, DType::float16, {}}, {{5, 6, 7, 8}, DType::float32, {}},
                              {{100000, 3}, DType::int8, {}}};
  for (const TensorSpec& s : specs) {
    std::vector<TileMapping> mappings = {linear_mapping(mk2, s), linear_mapping(parse_machine("mk2,tiles=1"), s),
                                         row_mapping(mk2, s, s.shape.empty() ? 1 : s.shape.back())};
    for (int32_t parts : {1, 2, 3, 5}) {
      mappings.push_back(block_mapping(s, std::vector<int32_t>(s.shape.size(), parts)));
      mappings.push_back(block_mapping(s, std::vector<int32_t>(s.shape.size(), parts), 4, 2));
    }
    for (const TileMapping& l : mappings) {
      CAPTURE(text(s));
      CAPTURE(text(l));
      const std::vector<int64_t> n = elements_by_tile(mk2, l, s.shape);
      CHECK(std::accumulate(n.begin(), n.end(), int64_t{0}) == s.size() * l.copies);
      if (l.tiles() <= mk2.tiles) CHECK(*std::max_element(n.begin(), n.end()) == max_elements_per_tile(l, s.shape));
      CHECK(rearrangement(mk2, l, l, s).cycles == 0);
      CHECK(rearrangement(mk2, l, l, s).traffic.empty());
    }
  }
}

TEST_CASE("views keep the mapping if all bytes stay in place") {
  TileMapping seen;
  const TensorSpec s{{8, 128, 4, 64}, DType::float16, {}};
  CHECK(reshape_mapping(block_mapping(s, {8, 4, 1, 1}), s.shape, {1024, 256}, seen));
  CHECK(seen.parts == std::vector<int32_t>{32, 1});
  CHECK(reshape_mapping(seen, {1024, 256}, s.shape, seen));
  CHECK(seen.parts == std::vector<int32_t>{8, 4, 1, 1});
  CHECK_FALSE(reshape_mapping(block_mapping(s, {1, 1, 4, 1}), s.shape, {8, 128 * 4 * 64}, seen));
  CHECK(transpose_mapping(block_mapping(s, {8, 4, 2, 1}), {0, 2, 1, 3}).parts == std::vector<int32_t>{8, 2, 4, 1});
}

TEST_CASE("few elements do not take the time of six workers") {
  // A scalar, two scalars in one vector, and as many vectors as workers.
  CHECK(unary_cycles(mk2, tile_trigonometric.vector, 1, 4) == 20 + 17 + 2300);
  CHECK(binary_cycles(mk2, tile_add.vector, 2, 4) == 11 + 29 + 3);
  CHECK(binary_cycles(mk2, tile_add.vector, 12, 4) == 11 + 6 * (29 + 3));
  CHECK(binary_cycles(mk2, tile_add.vector, 13, 4) == 11 + 6 * (29 + 6));
}

TEST_CASE("copies on a tile move atoms that divide the contiguous runs") {
  for (const auto& [run, atom] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {2, 2}, {4, 4}, {6, 2}, {8, 8}, {12, 4}, {24, 8}, {4096, 8}})
    CHECK(atom_bytes(run) == atom);
  // Rows of three float16 elements, from one tile to blocks of three rows: runs of 6 bytes.
  const TensorSpec s{{96, 12}, DType::float16, {}};
  const Rearrangement r = rearrangement(mk2, block_mapping(s, {1, 4}), block_mapping(s, {32, 1}), s);
  CHECK(r.copy_cycles == reorder_cycles(mk2, r.traffic.in, 2));
}

TEST_CASE("strided elements are put in order") {
  const TensorSpec s{{64, 96}, DType::float16, {}};
  const TileMapping rows = block_mapping(s, {4, 2}), columns = with_inner_axis(rows, s.shape, 0);
  CHECK(columns.group == 64);
  CHECK(order_of(rows, s.shape).axis == 1);
  CHECK(order_of(columns, s.shape).axis == 0);
  CHECK(order_of(columns, s.shape).count == 16);
  CHECK_FALSE(same_order(rows, columns, s.shape));
  CHECK(rearrangement(mk2, rows, columns, s).copy_cycles == transpose_cycles(mk2, 1, 48, 16, 2));
  CHECK(rearrangement(mk2, rows, columns, s).traffic.empty());
  // Extents that the transposition vertices do not take are copied element by element.
  const TensorSpec odd{{63, 94}, DType::float16, {}};
  const TileMapping plain = block_mapping(odd, {1, 2});
  CHECK(rearrangement(mk2, with_inner_axis(plain, odd.shape, 0), plain, odd).copy_cycles ==
        reorder_cycles(mk2, 63 * 47 * 2, 2));
  // Columns of a single element, and the last axis as the innermost one, are rows.
  CHECK(same_order(with_inner_axis(block_mapping(s, {64, 1}), s.shape, 0), block_mapping(s, {64, 1}), s.shape));
  CHECK(with_inner_axis(rows, s.shape, 1) == rows);
  // Rows of odd extents are not sent: slices travel in the order of columns, in whole words.
  const TensorSpec scores{{32, 90}, DType::float16, {}};
  const TileMapping halves = with_inner_axis(block_mapping(scores, {2, 2}), scores.shape, 0);
  const Rearrangement r = rearrangement(mk2, halves, block_mapping(scores, {4, 1}), scores);
  CHECK(r.sorts_there);
  CHECK(r.traffic.sends == 45);  // of 16 rows, half of which stay
  CHECK(r.copy_cycles == reorder_cycles(mk2, 8 * 90 * 2, 2));
}

TEST_CASE("views carry the order of elements") {
  const Shape heads = {4, 32, 8};
  const TensorSpec s{heads, DType::float16, {}};
  const TileMapping plain = block_mapping(s, {4, 2, 1}), seen = transposed_view(plain, heads, {0, 2, 1});
  CHECK(seen.parts == std::vector<int32_t>{4, 1, 2});
  CHECK(seen.inner_axis == 1);
  CHECK(seen.group == 8);
  CHECK(transposed_view(seen, {4, 8, 32}, {0, 2, 1}) == plain);
  // The last axis stays the innermost one.
  CHECK(transposed_view(plain, heads, {1, 0, 2}).group == 1);
  TileMapping to;
  CHECK(reshape_mapping(seen, {4, 8, 32}, {2, 2, 8, 32}, to));
  CHECK(to.inner_axis == 2);
  CHECK(to.group == 8);
  CHECK(reshape_mapping(seen, {4, 8, 32}, {32, 32}, to));  // 8 elements of 32 are side by side
  CHECK(to.inner_axis == 0);
  CHECK(to.group == 8);
  CHECK_FALSE(reshape_mapping(seen, {4, 8, 32}, {4, 256}, to));
}

TEST_CASE("images store channels together") {
  const TensorSpec s{{4, 64, 28, 28}, DType::float16, {}};
  const TileMapping plain = block_mapping(s, {4, 2, 7, 1}), together = with_channel_groups(plain, s.shape);
  CHECK(together.group == 16);
  CHECK(run_length(plain, s.shape) == 4 * 28);
  CHECK(run_length(together, s.shape) == 4 * 28 * 16);
  CHECK(run_length(with_channel_groups(block_mapping(s, {4, 32, 7, 1}), s.shape), s.shape) == 4 * 28 * 2);
  CHECK(run_length(with_channel_groups(block_mapping(s, {4, 2, 1, 1}), s.shape), s.shape) == 28 * 28 * 32);
  // Another order on the same tile takes a copy, and no exchange.
  const Rearrangement order = rearrangement(mk2, together, plain, s);
  CHECK(order.traffic.empty());
  CHECK(order.cycles == reorder_cycles(mk2, 32 * 4 * 28 * 2, 2));
  CHECK(order.cycles == rearrangement_cycles(mk2, together, plain, s));
  CHECK(rearrangement(mk2, together, together, s).cycles == 0);
  // Lines of 16 channels take a sixteenth of the receives.
  const TileMapping other = block_mapping(s, {4, 2, 14, 1});
  CHECK(rearrangement(mk2, plain, other, s).traffic.runs ==
        16 * rearrangement(mk2, together, with_channel_groups(other, s.shape), s).traffic.runs);
  TileMapping seen;
  CHECK_FALSE(reshape_mapping(together, s.shape, {4, 64 * 28 * 28}, seen));
  CHECK(reshape_mapping(together, s.shape, s.shape, seen));
  CHECK(seen == together);
  CHECK(with_channel_groups(block_mapping({{4, 64, 1, 1}, DType::float16, {}}, {4, 2, 1, 1}), {4, 64, 1, 1}).group ==
        1);
  CHECK(with_channel_groups(plain, {4, 3, 28, 28}).group == 3);
}
