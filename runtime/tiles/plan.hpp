// Ways to run an op on tiles. A family (runtime/graph/tile_map.hpp) lists, for an op's specs and attributes, the
// layouts and partitions it may use and the steps each takes; what no other plan beats in time and memory is kept.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/graph/ir.hpp"
#include "runtime/tiles/cost.hpp"
#include "runtime/tiles/layout.hpp"
#include "runtime/tiles/report.hpp"

namespace pxl::tiles {

struct PlanStep {
  StepKind kind = StepKind::compute;
  std::string_view what;
  int64_t cycles = 0, mean_cycles = 0, tiles = 0;
  Traffic traffic;
};

struct OpPlan {
  std::string text;
  std::string_view family;
  std::vector<int32_t> in;   ///< layout by slot; -1: whatever the operand has
  std::vector<int32_t> out;  ///< layout by output
  std::vector<PlanStep> steps;
  int64_t cycles = 0;                                             ///< sum of the steps
  int64_t temp_bytes = 0;                                         ///< of the busiest tile, besides operands and results
  int64_t resident_bytes = 0;                                     ///< operands and results, busiest tile
  int64_t replicated_bytes = 0;                                   ///< of those, copies of what other tiles hold as well
  int64_t held() const { return temp_bytes + replicated_bytes; }  ///< what the bound on temporary memory is about
  int64_t state_bytes = 0;                                        ///< vertex state, busiest tile
  int64_t code_bytes = 0;                                         ///< exchange code, busiest tile
  int64_t phases = 0;                                             ///< exchanges whose code stands here; a loop's once
  int64_t control_steps = 0;                                      ///< steps whose control code stands here
  int64_t tiles = 0;                                              ///< that compute
  bool outputs_share = false;                                     ///< output 0 is the memory of input 0

  void sync(const Machine& m);
  void compute(const Machine& m, std::string_view what, int64_t cycles, int64_t tiles, int64_t state = 16);
  /// A synchronisation and a phase; nothing where the traffic is empty.
  void exchange(const Machine& m, std::string_view what, const Traffic& traffic);
  void host(const Machine& m, int64_t bytes);
  /// Adds up `elements` partial sums that each of `partials` tiles has (of `used` in all), which then hold an equal
  /// share of the results: in one stage, two from 16 on, three from 125 on, as PopLibs does. Returns the bytes that
  /// arrive at once.
  int64_t sum_partials(const Machine& m, std::string_view what, int64_t partials, int64_t elements,
                       int64_t partial_bytes, int64_t out_bytes, int64_t used);
};

/// Control code of a step: a call, synchronisation, exchange or compute set. The middle of what is known, 8 to 16.
constexpr int64_t control_bytes_a_step = 12;

struct PlanOptions {
  int64_t available_memory_permille = 600;  ///< of a tile's memory, for the temporary memory of an op
  int64_t half_partial_bytes = 4;           ///< partial sums of products of float16 operands: 4 or 2
  bool rotate = true;                       ///< products may keep operands in pieces that go round (compute-shift)
  size_t most_plans = 10;                   ///< kept for an op
};

/// Layouts that tensors of a spec may have, most wanted first.
class LayoutPool {
 public:
  explicit LayoutPool(const Machine& m) : machine_(m) {}
  const std::vector<int32_t>& of(const TensorSpec& spec);
  void add(const TensorSpec& spec, int32_t layout);
  LayoutTable table;

 private:
  const Machine& machine_;
  std::map<std::pair<Shape, DType>, std::vector<int32_t>> pools_;
};

/// What a family plans with.
struct PlanRequest {
  const Machine& machine;
  const PlanOptions& options;
  LayoutPool& pool;
  const OpSite& site;
  std::vector<bool> constant;  ///< by slot: one element known before the run, which costs no exchange
  std::vector<OpPlan>& plans;  ///< what is found

  int32_t layout(const Layout& l) const { return pool.table.id(l); }
  int64_t at_most(int32_t layout, const TensorSpec& spec) const {
    return elements_at_most(pool.table.at(layout), spec.shape);
  }
  /// A plan with -1 for every operand and the layouts of the outputs still to be set.
  OpPlan start(std::string_view family) const;
};

using PlanFn = void (*)(const PlanRequest&);
struct FamilyRow {
  TileFamily family = TileFamily::unset;
  std::string_view name;
  /// Whether its layouts come from the pools of its neighbours; planned after those that bring layouts of their own.
  bool follows = false;
  PlanFn plan = nullptr;
};
const FamilyRow& family_row(TileFamily family);

// The families' functions.
void plan_product(const PlanRequest& r);
void plan_convolution(const PlanRequest& r);
void plan_pooling(const PlanRequest& r);
void plan_elementwise(const PlanRequest& r);
void plan_view(const PlanRequest& r);
void plan_movement(const PlanRequest& r);
void plan_reduction(const PlanRequest& r);
void plan_rows(const PlanRequest& r);  ///< softmax, normalisation, losses, scans, sorts
void plan_gather(const PlanRequest& r);
void plan_scatter(const PlanRequest& r);
void plan_host(const PlanRequest& r);

/// Drops plans that another beats or equals in cycles, temporary, resident and code bytes alike (of equal ones the
/// first stays), among those with equal layouts; then keeps at most `most`: the fastest, and those that take least
/// memory for what they cost. Sorted by cycles. Plans above the bound on temporary memory go first, unless all are.
/// Returns how many went because of it.
int64_t keep_best(std::vector<OpPlan>& plans, int64_t temp_bound, size_t most);

// What families share.
/// Numbers of parts worth looking at: those that give blocks of different extents, roughly in powers of the square
/// root of two.
std::vector<int64_t> part_counts(int64_t extent, int64_t grain, int64_t most);
/// Cuts the axes [first, end) of a shape, leading ones first, into `parts` in all as far as extents go.
void cut_axes(const Shape& shape, size_t first, size_t end, int64_t parts, std::vector<int32_t>& out);
/// The axes that the op's parameter `axis` names; the last one where `fallback_last`, else all, where it has none.
std::vector<bool> axes_of_site(const OpSite& site, size_t rank, bool fallback_last);
int64_t element_bytes(const TensorSpec& spec);
/// Bytes of an operand's element as products take it: 4 (float64 counts as float32), 2 (integers of a byte, too), and
/// 1 of float8 where the machine has units for it; elsewhere it goes through float16.
int64_t product_bytes(const Machine& m, const TensorSpec& spec);
/// Of a partial sum, for operands of `product_bytes`.
int64_t product_partial_bytes(const PlanOptions& options, int64_t operand_bytes);

}  // namespace pxl::tiles
