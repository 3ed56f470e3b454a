// Reports of one program with several machines or options, side by side.
#pragma once

#include <string>
#include <vector>

#include "runtime/tiles/report/report.hpp"

namespace pxl::tiles {

struct SweepRow {
  std::vector<std::string> values;  ///< by key
  std::string program;
  bool fits = false;
  int64_t cycles = 0;       ///< a run, without the host link
  double seconds = 0;       ///< of these cycles
  int64_t bytes = 0;        ///< on the fullest tile
  int64_t chip_bytes = 0;   ///< memory of the machine's tiles
  int64_t total_bytes = 0;  ///< used on all tiles
};

struct Sweep {
  std::vector<std::string> keys;
  std::vector<SweepRow> rows;
};

SweepRow sweep_row(std::vector<std::string> values, const Report& report);
/// Rows that fit and that no other fitting row of the program dominates. Criteria are seconds, and bytes on all tiles.
std::vector<bool> pareto_rows(const Sweep& sweep);

/// Returns a table. A `*` marks pareto_rows. Rows that do not fit have no cycles.
std::string sweep_text(const Sweep& sweep);
/// One object ("pxl-sweep/1"), with a final newline.
std::string sweep_json(const Sweep& sweep);

}  // namespace pxl::tiles
