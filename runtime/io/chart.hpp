// Line charts: in the terminal as braille dots, and as SVG.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pxl {

struct Series {
  std::string label;      ///< may be empty
  std::vector<double> x;  ///< as many as y; empty counts from 0
  std::vector<double> y;  ///< values that are not finite leave gaps
};

struct Chart {
  std::string title, x_label, y_label;  ///< may be empty
  std::vector<Series> series;           ///< at least one
  bool log_y = false;                   ///< base 10; values that are not positive leave gaps
};

struct TextOptions {
  int width = 72, height = 16;  ///< columns and rows of all, labels included; at least 24 and 5
  bool colour = false;          ///< ANSI colours tell the series apart
  bool braille = true;          ///< else only ASCII
};

/// Lines of text, each ended. Throws Error where nothing can be drawn: no finite value, x and y of different lengths.
std::string chart_text(const Chart& chart, const TextOptions& options = {});

/// A whole SVG document, `width` by `height` pixels. Series longer than the picture is wide keep their extremes.
/// Throws as chart_text.
std::string chart_svg(const Chart& chart, int width = 640, int height = 360);

}  // namespace pxl
