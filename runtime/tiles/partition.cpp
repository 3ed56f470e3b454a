#include "runtime/tiles/partition.hpp"

namespace pxl::tiles {

SharedSlice equal_shares(int64_t bytes, int64_t consumer_tiles) {
  return {bytes - bytes / consumer_tiles, bytes / consumer_tiles, consumer_tiles - 1, 256};
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
  t.total = saturating_product(t.in, used);
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
