// Tile mappings: the slices of a tensor that each tile stores. A block mapping partitions each axis into parts of
// nearly equal extent and assigns the blocks to tiles in row-major order. Each block is spread evenly over `spread`
// tiles. A flat mapping assigns runs of the row-major elements. Either may store `copies` copies of the tensor.
// Mappings are values. A table interns them, so that comparing and caching are cheap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/tensor/shape.hpp"
#include "runtime/tiles/costs/exchange.hpp"
#include "runtime/tiles/machine/machine.hpp"

namespace pxl::tiles {

struct TileMapping {
  bool flat = true;
  int32_t grain = 1;           ///< flat: runs are multiples of this number of elements
  int32_t tiles_used = 1;      ///< flat: tiles that hold a run
  int32_t first = 0;           ///< tile of the first run or block; wraps around after the last tile
  std::vector<int32_t> parts;  ///< blocks: number of parts by axis
  int32_t spread = 1;          ///< blocks: tiles that share one block
  int32_t copies = 1;          ///< number of copies of the whole tensor
  /// Blocks: the number of indices along `inner_axis` that a tile stores side by side. Groups of such indices precede
  /// the other axes, as the units read and write them (PopLibs: [C1][...][C2]). The extent: the whole axis is side by
  /// side. 1: row-major. The group does not affect which tile stores an element.
  int32_t group = 1;
  int32_t inner_axis = 0;
  /// Blocks: strides in tiles. Each axis has a stride from one block to the next. Two more strides follow: between
  /// tiles that share a block, and between copies. Empty: row-major.
  std::vector<int32_t> strides = {};

  friend bool operator==(const TileMapping&, const TileMapping&) = default;
  friend auto operator<=>(const TileMapping&, const TileMapping&) = default;
  /// Number of tiles that store any elements.
  int64_t tiles() const;
  /// The tile, counted from `first`, that stores share `index` of a copy. Blocks: `index` is the block number times
  /// `spread` plus the share.
  int64_t tile_of(int64_t copy, int64_t index) const;
  /// The strides of blocks, row-major ones included.
  std::vector<int32_t> all_strides() const;
};

/// "flat 1472 grain 4", "blocks 46x1 spread 2": all of a mapping, as cuts/mapping_text.cpp reads it.
std::string text(const TileMapping& mapping);

/// Poplar's linear mapping: row-major runs in multiples of a vector, at least 128 bytes per tile.
TileMapping linear_mapping(const Machine& m, const TensorSpec& spec);
/// Linear mapping that never splits a row of `row` elements.
TileMapping row_mapping(const Machine& m, const TensorSpec& spec, int64_t row);
/// Block mapping; part counts are limited to the extents.
TileMapping block_mapping(const TensorSpec& spec, std::vector<int32_t> parts, int64_t spread = 1, int64_t copies = 1);
/// A block mapping with other strides, for all axes, shares and copies.
TileMapping with_strides(TileMapping mapping, std::vector<int32_t> strides);

/// Elements stored on each tile, exactly; their sum is the size of the tensor times copies.
std::vector<int64_t> elements_by_tile(const Machine& m, const TileMapping& mapping, const Shape& shape);
/// Maximum number of elements on one tile.
int64_t max_elements_per_tile(const TileMapping& mapping, const Shape& shape);

/// A block mapping whose tiles store `group` indices of an axis side by side. A larger `group` means the whole axis.
TileMapping with_inner_axis(TileMapping mapping, const Shape& shape, size_t axis, int64_t group = INT32_MAX);
/// A block mapping of [batch, channels, spatial axes...] that stores groups of up to 16 channels together.
TileMapping with_channel_groups(TileMapping mapping, const Shape& shape);

/// The elements of a tile's block that are side by side: `count` indices of `axis`. `whole`: the block has no other
/// indices of the axis.
struct StorageOrder {
  size_t axis = 0;
  int64_t count = 1;
  bool whole = true;
};
StorageOrder order_of(const TileMapping& mapping, const Shape& shape);
/// Whether tiles store the elements of both mappings in the same order, as far as both have the elements.
bool same_order(const TileMapping& a, const TileMapping& b, const Shape& shape);

/// The mapping of a row-major tensor with shape `from`, seen as shape `to`. All bytes stay in place. Returns false if
/// no mapping expresses the result.
bool reshape_mapping(const TileMapping& mapping, const Shape& from, const Shape& to, TileMapping& result);
/// The mapping after a transposition. Axis i of the result is axis order[i], stored row-major.
TileMapping transpose_mapping(const TileMapping& mapping, const std::vector<int64_t>& order);
/// The same for blocks of a tensor with this shape. The elements stay in place.
TileMapping transposed_view(const TileMapping& mapping, const Shape& shape, const std::vector<int64_t>& order);

/// Contiguous elements in a tile's share of the tensor.
int64_t run_length(const TileMapping& mapping, const Shape& shape);

/// Cost of changing a tensor's mapping. The cost is zero if all elements are in place and in the same order on their
/// tiles. Elements already on their tile stay. A share that is neither a row-major run nor a box is treated as moved.
struct Rearrangement {
  Traffic traffic;
  int64_t copy_cycles = 0;    ///< on-tile change of order after the exchange
  int64_t cycles = 0;         ///< exchange, synchronisation and copy
  bool sorts_there = false;   ///< the receiving tiles change the order
  int64_t temp_bytes = 0;     ///< on the most loaded tile: received slices before they are put in order
  std::vector<int64_t> code;  ///< exchange code by tile; empty if nothing moves
  int64_t code_bytes() const { return code.empty() ? 0 : *std::max_element(code.begin(), code.end()); }
  int64_t control_bytes() const {
    return (traffic.empty() ? 0 : sync_control_bytes + step_control_bytes) + (copy_cycles > 0 ? step_control_bytes : 0);
  }
};
Rearrangement rearrangement(const Machine& m, const TileMapping& from, const TileMapping& to, const TensorSpec& spec);
/// Returns Rearrangement::cycles without the fields for reports. Faster than rearrangement().
int64_t rearrangement_cycles(const Machine& m, const TileMapping& from, const TileMapping& to, const TensorSpec& spec);

/// Interned mappings, by number.
class TileMappingTable {
 public:
  int32_t id(const TileMapping& mapping);
  const TileMapping& at(int32_t id) const { return *mappings_[static_cast<size_t>(id)]; }
  size_t size() const { return mappings_.size(); }

 private:
  std::map<TileMapping, int32_t> ids_;
  std::vector<const TileMapping*> mappings_;
};

}  // namespace pxl::tiles
