// Cost of rearrangements: the elements that are already in place, and the cost of moving the other elements.
#include <algorithm>
#include <numeric>

#include "runtime/tiles/costs/cost.hpp"
#include "runtime/tiles/costs/exchange.hpp"
#include "runtime/tiles/costs/move_code.hpp"
#include "runtime/tiles/tile_mapping.hpp"
#include "runtime/tiles/tile_placement.hpp"

namespace pxl::tiles {

namespace {

int64_t in_place(const TilePlacement& from, const TilePlacement& to, int64_t copy, int64_t index) {
  const int64_t there = from.index_at(to.tile_of(copy, index));
  return there < 0 ? 0 : from.shared(there, to, index);
}

/// Maximum number of elements that a share in `to` lacks on its tile in `from`.
int64_t max_moved(const TilePlacement& from, const TilePlacement& to, int64_t copies, int64_t largest) {
  int64_t most = 0;
  // Larger shares come first. The very first share is most often in place, so it is checked last.
  for (int64_t copy = 0; copy < copies; ++copy)
    for (int64_t i = 0; i < to.each() && most < largest; ++i) {
      const int64_t index = i + 1 == to.each() ? 0 : i + 1;
      most = std::max(most, to.size(index) - in_place(from, to, copy, index));
    }
  return most;
}

int64_t all_moved(const TilePlacement& from, const TilePlacement& to, int64_t copies) {
  int64_t sum = 0;
  for (int64_t copy = 0; copy < copies; ++copy)
    for (int64_t i = 0; i < to.each(); ++i) sum += to.size(i) - in_place(from, to, copy, i);
  return sum;
}

/// Elements that are contiguous on both sides if both sides store them in the order of `order`.
int64_t common_run(TileMapping from, TileMapping to, const TileMapping& order, const Shape& shape) {
  if (order.group > 1 && (from.flat || to.flat)) return 1;
  for (TileMapping* l : {&from, &to}) l->group = order.group, l->inner_axis = order.inner_axis;
  return std::max<int64_t>(1, std::min(run_length(from, shape), run_length(to, shape)));
}
/// The same if `order` is the order of one side only.
int64_t run_in_order(const TileMapping& from, const TileMapping& to, TileMapping order, const Shape& shape) {
  if (order.group > 1) {
    const auto axis = static_cast<size_t>(order.inner_axis);
    const auto block = [&](const TileMapping& l) { return l.flat ? 1 : div_up(shape[axis], l.parts[axis]); };
    const int64_t count = std::min<int64_t>(order.group, block(order)), others = std::min(block(from), block(to));
    if (others < count) return others;  // groups are cut
    order.group = static_cast<int32_t>(count);
  }
  return common_run(from, to, order, shape);
}

/// Extents of a tile's block, or of its share if the block is spread.
Shape block_extents(const TileMapping& l, const Shape& shape) {
  Shape extents = shape;
  int64_t spread = l.spread;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t block = div_up(shape[i], l.parts[i]);
    extents[i] = div_up(block, spread);
    spread = div_up(spread, block);
  }
  return extents;
}

/// Cycles to reorder a tile's block from one order to the other.
int64_t order_cycles(const Machine& m, const TileMapping& l, const Shape& shape, const StorageOrder& from,
                     const StorageOrder& to, int64_t size) {
  const int64_t elements = max_elements_per_tile(l, shape);
  if (from.axis == to.axis || !from.whole || !to.whole || l.flat)
    return reorder_cycles(m, elements * size,
                          atom_bytes((from.axis == to.axis ? std::gcd(from.count, to.count) : 1) * size));
  const Shape block = block_extents(l, shape);
  const int64_t rows = block[from.axis], columns = block[to.axis];
  return transpose_cycles(m, div_up(elements, rows * columns), rows, columns, size);
}

Rearrangement compute_rearrangement(const Machine& m, const TileMapping& from, const TileMapping& to,
                                    const TensorSpec& spec, bool all) {
  Rearrangement r;
  // A plan that keeps tensors in the second memory level needs no rearrangements: an op reads its slices from there in
  // any layout.
  if (from == to || spec.size() == 0 || m.spill > 0) return r;
  const auto size = static_cast<int64_t>(size_of(spec.dtype));
  const bool same = same_order(from, to, spec.shape);
  const StorageOrder orders[] = {order_of(from, spec.shape), order_of(to, spec.shape)};
  int64_t in = max_elements_per_tile(to, spec.shape), out = max_elements_per_tile(from, spec.shape);
  int64_t total = saturating_product(element_count(spec.shape), to.copies);
  // Mappings onto more tiles than the machine has cannot be compared by tile.
  if (from.tiles() <= m.tiles && to.tiles() <= m.tiles) {
    const TilePlacement a(m, from, spec.shape), b(m, to, spec.shape);
    in = max_moved(a, b, to.copies, in);
    if (in == 0) {
      if (same) return r;
      r.cycles = r.copy_cycles = order_cycles(m, to, spec.shape, orders[0], orders[1], size);
      return r;
    }
    // Any copy may be the source of a multicast.
    if (from.copies == 1 && to.copies == 1) out = std::max<int64_t>(1, max_moved(b, a, 1, out));
    if (all) total = all_moved(a, b, to.copies);
  }
  in *= size;
  out *= size;
  // If the orders differ, slices travel in the order of one side, and the other side puts them in order. The order with
  // the longer runs is used. Runs of whole words come first, since an exchange sends words.
  const int64_t as_from = same ? common_run(from, to, from, spec.shape) : run_in_order(from, to, from, spec.shape),
                as_to = same ? common_run(from, to, to, spec.shape) : run_in_order(from, to, to, spec.shape);
  const auto in_words = [&](int64_t run) { return run * size % exchange_word_bytes == 0; };
  const bool sorts_there = in_words(as_from) == in_words(as_to) ? as_from >= as_to : in_words(as_from);
  const int64_t run = same ? std::max(as_from, as_to) : sorts_there ? as_from : as_to;
  r.traffic.in = in;
  r.traffic.out = out;  // copies are one send
  r.traffic.total = saturating_product(total, size);
  r.traffic.runs = div_up(in, run * size);
  r.traffic.sends = div_up(out, run * size);
  r.traffic.fragments = std::max(r.traffic.runs, r.traffic.sends);
  r.temp_bytes = in;
  // Slices arrive in the order of their sources. If a fragment is shorter than a run of the destination, the tile puts
  // the received slices in order. If the orders differ, a tile puts all its elements in order.
  r.sorts_there = same ? run < run_length(to, spec.shape) : sorts_there;
  if (!same)
    r.copy_cycles = order_cycles(m, sorts_there ? to : from, spec.shape, orders[0], orders[1], size);
  else if (r.sorts_there)
    r.copy_cycles = reorder_cycles(m, in, atom_bytes(run * size));
  r.cycles = m.sync + exchange_cycles(m, r.traffic) + r.copy_cycles;
  return r;
}

}  // namespace

Rearrangement rearrangement(const Machine& m, const TileMapping& from, const TileMapping& to, const TensorSpec& spec) {
  Rearrangement r = compute_rearrangement(m, from, to, spec, true);
  if (!r.traffic.empty()) r.code = rearrangement_code(m, from, to, spec, r);
  return r;
}

int64_t rearrangement_cycles(const Machine& m, const TileMapping& from, const TileMapping& to, const TensorSpec& spec) {
  return compute_rearrangement(m, from, to, spec, false).cycles;
}

}  // namespace pxl::tiles
