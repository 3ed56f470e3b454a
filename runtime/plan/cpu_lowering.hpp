// The lowering of nodes for the processor that pxl runs on: a node in, the kernel that computes it out.
#pragma once

#include "runtime/plan/node.hpp"

namespace pxl {

/// The kernel of a node without callees or streams. in, out: the node's. Fused members run on `block` elements at a
/// time, at most epilogue_block.
Kernel cpu_kernel(const Node& node, int64_t block);

}  // namespace pxl
