// The partition of an op according to its candidate. A part is a vertex on a tile: the boxes of operands that it reads,
// and the boxes of results that it writes. A vertex is the op's definition on these slices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/graph/ir.hpp"
#include "runtime/tiles/candidates/candidates.hpp"
#include "runtime/tiles/region.hpp"

namespace pxl::tiles {

/// A slice of an operand as a row-major tensor of `shape`, which the vertex reads. Element i is element `order[i]` of
/// the region, in ascending order, or a constant if `order[i]` is -1. If `order` is empty, element i is element i of
/// the region.
struct OperandSlice {
  size_t slot = 0;
  Region region;
  Shape shape;
  std::vector<int64_t> order = {};
  bool ones = false;  ///< the constant is 1, not 0
};

/// A slice of a result, or of an operand that the op modifies. Element i of the region, in ascending order, is element
/// `order[i]` of the vertex's output. If `order` is empty, it is element i, and the output has no other elements.
struct ResultSlice {
  size_t index = 0;
  bool is_operand = false;  ///< `index` is a slot, and the vertex also reads its slice
  Region region;
  Shape shape;
  std::vector<int64_t> order = {};
};

/// A vertex on a tile.
struct Part {
  int32_t tile = 0;
  std::vector<OperandSlice> reads = {};  ///< at most one of each slot
  std::vector<ResultSlice> writes = {};
  /// Set for vertices that copy. Element i of the only result is element `source[i]` of the slices read, which follow
  /// one another, or OpParts::filler if `source[i]` is -1.
  std::vector<int64_t> source = {};
  std::optional<Attributes> attrs = {};  ///< attributes of the op on these slices, if they are not the op's
};

/// The combination of partial results on several tiles.
struct PartialResults {
  const OpRow* combine = nullptr;  ///< a reduction over axis 0, which has an element's partial results
  DType dtype = DType::float32;    ///< of a partial result
  /// An element has at most one partial result that is not 0. Partial results are combined as bits (integers of
  /// `dtype`), and the op also runs on bits.
  bool as_bits = false;
  const OpRow* part = nullptr;  ///< the op of the parts, if it is not the op itself: a mean's parts are sums
  int64_t divisor = 1;          ///< divides the combined result
};

struct OpParts {
  enum class Vertex : uint8_t { definition, copy } vertex = Vertex::definition;
  double filler = 0;       ///< the value of elements that vertices copy from nowhere
  bool as_planned = true;  ///< false: the op runs on one tile, regardless of the candidate's partition
  /// A tile keeps received slices until the last step; else until the end of the step.
  bool keeps_received = false;
  /// Supersteps, in execution order.
  std::vector<std::vector<Part>> steps = {};
  /// Entries by result, or empty. A result has an entry if several parts or steps have partial results of an element.
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
  const std::byte* further = nullptr;  ///< the operand after those of the op, if its row has one: the replica's number
};

/// Returns the partition of an op. If no rule of its strategy applies, each tile computes its own results from whole
/// operands. Ops that exchange with other replicas run on the first tile of their result.
OpParts op_parts(const PartsRequest& r);
/// Whether each result has one element at most. Such an op may run on one tile, whatever its plan says.
bool has_single_results(const OpContext& site);

// Rules of strategies. A rule returns nullopt if it does not apply.
using PartsFn = std::optional<OpParts> (*)(const PartsRequest&);
std::optional<OpParts> element_parts(const PartsRequest& r);
std::optional<OpParts> reduction_parts(const PartsRequest& r);
std::optional<OpParts> row_parts(const PartsRequest& r);
/// Ops that compute each index of some axes by itself. A tile reads what its part of the result needs, whole along the
/// other axes.
std::optional<OpParts> axis_parts(const PartsRequest& r);
std::optional<OpParts> normalisation_parts(const PartsRequest& r);
std::optional<OpParts> normalisation_gradient_parts(const PartsRequest& r);
std::optional<OpParts> gather_parts(const PartsRequest& r);
std::optional<OpParts> scatter_parts(const PartsRequest& r);
std::optional<OpParts> pooling_parts(const PartsRequest& r);
std::optional<OpParts> product_parts(const PartsRequest& r);
std::optional<OpParts> convolution_parts(const PartsRequest& r);
std::optional<OpParts> data_gradient_parts(const PartsRequest& r);
std::optional<OpParts> weight_gradient_parts(const PartsRequest& r);
/// An element of the result depends on one element of the operand that the op changes, and on all others.
std::optional<OpParts> own_element_parts(const PartsRequest& r);
/// An element of a result depends on all operands.
std::optional<OpParts> own_result_parts(const PartsRequest& r);
std::optional<OpParts> loss_parts(const PartsRequest& r);
std::optional<OpParts> whole_parts(const PartsRequest& r);

}  // namespace pxl::tiles
