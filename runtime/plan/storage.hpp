// Which tensors of a plan share memory, and for how long each piece of memory is needed.
#pragma once

#include "runtime/plan/plan.hpp"

namespace pxl {

struct Storage {
  std::vector<Buffer> buffers;  ///< offsets not yet assigned
  std::unordered_map<const Tensor*, BufferId> buffer_of;
  std::vector<bool> input_modified;
  std::vector<std::pair<const Tensor*, BufferId>> changed_constants;  ///< need a copy per run
};

/// `inputs` and `outputs` are the graph's. Positions are indices into `nodes`; outputs are live at nodes.size().
Storage assign_storage(const std::vector<Node>& nodes, const std::vector<const Tensor*>& inputs,
                       const std::vector<const Tensor*>& outputs);

}  // namespace pxl
