// Products measured on Tenstorrent's cards, against the model. Source: tt-metal, tech_reports/GEMM_FLOPS, tables of
// manually tuned configurations with trace, mean inference time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pxl::tiles {

/// A row of the tables: [rows, depth] x [depth, columns]. Nanoseconds of bfloat16 at two and at four fidelity phases
/// (HiFi2, HiFi4), and of BFLOAT8_B at two; 0: not in the table.
struct GemmRow {
  std::string_view machine;
  int64_t rows, depth, columns;
  double half_2, half_4, quarter_2;
};
std::span<const GemmRow> gemm_rows();

/// One measurement and what the model says; bfloat16 is modelled as float16, BFLOAT8_B (1.06 bytes an element) as
/// float8.
struct GemmPoint {
  const GemmRow* row = nullptr;
  std::string_view what;               ///< "bfloat16, HiFi2"
  bool fitted = false;                 ///< constants of the machine were fitted to it: every other row
  double measured = 0, predicted = 0;  ///< nanoseconds
  double error_percent() const { return 100 * (predicted - measured) / measured; }
};
/// All measurements; planned once. Not thread-safe beyond C++'s initialisation of statics.
const std::vector<GemmPoint>& gemm_points();

/// Rows of the table of `pxl validate-model`: by machine, fitted and held-out points; with `points`, also each of them.
std::string gemm_text();
std::string gemm_points_text();

}  // namespace pxl::tiles
