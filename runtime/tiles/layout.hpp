// Where a tensor's elements lie: which tile holds which part. A layout cuts each axis into parts of nearly equal
// extent; the blocks lie on the tiles in row-major order, the elements of one block spread evenly over `spread` tiles,
// all of it `copies` times. Flat layouts cut the elements in row-major order into runs instead. Layouts are values; a
// table gives each a number, so that comparing and caching are cheap.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/tensor/shape.hpp"
#include "runtime/tiles/exchange.hpp"
#include "runtime/tiles/machine.hpp"

namespace pxl::tiles {

struct Layout {
  bool flat = true;
  int32_t grain = 1;           ///< flat: runs are multiples of so many elements
  int32_t tiles_used = 1;      ///< flat: tiles that hold a run
  int32_t first = 0;           ///< tile of the first run or block; behind the last tile comes tile 0
  std::vector<int32_t> parts;  ///< blocks: by axis
  int32_t spread = 1;          ///< blocks: tiles that share one block
  int32_t copies = 1;          ///< of the whole tensor

  friend bool operator==(const Layout&, const Layout&) = default;
  friend auto operator<=>(const Layout&, const Layout&) = default;
  /// Tiles that hold anything.
  int64_t tiles() const;
};

/// "flat on 1472 tiles, 4 at a time", "blocks 46 x 1 over 2 tiles each".
std::string text(const Layout& layout);

/// Poplar's linear mapping: the elements in order, in grains of a vector, at least 128 bytes a tile.
Layout linear_layout(const Machine& m, const TensorSpec& spec);
/// The same for rows: no run ends inside one of `row` elements.
Layout row_layout(const Machine& m, const TensorSpec& spec, int64_t row);
/// Blocks; parts are limited to the extents.
Layout block_layout(const TensorSpec& spec, std::vector<int32_t> parts, int64_t spread = 1, int64_t copies = 1);
Layout single_tile(const Machine& m, const TensorSpec& spec);

/// Elements on each tile, by tile; their sum is the tensor's size times copies. Exact.
std::vector<int64_t> elements_by_tile(const Machine& m, const Layout& layout, const Shape& shape);
/// The most elements on one tile.
int64_t elements_at_most(const Layout& layout, const Shape& shape);

/// The layout under which a row-major tensor of shape `from`, mapped by `layout`, is seen as shape `to`: the same bytes
/// on the same tiles. False where there is none.
bool reshape_layout(const Layout& layout, const Shape& from, const Shape& to, Layout& result);
/// The same for a transposition: axis i of the result is axis order[i].
Layout transpose_layout(const Layout& layout, const std::vector<int64_t>& order);

/// Elements next to each other in memory that a tile holds, by the layout.
int64_t run_length(const Layout& layout, const Shape& shape);

/// What changing a tensor's layout costs. Nothing where all elements lie where they should. Elements that a tile has
/// already stay there; where a part is neither a run of the row-major order nor a box, all of it counts as moved.
struct Relayout {
  Traffic traffic;
  int64_t copy_cycles = 0;  ///< on-tile change of order on arrival
  int64_t cycles = 0;       ///< exchange, synchronisation and copy
  int64_t temp_bytes = 0;   ///< of the busiest tile: the arrived pieces before they are put in order
};
Relayout relayout(const Machine& m, const Layout& from, const Layout& to, const TensorSpec& spec);
/// Relayout::cycles, without what only reports need.
int64_t relayout_cycles(const Machine& m, const Layout& from, const Layout& to, const TensorSpec& spec);

/// Layouts by number.
class LayoutTable {
 public:
  int32_t id(const Layout& layout);
  const Layout& at(int32_t id) const { return *layouts_[static_cast<size_t>(id)]; }
  size_t size() const { return layouts_.size(); }

 private:
  std::map<Layout, int32_t> ids_;
  std::vector<const Layout*> layouts_;
};

}  // namespace pxl::tiles
