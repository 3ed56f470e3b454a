#include "runtime/tiles/costs/move_code.hpp"

#include <algorithm>

#include "runtime/base/div_up.hpp"
#include "runtime/tiles/region.hpp"
#include "runtime/tiles/tile_placement.hpp"

namespace pxl::tiles {

namespace {

/// One axis that both mappings partition. Two parts, one per mapping, overlap in pieces.
struct Axis {
  std::vector<ElementRange> from, to;
  bool contiguous = true;     ///< each group in an overlap is one piece; false: each index is one piece
  int64_t group = INT64_MAX;  ///< indices side by side, counted from the beginning of a part (of `from` or `to`)
  bool groups_of_to = false;
  const ElementRange& part(size_t i, size_t j) const { return groups_of_to ? to[j] : from[i]; }
  int64_t pieces(size_t i, size_t j) const {
    const ElementRange both = common(from[i], to[j]);
    if (!contiguous || both.size() == 0) return both.size();
    const int64_t base = part(i, j).begin;
    return (both.end - 1 - base) / group - (both.begin - base) / group + 1;
  }
  /// Calls f(i, j) for the parts that overlap.
  template <class F>
  void for_pairs(F&& f) const {
    for (size_t i = 0, first = 0; i < from.size(); ++i) {
      while (first < to.size() && to[first].end <= from[i].begin) ++first;
      for (size_t j = first; j < to.size() && to[j].begin < from[i].end; ++j)
        if (common(from[i], to[j]).size() > 0) f(i, j);
    }
  }
  /// Whether every overlap consists of whole groups.
  bool keeps_groups() const {
    bool keeps = true;
    for_pairs([&](size_t i, size_t j) {
      const ElementRange both = common(from[i], to[j]), all = part(i, j);
      keeps = keeps && (both.begin - all.begin) % group == 0 &&
              (both.end == all.end || (both.end - all.begin) % group == 0);
    });
    return keeps;
  }
};

std::vector<ElementRange> parts(int64_t extent, int64_t n) {
  std::vector<ElementRange> ranges;
  for (int64_t i = 0; i < n; ++i) ranges.push_back(part_of(extent, n, i));
  return ranges;
}

/// Both mappings as axes with parts. The numbering of shares is row-major: the last axis varies fastest.
std::vector<Axis> axes_of(const TilePlacement& a, const TilePlacement& b, const TileMapping& from,
                          const TileMapping& to, const Shape& shape, bool row_major) {
  if (row_major && a.runs() && b.runs()) {
    Axis all;
    for (int64_t i = 0; i < a.each(); ++i) all.from.push_back(a.run(i));
    for (int64_t i = 0; i < b.each(); ++i) all.to.push_back(b.run(i));
    return {all};
  }
  if (from.flat || to.flat || from.spread > 1 || to.spread > 1) return {};
  std::vector<Axis> axes;
  for (size_t i = 0; i < shape.size(); ++i)
    axes.push_back({parts(shape[i], from.parts[i]), parts(shape[i], to.parts[i])});
  return axes;
}

}  // namespace

std::vector<TileMoves> moves_by_tile(const Machine& m, const TileMapping& from, const TileMapping& to,
                                     const TensorSpec& spec, bool in_order_of_to) {
  const TileMapping& order = in_order_of_to ? to : from;
  const Shape& shape = spec.shape;
  if (from.copies > 1 || to.copies > 1 || from.tiles() > m.tiles || to.tiles() > m.tiles || shape.empty()) return {};
  const bool row_major = order.flat || order.group == 1;
  const TilePlacement a(m, from, shape), b(m, to, shape);
  std::vector<Axis> axes = axes_of(a, b, from, to, shape, row_major);
  if (axes.empty()) return {};
  if (axes.size() == shape.size() && shape.size() > 1) {
    // Pieces are contiguous along the innermost axis, and along each further axis while all inner axes are undivided.
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
      axes[inner].groups_of_to = in_order_of_to;
      whole = axes[inner].keeps_groups();
    }
    for (size_t i = shape.size(); i-- > 0;)
      if (row_major || i != inner) join(i);
  }
  std::vector<TileMoves> moves(static_cast<size_t>(m.tiles));
  // Sums over all pairs are products of sums over each axis.
  struct Sum {
    int64_t pairs = 1, pieces = 1, elements = 1;
  };
  std::vector<std::vector<Sum>> by_from, by_to;
  for (const Axis& axis : axes) {
    std::vector<Sum> f(axis.from.size(), {0, 0, 0}), t(axis.to.size(), {0, 0, 0});
    axis.for_pairs([&](size_t i, size_t j) {
      for (Sum* sum : {&f[i], &t[j]})
        ++sum->pairs, sum->pieces += axis.pieces(i, j), sum->elements += common(axis.from[i], axis.to[j]).size();
    });
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
  for (int64_t i = 0; i < a.each(); ++i) {
    const Sum sum = all(by_from, i);
    TileMoves& t = moves[static_cast<size_t>(a.tile_of(0, i))];
    t.sends += sum.pieces, t.out += sum.elements * size;
  }
  for (int64_t j = 0; j < b.each(); ++j) {
    const int64_t tile = b.tile_of(0, j);
    const Sum sum = all(by_to, j);
    TileMoves& t = moves[static_cast<size_t>(tile)];
    t.senders += sum.pairs, t.pieces += sum.pieces;
    // Elements in place do not move.
    int64_t i = a.index_at(tile), share = j;
    if (i < 0) continue;
    Sum here;
    for (size_t k = axes.size(); k-- > 0;) {
      const auto n = static_cast<int64_t>(axes[k].from.size()), o = static_cast<int64_t>(axes[k].to.size());
      const auto mine = static_cast<size_t>(i % n), theirs = static_cast<size_t>(share % o);
      const int64_t both = common(axes[k].from[mine], axes[k].to[theirs]).size();
      here.pairs *= both > 0, here.pieces *= axes[k].pieces(mine, theirs), here.elements *= both;
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
  const bool senders_sort = !r.sorts_there && !same_order(from, to, spec.shape);
  const std::vector<TileMoves> moves = moves_by_tile(m, from, to, spec, senders_sort);
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
