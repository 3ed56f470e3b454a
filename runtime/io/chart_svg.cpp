// Charts as SVG.
#include <fmt/format.h>
#include <cstdint>

#include <algorithm>
#include <cmath>

#include "runtime/base/text/markup.hpp"
#include "runtime/io/chart_scale.hpp"

namespace pxl {

namespace {

constexpr const char* palette[] = {"#2f6fdb", "#d9822b", "#2a9d8f", "#b8476f", "#7a4fc4", "#8d939e"};

// Decimation: of the points in one pixel column keeps the first, the extremes and the last.
std::vector<Point> thinned(const std::vector<Point>& points, int pixels) {
  if (points.size() <= static_cast<size_t>(pixels) * 4) return points;
  std::vector<Point> out;
  for (size_t i = 0; i < points.size();) {
    const auto column = static_cast<int64_t>(points[i].x * pixels);
    size_t end = i, low = i, high = i;
    while (end < points.size() && static_cast<int64_t>(points[end].x * pixels) == column) {
      if (!(points[end].y >= points[low].y)) low = end;
      if (!(points[end].y <= points[high].y)) high = end;
      ++end;
    }
    size_t kept[] = {i, low, high, end - 1};
    std::sort(std::begin(kept), std::end(kept));
    for (size_t k = 0; k < 4; ++k)
      if (k == 0 || kept[k] != kept[k - 1]) out.push_back(points[kept[k]]);
    i = end;
  }
  return out;
}

}  // namespace

std::string chart_svg(const Chart& chart, int width, int height) {
  const ChartGeometry geometry = chart_geometry(chart, width / 110, height / 50);
  size_t digits = 1;
  for (const double t : geometry.y.ticks) digits = std::max(digits, tick_text(geometry.y, t).size());
  const bool legend = chart.series.size() > 1 || !chart.series[0].label.empty();
  const double left = 16 + 7.0 * static_cast<double>(digits) + (chart.y_label.empty() ? 0 : 18), right = width - 16.0,
               top = (chart.title.empty() ? 14 : 34) + (legend ? 18 : 0),
               bottom = height - (chart.x_label.empty() ? 28.0 : 46.0);
  const auto px = [&](double x) { return left + x * (right - left); };
  const auto py = [&](double y) { return bottom - y * (bottom - top); };
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"system-ui, 'DejaVu Sans', sans-serif\" font-size=\"12\" fill=\"#5d626b\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      width, height);
  if (!chart.title.empty())
    out += fmt::format(
        "<text x=\"{:.1f}\" y=\"22\" font-size=\"14\" font-weight=\"600\" fill=\"#1d1f23\" "
        "text-anchor=\"middle\">{}</text>\n",
        width / 2.0, escape_markup(chart.title));
  if (legend) {
    double x = left;
    for (size_t s = 0; s < chart.series.size(); ++s) {
      const std::string label = chart.series[s].label.empty() ? std::to_string(s) : chart.series[s].label;
      out += fmt::format(
          "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"2.5\"/><text "
          "x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
          x, x + 18, top - 14, top - 14, palette[s % std::size(palette)], x + 23, top - 10, escape_markup(label));
      x += 40 + 7.0 * static_cast<double>(label.size());
    }
  }
  for (const double t : geometry.y.ticks) {
    const double y = py(geometry.y.place(t));
    out += fmt::format(
        "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#e2e3e0\"/><text x=\"{:.1f}\" "
        "y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        left, right, y, y, left - 6, y + 4, tick_text(geometry.y, t));
  }
  for (const double t : geometry.x.ticks)
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", px(geometry.x.place(t)),
                       bottom + 18, tick_text(geometry.x, t));
  out += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#8b919b\"/>\n", left,
                     right, bottom, bottom);
  if (!chart.x_label.empty())
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", (left + right) / 2,
                       height - 10.0, escape_markup(chart.x_label));
  if (!chart.y_label.empty())
    out += fmt::format("<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                       (top + bottom) / 2, escape_markup(chart.y_label));
  for (size_t s = 0; s < geometry.points.size(); ++s) {
    const char* colour = palette[s % std::size(palette)];
    std::string path;
    bool open = false;
    size_t alone = 0;
    for (const Point& p : thinned(geometry.points[s], static_cast<int>(right - left))) {
      if (!std::isfinite(p.y)) {
        open = false;
        continue;
      }
      path += fmt::format("{}{:.1f} {:.1f}", open ? "L" : "M", px(p.x), py(p.y));
      open = true;
      ++alone;
    }
    out += fmt::format(
        "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\" "
        "stroke-linecap=\"round\"/>\n",
        path, colour);
    if (alone == 1)
      for (const Point& p : geometry.points[s])
        if (std::isfinite(p.y))
          out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", px(p.x), py(p.y), colour);
  }
  return out + "</svg>\n";
}

}  // namespace pxl
