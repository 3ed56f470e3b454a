#include "interpreter/cli/logo.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "runtime/io/png.hpp"

namespace pxl::cli {

namespace {

struct Point {
  double x, y;
};

double to_segment(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y;
  const double t = std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / (dx * dx + dy * dy), 0.0, 1.0);
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

// Signed distance to a square with rounded corners; negative inside.
double to_square(Point p, Point middle, double half, double corner) {
  const double x = std::max(std::abs(p.x - middle.x) - half + corner, 0.0),
               y = std::max(std::abs(p.y - middle.y) - half + corner, 0.0);
  return std::hypot(x, y) - corner;
}

constexpr Point left{0.28, 0.30}, right{0.72, 0.30}, below{0.50, 0.72};

// The colour at a point in the unit square: white marks on blue, transparent outside.
std::array<double, 4> colour(Point p) {
  if (to_square(p, {0.5, 0.5}, 0.5, 0.2) > 0) return {0, 0, 0, 0};
  const double mark =
      std::min({to_square(p, left, 0.12, 0.03), to_square(p, right, 0.12, 0.03), to_square(p, below, 0.12, 0.03),
                to_segment(p, left, below) - 0.03, to_segment(p, right, below) - 0.03});
  return mark < 0 ? std::array<double, 4>{255, 255, 255, 255} : std::array<double, 4>{36, 88, 197, 255};
}

}  // namespace

std::string logo_png(int size) {
  constexpr int samples = 4;  // supersampling per axis, for smooth edges
  std::vector<uint8_t> rgba;
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      std::array<double, 4> sum{};
      for (int i = 0; i < samples * samples; ++i) {
        const std::array<double, 4> one =
            colour({(x + (i % samples + 0.5) / samples) / size, (y + (i / samples + 0.5) / samples) / size});
        for (size_t c = 0; c < 3; ++c) sum[c] += one[c] * one[3] / 255;
        sum[3] += one[3];
      }
      const double covered = sum[3] / 255;
      for (size_t c = 0; c < 3; ++c)
        rgba.push_back(static_cast<uint8_t>(covered > 0 ? std::lround(sum[c] / covered) : 0));
      rgba.push_back(static_cast<uint8_t>(std::lround(sum[3] / (samples * samples))));
    }
  }
  return encode_png(size, size, rgba);
}

}  // namespace pxl::cli
