// How people write digits: several ways each, as strokes.
#pragma once

#include <span>

namespace pxl {

struct GlyphPoint {
  float x, y;  ///< in a unit box, y downwards
};

/// A stroke is a smooth curve through its points; where a new stroke starts at the old one's end there is a corner.
struct GlyphStroke {
  std::span<const GlyphPoint> points;
};

struct Glyph {
  int digit;
  int weight;  ///< how often this way is chosen among those of its digit
  std::span<const GlyphStroke> strokes;
};

std::span<const Glyph> glyphs();

}  // namespace pxl
