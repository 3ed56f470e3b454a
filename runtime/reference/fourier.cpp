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
  const int64_t n = real > 0 ? real : c.shape(0).end()[-2], half = n / 2 + 1;
  const int64_t given = to_real ? half : n, wanted = of_real ? half : n;
  const int64_t in = of_real ? n : 2 * given, out = to_real ? n : 2 * wanted,
                lines = n == 0 ? 0 : element_count(c.shape(0)) / in;
  const double turn = (inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(std::max<int64_t>(n, 1));
  std::vector<double> cosines, sines;
  for (int64_t j = 0; j < n; ++j) {
    cosines.push_back(std::cos(turn * static_cast<double>(j)));
    sines.push_back(std::sin(turn * static_cast<double>(j)));
  }
  Reals y = Reals::from_shape(extents(c.out_shape()));
  for (int64_t line = 0; line < lines; ++line) {
    const double* x = t.data() + line * in;
    double* to = y.data() + line * out;
    if (!std::all_of(x, x + in, [](double v) { return std::isfinite(v); })) {
      std::fill_n(to, out, std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    for (int64_t k = 0; k < wanted; ++k) {
      double re = 0, im = 0;
      for (int64_t j = 0; j < given; ++j) {
        const auto angle = static_cast<size_t>(j * k % n);
        const bool single = j == 0 || 2 * j == n;
        const double a = of_real ? x[j] : to_real && !single ? 2 * x[2 * j] : x[2 * j];
        const double b = of_real || (to_real && single) ? 0 : to_real ? 2 * x[2 * j + 1] : x[2 * j + 1];
        re += a * cosines[angle] - b * sines[angle];
        im += a * sines[angle] + b * cosines[angle];
      }
      to[to_real ? k : 2 * k] = re;
      if (!to_real) to[2 * k + 1] = im;
    }
  }
  c.out(0, y);
}

}  // namespace pxl::reference
