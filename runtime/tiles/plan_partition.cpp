// See plan_partition.hpp.
#include "runtime/tiles/plan_partition.hpp"

namespace pxl::tiles {

SharedPart equal_shares(int64_t bytes, int64_t sharers) {
  return {bytes - bytes / sharers, bytes / sharers, sharers - 1, 256};
}

Traffic gather(const SharedPart& a, const SharedPart& b, int64_t element, int64_t used) {
  Traffic t;
  for (const SharedPart* part : {&a, &b}) {
    if (part->in <= 0) continue;
    t.in += part->in;
    t.out += part->own;
    t.runs += part->runs;
    t.fragments += std::max(part->runs, div_up(part->in, std::min<int64_t>(256, part->piece)));
    ++t.sends;
  }
  if (t.in == 0) return {};
  t.out = std::max(t.out, element);
  t.total = saturating_product(t.in, used);
  return t;
}

std::string_view vertex_name(ProductVertex vertex) {
  return vertex == ProductVertex::amp   ? "ConvPartial1x1Out"
         : vertex == ProductVertex::mac ? "ConvPartialHorizontalMac"
                                        : "OuterProduct";
}

int64_t finish_sums(const Machine& m, OpPlan& plan, int64_t partials, int64_t sums, int64_t partial_bytes,
                    int64_t out_bytes, int64_t used) {
  if (partials > 1) return plan.sum_partials(m, "partial sums", partials, sums, partial_bytes, out_bytes, used);
  if (partial_bytes != out_bytes) plan.compute(m, "Cast", cast_cycles(m, sums, partial_bytes, out_bytes), used);
  return 0;
}

void finish_product(const Machine& m, OpPlan& plan, int64_t partials, int64_t sums, int64_t partial_bytes,
                    int64_t out_bytes, int64_t used) {
  const int64_t arrives = finish_sums(m, plan, partials, sums, partial_bytes, out_bytes, used);
  // Sums that are results already lie where those are.
  const int64_t bytes = partials > 1 || partial_bytes != out_bytes ? saturating_product(sums, partial_bytes) : 0;
  plan.temp_bytes = std::max(plan.temp_bytes + bytes, bytes + arrives);
  plan.resident_bytes += div_up(sums, partials) * out_bytes;
}

}  // namespace pxl::tiles
