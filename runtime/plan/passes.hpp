// The planner's passes: one table (passes.inc), and the function that runs it. Every pass can be left out.
//
// Passes keep the bits of all results, with four exceptions. absorb_transposes changes the order of additions in a GEMM
// with a transposed matrix and at most 128 rows (kernels/gemm/product.cpp). strided_operands leaves to the library in
// which order a batch of GEMMs adds. fuse_prologues multiplies sums, not terms, by the scales of columns and groups
// (fuse_elementwise makes the nodes that it accepts). sparse_updates leaves -0 where an update by 0 gives 0.
#pragma once

#include <span>

#include "runtime/plan/pass.hpp"

namespace pxl {

#define PXL_PASS(name, reference, doc) void name(PassContext& context);
#define PXL_LOWERING_PASS(name, reference, doc)
#include "runtime/plan/passes.inc"
#undef PXL_PASS
#undef PXL_LOWERING_PASS

/// Bytes: larger constants than a cache line are not compared by value.
constexpr int64_t max_compared_bytes = 64;

struct PlanPass {
  std::string_view name;
  std::string_view doc;
  PassFn apply = nullptr;  ///< null: runs while the nodes are created
  bool reference = false;  ///< also on the reference path (PlanOptions::reference)
};
/// In execution order. All are on by default.
std::span<const PlanPass> plan_passes();
/// Throws Error (usage) with a suggestion and all names if the name is unknown.
size_t pass_index(std::string_view name);

/// Runs every pass that the options allow; prints the nodes after the passes that the options name. `constants` owns
/// the tensors that passes create; nodes point at them. `keep`: see eliminate_dead_code. `unchanged`: see PassContext.
void run_passes(std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, Keep keep,
                std::deque<Tensor>& constants, const Unchanged* unchanged, const PlanOptions& options,
                const Target& target);

}  // namespace pxl
