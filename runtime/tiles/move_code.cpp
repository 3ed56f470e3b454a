#include "runtime/tiles/move_code.hpp"

#include <algorithm>

#include "runtime/tiles/cost.hpp"
#include "runtime/tiles/region.hpp"

namespace pxl::tiles {

namespace {

/// One axis that both mappings partition: of each pair of parts, the pieces of what they have in common.
struct Axis {
  std::vector<ElementRange> from, to;
  bool contiguous = true;     ///< what two parts have in common of a group is one piece; else each index is one
  int64_t group = INT64_MAX;  ///< indices side by side, counted from the beginning of a part of `from`, or of `to`
  bool groups_of_to = false;
  const ElementRange& part(size_t i, size_t j) const { return groups_of_to ? to[j] : from[i]; }
  int64_t pieces(size_t i, size_t j) const {
    const ElementRange both = common(from[i], to[j]);
    if (!contiguous || both.size() == 0) return both.size();
    const int64_t base = part(i, j).begin;
    return (both.end - 1 - base) / group - (both.begin - base) / group + 1;
  }
  /// Whether all groups are of both mappings or of none.
  bool keeps_groups() const {
    for (size_t i = 0; i < from.size(); ++i)
      for (size_t j = 0; j < to.size(); ++j) {
        const ElementRange both = common(from[i], to[j]), all = part(i, j);
        if (both.size() == 0) continue;
        if ((both.begin - all.begin) % group != 0 || (both.end != all.end && (both.end - all.begin) % group != 0))
          return false;
      }
    return true;
  }
};

std::vector<ElementRange> parts(int64_t extent, int64_t n) {
  std::vector<ElementRange> ranges;
  for (int64_t i = 0; i < n; ++i) ranges.push_back(part_of(extent, n, i));
  return ranges;
}

/// Blocks that are runs of the elements: all axes before the last partitioned one are split into single indices.
bool is_runs(const TileMapping& l, const Shape& shape) {
  if (l.flat) return true;
  size_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i)
    if (l.parts[i] > 1) last = i;
  for (size_t i = 0; i < last; ++i)
    if (l.parts[i] != shape[i]) return false;
  return true;
}

/// The runs of a mapping, in order of its shares.
std::vector<ElementRange> runs_of(const TileMapping& l, const Shape& shape) {
  const int64_t elements = element_count(shape);
  std::vector<ElementRange> runs;
  if (l.flat) {
    for (const ElementRange& r : parts(div_up(elements, l.grain), std::max<int32_t>(1, l.tiles_used)))
      runs.push_back({std::min(elements, r.begin * l.grain), std::min(elements, r.end * l.grain)});
    return runs;
  }
  int64_t begin = 0;
  for (int64_t b = 0; b < l.tiles() / l.spread; ++b) {
    int64_t block = b, size = 1;
    for (size_t i = shape.size(); i-- > 0; block /= l.parts[i])
      size *= part_of(shape[i], l.parts[i], block % l.parts[i]).size();
    for (const ElementRange& r : parts(size, l.spread)) runs.push_back({begin + r.begin, begin + r.end});
    begin += size;
  }
  return runs;
}

/// Both mappings as axes with parts; the last part of a share's number is that of the last axis.
std::vector<Axis> axes_of(const TileMapping& from, const TileMapping& to, const Shape& shape, bool row_major) {
  if (row_major && is_runs(from, shape) && is_runs(to, shape)) return {{runs_of(from, shape), runs_of(to, shape)}};
  if (from.flat || to.flat || from.spread > 1 || to.spread > 1) return {};
  std::vector<Axis> axes;
  for (size_t i = 0; i < shape.size(); ++i)
    axes.push_back({parts(shape[i], from.parts[i]), parts(shape[i], to.parts[i])});
  return axes;
}

}  // namespace

std::vector<TileMoves> moves_by_tile(const Machine& m, const TileMapping& from, const TileMapping& to,
                                     const TileMapping& order, const TensorSpec& spec) {
  const Shape& shape = spec.shape;
  if (from.copies > 1 || to.copies > 1 || from.tiles() > m.tiles || to.tiles() > m.tiles || shape.empty()) return {};
  const bool row_major = order.flat || order.group == 1;
  std::vector<Axis> axes = axes_of(from, to, shape, row_major);
  if (axes.empty()) return {};
  if (axes.size() == shape.size() && shape.size() > 1) {
    // Pieces are contiguous along the innermost axis, and along the next ones as long as no part of one is left out.
    for (Axis& axis : axes) axis.contiguous = false;
    bool whole = true;
    const auto join = [&](size_t i) {
      axes[i].contiguous = whole;
      whole = whole && axes[i].from.size() == 1 && axes[i].to.size() == 1;
    };
    const auto inner = static_cast<size_t>(order.inner_axis);
    if (!row_major) {
      axes[inner].contiguous = true;
      axes[inner].group = std::min<int64_t>(order.group, div_up(shape[inner], order.parts[inner]));
      axes[inner].groups_of_to = &order == &to;
      whole = axes[inner].keeps_groups();
    }
    for (size_t i = shape.size(); i-- > 0;)
      if (row_major || i != inner) join(i);
  }
  std::vector<TileMoves> moves(static_cast<size_t>(m.tiles));
  const int64_t shares_from = from.tiles(), shares_to = to.tiles();
  const auto tile_of = [&](const TileMapping& l, int64_t share) {
    return static_cast<size_t>((l.first + l.tile_of(0, share)) % m.tiles);
  };
  std::vector<int64_t> share_at(static_cast<size_t>(m.tiles), -1);  // by tile: of `from`
  for (int64_t i = 0; i < shares_from; ++i) share_at[tile_of(from, i)] = i;
  // Sums over all pairs are products of sums over each axis.
  struct Sum {
    int64_t pairs = 1, pieces = 1, elements = 1;
  };
  std::vector<std::vector<Sum>> by_from, by_to;
  for (const Axis& axis : axes) {
    std::vector<Sum> f(axis.from.size(), {0, 0, 0}), t(axis.to.size(), {0, 0, 0});
    for (size_t i = 0, first = 0; i < axis.from.size(); ++i) {
      while (first < axis.to.size() && axis.to[first].end <= axis.from[i].begin) ++first;
      for (size_t j = first; j < axis.to.size() && axis.to[j].begin < axis.from[i].end; ++j) {
        const int64_t both = common(axis.from[i], axis.to[j]).size(), pieces = axis.pieces(i, j);
        for (Sum* sum : {&f[i], &t[j]}) sum->pairs += both > 0, sum->pieces += pieces, sum->elements += both;
      }
    }
    by_from.push_back(std::move(f));
    by_to.push_back(std::move(t));
  }
  const auto all = [&](const std::vector<std::vector<Sum>>& by, int64_t share) {
    Sum sum;
    for (size_t k = axes.size(); k-- > 0; share /= static_cast<int64_t>(by[k].size())) {
      const Sum& s = by[k][static_cast<size_t>(share % static_cast<int64_t>(by[k].size()))];
      sum.pairs *= s.pairs, sum.pieces *= s.pieces, sum.elements *= s.elements;
    }
    return sum;
  };
  const auto size = static_cast<int64_t>(size_of(spec.dtype));
  for (int64_t i = 0; i < shares_from; ++i) {
    const Sum sum = all(by_from, i);
    TileMoves& t = moves[tile_of(from, i)];
    t.sends += sum.pieces, t.out += sum.elements * size;
  }
  for (int64_t j = 0; j < shares_to; ++j) {
    const size_t tile = tile_of(to, j);
    const Sum sum = all(by_to, j);
    TileMoves& t = moves[tile];
    t.senders += sum.pairs, t.pieces += sum.pieces;
    if (share_at[tile] < 0) continue;
    // What is in place does not move.
    int64_t i = share_at[tile], share = j;
    Sum here;
    for (size_t k = axes.size(); k-- > 0;) {
      const auto n = static_cast<int64_t>(axes[k].from.size()), o = static_cast<int64_t>(axes[k].to.size());
      const auto a = static_cast<size_t>(i % n), b = static_cast<size_t>(share % o);
      const int64_t both = common(axes[k].from[a], axes[k].to[b]).size();
      here.pairs *= both > 0, here.pieces *= axes[k].pieces(a, b), here.elements *= both;
      i /= n, share /= o;
    }
    t.sends -= here.pieces, t.senders -= here.pairs, t.pieces -= here.pieces, t.out -= here.elements * size;
  }
  return moves;
}

std::vector<int64_t> rearrangement_code(const Machine& m, const TileMapping& from, const TileMapping& to,
                                        const TensorSpec& spec, const Rearrangement& r) {
  std::vector<int64_t> bytes(static_cast<size_t>(m.tiles), 0);
  if (r.traffic.empty()) return bytes;
  const bool in_source_order = r.sorts_there || same_order(from, to, spec.shape);
  const std::vector<TileMoves> moves = moves_by_tile(m, from, to, in_source_order ? from : to, spec);
  if (moves.empty()) {
    const int64_t all = exchange_code_bytes(r.traffic);
    for (int64_t i = 0; i < std::min(m.tiles, to.tiles()); ++i)
      bytes[static_cast<size_t>((to.first + i) % m.tiles)] = all;
    return bytes;
  }
  for (size_t tile = 0; tile < bytes.size(); ++tile) {
    const TileMoves& t = moves[tile];
    if (t.sends == 0 && t.pieces == 0) continue;
    const int64_t receives = r.sorts_there ? t.senders : t.pieces;
    bytes[tile] = exchange_code_bytes(t.sends, t.out, receives, r.sorts_there ? 0 : std::max<int64_t>(0, receives - 1));
  }
  return bytes;
}

}  // namespace pxl::tiles
