#include "runtime/tiles/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/tiles/report/report_json.hpp"

namespace pxl::tiles {

SweepRow sweep_row(std::vector<std::string> values, const Report& report) {
  SweepRow row;
  row.values = std::move(values);
  row.program = report.program;
  row.fits = report.fits;
  row.cycles = report.cycles.device();
  row.seconds = report.microseconds / 1e6;
  row.chip_bytes = report.machine.memory_of_chip();
  for (const TileMemory& t : report.tiles) {
    row.bytes = std::max(row.bytes, t.total);
    row.total_bytes += t.total;
  }
  return row;
}

std::vector<bool> pareto_rows(const Sweep& sweep) {
  std::vector<bool> best(sweep.rows.size());
  for (size_t i = 0; i < best.size(); ++i) {
    const SweepRow& row = sweep.rows[i];
    best[i] = row.fits && std::none_of(sweep.rows.begin(), sweep.rows.end(), [&](const SweepRow& other) {
                return other.fits && other.program == row.program && other.seconds <= row.seconds &&
                       other.total_bytes <= row.total_bytes &&
                       (other.seconds < row.seconds || other.total_bytes < row.total_bytes);
              });
  }
  return best;
}

std::string sweep_text(const Sweep& sweep) {
  const std::vector<bool> best = pareto_rows(sweep);
  std::vector<size_t> widths;
  for (size_t k = 0; k < sweep.keys.size(); ++k) {
    widths.push_back(sweep.keys[k].size());
    for (const SweepRow& row : sweep.rows) widths[k] = std::max(widths[k], row.values[k].size());
  }
  size_t name = 7;
  for (const SweepRow& row : sweep.rows) name = std::max(name, row.program.size());
  std::string s = fmt::format("  {:{}}", "program", name);
  for (size_t k = 0; k < sweep.keys.size(); ++k) s += fmt::format("  {:>{}}", sweep.keys[k], widths[k]);
  s +=
      fmt::format("  {:>16}  {:>12}  {:>14}  {:>16}\n", "cycles a run", "microseconds", "fullest tile", "bytes in all");
  for (size_t i = 0; i < sweep.rows.size(); ++i) {
    const SweepRow& row = sweep.rows[i];
    s += fmt::format("{} {:{}}", best[i] ? '*' : ' ', row.program, name);
    for (size_t k = 0; k < sweep.keys.size(); ++k) s += fmt::format("  {:>{}}", row.values[k], widths[k]);
    s += row.fits ? fmt::format("  {:>16}  {:>12.1f}", grouped(row.cycles), row.seconds * 1e6)
                  : fmt::format("  {:>16}  {:>12}", "does not fit", "");
    s += fmt::format("  {:>14}  {:>16}\n", grouped(row.bytes), grouped(row.total_bytes));
  }
  return s + "* no other row that fits is faster with as few bytes in all\n";
}

}  // namespace pxl::tiles
