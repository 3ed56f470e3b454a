// Plans of ops that combine elements along axes: reductions, and ops on rows such as softmax and normalisation.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/tiles/plan.hpp"

namespace pxl::tiles {

namespace {

/// One element-wise pass and one sum of a row op: the cycles of its compute sets.
struct RowPasses {
  int reductions = 0;  ///< sums or maxima along the rows
  std::vector<VectorCost> elementwise;
  bool parameters = false;   ///< scales and shifts, one for each column, come from elsewhere
  bool column_sums = false;  ///< gradients of those go back
  std::string_view vertex = "RowOp";
};

RowPasses passes_of(TileFamily family) {
  switch (family) {
    case TileFamily::softmax: return {2, {tile_add.vector, tile_exp.vector, tile_add.vector}, false, false, "Softmax"};
    case TileFamily::softmax_grad:
      return {1, {tile_add.vector, tile_add.vector, tile_add.vector}, false, false, "SoftmaxGrad"};
    case TileFamily::normalise:
      return {2, {tile_add.vector, tile_square.vector, tile_add.vector, tile_add.vector}, true, false, "Norm"};
    case TileFamily::normalise_grad:
      return {2,
              {tile_add.vector, tile_add.vector, tile_add.vector, tile_add.vector, tile_add.vector},
              true,
              true,
              "NormGrad"};
    case TileFamily::loss_grad: return {0, {tile_add.vector, tile_add.vector}, false, false, "LossGrad"};
    case TileFamily::loss: return {1, {tile_log.vector}, false, false, "Loss"};
    default: return {0, {}, false, false, "RowOp"};
  }
}

}  // namespace

void plan_rows(const PlanRequest& r) {
  const Machine& m = r.machine;
  const OpSite& s = r.site;
  const TileFamily family = s.row.tiles.family;
  // The operand of the largest size is the one whose rows are worked on.
  size_t main = 0;
  for (size_t i = 0; i < s.in.size(); ++i)
    if (s.in[i] && (!s.in[main] || s.in[i]->size() > s.in[main]->size())) main = i;
  const TensorSpec& x = s.input(main);
  if (x.size() == 0 || x.shape.empty()) return plan_elementwise(r);
  const std::vector<bool> along = axes_of_site(s, x.shape.size(), true);
  int64_t rows = 1, length = 1;
  std::vector<size_t> kept, taken;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    (along[i] ? length : rows) *= x.shape[i];
    (along[i] ? taken : kept).push_back(i);
  }
  const int64_t size = element_bytes(x), sums = 4;
  const bool whole_lines = family == TileFamily::scan || family == TileFamily::sort;
  std::vector<int64_t> row_parts = {std::min(rows, m.tiles)};
  for (int64_t each = 2; each <= 8 && row_parts[0] >= each; each *= 2) row_parts.push_back(row_parts[0] / each);
  for (const int64_t wanted : row_parts) {
    for (int64_t columns = 1; columns * wanted <= m.tiles && columns <= length; columns *= 2) {
      if (columns > 1 && (whole_lines || div_up(length, columns) < 16)) break;
      std::vector<int32_t> parts(x.shape.size(), 1);
      int64_t left = wanted, cut = 1;
      for (const size_t axis : kept) {
        const int64_t here = std::min(left, std::max<int64_t>(1, x.shape[axis]));
        parts[axis] = static_cast<int32_t>(here);
        cut *= here;
        left /= here;
      }
      if (!taken.empty()) parts[taken.front()] = static_cast<int32_t>(std::min(columns, x.shape[taken.front()]));
      const Layout l = block_layout(x, parts);
      const int32_t id = r.layout(l);
      const int64_t n = elements_at_most(l, x.shape), mine = div_up(rows, cut), tiles = l.tiles(), across = tiles / cut;
      OpPlan plan = r.start(across > 1 ? "rows and columns" : "by rows");
      for (size_t i = 0; i < s.in.size(); ++i)
        if (s.in[i] && s.in[i]->shape == x.shape) plan.in[i] = id, plan.resident_bytes += n * size;
      const RowPasses passes = passes_of(family);
      Traffic others;
      for (size_t i = 0; i < s.in.size(); ++i) {
        if (!s.in[i] || s.in[i]->shape == x.shape || (i < r.constant.size() && r.constant[i])) continue;
        const int64_t needed =
            std::min(s.in[i]->size(), passes.parameters && s.in[i]->size() == length ? div_up(length, across) : mine) *
            element_bytes(*s.in[i]);
        others.in += needed;
        others.out = std::max(
            others.out, div_up(s.in[i]->bytes(), std::max<int64_t>(1, std::min(m.tiles, s.in[i]->bytes() / 128))));
        others.fragments += div_up(needed, 256);
        others.runs += div_up(needed, std::max<int64_t>(128, s.in[i]->bytes() / m.tiles));
        ++others.sends;
        others.total += needed * tiles;
      }
      plan.exchange(m, "operands of rows and columns", others);
      plan.temp_bytes = others.in;
      if (family == TileFamily::scan)
        plan.compute(m, "CumSum", scan_cycles(m, s.row.tiles.vector, mine, length), tiles);
      if (family == TileFamily::sort) plan.compute(m, "Sort", sort_cycles(m, s.row.tiles.vector, mine, length), tiles);
      if (family == TileFamily::sort) plan.temp_bytes += n * (size + 4);
      for (int i = 0; i < passes.reductions; ++i) {
        plan.compute(m, "ReduceRows", reduce_cycles(m, mine, div_up(length, across), size, true), tiles, 24);
        if (across > 1) {
          plan.sum_partials(m, "partial sums of rows", across, mine, sums, sums, tiles);
          plan.temp_bytes += mine * across * sums;
        }
      }
      for (const VectorCost& v : passes.elementwise)
        plan.compute(m, passes.vertex, broadcast_vector_cycles(m, v, mine, div_up(length, across), size), tiles);
      plan.temp_bytes += n * size;
      if (family == TileFamily::loss)
        plan.compute(m, "Loss", loss_cycles(m, mine, div_up(length, across), size), tiles);
      if (passes.column_sums && cut > 1) {
        plan.compute(m, "ReduceColumns", 2 * reduce_cycles(m, div_up(length, across), mine, size, false), tiles, 48);
        plan.sum_partials(m, "partial sums of columns", cut, 2 * div_up(length, across), sums, size, tiles);
        plan.temp_bytes += 2 * div_up(length, across) * sums;
      }
      for (const TensorSpec& y : s.out) {
        if (y.shape == x.shape) {
          plan.out.push_back(id);
          plan.resident_bytes += n * element_bytes(y);
          continue;
        }
        plan.out.push_back(r.layout(linear_layout(m, y)));
        if (family == TileFamily::loss && y.size() == 1 && rows > 1) {
          plan.sum_partials(m, "sum of the rows' values", cut, 1, sums, sums, tiles);
        }
      }
      plan.text =
          fmt::format("{} {} of {}{} on each of {} tiles", mine, mine == 1 ? "row" : "rows", div_up(length, across),
                      across > 1 ? fmt::format(" (one in {} of the columns)", across) : std::string(), tiles);
      r.plans.push_back(std::move(plan));
    }
  }
}

void plan_reduction(const PlanRequest& r) {
  const Machine& m = r.machine;
  const OpSite& s = r.site;
  const TensorSpec& x = s.input(0);
  const TensorSpec& y = s.out[0];
  const int64_t outputs = std::max<int64_t>(1, y.size()), length = std::max<int64_t>(1, x.size() / outputs);
  const std::vector<bool> along = axes_of_site(s, x.shape.size(), false);
  const bool contiguous = x.shape.empty() || along.back();
  const int64_t size = element_bytes(x), sums = 4;
  std::vector<int32_t> layouts = r.pool.of(x);
  // Also the layout that needs no exchange: only axes that stay are cut.
  std::vector<int32_t> parts(x.shape.size(), 1);
  int64_t left = m.tiles;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (along[i]) continue;
    parts[i] = static_cast<int32_t>(std::min(left, std::max<int64_t>(1, x.shape[i])));
    left /= parts[i];
  }
  layouts.push_back(r.layout(block_layout(x, parts)));
  for (const int32_t id : layouts) {
    const Layout l = r.pool.table.at(id);
    const int64_t n = r.at_most(id, x), tiles = std::max<int64_t>(1, l.tiles());
    int64_t partials = 1, mine = 1;  // of each output, and outputs that a tile has a part of
    if (l.flat) {
      mine = std::min(outputs, contiguous ? div_up(n, length) + (n % length ? 1 : 0) : n);
      partials = contiguous ? std::max<int64_t>(1, div_up(length, std::max<int64_t>(1, n)))
                            : std::min(tiles, div_up(mine * tiles, outputs));
      if (contiguous && n >= length && n % length == 0) partials = 1;
    } else {
      for (size_t i = 0; i < x.shape.size(); ++i) {
        if (along[i])
          partials *= l.parts[i];
        else
          mine *= div_up(x.shape[i], l.parts[i]);
      }
      partials *= l.spread;
    }
    mine = std::max<int64_t>(1, mine);  // of operands without elements
    OpPlan plan = r.start(partials > 1 ? "where the operand lies, then the partial sums" : "where the operand lies");
    plan.in[0] = id;
    plan.compute(m, "Reduce", reduce_cycles(m, mine, div_up(n, mine), size, contiguous), tiles, 24);
    int64_t held = mine;
    const Layout to = linear_layout(m, y);
    if (partials > 1) {
      held = elements_at_most(to, y.shape);
      const int64_t arrives =
          plan.sum_partials(m, "partial sums", partials, mine, sums, element_bytes(y), std::min(m.tiles, tiles));
      plan.temp_bytes = mine * sums + arrives;
      plan.out = {r.layout(to)};
    } else {
      // What a tile has is a row-major part of the result.
      plan.out = {r.layout(to)};
      if (!l.flat && y.shape.size() == x.shape.size()) plan.out = {r.layout(block_layout(y, l.parts))};
      if (!l.flat && y.shape.size() < x.shape.size()) {
        std::vector<int32_t> rest;
        for (size_t i = 0; i < x.shape.size(); ++i)
          if (!along[i]) rest.push_back(l.parts[i]);
        if (rest.size() == y.shape.size()) plan.out = {r.layout(block_layout(y, rest))};
      }
    }
    for (size_t i = 1; i < s.out.size(); ++i) plan.out.push_back(r.layout(linear_layout(m, s.out[i])));
    plan.resident_bytes = n * size + held * element_bytes(y);
    plan.text = fmt::format("{}, {} partial sums of each", text(l), partials);
    r.plans.push_back(std::move(plan));
  }
}

}  // namespace pxl::tiles
