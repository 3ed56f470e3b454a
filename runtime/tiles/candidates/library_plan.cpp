#include "runtime/tiles/candidates/library_plan.hpp"

#include <algorithm>
#include <compare>

#include "runtime/base/limits/interrupt.hpp"
#include "runtime/tiles/candidates/partition.hpp"

namespace pxl::tiles {

namespace {

/// A product as a convolution: extents of one tile's part, or of the whole product.
struct Channels {
  int64_t groups, field, in, out;
};
Channels channels(const ProductCut& cut, int64_t groups, int64_t rows, int64_t depth, int64_t columns) {
  return cut.operands == ProductOperands::swapped ? Channels{groups, columns, depth, rows}
                                                  : Channels{groups, rows, depth, columns};
}

int64_t rounded_up(int64_t n, int64_t grain) { return div_up(n, grain) * grain; }

/// Whether every tile has channels if parts are multiples of a grain.
bool is_tight(int64_t extent, int64_t grain, int64_t parts) {
  const int64_t grains = div_up(extent, grain);
  return parts == div_up(grains, div_up(grains, parts));
}

class Estimate {
 public:
  Estimate(const Machine& m, const ProductProblem& p, const ProductCut& cut) : m_(m), p_(p), cut_(cut) {
    const ProductBlock b = block_of(p, cut);
    part_ = channels(cut, b.groups, b.rows, b.depth, b.columns);
    all_ = channels(cut, p.groups, p.rows, p.depth, p.columns);
    parts_ = channels(cut, cut.groups, cut.rows, cut.depth, cut.columns);
    vertex_ = product_cycles(m, {part_.groups, part_.field, part_.in, part_.out, p.operand_bytes, p.partial_bytes});
    if (vertex_.vertex == ProductVertex::amp) {
      in_grain_ = product_depth_grain(p.operand_bytes);
      out_grain_ = product_column_grain(m, p.operand_bytes, p.partial_bytes);
    }
    part_.in = rounded_up(part_.in, in_grain_);
    part_.out = rounded_up(part_.out, out_grain_);
  }

  int64_t vertex() const { return vertex_.cycles; }
  bool tight() const { return is_tight(all_.in, in_grain_, parts_.in) && is_tight(all_.out, out_grain_, parts_.out); }
  int64_t temp_bytes() const { return (inputs() + weights()) * p_.operand_bytes + sums() * p_.partial_bytes; }
  int64_t cycles() const { return vertex_.cycles + operands() + reduction() + transforms(); }

 private:
  int64_t inputs() const { return part_.groups * part_.field * part_.in; }
  int64_t weights() const { return part_.groups * part_.in * part_.out; }
  int64_t sums() const { return part_.groups * part_.field * part_.out; }
  int64_t exchange(int64_t elements, int64_t bytes) const { return div_up(elements * bytes, m_.exchange_bytes); }

  /// Each tile already has its share. Tiles with neighbouring output channels form pairs, which receive the same
  /// inputs.
  int64_t operands() const {
    const bool channels_side_by_side =
        (cut_.operands == ProductOperands::swapped ? cut_.row_stride() : cut_.column_stride()) == 1;
    const int64_t in = inputs() - inputs() / parts_.out, other = weights() - weights() / parts_.field;
    const int64_t rate = channels_side_by_side && parts_.out % 2 == 0 ? m_.exchange_pair_bytes : m_.exchange_bytes;
    return div_up(in * p_.operand_bytes, rate) + exchange(other, p_.operand_bytes);
  }

  /// Each stage counts all partial sums as exchanged. The first stage does so even with a single part.
  int64_t reduction() const {
    int64_t cycles = exchange(sums(), p_.partial_bytes), elements = sums(), left = parts_.in;
    if (left <= 1) return cycles + sum_partials_cycles(m_, 1, elements, p_.partial_bytes, p_.out_bytes);
    const int64_t each = partials_of_a_stage(left);
    for (bool first = true; left > 1; first = false) {
      if (!first) cycles += exchange(elements, p_.partial_bytes);
      const int64_t here = std::min(each, left);
      elements = div_up(elements, here), left = div_up(left, here);
      cycles += stage(here, elements, left > 1 ? p_.partial_bytes : p_.out_bytes);
    }
    return cycles;
  }

  int64_t stage(int64_t partials, int64_t elements, int64_t out_bytes) const {
    const int64_t accumulators = p_.partial_bytes >= 4 ? 4 : 8;
    if (elements % accumulators == 0) return sum_partials_cycles(m_, partials, elements, p_.partial_bytes, out_bytes);
    // The vertex has an input for each partial sum, since there are no whole accumulators.
    const int64_t load = div_up(accumulators, m_.vector_elements(p_.partial_bytes)) + 1;
    const int64_t store = out_bytes >= 4 ? (p_.partial_bytes >= 4 ? 7 : 9) : (p_.partial_bytes >= 4 ? 6 : 8);
    return m_.workers * (32 + (load * partials + store) * div_up(div_up(elements, accumulators), m_.workers));
  }

  /// Tensors are rearranged once if their layout is not the one allocated for swapped operands, or if they are padded
  /// to whole grains.
  int64_t transforms() const {
    const bool straight = cut_.operands != ProductOperands::swapped;
    const bool pads_in = all_.in % in_grain_ != 0, pads_out = all_.out % out_grain_ != 0;
    const int64_t in = rounded_up(all_.in, in_grain_), out = rounded_up(all_.out, out_grain_);
    int64_t cycles = 0;
    if (straight || pads_in) cycles += transform(all_.groups * all_.field * in, all_.in * all_.out);
    if (straight || pads_in || pads_out) cycles += transform(all_.groups * in * out, all_.in * all_.out);
    if (straight || pads_out) cycles += transform(all_.groups * all_.field * out, all_.out);
    return cycles;
  }
  int64_t transform(int64_t elements, int64_t extent) const {
    return library_transform_cycles(m_, p_, elements, extent, cut_.tiles());
  }

  const Machine& m_;
  const ProductProblem& p_;
  const ProductCut& cut_;
  Channels part_, all_, parts_;
  ProductCost vertex_{ProductVertex::mac, 0};
  int64_t in_grain_ = 1, out_grain_ = 1;
};

}  // namespace

int64_t library_transform_cycles(const Machine& m, const ProductProblem& p, int64_t elements, int64_t extent,
                                 int64_t tiles) {
  const int64_t bytes = div_up(saturating_product(elements, p.out_bytes), tiles);
  const int64_t share = extent % (p.operand_bytes >= 4 ? 2 : 4) == 0 ? 4 : 3;
  return div_up(bytes * 5, std::min(m.memcpy_bytes, p.out_bytes) * share) + div_up(bytes, m.exchange_bytes);
}

int64_t library_cycles(const Machine& m, const ProductProblem& p, const ProductCut& cut) {
  return Estimate(m, p, cut).cycles();
}
int64_t library_temp_bytes(const Machine& m, const ProductProblem& p, const ProductCut& cut) {
  return Estimate(m, p, cut).temp_bytes();
}

ProductCut library_cut(const Machine& m, const ProductProblem& p, int64_t temp_bound) {
  const auto groups = all_axes_partition_counts(p.group_axes, m.tiles),
             rows = all_axes_partition_counts(p.row_axes, m.tiles), depths = all_partition_counts(p.depth, m.tiles),
             columns = all_partition_counts(p.columns, m.tiles);
  ProductCut best;
  std::pair<bool, int64_t> least{true, INT64_MAX};  // whether the bytes are above the bound, then cycles
  // Swapped operands are tried first, so that they win ties, as in PopLibs' planner.
  for (const ProductOperands operands : {ProductOperands::swapped, ProductOperands::straight})
    for (const int64_t g : groups)
      for (const int64_t r : rows) {
        if (g * r > m.tiles) break;
        check_interrupt();
        for (const int64_t d : depths) {
          if (g * r * d > m.tiles) break;
          for (auto c = std::upper_bound(columns.begin(), columns.end(), m.tiles / (g * r * d));
               c != columns.begin();) {
            ProductCut cut{g, r, d, *--c};
            cut.operands = operands;
            if (operands == ProductOperands::swapped) cut.order = ProductOrder::columns_depth_rows;
            const Estimate e(m, p, cut);
            // Vertices take no fewer cycles on larger blocks (branch and bound).
            if (std::pair(false, e.vertex()) >= least) break;
            if (!e.tight()) continue;
            const std::pair cost{e.temp_bytes() > temp_bound, e.cycles()};
            if (cost < least) least = cost, best = cut;
          }
        }
      }
  return best;
}

}  // namespace pxl::tiles
