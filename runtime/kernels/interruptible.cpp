#include "runtime/kernels/interruptible.hpp"

#include <algorithm>

#include "runtime/base/interrupt.hpp"

namespace pxl {

int64_t interrupt_chunk(const Kernel& kernel, const Phase& phase) {
  const double share = max_uninterruptible_ns / 5 / std::max(kernel.cost_ns(), max_uninterruptible_ns);
  const auto grains =
      static_cast<int64_t>(static_cast<double>(phase.iterations) * share) / std::max<int64_t>(1, phase.grain);
  return std::max<int64_t>(1, grains) * std::max<int64_t>(1, phase.grain);
}

void run_interruptibly(const Kernel& kernel, const Buffers& buffers) {
  if (kernel.phases().empty() || kernel.cost_ns() <= max_uninterruptible_ns) return kernel(buffers);
  for (const Phase& phase : kernel.phases()) {
    const int64_t piece = interrupt_chunk(kernel, phase);
    for (int64_t at = 0; at < phase.iterations; at += piece) {
      check_interrupt();
      phase.part(buffers, at, std::min(at + piece, phase.iterations));
    }
  }
}

}  // namespace pxl
