#include "runtime/op/element_order.hpp"

#include "runtime/kernels/elementwise/broadcast.hpp"

namespace pxl {

ElementOrder element_order_of(const OpContext& site) {
  const OpRow& row = site.row;
  if (!row.kernel || site.out.empty() || site.out[0].size() == 0) return ElementOrder::whole;
  if (row.order) return row.order(site);
  if (row.pattern != Pattern::elementwise) return ElementOrder::whole;
  return site.in.size() == 1 ? ElementOrder::elementwise : orders::pairs(site);
}

ElementOrder orders::pairs(const OpContext& site) {
  const LoopNest nest = broadcast_loop_nest({site.input(0).shape, site.input(1).shape}, site.out[0].shape);
  const bool moves = nest.inner_stride(0) != 0 || nest.inner_stride(1) != 0;
  return moves && nest.extents.size() <= 2 ? ElementOrder::elementwise : ElementOrder::whole;
}

ElementOrder orders::alike(const OpContext& site) {
  return site.input(0).shape == site.input(1).shape ? ElementOrder::elementwise : ElementOrder::whole;
}

}  // namespace pxl
