#include "runtime/kernels/gemm/product_panels.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "runtime/base/div_up.hpp"

namespace pxl {

namespace {

// Maximum elements in a panel: 512 KiB, so that it stays in L2 for the epilogue.
constexpr int64_t max_elements = 1 << 17;
// Maximum multiply-accumulates per panel, a few ms: the longest time between checks for Ctrl-C.
constexpr double max_macs = 1 << 28;
// Time in which the library packs an element of an operand, in multiply-accumulates. Fitted to 80 timings of oneDNN's
// sgemm on AMD EPYC with AVX-512: panels of 64 x 1024 to 1024 x 128, in products with 0.2 to 4.3 G
// multiply-accumulates.
constexpr double packing = 16, packing_transposed = 32;
// Minimum multiply-accumulates per core: about 20 us at 100 GF/s.
constexpr double min_macs_of_core = 1 << 20;
constexpr int64_t max_cores = 64;

constexpr std::array<int64_t, 14> extents{8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024};

/// Calls f(parts) for the numbers of parts into which an extent may be divided.
template <class F>
void each_division(int64_t extent, F&& f) {
  int64_t before = 0;
  for (const int64_t e : extents) {
    const int64_t parts = std::max<int64_t>(1, (extent + e / 2) / e);
    if (parts != before) f(parts);
    before = parts;
    if (parts == 1) return;
  }
}

/// Expected time for `panels` equal panels on all cores, in units of one panel's time.
double expected_waves(int64_t panels, double macs) {
  double sum = 0, weights = 0, weight = 1;
  for (int64_t cores = 1; cores <= max_cores; cores *= 2, weight /= 3) {
    if (cores > 1 && static_cast<double>(cores) * min_macs_of_core > macs) break;
    sum += weight * static_cast<double>(div_up(panels, cores) * cores);
    weights += weight;
  }
  return sum / weights;
}

}  // namespace

int64_t max_panel_elements(int64_t m, int64_t n, const PanelGrid& grid) {
  return div_up(m, grid.down) * div_up(n, grid.across);
}

PanelGrid panel_grid(int64_t m, int64_t n, int64_t k, int64_t matrices, bool tb) {
  k = std::max<int64_t>(k, 1);
  const double of_matrix = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  PanelGrid best{div_up(m, extents[0]), div_up(n, extents[0])};
  double shortest = std::numeric_limits<double>::infinity();
  each_division(m, [&](int64_t down) {
    each_division(n, [&](int64_t across) {
      const int64_t rows = div_up(m, down), columns = div_up(n, across);
      const double macs = static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(k);
      if (rows * columns > max_elements || macs > max_macs) return;
      const double packed =
          packing / static_cast<double>(columns) + (tb ? packing_transposed : packing) / static_cast<double>(rows);
      const double time =
          macs * (1 + packed) * expected_waves(matrices * down * across, of_matrix * static_cast<double>(matrices));
      if (time < shortest) {
        shortest = time;
        best = {down, across};
      }
    });
  });
  return best;
}

}  // namespace pxl
