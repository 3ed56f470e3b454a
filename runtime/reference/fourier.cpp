// Discrete Fourier transforms, by their sums.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "runtime/op/algebra_definitions.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

// In half of a spectrum each number stands for two. The first one stands for itself, and so does the last one of an
// even extent: their imaginary parts do not count.
void fourier(ReferenceContext& c) {
  const Reals t = c.real(0);
  const int64_t real = c.integer("real");
  const bool inverse = c.boolean("inverse"), of_real = real > 0 && !inverse, to_real = real > 0 && inverse;
  Shape numbers = c.shape(0);
  if (!of_real) numbers.pop_back();
  const size_t axis = c.axis("axis");
  const int64_t n = real > 0 ? real : numbers[axis], half = n / 2 + 1;
  const int64_t given = to_real ? half : n, wanted = of_real ? half : n;
  // A line's numbers are `step` apart.
  const Shape behind(numbers.begin() + static_cast<int64_t>(axis) + 1, numbers.end());
  const int64_t step = element_count(behind), lines = given == 0 ? 0 : element_count(numbers) / given;
  const double turn = (inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(std::max<int64_t>(n, 1));
  std::vector<double> cosines, sines;
  for (int64_t j = 0; j < n; ++j) {
    cosines.push_back(std::cos(turn * static_cast<double>(j)));
    sines.push_back(std::sin(turn * static_cast<double>(j)));
  }
  Reals y = Reals::from_shape(extents(c.out_shape()));
  for (int64_t line = 0; line < lines; ++line) {
    const auto place = [&](int64_t extent, int64_t i) { return (line / step * extent + i) * step + line % step; };
    const auto part = [&](int64_t j, int64_t which) {
      return of_real ? (which == 0 ? t.data()[place(given, j)] : 0.0) : t.data()[2 * place(given, j) + which];
    };
    bool finite = true;
    for (int64_t j = 0; j < given; ++j) finite = finite && std::isfinite(part(j, 0)) && std::isfinite(part(j, 1));
    for (int64_t k = 0; k < wanted; ++k) {
      double re = finite ? 0 : std::numeric_limits<double>::quiet_NaN(), im = re;
      for (int64_t j = 0; j < given && finite; ++j) {
        const auto angle = static_cast<size_t>(j * k % n);
        const bool single = j == 0 || 2 * j == n;
        const double a = to_real && !single ? 2 * part(j, 0) : part(j, 0);
        const double b = to_real ? (single ? 0 : 2 * part(j, 1)) : part(j, 1);
        re += a * cosines[angle] - b * sines[angle];
        im += a * sines[angle] + b * cosines[angle];
      }
      const int64_t at = place(wanted, k);
      y.data()[to_real ? at : 2 * at] = re;
      if (!to_real) y.data()[2 * at + 1] = im;
    }
  }
  c.out(0, y);
}

}  // namespace pxl::reference
