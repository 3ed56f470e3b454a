// The planner's intermediate representation: the ops of a graph in execution order, each with what storage assignment
// and kernels need to know. Passes (passes.hpp) rewrite nodes and leave the graph untouched. verify_nodes.hpp lists the
// invariants.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/base/pointer_map.hpp"
#include "runtime/graph/call_operands.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/kernels/product.hpp"

namespace pxl {

struct Plan;

/// An output with the value of an operand, or of an earlier output of the same node. Storage assignment lets both share
/// memory unless a later write could be observed.
struct OutputAlias {
  int out = 0;
  bool of_output = false;  ///< `index` is an output of the same node, otherwise an input slot
  int index = 0;
};

/// Output `out` may take the memory of operand `slot` if that operand is dead afterwards.
struct InPlaceCandidate {
  int out = 0, slot = 0;
};

/// An op that checks indices, and the slot that they have in its node.
struct IndexOperand {
  const Op* op = nullptr;
  int slot = -1;
};

struct Node {
  const Op* op = nullptr;         ///< the op; of a fused node its last op
  std::vector<const Tensor*> in;  ///< by slot; null for operands that are absent or not read
  std::vector<const Tensor*> out;
  std::vector<int> modified;  ///< slots whose memory the node writes
  int alias = -1;             ///< slot whose memory out[0] is by definition; -1 for none
  int overwritten_by = -1;    ///< slot whose elements replace those of in[alias], and nothing else happens; -1 for none
  bool strided_view = false;  ///< out[0] is a strided or partial view of operands; resolve_views removes these
  std::vector<OutputAlias> output_aliases;
  std::vector<InPlaceCandidate> in_place_candidates;
  std::vector<const Plan*> callees;  ///< of control ops, parallel to op->called
  bool once = false;    ///< of a loop's body: runs before the first iteration only; reads what no iteration changes
  bool effect = false;  ///< has side effects: is live even if its outputs are unused
  std::optional<GemmShape> product;           ///< the float32 GEMM of in[0] and in[1], transpositions folded
  std::shared_ptr<const GemmCall> gemm_call;  ///< the GEMM call inside `kernel`, with its epilogue
  int64_t flops = 0;                          ///< of fused nodes; otherwise 0, and the op says it
  std::vector<IndexOperand> checks;           ///< of fused nodes: the parts whose indices the kernel checks
  Kernel kernel;                              ///< set by passes; empty for the kernel of the op's row
  std::string note;                           ///< what passes did, for print_plan
  std::vector<int> parts;  ///< while passes are verified: positions before the pass of the nodes fused into this one
};

/// The elements of the operands that a view (is_view) consists of. Empty if it has no elements.
std::vector<ViewPart> view_parts(const Op& op);
/// Whether output 0 has the bytes of input 0: reshapes, identities, and transpositions that move unit axes only.
bool is_plain_copy(const Op& op);
/// The layout of output `j` within the memory of input 0, whose layout is `operand`; nullopt if the op does more than
/// move elements, or if no strides describe the result.
std::optional<StridedLayout> layout_of(const Op& op, size_t j, const StridedLayout& operand);
/// Whether the op may fail on its operands' values: it reads indices.
bool may_fail(const Op& op);
bool may_fail(const Node& node);
/// For each node, whether it may fail in a run: not if an earlier node has checked the same indices.
std::vector<bool> failing_nodes(const std::vector<Node>& nodes);
/// Whether an operand of this slot decides whether such an op fails: an index.
bool decides_failure(const Op& op, size_t slot);
/// Whether a node is a function of its operands' values and attributes, and writes nothing else. Random ops are pure:
/// their seed is an operand.
bool is_pure(const Node& node);

/// The kernel of an op's row.
Kernel make_kernel(const Op& op);

/// The node of an op. `callees` are the plans of the graphs that it calls.
Node lower(const Op& op, std::vector<const Plan*> callees);

/// Memory that ops share by definition (OpRow::alias), as opposed to what storage assignment decides to share.
class Aliases {
 public:
  explicit Aliases(const std::vector<Node>& nodes);
  /// The tensor that owns the memory.
  const Tensor* root(const Tensor* tensor) const;
  /// Whether a node at a position in the open interval (after, before) writes the tensor's memory.
  bool written_between(const Tensor* tensor, int after, int before) const;
  /// Positions of the nodes that write the tensor's memory, ascending.
  const std::vector<int>& writes(const Tensor* tensor) const;

 private:
  PointerMap<const Tensor*, const Tensor*> root_;
  PointerMap<const Tensor*, std::vector<int>> writes_;  ///< by root, ascending
};

/// Whether `later` must run after `earlier`: a read after write, write after read or write after write, or both have
/// side effects.
bool has_dependency(const Aliases& aliases, const Node& later, const Node& earlier);

/// What is live besides the nodes whose results are used.
enum class Keep : uint8_t {
  results,  ///< loads that precede a live load of the same stream; writes to live memory
  state,    ///< all loads, and all writes to variables and inputs; neither stores nor prints
  all,      ///< every node with side effects
};

/// Removes dead nodes.
void eliminate_dead_code(std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, Keep keep);

}  // namespace pxl
