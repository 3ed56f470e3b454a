// What the plans of products and of convolutions share: partitions among the tiles, the gathering of their operands'
// parts, and what follows the sums on a tile.
#pragma once

#include <algorithm>

#include "runtime/tiles/plan.hpp"

namespace pxl::tiles {

/// An operand's part that several tiles need.
struct SharedPart {
  int64_t in = 0;       ///< bytes that a tile lacks of it
  int64_t own = 0;      ///< bytes that it has, and sends where others lack them
  int64_t runs = 0;     ///< receives: contiguous pieces, however long
  int64_t piece = 256;  ///< bytes of the longest piece that is contiguous on both sides
};
/// Of `bytes` that `sharers` tiles need, each has an equal share.
SharedPart equal_shares(int64_t bytes, int64_t sharers);
/// The phase in which `used` tiles bring together both operands' parts, of elements of `element` bytes.
Traffic gather(const SharedPart& a, const SharedPart& b, int64_t element, int64_t used);

std::string_view vertex_name(ProductVertex vertex);

/// What follows products of `sums` sums on each of `used` tiles, of which `partials` have a part of each: adds them up,
/// or casts them to the results' dtype. Returns the bytes that it takes besides the sums.
int64_t finish_sums(const Machine& m, OpPlan& plan, int64_t partials, int64_t sums, int64_t partial_bytes,
                    int64_t out_bytes, int64_t used);
/// finish_sums for all sums of a tile, which the plan's temporaries and results then have room for.
void finish_product(const Machine& m, OpPlan& plan, int64_t partials, int64_t sums, int64_t partial_bytes,
                    int64_t out_bytes, int64_t used);

/// Whether groups may be cut into so many parts: those that could be dealt out are, unless tiles are short.
inline bool deals_out(int64_t parts, int64_t groups, const Machine& m) {
  return parts * 8 >= std::min(groups, m.tiles);
}
/// Calls f(count) for the three largest counts of parts that tiles are left for where `used` have been dealt out.
template <class F>
void for_largest(const std::vector<int64_t>& counts, int64_t used, const Machine& m, F&& f) {
  int taken = 0;
  for (auto n = counts.rbegin(); n != counts.rend() && taken < 3; ++n)
    if (saturating_product(used, *n) <= m.tiles) f(*n), ++taken;
}

/// Adds what no other `beats` and drops what it beats. Returns false where it was beaten.
template <class T, class Beats>
bool keep_unbeaten(std::vector<T>& kept, const T& candidate, Beats&& beats) {
  if (std::any_of(kept.begin(), kept.end(), [&](const T& k) { return beats(k, candidate); })) return false;
  std::erase_if(kept, [&](const T& k) { return beats(candidate, k); });
  kept.push_back(candidate);
  return true;
}

}  // namespace pxl::tiles
