// Geometry of charts: ranges, ticks, and the points to draw, for both formats.
#pragma once

#include <string>
#include <vector>

#include "runtime/io/chart.hpp"

namespace pxl {

/// A closed range with ticks at round values.
struct Scale {
  double low = 0, high = 1;
  bool log = false;
  std::vector<double> ticks;  ///< within the range, in data units
  /// Normalised position: 0 at the low end, 1 at the high end.
  double place(double value) const;
};

struct Point {
  double x, y;  ///< in 0..1; y is not finite at a gap
};

struct ChartGeometry {
  Scale x, y;
  std::vector<std::vector<Point>> points;  ///< by series
};

/// Computes the geometry with about `across` and `up` ticks. Throws Error if nothing can be drawn.
ChartGeometry chart_geometry(const Chart& chart, int across, int up);

/// Formats a tick with the fewest digits that distinguish the ticks.
std::string tick_text(const Scale& scale, double tick);

}  // namespace pxl
