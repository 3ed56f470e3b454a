// What both kinds of charts share: ranges, ticks, and the points that can be drawn.
#pragma once

#include <string>
#include <vector>

#include "runtime/io/chart.hpp"

namespace pxl {

/// A closed range with round ends' ticks in it.
struct Scale {
  double low = 0, high = 1;
  bool log = false;
  std::vector<double> ticks;  ///< within the range, in the units of the data
  /// 0 at the low end, 1 at the high one.
  double place(double value) const;
};

struct Point {
  double x, y;  ///< in 0..1; y is not finite at a gap
};

struct ChartGeometry {
  Scale x, y;
  std::vector<std::vector<Point>> points;  ///< a series each
};

/// About `across` and `up` ticks. Throws Error where nothing can be drawn.
ChartGeometry chart_geometry(const Chart& chart, int across, int up);

/// A tick as text: as few digits as tell the ticks apart.
std::string tick_text(const Scale& scale, double tick);

}  // namespace pxl
