// Products measured on Tenstorrent's cards, and the model's predictions. Source: tt-metal, tech_reports/GEMM_FLOPS,
// tables of manually tuned configurations with trace, mean inference time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pxl::tiles {

/// A row of the tables: [rows, depth] x [depth, columns]. Times are nanoseconds: bfloat16 at two and four fidelity
/// phases (HiFi2, HiFi4), and BFLOAT8_B at two. 0: not in the table.
struct GemmRow {
  std::string_view machine;
  int64_t rows, depth, columns;
  double half_2, half_4, quarter_2;
};

/// One measurement and the model's prediction. The model replaces bfloat16 by float16, and BFLOAT8_B (1.06 bytes an
/// element) by float8.
struct GemmPoint {
  const GemmRow* row = nullptr;
  std::string_view what;               ///< "bfloat16, HiFi2"
  bool fitted = false;                 ///< the machine's constants were fitted to the point: every other row
  double measured = 0, predicted = 0;  ///< nanoseconds
  double error_percent() const { return 100 * (predicted - measured) / measured; }
};
/// All measurements. Plans are made once. Not thread-safe beyond C++'s initialisation of statics.
const std::vector<GemmPoint>& gemm_points();

/// Table rows for `build/release/published`: the points of each machine, fitted and held out. gemm_points_text has each
/// point.
std::string gemm_text();
std::string gemm_points_text();

}  // namespace pxl::tiles
