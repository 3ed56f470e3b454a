// Helpers for partitioned products and convolutions: gathering shared operand slices, and reducing partial sums.
#pragma once

#include <algorithm>

#include "runtime/tiles/candidates/candidates.hpp"

namespace pxl::tiles {

/// A slice of an operand that several tiles consume.
struct SharedSlice {
  int64_t in = 0;       ///< bytes of the slice that a tile must receive
  int64_t own = 0;      ///< bytes that it already holds, and sends to the other tiles
  int64_t runs = 0;     ///< receives: contiguous fragments, of any length
  int64_t piece = 256;  ///< bytes of the longest fragment contiguous on both sides
  int64_t jumps = 2;  ///< receives that do not continue the previous one: the first, and the one after the tile's share
  int64_t mean_in = -1;  ///< `in` as the mean over tiles; -1: equal to `in`
};
/// Minimum bytes per share, below which PopLibs does not divide an operand further. Larger shares need less exchange
/// code. The bounds are for the streamed operand, and for the weights (poplin, mapping of activations and weights).
inline constexpr int64_t min_share_of_data = 128, min_share_of_weights = 256;
/// Number of shares into which the tiles that consume a slice of `bytes` divide the slice.
int64_t shares_of(int64_t bytes, int64_t consumer_tiles, int64_t min_share);
/// A slice of `bytes`. The first `shares` of its `consumer_tiles` store an equal share each.
SharedSlice equal_shares(int64_t bytes, int64_t consumer_tiles, int64_t shares);
/// The exchange phase in which `used` tiles gather the slices of both operands; `element`: bytes of an element.
Traffic gather(const SharedSlice& a, const SharedSlice& b, int64_t element, int64_t used);

/// Adds an operand of any mapping to a phase. Each of `tiles` tiles needs `needed` bytes.
void add_broadcast(const Machine& m, const TensorSpec& operand, int64_t needed, int64_t tiles, Traffic& traffic);

std::string_view vertex_name(ProductVertex vertex);

/// Reduces `sums` sums on each of `used` tiles; `partials` tiles hold partial sums. If there are no partial sums, casts
/// to the results' dtype. Returns the bytes that the reduction takes besides the sums.
int64_t add_reduction_steps(const Machine& m, OpCandidate& candidate, int64_t partials, int64_t sums,
                            int64_t partial_bytes, int64_t out_bytes, int64_t used);
/// Calls add_reduction_steps for all sums of a tile, and accounts for its temporaries and outputs in `candidate`.
void add_product_reduction(const Machine& m, OpCandidate& candidate, int64_t partials, int64_t sums,
                           int64_t partial_bytes, int64_t out_bytes, int64_t used);

/// Whether this number of parts splits the groups enough. Independent groups are distributed first, as far as there are
/// tiles.
inline bool splits_groups_enough(int64_t parts, int64_t groups, const Machine& m) {
  return parts * 8 >= std::min(groups, m.tiles);
}
/// The counts, and the even number after each odd one. Pairs of tiles share the left operand of an even number of
/// column parts.
inline std::vector<int64_t> with_even_counts(std::vector<int64_t> counts, int64_t most) {
  for (size_t i = counts.size(); i-- > 0;)
    if (counts[i] % 2 != 0 && counts[i] < most) counts.push_back(counts[i] + 1);
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}
/// Calls f(count) for the three largest counts that fit into the tiles that a partition into `used` leaves free.
template <class F>
void for_largest_counts(const std::vector<int64_t>& counts, int64_t used, const Machine& m, F&& f) {
  int taken = 0;
  for (auto n = counts.rbegin(); n != counts.rend() && taken < 3; ++n)
    if (saturating_product(used, *n) <= m.tiles) f(*n), ++taken;
}

/// Inserts `candidate` into a Pareto set and removes the elements that it dominates. Returns false if `candidate` is
/// dominated.
template <class T, class Beats>
bool insert_pareto(std::vector<T>& kept, const T& candidate, Beats&& dominates) {
  if (std::any_of(kept.begin(), kept.end(), [&](const T& k) { return dominates(k, candidate); })) return false;
  std::erase_if(kept, [&](const T& k) { return dominates(candidate, k); });
  kept.push_back(candidate);
  return true;
}

}  // namespace pxl::tiles
