// Line charts as text (braille dots or ASCII) and as SVG.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pxl {

struct Series {
  std::string label;      ///< may be empty
  std::vector<double> x;  ///< as long as y; empty: 0, 1, 2, ...
  std::vector<double> y;  ///< gaps at values that are not finite
};

struct Chart {
  std::string title, x_label, y_label;  ///< may be empty
  std::vector<Series> series;           ///< at least one
  bool log_y = false;                   ///< base 10; gaps at values that are not positive
};

struct TextOptions {
  int width = 72, height = 16;  ///< total columns and rows, labels included; at least 24 and 5
  bool colour = false;          ///< ANSI colours for the series
  bool braille = true;          ///< else ASCII only
};

/// Lines of text, each with a newline. Throws Error if nothing can be drawn: no finite value, or x and y of different
/// lengths.
std::string chart_text(const Chart& chart, const TextOptions& options = {});

/// A complete SVG document of `width` by `height` pixels. Series with more points than pixel columns keep their
/// extremes. Throws as chart_text does.
std::string chart_svg(const Chart& chart, int width = 640, int height = 360);

}  // namespace pxl
