// Layouts: the elements that each tile stores, for a tile mapping and a shape.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/tiles/machine/machine.hpp"
#include "runtime/tiles/region.hpp"
#include "runtime/tiles/tile_mapping.hpp"

namespace pxl::tiles {

/// Returns part i if a region's elements are divided into n equal shares.
Region share_of(const Region& region, int64_t n, int64_t i);

class Layout {
 public:
  Layout(const Machine& m, const TileMapping& mapping, const Shape& shape);

  const Shape& shape() const { return shape_; }
  int32_t tiles() const { return static_cast<int32_t>(on_.size()); }
  /// The elements that a tile stores.
  const Region& on(int32_t tile) const { return on_[static_cast<size_t>(tile)]; }
  /// A range of elements, and the tile that stores the range in one copy. Owners are in ascending order.
  struct Owner {
    ElementRange elements;
    int32_t tile = 0;
  };
  size_t copies() const { return owners_.size(); }
  const std::vector<Owner>& owners(size_t copy) const { return owners_[copy]; }

 private:
  Shape shape_;
  std::vector<Region> on_;                  // by tile
  std::vector<std::vector<Owner>> owners_;  // by copy
};

/// Calls f(elements, tile) for each range of `region` and the tile that owns it in one copy, ascending.
template <class F>
void for_owners(const Layout& layout, size_t copy, const Region& region, F&& f) {
  const std::vector<Layout::Owner>& owners = layout.owners(copy);
  for (const ElementRange& r : region.ranges()) {
    auto at = std::upper_bound(owners.begin(), owners.end(), r.begin,
                               [](int64_t e, const Layout::Owner& o) { return e < o.elements.end; });
    for (; at != owners.end() && at->elements.begin < r.end; ++at) f(common(at->elements, r), at->tile);
  }
}

}  // namespace pxl::tiles
