// Discrete Fourier transforms, by their sums.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "runtime/op/algebra_definitions.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

void fourier(ReferenceContext& c) {
  const Reals t = c.real(0);
  const int64_t n = c.shape(0).end()[-2], lines = n == 0 ? 0 : element_count(c.shape(0)) / (2 * n);
  const double turn = (c.boolean("inverse") ? 2 : -2) * std::numbers::pi / static_cast<double>(std::max<int64_t>(n, 1));
  std::vector<double> cosines, sines;
  for (int64_t j = 0; j < n; ++j) {
    cosines.push_back(std::cos(turn * static_cast<double>(j)));
    sines.push_back(std::sin(turn * static_cast<double>(j)));
  }
  Reals y = Reals::from_shape(extents(c.out_shape()));
  for (int64_t line = 0; line < lines; ++line) {
    const double* x = t.data() + line * 2 * n;
    if (!std::all_of(x, x + 2 * n, [](double v) { return std::isfinite(v); })) {
      std::fill_n(y.data() + line * 2 * n, 2 * n, std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    for (int64_t k = 0; k < n; ++k) {
      double re = 0, im = 0;
      for (int64_t j = 0; j < n; ++j) {
        const auto angle = static_cast<size_t>(j * k % n);
        re += x[2 * j] * cosines[angle] - x[2 * j + 1] * sines[angle];
        im += x[2 * j] * sines[angle] + x[2 * j + 1] * cosines[angle];
      }
      y.data()[(line * n + k) * 2] = re;
      y.data()[(line * n + k) * 2 + 1] = im;
    }
  }
  c.out(0, y);
}

}  // namespace pxl::reference
