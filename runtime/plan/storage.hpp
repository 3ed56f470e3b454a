// Storage assignment: which tensors share a buffer, and the live range of each buffer.
#pragma once

#include "runtime/plan/plan.hpp"

namespace pxl {

struct Storage {
  std::vector<Buffer> buffers;  ///< without offsets
  PointerMap<const Tensor*, BufferId> buffer_of;
  std::vector<bool> input_modified;
  std::vector<std::pair<const Tensor*, BufferId>> changed_constants;  ///< copied to the arena for each run
};

/// `inputs` and `outputs` are the graph's. Positions are indices of `nodes`; outputs are live until nodes.size().
Storage assign_storage(const std::vector<Node>& nodes, const std::vector<const Tensor*>& inputs,
                       const std::vector<const Tensor*>& outputs);

/// Whether an op writes a window of its first operand alone. A run that fails needs the old window, not a copy of the
/// whole (PartLog).
bool writes_a_window(const OpRow& row);

}  // namespace pxl
