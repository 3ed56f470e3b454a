#include "runtime/kernels/interruptible.hpp"

#include <algorithm>

#include "runtime/base/limits/budget.hpp"

namespace pxl {

int64_t interrupt_chunk(const Kernel& kernel, const Phase& phase) {
  const double share = max_uninterruptible_ns / 5 / std::max(kernel.cost_ns(), max_uninterruptible_ns);
  const auto grains =
      static_cast<int64_t>(static_cast<double>(phase.iterations) * share) / std::max<int64_t>(1, phase.grain);
  return std::max<int64_t>(1, grains) * std::max<int64_t>(1, phase.grain);
}

void run_interruptibly(const Kernel& kernel, const Buffers& operands) {
  if (kernel.phases().empty() || kernel.cost_ns() <= max_uninterruptible_ns) {
    charge(static_cast<int64_t>(kernel.cost_ns()));
    return kernel(operands);
  }
  const WorkspaceMemory memory(kernel.workspace().bytes(1));
  const Buffers buffers = operands.with_workspace(memory.data(), kernel.workspace());
  double iterations = 0;
  for (const Phase& phase : kernel.phases()) iterations += static_cast<double>(phase.iterations);
  const double ns = kernel.cost_ns() / std::max(1.0, iterations);  // per iteration
  for (const Phase& phase : kernel.phases()) {
    const int64_t chunk = interrupt_chunk(kernel, phase);
    for (int64_t at = 0; at < phase.iterations; at += chunk) {
      const int64_t end = std::min(at + chunk, phase.iterations);
      charge(static_cast<int64_t>(static_cast<double>(end - at) * ns));
      phase.part(buffers, at, end);
    }
  }
}

}  // namespace pxl
