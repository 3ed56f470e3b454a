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
/// of the region in ascending order, or a constant if that is -1 (empty: element i).
struct OperandSlice {
  size_t slot = 0;
  Region region;
  Shape shape;
  std::vector<int64_t> order = {};
  bool ones = false;  ///< the constant is 1, not 0
};

/// A slice of a result, or of an operand that the op modifies: element i of the region, in ascending order, is element
/// `order[i]` of what the vertex makes (empty: element i, and it makes nothing else).
struct ResultSlice {
  size_t index = 0;
  bool is_operand = false;  ///< `index` is a slot, whose slice the vertex reads as well
  Region region;
  Shape shape;
  std::vector<int64_t> order = {};
};

/// A vertex on a tile.
struct Part {
  int32_t tile = 0;
  std::vector<OperandSlice> reads = {};  ///< at most one of each slot
  std::vector<ResultSlice> writes = {};
  /// Of vertices that copy: element i of the only result is element `source[i]` of the slices that are read, one after
  /// the other.
  std::vector<int64_t> source = {};
  std::optional<Attributes> attrs = {};  ///< of the op on these slices, if they are not the op's
};

/// How partial results of several tiles become the result.
struct PartialResults {
  const OpRow* combine = nullptr;  ///< a reduction: of the partial results of an element, over axis 0
  DType dtype = DType::float32;    ///< of a partial result
  /// At most one of the partial results of an element is not 0: they are combined as bits, integers of `dtype`, and the
  /// op runs on bits too.
  bool as_bits = false;
};

struct OpParts {
  enum class Vertex : uint8_t { definition, copy } vertex = Vertex::definition;
  bool as_planned = true;  ///< false: the op runs on one tile, whatever the candidate's partition
  /// What a tile has received stays there until the last step; else until the end of the step.
  bool keeps_received = false;
  /// Supersteps, each after the one before.
  std::vector<std::vector<Part>> steps = {};
  /// By result, or empty: an element has partial results in several parts, or in several steps.
  std::vector<std::optional<PartialResults>> partial = {};
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
std::optional<OpParts> normalisation_parts(const PartsRequest& r);
std::optional<OpParts> normalisation_gradient_parts(const PartsRequest& r);
std::optional<OpParts> gather_parts(const PartsRequest& r);
std::optional<OpParts> scatter_parts(const PartsRequest& r);
std::optional<OpParts> pooling_parts(const PartsRequest& r);
std::optional<OpParts> product_parts(const PartsRequest& r);
std::optional<OpParts> convolution_parts(const PartsRequest& r);
std::optional<OpParts> data_gradient_parts(const PartsRequest& r);
std::optional<OpParts> weight_gradient_parts(const PartsRequest& r);
std::optional<OpParts> own_element_parts(const PartsRequest& r);
std::optional<OpParts> loss_parts(const PartsRequest& r);
std::optional<OpParts> whole_parts(const PartsRequest& r);

}  // namespace pxl::tiles
