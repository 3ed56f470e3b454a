// The table of tile strategies. A row holds all facts of the model about a strategy, so that no other code branches on
// TileStrategy. Columns have no defaults.
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "runtime/tiles/candidates/candidates.hpp"
#include "runtime/tiles/parts/op_parts.hpp"

namespace pxl::tiles {

/// One tile's share of an op: `elements` of the result. Row ops have `rows` rows of `length` elements each.
struct TileShare {
  int64_t elements, rows, length;
  int64_t element_bytes;
};
/// Cycles of a vertex on one tile.
using VertexCyclesFn = int64_t (*)(const CandidateRequest&, const TileShare&);
/// Cycles of `elements` on one tile.
using InPlaceCyclesFn = int64_t (*)(const Machine&, int64_t elements, int64_t element_bytes);
struct Vertex {
  constexpr Vertex(std::string_view vertex_name, VertexCyclesFn vertex_cycles, InPlaceCyclesFn cycles_in_place)
      : name(vertex_name), cycles(vertex_cycles), in_place(cycles_in_place) {}
  std::string_view name;  ///< PopLibs' name: "NonLinearityGrad"
  VertexCyclesFn cycles;
  InPlaceCyclesFn in_place;  ///< cycles beyond `cycles` if the vertex writes over its first operand
};

/// One vertex iterates over a tile's share of the result. Operands have the result's mapping.
struct ElementwiseStrategy {
  Vertex vertex;
};
/// Rows are partitioned among the tiles, and along themselves with partial sums. The steps are reductions along the
/// rows, elementwise passes, and the vertex.
struct RowStrategy {
  Vertex vertex;
  int reductions;                      ///< sums or maxima along the rows
  std::span<const VectorCost> passes;  ///< elementwise passes, named as the vertex
  bool parameters = false;             ///< scales and shifts, one per column
  bool column_sums = false;            ///< gradients of scales and shifts
  bool whole_rows = false;             ///< no tile may hold a part of a row
  bool whole_in_library = false;       ///< the same for ops that are planned separately, as in PopLibs
  bool sorts = false;                  ///< temporary copy of the keys, with 4-byte indices
  bool sums_rows = false;              ///< a scalar result is the sum of the rows' values
};
/// A strategy with a separate enumeration function.
struct CustomStrategy {
  EnumerateFn enumerate;
};
/// A strategy with nothing to enumerate. An op is charged for the graphs that it calls.
struct CallStrategy {};
using StrategyWork = std::variant<ElementwiseStrategy, RowStrategy, CustomStrategy, CallStrategy>;

enum class MappingSource : uint8_t {
  own,         ///< chosen by the strategy, and offered to neighbours
  neighbours,  ///< from the pools that other ops fill
  propagated,  ///< from neighbours, forwarded to the neighbours on the other side
};
/// The rate with which an op's flops are compared.
enum class PeakRate : uint8_t { vector, accumulating_units };
/// What a cut of an op is, as text: mappings of its tensors, or numbers of parts (cuts/given_cut.hpp).
enum class CutKind : uint8_t { mappings, product, convolution, table };
enum class WithoutOutputs : uint8_t { no_step, runs };

struct TileStrategyInfo {
  constexpr TileStrategyInfo(TileStrategy s, std::string_view n, StrategyWork w, MappingSource source, PeakRate rate,
                             WithoutOutputs without, PartsFn partition, CutKind kind = CutKind::mappings)
      : strategy(s),
        name(n),
        work(w),
        mappings(source),
        peak(rate),
        without_outputs(without),
        parts(partition),
        cut(kind) {}
  TileStrategy strategy;
  std::string_view name;  ///< in reports: "nonlinearity gradient"
  StrategyWork work;
  MappingSource mappings;
  PeakRate peak;
  WithoutOutputs without_outputs;
  PartsFn parts;  ///< the rule that partitions an op according to its candidate
  CutKind cut;

  bool is_call() const { return std::holds_alternative<CallStrategy>(work); }
};
const TileStrategyInfo& strategy_info(TileStrategy strategy);

/// Appends the candidates of an op with this strategy.
void enumerate_candidates(const TileStrategyInfo& strategy, const CandidateRequest& r);
void enumerate_elementwise(const CandidateRequest& r, const Vertex& vertex);
void enumerate_row_op(const CandidateRequest& r, const RowStrategy& strategy);
/// Enumerates as for a binary elementwise op, if operands lack the axes that a strategy partitions.
void enumerate_as_binary(const CandidateRequest& r);

}  // namespace pxl::tiles
