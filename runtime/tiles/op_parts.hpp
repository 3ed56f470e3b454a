// The partition of an op as its candidate says: which tile runs a vertex on which boxes of the operands, and which
// boxes of the results it writes. A vertex is the op's definition on these slices.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/graph/ir.hpp"
#include "runtime/tiles/candidates.hpp"
#include "runtime/tiles/region.hpp"

namespace pxl::tiles {

/// A slice of an operand as a vertex sees it: a tensor of `shape`, row-major, of which element i is element `order[i]`
/// of the region in ascending order (empty: element i).
struct OperandSlice {
  size_t slot = 0;
  Region region;
  Shape shape;
  std::vector<int64_t> order = {};
};

/// A slice of a result, or of an operand that the op modifies, in the region's order.
struct ResultSlice {
  size_t index = 0;
  bool is_operand = false;  ///< `index` is a slot, whose slice the vertex reads as well
  Region region;
  Shape shape;
};

/// A vertex on a tile.
struct Part {
  int32_t tile = 0;
  std::vector<OperandSlice> reads = {};  ///< at most one of each slot
  std::vector<ResultSlice> writes = {};
  /// Of vertices that copy: element i of the only result is element `source[i]` of the slices that are read, one after
  /// the other.
  std::vector<int64_t> source = {};
};

/// How partial results of several tiles become the result.
struct PartialResults {
  const OpRow* combine = nullptr;  ///< a reduction: of the partial results of an element, over axis 0
  DType dtype = DType::float32;    ///< of a partial result
};

struct OpParts {
  enum class Vertex : uint8_t { definition, copy } vertex = Vertex::definition;
  bool as_planned = true;  ///< false: the op runs on one tile, whatever the candidate's partition
  /// Supersteps, each after the one before.
  std::vector<std::vector<Part>> steps = {};
  /// If set, an element of result 0 has partial results in several parts, or in several steps.
  std::optional<PartialResults> partial = {};
};

/// The op, its candidate and the mappings that it refers to.
struct PartsRequest {
  const Machine& machine;
  const CandidateOptions& options;
  const Op& op;
  const OpContext& site;  ///< outputs inferred
  const OpCandidate& candidate;
  const TileMappingTable& mappings;
};

/// The partition of an op. Ops whose strategy has no rule for their attributes run on one tile, the first of their
/// result.
OpParts op_parts(const PartsRequest& r);

// Rules of strategies; nothing if they do not apply.
using PartsFn = std::optional<OpParts> (*)(const PartsRequest&);
std::optional<OpParts> element_parts(const PartsRequest& r);
std::optional<OpParts> reduction_parts(const PartsRequest& r);
std::optional<OpParts> row_parts(const PartsRequest& r);
std::optional<OpParts> product_parts(const PartsRequest& r);
std::optional<OpParts> whole_parts(const PartsRequest& r);

}  // namespace pxl::tiles
