// The slice of a tensor that each tile stores, for a tile mapping and a shape: a row-major run or a box. Elements are
// not enumerated.
#pragma once

#include <vector>

#include "runtime/base/div_up.hpp"
#include "runtime/tiles/region.hpp"
#include "runtime/tiles/tile_mapping.hpp"

namespace pxl::tiles {

/// A mapping with each tile's slice: a row-major run or a box.
class TilePlacement {
 public:
  TilePlacement(const Machine& m, const TileMapping& mapping, const Shape& shape)
      : l_(mapping), shape_(shape), tiles_(m.tiles), each_(mapping.tiles() / mapping.copies) {
    if (l_.flat) return;
    if (!l_.strides.empty()) {
      index_at_.assign(static_cast<size_t>(tiles_), -1);
      for (int64_t copy = 0; copy < l_.copies; ++copy)
        for (int64_t i = 0; i < each_; ++i) index_at_[static_cast<size_t>(tile_of(copy, i))] = i;
    }
    // Blocks are runs if all axes that precede the last partitioned axis are split into single indices.
    size_t last = 0;
    for (size_t i = 0; i < shape.size(); ++i)
      if (l_.parts[i] > 1) last = i;
    for (size_t i = 0; i < last; ++i) runs_ = runs_ && l_.parts[i] == shape[i];
  }

  bool runs() const { return l_.flat || runs_; }
  int64_t each() const { return each_; }  ///< tiles per copy
  int64_t tile_of(int64_t copy, int64_t index) const {
    return (l_.first + (l_.strides.empty() ? copy * each_ + index : l_.tile_of(copy, index))) % tiles_;
  }
  /// Index of a tile's share within its copy; -1 if it has none.
  int64_t index_at(int64_t tile) const {
    if (!index_at_.empty()) return index_at_[static_cast<size_t>(tile)];
    const int64_t offset = (tile - l_.first % tiles_ + tiles_) % tiles_;
    return offset < each_ * l_.copies ? offset % each_ : -1;
  }

  ElementRange run(int64_t index) const {
    if (l_.flat) {
      const int64_t n = element_count(shape_), grains = div_up(n, l_.grain);
      const ElementRange r = part_of(grains, std::max<int64_t>(1, l_.tiles_used), index);
      return {std::min(n, r.begin * l_.grain), std::min(n, r.end * l_.grain)};
    }
    int64_t block = index / l_.spread, begin = 0, size = 1, inner = 1;
    for (size_t i = shape_.size(); i-- > 0;) {
      const ElementRange r = part_of(shape_[i], l_.parts[i], block % l_.parts[i]);
      block /= l_.parts[i];
      begin += r.begin * inner;
      size *= r.size();
      inner *= shape_[i];
    }
    const ElementRange mine = part_of(size, l_.spread, index % l_.spread);
    return {begin + mine.begin, begin + mine.end};
  }

  int64_t size(int64_t index) const {
    if (runs()) return run(index).size();
    int64_t block = index / l_.spread, n = 1;
    for (size_t i = shape_.size(); i-- > 0;) {
      n *= part_of(shape_[i], l_.parts[i], block % l_.parts[i]).size();
      block /= l_.parts[i];
    }
    return part_of(n, l_.spread, index % l_.spread).size();
  }

  /// Number of elements in both share `a` of this mapping and share `b` of the other mapping; a lower bound.
  int64_t shared(int64_t a, const TilePlacement& other, int64_t b) const {
    if (runs() && other.runs()) return common(run(a), other.run(b)).size();
    if (l_.flat || other.l_.flat) return 0;
    if (l_.parts == other.l_.parts) {
      if (a / l_.spread != b / other.l_.spread) return 0;
      int64_t block = a / l_.spread, n = 1;
      for (size_t i = shape_.size(); i-- > 0;) {
        n *= part_of(shape_[i], l_.parts[i], block % l_.parts[i]).size();
        block /= l_.parts[i];
      }
      return common(part_of(n, l_.spread, a % l_.spread), part_of(n, other.l_.spread, b % other.l_.spread)).size();
    }
    if (l_.spread > 1 || other.l_.spread > 1) return 0;
    int64_t n = 1;
    for (size_t i = shape_.size(); i-- > 0 && n > 0;) {
      n *= common(part_of(shape_[i], l_.parts[i], a % l_.parts[i]),
                  part_of(shape_[i], other.l_.parts[i], b % other.l_.parts[i]))
               .size();
      a /= l_.parts[i];
      b /= other.l_.parts[i];
    }
    return n;
  }

 private:
  const TileMapping& l_;
  const Shape& shape_;
  int64_t tiles_, each_;
  bool runs_ = true;
  std::vector<int64_t> index_at_;  // by tile, if blocks have separate strides
};

}  // namespace pxl::tiles
