// Exchange code of a rearrangement, by tile.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/tiles/tile_mapping.hpp"

namespace pxl::tiles {

/// The exchanges of one tile in one phase.
struct TileMoves {
  int64_t sends = 0;    ///< pieces that are contiguous at their source
  int64_t senders = 0;  ///< tiles from which it receives
  int64_t pieces = 0;   ///< received pieces, contiguous on both sides
  int64_t out = 0;      ///< bytes sent
  friend bool operator==(const TileMoves&, const TileMoves&) = default;
};
/// The exact moves of each tile. Slices travel in the order of `from`, or of `to` if the senders put them in order.
/// Supports blocks that are not spread, and row-major runs, each stored once. Empty for other mappings.
std::vector<TileMoves> moves_by_tile(const Machine& m, const TileMapping& from, const TileMapping& to,
                                     const TensorSpec& spec, bool in_order_of_to = false);

/// Bytes of exchange code, by tile (exchange.hpp). Data that a tile puts in order arrives in the order of its sources,
/// with one receive per source. Mappings without exact moves charge every tile of `to` as the most loaded one.
std::vector<int64_t> rearrangement_code(const Machine& m, const TileMapping& from, const TileMapping& to,
                                        const TensorSpec& spec, const Rearrangement& r);

}  // namespace pxl::tiles
