// The planner's intermediate representation: the ops of a graph in execution order. A node describes its computation as
// data; the lowering of a target (cpu_lowering.hpp) makes it run. Passes (passes.hpp) rewrite nodes and leave the graph
// untouched. verify_nodes.hpp lists the invariants.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/base/pointer_map.hpp"
#include "runtime/graph/call_operands.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

struct Plan;

/// An output that has the value of an operand, or of an earlier output. Storage assignment lets both share memory
/// unless a later write could be observed.
struct OutputAlias {
  int out = 0;
  bool of_output = false;  ///< `index` is an output of the same node, otherwise an input slot
  int index = 0;
};

/// Output `out` may take the memory of operand `slot` if that operand is dead afterwards.
struct InPlaceCandidate {
  int out = 0, slot = 0;
};

/// The computation of a node: its op, an op derived from it, or its members in sequence. A form with members has the
/// values of its members; the form tells a target how to run them.
enum class Form : uint8_t {
  op,                ///< its op, as in the graph
  product,           ///< the matrix product `product`
  prepared_operand,  ///< in[0], in the form in which the target reads operand `prepared` of the op or product
  with_derivative,   ///< out[0]: its op; out[1]: the op `gradient` for a gradient of ones
  by_derivative,     ///< in[0] times in[1], which a node with_derivative has made
  view_write,        ///< the elements of in[1] take the places in in[0] that `part` names
  // Of members:
  fused,         ///< block by block: the first gives its elements in order, the others are elementwise
  prologue,      ///< the first makes the right operand of the second, a product, while that reads it
  one_pass,      ///< two products in one pass over a matrix: the first reads it, the second one's members update it
  side_by_side,  ///< the first, an update, runs in the parts of the second
  sparse,        ///< scatters of rows into zeros, their sum if there are several, and the update of rows that occur
};
std::string_view name(Form form);
constexpr bool has_members(Form form) { return form >= Form::fused; }

/// A matrix product of in[0] and in[1].
struct Product {
  GemmShape shape;
  bool transposed[2] = {};  ///< operands whose last two axes change places
  bool strided = false;     ///< operands lie as `shape` says, which with_operands made
  bool exchanged = false;   ///< in[1] is the left operand: the result is transposed
  bool in_blocks = false;   ///< the target gives the result block by block to what follows
};

/// A call that was replaced by the ops of its callee, and the call around it.
struct CallSite {
  const Op* call = nullptr;
  const CallSite* outer = nullptr;  ///< null: the call is in the plan's graph
};

struct Node {
  const Op* op = nullptr;          ///< the op; of members the last one's
  const CallSite* site = nullptr;  ///< the call that `op` came from; null: it is in the plan's graph
  std::vector<const Tensor*> in;   ///< by slot; null for operands that are absent or not read
  std::vector<const Tensor*> out;
  std::vector<int> modified;  ///< slots whose memory the node writes
  int alias = -1;             ///< slot whose memory out[0] is by definition; -1 for none
  int overwritten_by = -1;    ///< slot whose elements replace those of in[alias], and nothing else happens; -1 for none
  bool strided_view = false;  ///< out[0] is a strided or partial view of operands; resolve_views removes these
  std::vector<OutputAlias> output_aliases;
  std::vector<InPlaceCandidate> in_place_candidates;
  std::vector<const Plan*> callees;  ///< of control ops, parallel to op->called
  /// Reads only what stays the same. In a loop's body it runs before the first iteration only; in a main graph in the
  /// first run, and in a run before which a variable that it reads was changed.
  bool once = false;
  int prepared =
      -1;  ///< of a prepared_operand: the operand that it makes; else the operand that one has made; -1: none
  std::string layout;   ///< what the target calls the form of that operand
  bool effect = false;  ///< has side effects: is live even if its outputs are unused
  Form form = Form::op;
  std::optional<Product> product;  ///< of a product, or of its prepared_operand
  const Op* gradient = nullptr;    ///< of the form with_derivative
  std::optional<ViewPart> part;    ///< of the form view_write
  std::vector<Node> members;
  std::vector<int> parts;  ///< while passes are verified: positions before the pass of the nodes of this one
};

/// The node of members. The form determines its operands and results, in the order of compose; `wanted` tells which
/// results of fused members other nodes use. The other results never reach memory.
Node compose(Form form, std::vector<Node> members, const std::function<bool(const Tensor*)>& wanted = {});
/// The product that a node is, or begins with, if the target produces its result block by block; else null.
const Node* product_in_blocks(const Node& node);
/// The arithmetic operations of a node.
int64_t flops_of(const Node& node);
/// The passes' changes to a node, for print_plan: " matmul+add". Empty for an op as in the graph.
std::string note_of(const Node& node);
/// f(node) for the node, or for each of its members at any depth, which have none.
void for_each_leaf(const Node& node, const std::function<void(const Node&)>& f);

/// An op that checks indices, and the tensor that has them.
struct IndexRead {
  const Op* op = nullptr;
  const Tensor* indices = nullptr;
};
/// The reads of members that check indices.
std::vector<IndexRead> checked_by_members(const Node& node);

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
/// Whether each node may fail in a run. A node cannot fail if an earlier node has checked the same indices.
std::vector<bool> failing_nodes(const std::vector<Node>& nodes);
/// Whether an operand of this slot decides whether such an op fails: an index.
bool decides_failure(const Op& op, size_t slot);
/// Whether a node is a function of its operands' values and attributes, and writes nothing else. Random ops are pure:
/// their seed is an operand.
bool is_pure(const Node& node);

/// The node of an op. `callees` are the plans of the graphs that it calls.
Node lower(const Op& op, std::vector<const Plan*> callees);

/// Memory that ops share by definition (OpRow::alias). Storage assignment may share more.
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

/// The nodes that are live besides those whose results are used.
enum class Keep : uint8_t {
  results,  ///< loads that precede a live load of the same stream; writes to live memory
  state,    ///< all loads, and all writes to variables and inputs; neither stores nor prints
  all,      ///< every node with side effects
};

/// Removes dead nodes.
void eliminate_dead_code(std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, Keep keep);

}  // namespace pxl
