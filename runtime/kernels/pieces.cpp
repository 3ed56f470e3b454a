#include "runtime/kernels/pieces.hpp"

#include <algorithm>

#include "runtime/base/interrupt.hpp"

namespace pxl {

int64_t piece_of(const Kernel& kernel, const Phase& phase) {
  const double share = long_work / 5 / std::max(kernel.work(), long_work);
  const auto grains =
      static_cast<int64_t>(static_cast<double>(phase.units) * share) / std::max<int64_t>(1, phase.grain);
  return std::max<int64_t>(1, grains) * std::max<int64_t>(1, phase.grain);
}

void run_interruptibly(const Kernel& kernel, const Buffers& buffers) {
  if (kernel.phases().empty() || kernel.work() <= long_work) return kernel(buffers);
  for (const Phase& phase : kernel.phases()) {
    const int64_t piece = piece_of(kernel, phase);
    for (int64_t at = 0; at < phase.units; at += piece) {
      check_interrupt();
      phase.part(buffers, at, std::min(at + piece, phase.units));
    }
  }
}

}  // namespace pxl
