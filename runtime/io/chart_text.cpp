// Charts as text. A braille cell has two dots across and four up; an ASCII cell has one mark.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/diagnostics/source.hpp"
#include "runtime/base/text/utf8.hpp"
#include "runtime/io/chart_scale.hpp"

namespace pxl {

namespace {

struct Cell {
  uint8_t dots = 0;
  int series = -1;
};

class Grid {
 public:
  Grid(int columns, int rows, bool braille)
      : columns_(columns),
        rows_(rows),
        across_(braille ? 2 : 1),
        up_(braille ? 4 : 1),
        cells_(static_cast<size_t>(columns) * static_cast<size_t>(rows)) {}

  void line(Point a, Point b, int series) {
    const double x0 = a.x * (columns_ * across_ - 1), y0 = (1 - a.y) * (rows_ * up_ - 1),
                 x1 = b.x * (columns_ * across_ - 1), y1 = (1 - b.y) * (rows_ * up_ - 1);
    const int steps = std::max(1, static_cast<int>(std::ceil(std::max(std::abs(x1 - x0), std::abs(y1 - y0)))));
    for (int i = 0; i <= steps; ++i) dot(x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps, series);
  }
  const Cell& at(int column, int row) const {
    return cells_[static_cast<size_t>(row) * static_cast<size_t>(columns_) + static_cast<size_t>(column)];
  }

 private:
  void dot(double x, double y, int series) {
    const int px = std::clamp(static_cast<int>(std::lround(x)), 0, columns_ * across_ - 1),
              py = std::clamp(static_cast<int>(std::lround(y)), 0, rows_ * up_ - 1);
    // Unicode numbers braille dots down the left column, then the right one, the lowest row last.
    constexpr uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    Cell& c = cells_[static_cast<size_t>(py / up_) * static_cast<size_t>(columns_) + static_cast<size_t>(px / across_)];
    c.dots |= bits[py % up_][px % across_];
    c.series = series;
  }
  int columns_, rows_, across_, up_;
  std::vector<Cell> cells_;
};

std::string utf8(uint32_t point) {
  return {static_cast<char>(0xE0 | point >> 12), static_cast<char>(0x80 | (point >> 6 & 63)),
          static_cast<char>(0x80 | (point & 63))};
}

constexpr int colours[] = {34, 33, 32, 35, 36, 31};
constexpr char marks[] = "*o+x#@";
constexpr size_t kinds = 6;

std::string coloured(const std::string& text, int series, bool colour) {
  return colour && series >= 0 ? fmt::format("\x1b[{}m{}\x1b[0m", colours[static_cast<size_t>(series) % kinds], text)
                               : text;
}

std::string centred(const std::string& text, int width) {
  return std::string(static_cast<size_t>(std::max(0, (width - display_width(text)) / 2)), ' ') + text + "\n";
}

}  // namespace

std::string chart_text(const Chart& chart, const TextOptions& options) {
  const int width = std::max(options.width, 24),
            legend = chart.series.size() > 1 || !chart.series[0].label.empty() ? 1 : 0;
  const int rows = std::max(3, std::max(options.height, 5) - 2 - (chart.title.empty() ? 0 : 1) - legend -
                                   (chart.x_label.empty() ? 0 : 1) - (chart.y_label.empty() ? 0 : 1));
  const ChartGeometry geometry = chart_geometry(chart, width / 14, rows / 3);
  int margin = 0;
  for (const double t : geometry.y.ticks) margin = std::max(margin, static_cast<int>(tick_text(geometry.y, t).size()));
  const int columns = width - margin - 2;
  Grid grid(columns, rows, options.braille);
  for (size_t s = 0; s < geometry.points.size(); ++s) {
    const std::vector<Point>& p = geometry.points[s];
    for (size_t i = 0; i < p.size(); ++i) {
      if (!std::isfinite(p[i].y)) continue;
      const bool joined = i > 0 && std::isfinite(p[i - 1].y);
      grid.line(joined ? p[i - 1] : p[i], p[i], static_cast<int>(s));
    }
  }
  std::string out;
  if (!chart.title.empty()) out += centred(cleaned(chart.title), width);
  // Above its axis: a terminal cannot rotate text.
  if (!chart.y_label.empty())
    out += std::string(static_cast<size_t>(std::max(0, margin + 1 - display_width(chart.y_label) / 2)), ' ') +
           cleaned(chart.y_label) + "\n";
  for (int r = 0; r < rows; ++r) {
    std::string label;
    for (const double t : geometry.y.ticks)
      if (std::lround((1 - geometry.y.place(t)) * (rows - 1)) == r) label = tick_text(geometry.y, t);
    out += fmt::format("{:>{}} {}", label, margin, options.braille ? (label.empty() ? "│" : "┤") : "|");
    std::string line;
    for (int c = 0; c < columns; ++c) {
      const Cell& cell = grid.at(c, r);
      if (cell.dots == 0)
        line += ' ';
      else if (options.braille)
        line += coloured(utf8(0x2800 + cell.dots), cell.series, options.colour);
      else
        line += coloured(std::string(1, marks[static_cast<size_t>(cell.series) % kinds]), cell.series, options.colour);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
  }
  std::string axis, numbers(static_cast<size_t>(width) + 1, ' ');
  for (int c = 0; c < columns; ++c) axis += options.braille ? "─" : "-";
  size_t free = 0;
  for (const double t : geometry.x.ticks) {
    const std::string text = tick_text(geometry.x, t);
    const auto middle = static_cast<int>(std::lround(geometry.x.place(t) * (columns - 1)));
    const auto begin = static_cast<size_t>(
        std::clamp(margin + 2 + middle - static_cast<int>(text.size()) / 2, 0, width - static_cast<int>(text.size())));
    if (begin < free) continue;
    numbers.replace(begin, text.size(), text);
    free = begin + text.size() + 1;
  }
  numbers.erase(numbers.find_last_not_of(' ') + 1);
  out +=
      std::string(static_cast<size_t>(margin) + 1, ' ') + (options.braille ? "└" : "+") + axis + "\n" + numbers + "\n";
  if (!chart.x_label.empty())
    out += std::string(static_cast<size_t>(margin) + 2, ' ') + centred(cleaned(chart.x_label), columns);
  if (legend) {
    std::string line(static_cast<size_t>(margin) + 2, ' ');
    for (size_t s = 0; s < chart.series.size(); ++s) {
      const std::string mark = options.braille ? "━" : std::string(1, marks[s % kinds]);
      line += coloured(mark, static_cast<int>(s), options.colour) + " " +
              (chart.series[s].label.empty() ? std::to_string(s) : cleaned(chart.series[s].label)) + "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace pxl
