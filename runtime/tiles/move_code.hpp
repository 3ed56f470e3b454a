// Exchange code of each tile in a rearrangement.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/tiles/tile_mapping.hpp"

namespace pxl::tiles {

/// What a tile's exchange code does in one phase.
struct TileMoves {
  int64_t sends = 0;    ///< pieces that are contiguous where they come from
  int64_t senders = 0;  ///< tiles that it receives from
  int64_t pieces = 0;   ///< contiguous on both sides, that it receives
  int64_t out = 0;      ///< bytes sent
  friend bool operator==(const TileMoves&, const TileMoves&) = default;
};
/// By tile, exactly, of slices that travel in the order of `from`, or of `to` where the senders put them in order: of
/// blocks that are not spread, and of row-major runs, each stored once. Empty for other mappings.
std::vector<TileMoves> moves_by_tile(const Machine& m, const TileMapping& from, const TileMapping& to,
                                     const TensorSpec& spec, bool in_order_of_to = false);

/// Bytes of exchange code of each tile (exchange.hpp). What a tile puts in order arrives in the order of its sources,
/// one receive for each of them. Of mappings without exact moves all tiles of `to` are as the most loaded one.
std::vector<int64_t> rearrangement_code(const Machine& m, const TileMapping& from, const TileMapping& to,
                                        const TensorSpec& spec, const Rearrangement& r);

}  // namespace pxl::tiles
