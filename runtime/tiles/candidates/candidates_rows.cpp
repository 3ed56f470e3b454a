// Candidates of ops that combine elements along axes: reductions, and row ops such as softmax and normalisation.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/tiles/candidates/strategies.hpp"
#include "runtime/tiles/cuts/given_cut.hpp"

namespace pxl::tiles {

void enumerate_row_op(const CandidateRequest& r, const RowStrategy& strategy) {
  const Machine& m = r.machine;
  const OpContext& s = r.site;
  // The largest operand determines the rows.
  size_t main = 0;
  for (size_t i = 0; i < s.in.size(); ++i)
    if (s.in[i] && (!s.in[main] || s.in[i]->size() > s.in[main]->size())) main = i;
  const TensorSpec& x = s.input(main);
  if (x.size() == 0 || x.shape.empty()) return enumerate_as_binary(r);
  const std::vector<bool> along = axes_of_site(s, x.shape.size(), true);
  int64_t rows = 1, length = 1;
  std::vector<size_t> kept, taken;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    (along[i] ? length : rows) *= x.shape[i];
    (along[i] ? taken : kept).push_back(i);
  }
  const int64_t size = element_bytes(x), sums = 4;
  const bool whole_rows = strategy.whole_rows || (strategy.whole_in_library && r.options.separately && m.has_orders());
  const auto offer = [&](const TileMapping& l) {
    int64_t cut = 1;
    for (const size_t axis : kept) cut *= l.parts[axis];
    const int32_t id = r.mapping(l);
    const int64_t n = max_elements_per_tile(l, x.shape), mine = div_up(rows, cut), tiles = l.tiles(),
                  across = tiles / cut;
    OpCandidate candidate = r.start(across > 1 ? "rows and columns" : "by rows");
    for (size_t i = 0; i < s.in.size(); ++i)
      if (s.in[i] && s.in[i]->shape == x.shape) candidate.in[i] = id, candidate.resident_bytes += n * size;
    Traffic others;
    for (size_t i = 0; i < s.in.size(); ++i) {
      if (!s.in[i] || s.in[i]->shape == x.shape || (i < r.constant.size() && r.constant[i])) continue;
      const int64_t needed =
          std::min(s.in[i]->size(), strategy.parameters && s.in[i]->size() == length ? div_up(length, across) : mine) *
          element_bytes(*s.in[i]);
      others.in += needed;
      others.out = std::max(others.out,
                            div_up(s.in[i]->bytes(), std::max<int64_t>(1, std::min(m.tiles, s.in[i]->bytes() / 128))));
      others.fragments += div_up(needed, 256);
      others.runs += div_up(needed, std::max<int64_t>(128, s.in[i]->bytes() / m.tiles));
      ++others.sends;
      others.total += needed * tiles;
    }
    candidate.exchange(m, "operands of rows and columns", others);
    candidate.temp_bytes = others.in;
    candidate.vertex_bytes = n * size + (strategy.sorts ? n * (size + 4) : 0);
    for (int i = 0; i < strategy.reductions; ++i) {
      candidate.compute(m, "ReduceRows", reduce_cycles(m, mine, div_up(length, across), size, true), tiles, {24});
      if (across > 1) {
        candidate.sum_partials(m, "partial sums of rows", across, mine, sums, sums, tiles);
        candidate.temp_bytes += mine * across * sums;
      }
    }
    for (const VectorCost& v : strategy.passes)
      candidate.compute(m, strategy.vertex.name, broadcast_vector_cycles(m, v, mine, div_up(length, across), size),
                        tiles);
    candidate.temp_bytes += candidate.vertex_bytes;
    const TileShare share{n, mine, div_up(length, across), size};
    candidate.compute(m, strategy.vertex.name, strategy.vertex.cycles(r, share), tiles);
    if (strategy.column_sums && cut > 1) {
      candidate.compute(m, "ReduceColumns", 2 * reduce_cycles(m, div_up(length, across), mine, size, false), tiles,
                        {48});
      candidate.sum_partials(m, "partial sums of columns", cut, 2 * div_up(length, across), sums, size, tiles);
      candidate.temp_bytes += 2 * div_up(length, across) * sums;
    }
    for (const TensorSpec& y : s.out) {
      if (y.shape == x.shape) {
        candidate.out.push_back(id);
        candidate.resident_bytes += n * element_bytes(y);
        continue;
      }
      candidate.out.push_back(r.mapping(linear_mapping(m, y)));
      if (strategy.sums_rows && y.size() == 1 && rows > 1) {
        candidate.sum_partials(m, "sum of the rows' values", cut, 1, sums, sums, tiles);
      }
    }
    candidate.text =
        fmt::format("{} {} of {}{} on each of {} tiles", mine, mine == 1 ? "row" : "rows", div_up(length, across),
                    across > 1 ? fmt::format(" (one in {} of the columns)", across) : std::string(), tiles);
    r.candidates.push_back(std::move(candidate));
  };
  if (r.given && r.given->has_mappings()) {
    // Whole blocks in row-major order, divided along the kept axes and the first of the others.
    for (const int32_t id : r.offered(x)) {
      const TileMapping& l = r.pool.table.at(id);
      bool divides = !l.flat && l == block_mapping(x, l.parts);
      for (const size_t axis : taken)
        divides = divides && (l.parts[axis] == 1 || (axis == taken.front() && !whole_rows));
      if (divides) offer(l);
    }
    return;
  }
  std::vector<int64_t> row_parts = {std::min(rows, m.tiles)};
  for (int64_t each = 2; each <= 8 && row_parts[0] >= each; each *= 2) row_parts.push_back(row_parts[0] / each);
  for (const int64_t wanted : row_parts) {
    for (int64_t columns = 1; columns * wanted <= m.tiles && columns <= length; columns *= 2) {
      if (columns > 1 && (whole_rows || div_up(length, columns) < 16)) break;
      std::vector<int32_t> parts(x.shape.size(), 1);
      int64_t left = wanted;
      for (const size_t axis : kept) {
        const int64_t here = std::min(left, std::max<int64_t>(1, x.shape[axis]));
        parts[axis] = static_cast<int32_t>(here);
        left /= here;
      }
      if (!taken.empty()) parts[taken.front()] = static_cast<int32_t>(std::min(columns, x.shape[taken.front()]));
      offer(block_mapping(x, std::move(parts)));
    }
  }
}

void enumerate_reductions(const CandidateRequest& r) {
  const Machine& m = r.machine;
  const OpContext& s = r.site;
  const TensorSpec& x = s.input(0);
  const TensorSpec& y = s.out[0];
  const int64_t outputs = std::max<int64_t>(1, y.size()), length = std::max<int64_t>(1, x.size() / outputs);
  const std::vector<bool> along = axes_of_site(s, x.shape.size(), false);
  const int64_t size = element_bytes(x), sums = 4;
  std::vector<int32_t> mappings = r.offered(x);
  // One candidate needs no exchange: only the kept axes are partitioned.
  std::vector<int32_t> parts(x.shape.size(), 1);
  int64_t left = m.tiles;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (along[i]) continue;
    parts[i] = static_cast<int32_t>(std::min(left, std::max<int64_t>(1, x.shape[i])));
    left /= parts[i];
  }
  if (!r.given) mappings.push_back(r.mapping(block_mapping(x, parts)));
  for (const int32_t id : mappings) {
    const TileMapping l = r.pool.table.at(id);
    const int64_t n = r.max_elements(id, x), tiles = std::max<int64_t>(1, l.tiles());
    const bool contiguous = x.shape.empty() || along[order_of(l, x.shape).axis];
    int64_t partials = 1,
            mine = 1;  // partials: number of partial sums of an output; mine: outputs of which a tile has a partial sum
    if (l.flat) {
      // A run covers trailing axes, then a part of one axis.
      int64_t rest = n;
      for (size_t i = x.shape.size(); i-- > 0 && rest > 1; rest = div_up(rest, std::max<int64_t>(1, x.shape[i])))
        if (!along[i]) mine = saturating_product(mine, std::min(rest, x.shape[i]));
      mine = std::min(mine, outputs);
      partials = n % length == 0 && mine * length == n ? 1 : std::max<int64_t>(1, div_up(mine * tiles, outputs));
    } else {
      for (size_t i = 0; i < x.shape.size(); ++i) {
        if (along[i])
          partials *= l.parts[i];
        else
          mine *= div_up(x.shape[i], l.parts[i]);
      }
      partials *= l.spread;
    }
    mine = std::max<int64_t>(1, mine);  // operands without elements
    OpCandidate candidate =
        r.start(partials > 1 ? "as the operand is mapped, then the partial sums" : "as the operand is mapped");
    candidate.in[0] = id;
    int64_t run = 1;  // terms of a sum that are side by side
    for (size_t i = x.shape.size(); i-- > 0 && along[i];)
      run = saturating_product(run, div_up(x.shape[i], l.flat ? 1 : l.parts[i]));
    candidate.compute(m, "Reduce", reduce_cycles(m, mine, div_up(n, mine), size, contiguous, run), tiles, {24});
    int64_t held = mine;
    const TileMapping to = linear_mapping(m, y);
    if (partials > 1) {
      held = max_elements_per_tile(to, y.shape);
      const int64_t arrives =
          candidate.sum_partials(m, "partial sums", partials, mine, sums, element_bytes(y), std::min(m.tiles, tiles));
      candidate.temp_bytes = mine * sums + arrives;
      candidate.out = {r.mapping(to)};
    } else {
      // The results on each tile are a row-major slice of the output.
      candidate.out = {r.mapping(to)};
      const std::vector<int32_t> strides = l.flat ? std::vector<int32_t>{} : l.all_strides();
      if (!l.flat && y.shape.size() == x.shape.size())
        candidate.out = {r.mapping(with_strides(block_mapping(y, l.parts), strides))};
      if (!l.flat && y.shape.size() < x.shape.size()) {
        std::vector<int32_t> rest, kept;
        for (size_t i = 0; i < x.shape.size(); ++i)
          if (!along[i]) rest.push_back(l.parts[i]), kept.push_back(strides[i]);
        kept.insert(kept.end(), strides.end() - 2, strides.end());
        if (rest.size() == y.shape.size())
          candidate.out = {r.mapping(with_strides(block_mapping(y, rest), std::move(kept)))};
      }
    }
    for (size_t i = 1; i < s.out.size(); ++i) candidate.out.push_back(r.mapping(linear_mapping(m, s.out[i])));
    candidate.resident_bytes = n * size + held * element_bytes(y);
    candidate.text = fmt::format("{}, {} partial sums of each", text(l), partials);
    r.candidates.push_back(std::move(candidate));
  }
}

}  // namespace pxl::tiles
