// Candidates: the ways to run one op on tiles. An op's strategy (strategies.hpp) enumerates tile mappings, partitions
// and their steps from the op's specs and attributes. Only candidates that are Pareto-optimal in time and memory are
// kept.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/graph/ir.hpp"
#include "runtime/tiles/costs/cost.hpp"
#include "runtime/tiles/report/report.hpp"
#include "runtime/tiles/tile_mapping.hpp"

namespace pxl::tiles {

struct CandidateStep {
  BspPhaseKind kind = BspPhaseKind::compute;
  std::string_view what;
  int64_t cycles = 0, mean_cycles = 0, tiles = 0;
  Traffic traffic;
};

/// The numbering of a product's parts. Neighbouring tiles compute parts that differ in the last axis of the name.
enum class ProductOrder : uint8_t { rows_depth_columns, rows_columns_depth, depth_rows_columns, columns_depth_rows };
/// The operand that the accumulating units hold as coefficients: the right one (straight) or the left one (swapped).
enum class ProductOperands : uint8_t { faster, straight, swapped };

/// The partition of a matrix product [groups, rows, depth] x [groups, depth, columns]. Tile g rows depth columns + r
/// row_stride + d depth_stride + c column_stride computes part (g, r, d, c). Groups and rows are divided along axes of
/// the operands, leading axes first.
struct ProductCut {
  int64_t groups = 1, rows = 1, depth = 1, columns = 1;  ///< numbers of parts
  int64_t shifts = 1;                                    ///< steps of the temporal partition; 1: operands are gathered
  bool shift_a = false, shift_b = false;
  int64_t serial = 1;                   ///< serial parts of a tile's columns
  bool hold_a = false, hold_b = false;  ///< each tile stores the whole block that it uses; blocks exist in copies
  ProductOrder order = ProductOrder::rows_depth_columns;
  bool joint = false;  ///< found for all products of a variable together (joint_products.hpp)
  int64_t tiles() const { return groups * rows * depth * columns; }
  ProductOperands operands = ProductOperands::faster;
  int64_t row_stride() const { return stride_of(0); }
  int64_t depth_stride() const { return stride_of(1); }
  int64_t column_stride() const { return stride_of(2); }
  /// Whether operands are stored in copies, as in T10.
  bool in_copies() const { return shifts > 1 || hold_a || hold_b; }
  std::string_view variant() const {
    return joint              ? "joint"
           : shifts > 1       ? "compute shift"
           : hold_a || hold_b ? "operand in copies"
           : serial > 1       ? "gather in serial parts"
                              : "gather all";
  }

 private:
  /// The stride of an axis: 0 is rows, 1 is depth, 2 is columns.
  int64_t stride_of(int axis) const {
    constexpr int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {2, 1, 0}};
    const int64_t counts[] = {rows, depth, columns};
    int64_t stride = 1;
    for (int i = 2; orders[static_cast<size_t>(order)][i] != axis; --i)
      stride *= counts[orders[static_cast<size_t>(order)][i]];
    return stride;
  }
};

/// The partition of a convolution. Tile (((b first + f) groups + g) depth + d) columns + c computes part (b, f, g, d,
/// c).
struct ConvolutionCut {
  int64_t groups = 1, batch = 1, first = 1, depth = 1, columns = 1;  ///< first: parts of the leading spatial axis
  int64_t rows() const { return batch * first; }
  int64_t tiles() const { return groups * rows() * depth * columns; }
};

/// The partition of a table and its indices. Groups of tiles divide the indices; each group has the whole table.
struct TableCut {
  int64_t entries = 1, along = 1, lookups = 1;  ///< parts of the entries, of a slice, of the indices
};

struct OpCandidate {
  std::string text;
  std::string_view variant;
  std::vector<int32_t> in;   ///< mapping by slot; -1: any
  std::vector<int32_t> out;  ///< mapping by output
  std::vector<CandidateStep> steps;
  int64_t cycles = 0;            ///< sum of the steps
  int64_t planner_cycles = 0;    ///< the count of PopLibs' planner (library_plan.hpp), for products planned separately
  int64_t temp_bytes = 0;        ///< on the most loaded tile, besides operands and results
  int64_t vertex_bytes = 0;      ///< part of temp_bytes: what a vertex needs for itself
  int64_t resident_bytes = 0;    ///< operands and results on the most loaded tile
  int64_t replicated_bytes = 0;  ///< part of resident_bytes: copies of bytes that other tiles also hold
  int64_t own_bytes = 0;         ///< part of resident_bytes: the tile's share of slices that several tiles gather
  /// The bytes that the available memory limits. PopLibs' planner limits whole slices, although the vertex reads the
  /// tile's own share in place.
  int64_t constrained_bytes() const { return temp_bytes + replicated_bytes + own_bytes; }
  int64_t state_bytes = 0;    ///< vertex state on the most loaded tile
  int64_t list_bytes = 0;     ///< part of state_bytes: lists (VertexState)
  int64_t code_bytes = 0;     ///< exchange code on the most loaded tile
  int64_t phases = 0;         ///< exchange phases in the code; a phase of a loop counts once
  int64_t control_bytes = 0;  ///< control code; the code of a loop counts once
  int64_t tiles = 0;          ///< tiles that compute
  /// The slices that an op reads or changes in a table. The table is operand 0, and the result if the op changes it.
  struct TableAccess {
    int64_t slices = 0;  ///< 0: all of the table
    int64_t bytes = 0;   ///< per slice, contiguous
  } table = {};
  bool outputs_share = false;  ///< output 0 is stored in the memory of input 0
  bool records_steps = true;   ///< false: `steps` stays empty, since only the sums are read
  std::optional<ProductCut> product = {};
  std::optional<ConvolutionCut> convolution = {};
  std::optional<TableCut> table_cut = {};

  void sync(const Machine& m);
  void compute(const Machine& m, std::string_view what, int64_t cycles, int64_t tiles, VertexState state = {});
  /// Adds a synchronisation and an exchange phase; no-op if the traffic is empty.
  void exchange(const Machine& m, std::string_view what, const Traffic& traffic);
  void host(const Machine& m, int64_t bytes);
  /// Adds `times` iterations of a loop. Its code and vertices exist once.
  void repeat(const OpCandidate& once, int64_t times);
  /// Adds the reduction of partial sums. Each of `partials` tiles holds one set of `elements` sums, and `used` tiles
  /// take part. Each tile then holds an equal share of the results. The stages are PopLibs': one, two (from 16
  /// partials) or three (from 125). Returns the largest number of bytes that arrive in one stage.
  int64_t sum_partials(const Machine& m, std::string_view what, int64_t partials, int64_t elements,
                       int64_t partial_bytes, int64_t out_bytes, int64_t used);
};

class ProductMemo;
/// A memo for the results of enumerate_products, by shape. Searches share it if their machines differ only in memory.
std::shared_ptr<ProductMemo> make_product_memo();

struct CandidateOptions {
  int64_t available_memory_permille = 600;  ///< bound on an op's temporary memory, in thousandths of a tile's memory
  int64_t half_partial_bytes = 4;           ///< bytes of a partial sum of float16 operands: 4 or 2
  /// Variables and operands of products may be stored in copies. Products may rotate slices of operands between tiles
  /// (compute-shift).
  bool copies = true;
  /// Products that share a variable are offered one common cut (joint_products.hpp).
  bool joint = true;
  /// Products may gather operands that are stored once. If false, they do so only if no other plan exists.
  bool gather = true;
  /// Ops are planned one after the other, as by PopLibs. Each op whose strategy chooses its mappings (products,
  /// convolutions, row ops) takes its own best plan, whatever its neighbours store. The cost of a product is then that
  /// of PopLibs' planner (library_plan.hpp). If false, the search weighs rearrangements too.
  bool separately = false;
  size_t max_candidates = 10;                  ///< kept per op
  std::shared_ptr<ProductMemo> products = {};  ///< may be null
};

/// Tile mappings offered for tensors of a spec, in order of preference.
class TileMappingPool {
 public:
  explicit TileMappingPool(const Machine& m) : machine_(m) {}
  const std::vector<int32_t>& of(const TensorSpec& spec);
  void add(const TensorSpec& spec, int32_t mapping);
  TileMappingTable table;

 private:
  const Machine& machine_;
  std::map<std::pair<Shape, DType>, std::vector<int32_t>> pools_;
};

class GivenCut;

/// The inputs of a strategy's enumeration, and where it appends its candidates.
struct CandidateRequest {
  const Machine& machine;
  const CandidateOptions& options;
  TileMappingPool& pool;
  const OpContext& site;
  std::vector<bool> constant;  ///< by slot: a one-element constant, which needs no exchange
  std::vector<bool> stored;    ///< by slot: no op computes the operand, so it may be stored in copies beforehand
  std::vector<OpCandidate>& candidates;  ///< output
  /// Cuts to offer for a product, besides its own cuts (joint_products.hpp). If ops are planned separately, these cuts
  /// replace the product's own.
  std::vector<ProductCut> joint = {};
  const GivenCut* given = nullptr;  ///< the cut that a user gives the op (cuts/given_cut.hpp); null: all are enumerated

  /// The mappings to enumerate for a tensor of the op: those of the given cut, else those of the pool.
  std::vector<int32_t> offered(const TensorSpec& spec) const;
  int32_t mapping(const TileMapping& l) const { return pool.table.id(l); }
  int64_t max_elements(int32_t mapping, const TensorSpec& spec) const {
    return max_elements_per_tile(pool.table.at(mapping), spec.shape);
  }
  /// A candidate with any mapping (-1) for each operand; the caller adds the mappings of the outputs.
  OpCandidate start(std::string_view variant) const;
};

using EnumerateFn = void (*)(const CandidateRequest&);
// Enumeration functions of strategies (strategies.hpp).
void enumerate_products(const CandidateRequest& r);
void enumerate_convolutions(const CandidateRequest& r);
void enumerate_data_gradients(const CandidateRequest& r);
void enumerate_weight_gradients(const CandidateRequest& r);
void enumerate_pooling(const CandidateRequest& r);
void enumerate_views(const CandidateRequest& r);
void enumerate_movement(const CandidateRequest& r);
void enumerate_reductions(const CandidateRequest& r);
void enumerate_gathers(const CandidateRequest& r);
void enumerate_scatters(const CandidateRequest& r);
void enumerate_host(const CandidateRequest& r);

/// Removes candidates above the bound on temporary memory, unless all are above it. Then removes dominated candidates:
/// another candidate with equal mappings is no worse in cycles, temporary, resident and code bytes. The first of equal
/// candidates remains. Then keeps at most `most`: the fastest, and those with the smallest product of cycles and bytes.
/// Sorts by cycles. Returns the number of candidates above the bound.
int64_t keep_best(std::vector<OpCandidate>& candidates, int64_t temp_bound, size_t most);

/// Keeps the one candidate that an op takes if ops are planned separately. Candidates within the bound come first. The
/// fewest planner_cycles decide, or the fewest cycles without planner_cycles.
void keep_separate(std::vector<OpCandidate>& candidates, int64_t temp_bound);

// Helpers of the enumeration functions.
/// Number of partial sums that one stage of OpCandidate::sum_partials adds.
int64_t partials_of_a_stage(int64_t partials);
/// Numbers of parts to try for an axis. Their blocks have different extents, and the numbers grow by about the factor
/// sqrt(2). Powers of two are included.
std::vector<int64_t> partition_counts(int64_t extent, int64_t grain, int64_t most);
/// The same for several axes: numbers into which partition_axes divides the axes exactly.
std::vector<int64_t> axes_partition_counts(const Shape& axes, int64_t most);
/// All numbers of parts, up to `most`, that give blocks of different extents, ascending.
std::vector<int64_t> all_partition_counts(int64_t extent, int64_t most);
/// The same for several axes, as in axes_partition_counts.
std::vector<int64_t> all_axes_partition_counts(const Shape& axes, int64_t most);
/// Partitions the axes [first, end) of a shape, leading axes first, into at most `parts` blocks.
void partition_axes(const Shape& shape, size_t first, size_t end, int64_t parts, std::vector<int32_t>& out);
/// The axes named by the op's parameter `axis`. Without one: the last axis if `fallback_last`, else all.
std::vector<bool> axes_of_site(const OpContext& site, size_t rank, bool fallback_last);
int64_t element_bytes(const TensorSpec& spec);
/// Bytes of an operand's element in the product vertices: 4 (float64 is treated as float32), 2 (8-bit integers too), or
/// 1 (float8, if the machine has float8 units). Other machines widen float8 to float16.
int64_t product_bytes(const Machine& m, const TensorSpec& spec);
/// Bytes of a partial sum, for operands of `product_bytes`.
int64_t product_partial_bytes(const CandidateOptions& options, int64_t operand_bytes);

}  // namespace pxl::tiles
