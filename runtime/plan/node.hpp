// The planner's working form of a graph: its ops in order, with what storage and kernels need to know of each, so
// that rewrites (fold.hpp) may merge ops without touching the graph.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/graph/ir.hpp"
#include "runtime/kernels/product.hpp"

namespace pxl {

struct Plan;

/// An output whose value is that of an operand (or of an earlier output) and which may therefore be its memory
/// wherever no write can tell the two apart.
struct ViewOf {
  int out = 0;
  bool of_output = false;  ///< `index` is an output of the same node, else an input slot
  int index = 0;
};

/// An output that may be written over an operand that nobody needs any more.
struct Reuse {
  int out = 0, slot = 0;
};

struct Node {
  const Op* op = nullptr;         ///< the op, or the last one of those that a rewrite merged
  std::vector<const Tensor*> in;  ///< by slot; null where absent or not read
  std::vector<const Tensor*> out;
  std::vector<int> modified;  ///< slots whose memory the node changes
  int alias = -1;             ///< out[0] is in[alias]'s memory, always
  bool strided_view = false;  ///< out[0] is operands' memory in another order or in part; resolve_views leaves none
  std::vector<ViewOf> views;
  std::vector<Reuse> reuse;
  std::vector<const Plan*> callees;   ///< control ops, parallel to op->called
  bool effect = false;                ///< must run even if nobody reads its outputs
  std::optional<MatmulPlan> product;  ///< a float32 product of in[0] and in[1], transpositions folded
  std::shared_ptr<const ProductUse>
      use;            ///< of a float32 product whose kernel is made: how it is done, its results used
  int64_t flops = 0;  ///< of a joined node
  Kernel kernel;      ///< set by a rewrite; otherwise the row's
  std::string note;   ///< what a rewrite did, for print_plan
};

/// Slot in which the inputs of called graph `which` begin: conditions and counters come first, and the inputs of an
/// else branch follow those of the then branch.
size_t first_call_slot(const Op& op, size_t which);
/// Whether the callee works on the caller's memory of that slot: by-ref inputs and those marked as modified.
bool passed_directly(const Op& op, size_t which, size_t input);
/// How often a loop op runs its body; 1 for other ops.
int64_t repeat_count(const Op& op);

/// Of a view (is_view): which elements of which operands it is. Empty where it has no elements.
std::vector<ViewPart> view_parts(const Op& op);
/// Whether output 0 has the bytes of input 0: reshapes, identities, and transpositions that move unit axes only.
bool is_plain_copy(const Op& op);
/// How output `j` lies in the memory of input 0, which lies as `operand`; nothing where the op does more than move
/// elements, or where no strides say it.
std::optional<Layout> layout_of(const Op& op, size_t j, const Layout& operand);
/// Whether running the op may fail on its operands' values: it reads indices.
bool may_fail(const Op& op);

/// The kernel of an op's row.
Kernel make_kernel(const Op& op);

Node lower(const Op& op, std::vector<const Plan*> callees);

/// Memory that ops share by definition (OpRow::alias), as opposed to what the planner decides to share.
class Aliases {
 public:
  explicit Aliases(const std::vector<Node>& nodes);
  /// The tensor whose memory this is.
  const Tensor* root(const Tensor* tensor) const;
  /// Whether a node at a position in (after, before) changes the tensor's memory.
  bool written_between(const Tensor* tensor, int after, int before) const;
  const std::vector<int>& writes(const Tensor* tensor) const;

 private:
  std::unordered_map<const Tensor*, const Tensor*> root_;
  std::unordered_map<const Tensor*, std::vector<int>> writes_;  ///< by root, ascending
};

/// What is run besides the nodes whose results are needed.
enum class Keep : uint8_t {
  results,  ///< loads before a needed one of the same stream; changes of memory that is needed
  state,    ///< all loads, and all changes of variables and inputs; neither stores nor prints
  all,      ///< whatever has an effect
};

/// Dead code elimination.
void drop_dead_nodes(std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, Keep keep);

}  // namespace pxl
