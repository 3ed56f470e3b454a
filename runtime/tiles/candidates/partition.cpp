#include "runtime/tiles/candidates/partition.hpp"

#include <algorithm>

namespace pxl::tiles {

int64_t shares_of(int64_t bytes, int64_t consumer_tiles, int64_t min_share) {
  return std::clamp<int64_t>(div_up(bytes, min_share), 1, std::max<int64_t>(1, consumer_tiles));
}

SharedSlice equal_shares(int64_t bytes, int64_t consumer_tiles, int64_t shares) {
  SharedSlice slice{bytes - bytes / consumer_tiles, bytes / shares, shares - 1, 256};
  if (shares < consumer_tiles) {  // a tile without a share receives all
    slice.mean_in = slice.in;
    slice.in = bytes;
    slice.runs = shares;
  }
  return slice;
}

Traffic gather(const SharedSlice& a, const SharedSlice& b, int64_t element, int64_t used) {
  Traffic t;
  t.jumps = 0;
  for (const SharedSlice* part : {&a, &b}) {
    if (part->in <= 0) continue;
    t.in += part->in;
    t.out += part->own;
    t.runs += part->runs;
    t.fragments += std::max(part->runs, div_up(part->in, std::min<int64_t>(256, part->piece)));
    ++t.sends;
    t.jumps += part->jumps;
  }
  if (t.in == 0) return {};
  t.out = std::max(t.out, element);
  for (const SharedSlice* part : {&a, &b})
    t.total += saturating_product(part->mean_in < 0 ? std::max<int64_t>(0, part->in) : part->mean_in, used);
  return t;
}

void add_broadcast(const Machine& m, const TensorSpec& operand, int64_t needed, int64_t tiles, Traffic& traffic) {
  const int64_t bytes = operand.bytes();
  traffic.in += needed;
  traffic.out = std::max(traffic.out, div_up(bytes, std::min<int64_t>(m.tiles, std::max<int64_t>(1, bytes / 128))));
  traffic.fragments += div_up(needed, 256);
  traffic.runs += div_up(needed, std::max<int64_t>(128, bytes / m.tiles));
  ++traffic.sends;
  traffic.total += needed * tiles;
}

std::string_view vertex_name(ProductVertex vertex) {
  return vertex == ProductVertex::amp     ? "ConvPartial1x1Out"
         : vertex == ProductVertex::mac   ? "ConvPartialHorizontalMac"
         : vertex == ProductVertex::outer ? "OuterProduct"
                                          : "BlockProduct";
}

int64_t add_reduction_steps(const Machine& m, OpCandidate& candidate, int64_t partials, int64_t sums,
                            int64_t partial_bytes, int64_t out_bytes, int64_t used) {
  if (partials > 1) return candidate.sum_partials(m, "partial sums", partials, sums, partial_bytes, out_bytes, used);
  if (partial_bytes != out_bytes) candidate.compute(m, "Cast", cast_cycles(m, sums, partial_bytes, out_bytes), used);
  return 0;
}

void add_product_reduction(const Machine& m, OpCandidate& candidate, int64_t partials, int64_t sums,
                           int64_t partial_bytes, int64_t out_bytes, int64_t used) {
  const int64_t arrives = add_reduction_steps(m, candidate, partials, sums, partial_bytes, out_bytes, used);
  // Sums that are already results need no extra memory.
  const int64_t bytes = partials > 1 || partial_bytes != out_bytes ? saturating_product(sums, partial_bytes) : 0;
  candidate.temp_bytes = std::max(candidate.temp_bytes + bytes, bytes + arrives);
  candidate.resident_bytes += div_up(sums, partials) * out_bytes;
}

}  // namespace pxl::tiles
