#include "runtime/tiles/layout.hpp"

#include <algorithm>

#include "runtime/tiles/costs/cost.hpp"

namespace pxl::tiles {

Region share_of(const Region& region, int64_t n, int64_t i) {
  if (n == 1) return region;
  const ElementRange mine = part_of(region.size(), n, i);
  Region share;
  int64_t before = 0;
  for (const ElementRange& r : region.ranges()) {
    const ElementRange here = common(mine, {before, before + r.size()});
    if (here.size() > 0) share.add({r.begin + here.begin - before, r.begin + here.end - before});
    before += r.size();
  }
  return share;
}

Layout::Layout(const Machine& m, const TileMapping& l, const Shape& shape)
    : shape_(shape), on_(static_cast<size_t>(m.tiles)), owners_(static_cast<size_t>(std::max<int32_t>(1, l.copies))) {
  const auto give = [&](size_t copy, int64_t index, const Region& region) {
    const auto tile = static_cast<int32_t>((l.first + l.tile_of(static_cast<int64_t>(copy), index)) % m.tiles);
    if (region.empty()) return;
    for (const ElementRange& r : region.ranges()) owners_[copy].push_back({r, tile});
    Region& on = on_[static_cast<size_t>(tile)];
    on = merged(on, region);
  };
  const int64_t elements = element_count(shape);
  for (size_t copy = 0; copy < owners_.size(); ++copy) {
    if (l.flat) {
      const int64_t grains = div_up(elements, l.grain), used = std::max<int32_t>(1, l.tiles_used);
      for (int64_t i = 0; i < used; ++i) {
        const ElementRange r = part_of(grains, used, i);
        Region run;
        run.add({std::min(elements, r.begin * l.grain), std::min(elements, r.end * l.grain)});
        give(copy, i, run);
      }
    } else if (elements > 0) {
      std::vector<int32_t> at(shape.size(), 0);
      std::vector<ElementRange> ranges(shape.size());
      int64_t index = 0;
      for (size_t axis = 1; axis > 0;) {
        for (size_t i = 0; i < shape.size(); ++i) ranges[i] = part_of(shape[i], l.parts[i], at[i]);
        const Region block = Region::box(shape, ranges);
        for (int64_t k = 0; k < l.spread; ++k) give(copy, index++, share_of(block, l.spread, k));
        for (axis = shape.size(); axis > 0 && ++at[axis - 1] == l.parts[axis - 1];) at[--axis] = 0;
      }
    }
    std::sort(owners_[copy].begin(), owners_[copy].end(),
              [](const Owner& a, const Owner& b) { return a.elements.begin < b.elements.begin; });
  }
}

}  // namespace pxl::tiles
