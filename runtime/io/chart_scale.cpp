#include "runtime/io/chart_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl {

namespace {

bool drawable(double v, bool log) { return std::isfinite(v) && (!log || v > 0); }

// 1, 2 or 5 times a power of ten, such that about `count` steps cover the range.
double round_step(double range, int count) {
  const double raw = range / std::max(count, 1), power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double m : {1.0, 2.0, 5.0})
    if (m * power >= raw * 0.999) return m * power;
  return 10 * power;
}

void add_ticks(Scale& s, int count) {
  if (s.log) {
    const int first = static_cast<int>(std::ceil(std::log10(s.low) - 1e-9)),
              last = static_cast<int>(std::floor(std::log10(s.high) + 1e-9));
    const int step = std::max(1, (last - first + count) / std::max(count, 1));
    for (int e = first; e <= last; e += step) s.ticks.push_back(std::pow(10.0, e));
    if (!s.ticks.empty()) return;
    s.ticks = {s.low, s.high};
    return;
  }
  const double step = round_step(s.high - s.low, count);
  for (double t = std::ceil(s.low / step - 1e-9) * step; t <= s.high + step * 1e-9; t += step)
    s.ticks.push_back(std::abs(t) < step * 1e-9 ? 0 : t);
}

Scale make(double low, double high, bool log, int count, bool padded) {
  Scale s;
  s.log = log;
  if (!(high > low)) {  // a single value: a range around it
    const double half = log ? 0 : std::max(std::abs(low) * 0.5, 0.5);
    s.low = log ? low / 3 : low - half;
    s.high = log ? high * 3 : high + half;
  } else {
    const double pad = padded && !log ? (high - low) * 0.04 : 0;
    // If the data begin at zero, the axis does too.
    s.low = low >= 0 && low - pad < 0 ? low : low - pad;
    s.high = high + pad;
    if (!std::isfinite(s.high - s.low)) {
      s.low = low / 2;
      s.high = high / 2;
    }
  }
  add_ticks(s, count);
  return s;
}

}  // namespace

double Scale::place(double value) const {
  return log ? (std::log10(value) - std::log10(low)) / (std::log10(high) - std::log10(low))
             : (value - low) / (high - low);
}

ChartGeometry chart_geometry(const Chart& chart, int across, int up) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  double left = inf, right = -inf, low = inf, high = -inf;
  for (const Series& s : chart.series) {
    if (!s.x.empty() && s.x.size() != s.y.size())
      throw Error(fmt::format("{} values of x and {} of y", s.x.size(), s.y.size()),
                  {"give one x for each y, or none"});
    for (size_t i = 0; i < s.y.size(); ++i) {
      const double x = s.x.empty() ? static_cast<double>(i) : s.x[i];
      if (!drawable(s.y[i], chart.log_y) || !std::isfinite(x)) continue;
      left = std::min(left, x);
      right = std::max(right, x);
      low = std::min(low, s.y[i]);
      high = std::max(high, s.y[i]);
    }
  }
  if (!(left <= right))
    throw Error(chart.log_y ? "there is no positive number to draw" : "there is no finite number to draw",
                {"values that are NaN or infinite leave gaps"});
  ChartGeometry out{make(left, right, false, across, false), make(low, high, chart.log_y, up, true), {}};
  for (const Series& s : chart.series) {
    std::vector<Point> points;
    points.reserve(s.y.size());
    for (size_t i = 0; i < s.y.size(); ++i) {
      const double x = s.x.empty() ? static_cast<double>(i) : s.x[i];
      const bool seen = drawable(s.y[i], chart.log_y) && std::isfinite(x);
      points.push_back({std::isfinite(x) ? out.x.place(x) : 0,
                        seen ? out.y.place(s.y[i]) : std::numeric_limits<double>::quiet_NaN()});
    }
    out.points.push_back(std::move(points));
  }
  return out;
}

std::string tick_text(const Scale& scale, double tick) {
  if (scale.log) return fmt::format("{:.3g}", tick);
  const double step = scale.ticks.size() > 1 ? std::abs(scale.ticks[1] - scale.ticks[0]) : std::abs(tick);
  const double size = std::max(std::abs(scale.low), std::abs(scale.high));
  if (size >= 1e7 || (size > 0 && size < 1e-4)) return fmt::format("{:.3g}", tick);
  const int digits = step > 0 ? std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 8) : 0;
  return fmt::format("{:.{}f}", tick, digits);
}

}  // namespace pxl
