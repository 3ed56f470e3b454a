// The specification of the planner's nodes: every pass may assume it and must preserve it.
//
//   definitions   a result is defined once, before its uses; outputs of the plan are defined
//   slots         modified, alias, output_aliases and in_place_candidates are in range, present, unique
//   specs         a node has the operands and results of what it computes, by shape and dtype: of its op, of a product
//                 that stays within them, or of its members, each of which is held to the same
//   aliases       an alias has the dtype and the size of the memory that it names
//   in place      a candidate has the shape and dtype of its operand, and is not an alias
//   callees       one plan for each called graph; inputs that it changes by reference are marked as modified
//   effects       side effects run in their order; a pass drops none unless dead code elimination may
//   dependencies  each node reads the same version of each written memory as before the pass
#pragma once

#include "runtime/plan/node.hpp"

namespace pxl {

/// Throws an internal Error that names the node and the first violation. `views`: strided views are allowed, as before
/// resolve_views.
void verify_nodes(const std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, bool views = false);

/// Compares nodes before and after a pass. Fused nodes must list their constituents in Node::parts.
class PassVerifier {
 public:
  /// Numbers the nodes: sets Node::parts.
  explicit PassVerifier(std::vector<Node>& nodes);
  /// Throws an internal Error naming `pass` if the nodes after it are invalid. `keep`: see eliminate_dead_code.
  void check(const std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, Keep keep,
             std::string_view pass) const;

 private:
  /// Reads of a node: the memory, and the node that wrote it last.
  using Version = std::pair<const Tensor*, int>;
  struct Before {
    std::vector<const Tensor*> modified;  ///< roots
    std::vector<Version> reads;           ///< of written memory
    bool effect = false;
  };
  std::vector<Before> before_;
};

}  // namespace pxl
