// Glyphs of digits as strokes, several variants per digit.
#pragma once

#include <span>

namespace pxl {

struct GlyphPoint {
  float x, y;  ///< in a unit box, y points down
};

/// A smooth curve through its points. A stroke that starts at the end of the previous one forms a corner.
struct GlyphStroke {
  std::span<const GlyphPoint> points;
};

struct Glyph {
  int digit;
  int weight;  ///< relative frequency among the variants of a digit
  std::span<const GlyphStroke> strokes;
};

std::span<const Glyph> glyphs();

}  // namespace pxl
