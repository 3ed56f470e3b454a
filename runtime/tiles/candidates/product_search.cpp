#include "runtime/tiles/candidates/product_search.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "runtime/base/limits/interrupt.hpp"
#include "runtime/tiles/candidates/partition.hpp"

namespace pxl::tiles {

namespace {

/// Minimum bytes of a block, operands and sums included, for which serial parts are tried.
constexpr int64_t min_serial_bytes = 8192;
/// Maximum steps of a rotation.
constexpr int64_t max_shifts = 64;

/// A cut and its cost.
struct RatedCut {
  ProductCut cut;
  int64_t cycles = 0, temp = 0, resident = 0;  ///< temp: constrained bytes
};

class ProductSearch {
 public:
  ProductSearch(const Machine& m, size_t most, const ProductProblem& p)
      : m_(m), most_(most), p_(p), grain_(product_column_grain(m, p.operand_bytes, p.partial_bytes)) {}

  std::vector<ProductCut> run() {
    spread();
    std::vector<RatedCut> kept = selected();
    std::map<std::string_view, int64_t> before;  // the fastest of each variant
    for (const RatedCut& c : kept) before.try_emplace(c.cut.variant(), c.cycles);
    for (const RatedCut& c : kept)
      if (c.cut.shifts == 1 && c.cut.serial == 1) improve(c);
    refine();
    for (const auto& [variant, c] : fastest_)
      if (const auto known = before.find(variant); known == before.end() || c.cycles < known->second) kept.push_back(c);
    sort(kept);
    std::vector<ProductCut> cuts;
    for (const RatedCut& c : kept) cuts.push_back(c.cut);
    return cuts;
  }

 private:
  static void sort(std::vector<RatedCut>& cuts) {
    std::stable_sort(cuts.begin(), cuts.end(),
                     [](const RatedCut& a, const RatedCut& b) { return a.cycles < b.cycles; });
  }

  /// Cuts of widely spaced extents, in all variants: from many small blocks to few large ones.
  void spread() {
    const auto groups = axes_partition_counts(p_.group_axes, m_.tiles),
               rows = axes_partition_counts(p_.row_axes, m_.tiles);
    const auto depths = partition_counts(p_.depth, product_depth_grain(p_.operand_bytes), 64);
    const auto columns = partition_counts(p_.columns, grain_, m_.tiles);
    // Variants need different operand mappings, whose costs at the neighbours are not visible here. So cuts compete
    // only within one variant.
    const auto dominates = [](const RatedCut& a, const RatedCut& b) {
      return a.cut.variant() == b.cut.variant() && a.cycles <= b.cycles && a.temp <= b.temp && a.resident <= b.resident;
    };
    for_cuts(groups, rows, depths, [&](ProductCut cut) {
      for_largest_counts(columns, cut.tiles(), m_, [&](int64_t n) {
        cut.columns = n;
        for_variants(cut, [&](const ProductCut& c) { insert_pareto(best_, rated(c), dominates); });
      });
    });
  }

  /// Tries all cuts whose operands are gathered at once. Discards cuts whose vertices alone take longer than the
  /// fastest cut (branch and bound). Vertices take no fewer cycles on larger blocks.
  void refine() {
    const auto groups = all_axes_partition_counts(p_.group_axes, m_.tiles),
               rows = all_axes_partition_counts(p_.row_axes, m_.tiles);
    const auto depths = all_partition_counts(p_.depth, m_.tiles);
    const auto columns = with_even_counts(all_partition_counts(p_.columns, m_.tiles), std::min(p_.columns, m_.tiles));
    for_cuts(groups, rows, depths, [&](ProductCut cut) {
      const auto end = std::upper_bound(columns.begin(), columns.end(), m_.tiles / cut.tiles());
      for (auto n = end; n != columns.begin();) {
        cut.columns = *--n;
        const int64_t least = compute_cost(m_, p_, block_of(p_, cut)).cycles;
        if (least >= slowest_) break;
        for_gathered(cut, [&](const ProductCut& of) {
          const ProductCut c = of.in_copies() ? of : with_pairs(of);
          const auto known = fastest_.find(c.variant());
          if (known == fastest_.end() || least < known->second.cycles) improve(rated(c));
        });
      }
    });
  }

  template <class F>
  void for_cuts(const std::vector<int64_t>& groups, const std::vector<int64_t>& rows,
                const std::vector<int64_t>& depths, F&& f) const {
    for (auto g = groups.rbegin(); g != groups.rend(); ++g) {
      if (!splits_groups_enough(*g, p_.groups, m_)) continue;
      for (const int64_t row : rows) {
        if (*g * row > m_.tiles) break;
        check_interrupt();
        for (const int64_t depth : depths) {
          if (*g * row * depth > m_.tiles) break;
          f(ProductCut{*g, row, depth, 1});
        }
      }
    }
  }

  /// Pairs of tiles share the larger operand if its readers are an even number.
  ProductCut with_pairs(ProductCut cut) const {
    const ProductBlock b = block_of(p_, cut);
    if (b.columns > b.rows && cut.rows % 2 == 0) cut.order = ProductOrder::columns_depth_rows;
    return cut;
  }

  template <class F>
  void for_gathered(const ProductCut& cut, F&& f) const {
    f(cut);
    if (cut.rows > 1) {
      ProductCut held = cut;
      held.hold_b = true;
      f(held);
    }
    if (cut.columns > 1) {
      ProductCut held = cut;
      held.hold_a = true;
      f(held);
    }
  }

  template <class F>
  void for_variants(const ProductCut& cut, F&& f) const {
    for_gathered(cut, f);
    // Large blocks may compute their columns in serial parts.
    const ProductBlock part = block_of(p_, cut);
    if (part.groups *
            ((part.rows + part.columns) * part.depth * p_.operand_bytes + part.rows * part.columns * p_.partial_bytes) >
        min_serial_bytes)
      for (const int64_t serial : {2, 4, 8, 16})
        if (part.columns >= serial * grain_) {
          ProductCut in_parts = cut;
          in_parts.serial = serial;
          f(in_parts);
        }
    // Powers of two, and full rings, in which no tile holds a duplicate.
    int64_t rings[] = {2, 4, 8, 16, std::gcd(cut.rows, cut.columns), cut.rows, cut.columns};
    std::sort(std::begin(rings), std::end(rings));
    const auto last = std::unique(std::begin(rings), std::end(rings));
    for (auto ring = std::begin(rings); ring != last; ++ring) {
      const int64_t shifts = *ring;
      if (shifts > max_shifts || part.depth < shifts * product_depth_grain(p_.operand_bytes)) break;
      if (shifts < 2) continue;
      // The pieces of a ring are adjacent.
      const bool a = cut.columns % shifts == 0 && (cut.depth == 1 || cut.columns == shifts),
                 b = cut.rows % shifts == 0 && cut.depth == 1;
      const auto shifted = [&](bool of_a, bool of_b) {
        ProductCut rotated = cut;
        rotated.shifts = shifts, rotated.shift_a = of_a, rotated.shift_b = of_b;
        return rotated;
      };
      if (a && b) f(shifted(true, true));
      if (b) f(shifted(false, true));
      if (a) f(shifted(true, false));
    }
  }

  RatedCut rated(const ProductCut& cut) const {
    OpCandidate candidate;
    candidate.records_steps = false;
    add_product_steps(m_, p_, cut, candidate);
    return {cut, candidate.cycles, candidate.constrained_bytes(), candidate.resident_bytes};
  }

  /// Keeps the fastest cut of each variant.
  void improve(const RatedCut& c) {
    const auto [known, fresh] = fastest_.try_emplace(c.cut.variant(), c);
    if (!fresh) {
      if (c.cycles >= known->second.cycles) return;
      known->second = c;
    }
    slowest_ = 0;
    for (const auto& [variant, f] : fastest_) slowest_ = std::max(slowest_, f.cycles);
  }

  /// The fastest cuts of each variant, and each slower cut that takes a fifth less memory than all faster ones.
  std::vector<RatedCut> selected() {
    sort(best_);
    std::vector<RatedCut> kept;
    std::map<std::string_view, std::pair<size_t, int64_t>> taken;  // by variant: count, and lowest memory
    for (const RatedCut& c : best_) {
      auto& [count, least] = taken.try_emplace(c.cut.variant(), 0, INT64_MAX).first->second;
      if (count < most_ || c.temp < least - least / 5) kept.push_back(c), ++count;
      least = std::min(least, c.temp);
    }
    return kept;
  }

  const Machine& m_;
  size_t most_;
  const ProductProblem& p_;
  int64_t grain_;
  std::vector<RatedCut> best_;                    // Pareto set of spread()
  std::map<std::string_view, RatedCut> fastest_;  // by variant
  int64_t slowest_ = INT64_MAX;                   // slowest cut of fastest_
};

}  // namespace

std::vector<ProductCut> search_products(const Machine& m, size_t most, const ProductProblem& p) {
  return ProductSearch(m, most, p).run();
}

std::shared_ptr<ProductMemo> make_product_memo() { return std::make_shared<ProductMemo>(); }

}  // namespace pxl::tiles
