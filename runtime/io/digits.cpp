// Generator of handwritten-looking digits. Each image has its own Philox counter range, so image i of a seed does not
// depend on the size of the set. A glyph's control points are displaced (jitter, a smooth distortion, an affine map)
// and joined by a spline. Strokes of varying thickness along the spline are drawn into a distance map.
#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/base/limits/interrupt.hpp"
#include "runtime/io/dataset.hpp"
#include "runtime/io/glyphs.hpp"
#include "runtime/io/pixels.hpp"

namespace pxl {
namespace {

constexpr int side = 28;
constexpr int pieces = 4;  ///< line segments per span of a spline

/// Parameters of the variation, chosen so that a linear classifier is clearly worse than a multi-layer one.
struct Variety {
  float jitter = 0.036f;  ///< standard deviation of a point's displacement, in glyph units
  float warp = 0.11f;     ///< maximum smooth displacement, in glyph units
  float turn = 0.34f;     ///< maximum rotation, radians
  float slant = 0.40f;    ///< maximum shear
  float shift = 2.8f;     ///< maximum translation, pixels
  float speckle = 0.25f;  ///< maximum loss of ink per pixel
};
constexpr Variety variety;

/// Random numbers of one image.
class Draws {
 public:
  Draws(uint64_t seed, int64_t picture) : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)} {
    auto p = static_cast<uint64_t>(picture);
    counter_ = {static_cast<uint32_t>(p), static_cast<uint32_t>(p >> 32), 0,
                0x64696769};  // distinct from Random's streams
  }
  uint32_t bits() {
    if (used_ == 4) block_ = philox4x32(counter_, key_), ++counter_[2], used_ = 0;
    return block_[used_++];
  }
  float unit() { return static_cast<float>(bits() >> 8) * 0x1p-24f; }
  float between(float low, float high) { return low + (high - low) * unit(); }
  /// Bell-shaped on [-1, 1].
  float bell() {
    uint32_t b = bits();
    return (static_cast<float>(b & 0xFFFF) + static_cast<float>(b >> 16)) * 0x1p-16f - 1.0f;
  }
  int below(int n) { return static_cast<int>(uint64_t{bits()} * static_cast<uint64_t>(n) >> 32); }

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_{}, block_{};
  size_t used_ = 4;
};

/// A smooth displacement: 4 x 4 random vectors over the glyph's box, interpolated with smoothstep weights.
class Warp {
 public:
  explicit Warp(Draws& draws) {
    for (auto& v : grid_) v = {variety.warp * draws.bell() * 1.4f, variety.warp * draws.bell() * 1.4f};
  }
  GlyphPoint operator()(GlyphPoint p) const {
    auto cell = [](float v, int& index, float& weight) {
      float scaled = std::clamp(v, 0.0f, 1.0f) * 3.0f;
      index = std::min(static_cast<int>(scaled), 2);
      float t = scaled - static_cast<float>(index);
      weight = t * t * (3.0f - 2.0f * t);
    };
    int ix, iy;
    float wx, wy;
    cell(p.x, ix, wx), cell(p.y, iy, wy);
    auto at = [&](int x, int y) { return grid_[static_cast<size_t>(y * 4 + x)]; };
    GlyphPoint a = at(ix, iy), b = at(ix + 1, iy), c = at(ix, iy + 1), d = at(ix + 1, iy + 1);
    auto blend = [&](float u, float v, float w, float z) {
      return (u + (v - u) * wx) * (1 - wy) + (w + (z - w) * wx) * wy;
    };
    return {p.x + blend(a.x, b.x, c.x, d.x), p.y + blend(a.y, b.y, c.y, d.y)};
  }

 private:
  std::array<GlyphPoint, 16> grid_;
};

/// Ink per pixel: the maximum of (radius - distance) over all segments of all strokes.
class Canvas {
 public:
  Canvas() { depth_.fill(-1.0f); }

  void piece(GlyphPoint a, GlyphPoint b, float radius_a, float radius_b) {
    float reach = std::max(radius_a, radius_b) + 1.0f;
    int x0 = pixel(std::min(a.x, b.x) - reach), x1 = pixel(std::max(a.x, b.x) + reach);
    int y0 = pixel(std::min(a.y, b.y) - reach), y1 = pixel(std::max(a.y, b.y) + reach);
    float dx = b.x - a.x, dy = b.y - a.y, inverse = 1.0f / std::max(dx * dx + dy * dy, 1e-6f);
    for (int y = y0; y <= y1; ++y) {
      float* row = &depth_[static_cast<size_t>(y * side)];
      float py = static_cast<float>(y) + 0.5f - a.y;
      for (int x = x0; x <= x1; ++x) {
        float px = static_cast<float>(x) + 0.5f - a.x;
        float t = std::min(std::max((px * dx + py * dy) * inverse, 0.0f), 1.0f);
        float ex = px - t * dx, ey = py - t * dy;
        float depth = radius_a + (radius_b - radius_a) * t - std::sqrt(ex * ex + ey * ey);
        row[x] = std::max(row[x], depth);
      }
    }
  }

  /// Renders grey values; `softness` is the width of the edge in pixels.
  void develop(uint8_t* out, float softness, Draws& draws) const {
    float slope = 1.0f / softness;
    for (size_t i = 0; i < depth_.size(); i += 4) {
      uint32_t noise = 0;
      bool have = false;
      for (size_t k = i; k < i + 4; ++k, noise >>= 8) {
        float ink = depth_[k] * slope + 0.5f;
        if (ink <= 0.0f) continue;
        if (!have) noise = draws.bits() >> (8 * (k - i)), have = true;
        ink = std::min(ink, 1.0f) *
              (1.0f - variety.speckle * static_cast<float>(noise & 0xFF) * (noise & 0x80 ? 0.0f : 0x1p-7f));
        out[k] = static_cast<uint8_t>(ink * 255.0f + 0.5f);
      }
    }
  }

 private:
  static int pixel(float v) { return std::clamp(static_cast<int>(v), 0, side - 1); }
  std::array<float, side * side> depth_;
};

/// Catmull-Rom spline: interpolates all points; the tangent at a point is parallel to the line between its neighbours.
GlyphPoint spline(GlyphPoint before, GlyphPoint a, GlyphPoint b, GlyphPoint after, float t) {
  auto value = [t](float p, float q, float r, float s) {
    return 0.5f * (2 * q + t * (r - p + t * (2 * p - 5 * q + 4 * r - s + t * (3 * (q - r) + s - p))));
  };
  return {value(before.x, a.x, b.x, after.x), value(before.y, a.y, b.y, after.y)};
}

const Glyph& choose(int digit, Draws& draws) {
  int total = 0;
  for (const Glyph& g : glyphs()) total += g.digit == digit ? g.weight : 0;
  int pick = draws.below(total);
  for (const Glyph& g : glyphs())
    if (g.digit == digit && (pick -= g.weight) < 0) return g;
  return glyphs().front();
}

constexpr size_t max_points = 32;

int draw_digit(uint8_t* out, uint64_t seed, int64_t picture) {
  Draws draws(seed, picture);
  int digit = draws.below(10);
  const Glyph& glyph = choose(digit, draws);
  Warp warp(draws);

  float angle = variety.turn * draws.bell(), shear = variety.slant * draws.bell() + 0.06f;
  float height = draws.between(16.5f, 21.0f), width = height * draws.between(0.52f, 0.92f);
  float cosine = std::cos(angle), sine = std::sin(angle);
  // Centres the box, then adds a random shift.
  float middle_x = 14.0f + variety.shift * draws.bell(), middle_y = 14.0f + variety.shift * draws.bell();
  auto place = [&](GlyphPoint p) {
    p = warp(p);
    float x = (p.x - 0.5f) * width, y = (p.y - 0.5f) * height;
    x -= shear * y;
    return GlyphPoint{middle_x + cosine * x - sine * y, middle_y + sine * x + cosine * y};
  };
  float radius = draws.between(0.75f, 1.75f), pressure = draws.between(0.0f, 0.3f), phase = draws.between(0.0f, 6.28f);

  Canvas canvas;
  GlyphPoint last_raw{-9, -9}, last_moved{};
  int step = 0;
  for (const GlyphStroke& stroke : glyph.strokes) {
    std::array<GlyphPoint, max_points> points;
    size_t n = std::min(stroke.points.size(), max_points);
    for (size_t i = 0; i < n; ++i) {
      GlyphPoint raw = stroke.points[i];
      // Strokes that share a corner keep sharing it.
      bool joined = i == 0 && raw.x == last_raw.x && raw.y == last_raw.y;
      GlyphPoint jittered{raw.x + 2 * variety.jitter * draws.bell(), raw.y + 2 * variety.jitter * draws.bell()};
      points[i] = joined ? last_moved : place(jittered);
      last_raw = raw, last_moved = points[i];
    }
    for (size_t i = 0; i + 1 < n; ++i) {
      GlyphPoint before = points[i > 0 ? i - 1 : 0], a = points[i], b = points[i + 1],
                 after = points[i + 2 < n ? i + 2 : n - 1];
      GlyphPoint from = a;
      for (int k = 1; k <= pieces; ++k) {
        GlyphPoint to = k == pieces ? b : spline(before, a, b, after, static_cast<float>(k) / pieces);
        auto thickness = [&](int s) {
          return radius * (1.0f + pressure * std::sin(phase + 0.35f * static_cast<float>(s)));
        };
        canvas.piece(from, to, thickness(step), thickness(step + 1));
        ++step;
        from = to;
      }
    }
  }
  canvas.develop(out, draws.between(0.9f, 1.6f), draws);
  return digit;
}

}  // namespace

DigitSet draw_digits(int64_t count, uint64_t seed) {
  Array pixels = Array::zeros(DType::uint8, {count, side, side});
  Array labels(DType::int32, {count});
  uint8_t* out = pixels.mutable_data<uint8_t>();
  int32_t* label = labels.mutable_data<int32_t>();
  for (int64_t i = 0; i < count; ++i) {
    if (i % 1024 == 0) check_interrupt();
    label[i] = draw_digit(out + i * side * side, seed, i);
  }
  return {normalised_pixels(pixels), labels};
}

}  // namespace pxl
