// Further functions of one tensor, and the ops of image nets that no family before has.
#include <cmath>
#include <limits>
#include <numbers>

#include "runtime/op/algebra_definitions.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

void acos(ReferenceContext& c) { c.out(0, xt::acos(c.real(0))); }
void acosh(ReferenceContext& c) { c.out(0, xt::acosh(c.real(0))); }
void asin(ReferenceContext& c) { c.out(0, xt::asin(c.real(0))); }
void asinh(ReferenceContext& c) { c.out(0, xt::asinh(c.real(0))); }
void atan(ReferenceContext& c) { c.out(0, xt::atan(c.real(0))); }
void atanh(ReferenceContext& c) { c.out(0, xt::atanh(c.real(0))); }
void cosh(ReferenceContext& c) { c.out(0, xt::cosh(c.real(0))); }
void sinh(ReferenceContext& c) { c.out(0, xt::sinh(c.real(0))); }
void tan(ReferenceContext& c) { c.out(0, xt::tan(c.real(0))); }

void leaky_relu(ReferenceContext& c) {
  const double alpha = c.number("alpha");
  c.out(0, each([=](double x) { return x < 0 ? x * alpha : x; }, c.real(0)));
}
void elu(ReferenceContext& c) {
  const double alpha = c.number("alpha");
  c.out(0, each([=](double x) { return x < 0 ? alpha * std::expm1(x) : x; }, c.real(0)));
}
void selu(ReferenceContext& c) {
  const double alpha = c.number("alpha"), gamma = c.number("gamma");
  c.out(0, each([=](double x) { return gamma * (x < 0 ? alpha * std::expm1(x) : x); }, c.real(0)));
}
void celu(ReferenceContext& c) {
  const double alpha = c.number("alpha");
  c.out(0, each([=](double x) { return x < 0 ? alpha * std::expm1(x / alpha) : x; }, c.real(0)));
}
void hard_sigmoid(ReferenceContext& c) {
  const double alpha = c.number("alpha"), beta = c.number("beta");
  c.out(0, each([=](double x) { return smaller(larger(alpha * x + beta, 0.0), 1.0); }, c.real(0)));
}
void hard_swish(ReferenceContext& c) {
  c.out(0, each([](double x) { return x * smaller(larger(x / 6 + 0.5, 0.0), 1.0); }, c.real(0)));
}
void shrink(ReferenceContext& c) {
  c.numbers([&](const auto& x) {
    using V = typename std::decay_t<decltype(x)>::value_type;
    const V lambd = c.element<V>("lambd"), bias = c.element<V>("bias"), low = std::is_signed_v<V> ? -lambd : V(0);
    return each([=](V v) { return v > lambd ? V(v - bias) : v < low ? V(v + bias) : v != v ? v : V(0); }, x);
  });
}
void softsign(ReferenceContext& c) {
  c.out(0, each([](double x) { return std::isinf(x) ? std::copysign(1.0, x) : x / (1 + std::abs(x)); }, c.real(0)));
}
void thresholded_relu(ReferenceContext& c) {
  const auto alpha = c.element<double>("alpha");
  c.out(0, each([=](double x) { return x > alpha || x != x ? x : 0.0; }, c.real(0)));
}
void prelu(ReferenceContext& c) {
  c.out(0, each([](double x, double slope) { return x < 0 ? x * slope : x; }, c.real(0), c.real(1)));
}

// Newton's steps from an approximation, by the complement where the function is near 1. Source of the first number:
// S. Winitzki, "A handy approximation for the error function and its inverse", 2008.
void erfinv(ReferenceContext& c) {
  c.out(0, each(
               [](double x) {
                 if (!(std::abs(x) < 1))
                   return std::abs(x) == 1 ? x * std::numeric_limits<double>::infinity() : std::nan("");
                 const double size = std::abs(x), log = std::log1p(-x * x),
                              half = 2 / (std::numbers::pi * 0.147) + log / 2;
                 double y = std::sqrt(std::sqrt(half * half - log / 0.147) - half);
                 for (int step = 0; step < 4 && size > 0; ++step) {
                   const double over = size < 0.5 ? std::erf(y) - size : (1 - size) - std::erfc(y);
                   const double newton = over / (2 / std::sqrt(std::numbers::pi) * std::exp(-y * y));
                   y -= newton / (1 + y * newton);
                 }
                 return std::copysign(y, x);
               },
               c.real(0)));
}

namespace {

struct Sampling {
  std::string mode, padding;
  bool align = false;

  /// From -1..1 to a position of pixels.
  double position(double v, int64_t n) const {
    const auto extent = static_cast<double>(n);
    return align ? (v + 1) / 2 * (extent - 1) : ((v + 1) * extent - 1) / 2;
  }
  /// Maps a position outside to the position that the padding uses.
  double inside(double v, int64_t n) const {
    const auto extent = static_cast<double>(n);
    if (padding == "border") return smaller(larger(v, 0.0), extent - 1);
    if (padding != "reflection") return v;
    const double low = align ? 0 : -0.5, high = align ? extent - 1 : extent - 0.5, span = high - low;
    if (span <= 0) return 0;
    double beyond = std::fmod(std::abs(v - low), 2 * span);
    if (beyond > span) beyond = 2 * span - beyond;
    return smaller(larger(low + beyond, 0.0), extent - 1);
  }
};

// Weights of the four pixels around a fraction; the coefficient is that of the standard.
std::array<double, 4> cubic(double t) {
  constexpr double a = -0.75;
  const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

}  // namespace

void grid_sample(ReferenceContext& c) {
  const Reals x = c.real(0), grid = c.real(1);
  const Sampling s{c.string("mode"), c.string("padding_mode"), c.boolean("align_corners")};
  const Shape &in = c.shape(0), &out = c.out_shape();
  const int64_t channels = in[1], height = in[2], width = in[3], rows = out[2], columns = out[3];
  Reals y = Reals::from_shape(extents(out));
  for (int64_t n = 0; n < out[0]; ++n) {
    for (int64_t i = 0; i < rows * columns; ++i) {
      const double* at = grid.data() + (n * rows * columns + i) * 2;
      double px = s.position(at[0], width), py = s.position(at[1], height);
      if (s.mode != "bicubic") {
        px = s.inside(px, width);
        py = s.inside(py, height);
      }
      for (int64_t ch = 0; ch < channels; ++ch) {
        const double* image = x.data() + (n * channels + ch) * height * width;
        const auto pixel = [&](double row, double column) {
          if (s.mode == "bicubic") {
            row = s.inside(row, height);
            column = s.inside(column, width);
          }
          const bool in_image = row >= 0 && row <= static_cast<double>(height - 1) && column >= 0 &&
                                column <= static_cast<double>(width - 1);
          return in_image ? image[static_cast<int64_t>(row) * width + static_cast<int64_t>(column)] : 0.0;
        };
        double value = 0;
        if (s.mode == "nearest") {
          value = pixel(std::nearbyint(py), std::nearbyint(px));
        } else {
          const double top = std::floor(py), left = std::floor(px);
          if (s.mode == "bilinear") {
            const double v = py - top, u = px - left;
            value = (1 - v) * ((1 - u) * pixel(top, left) + u * pixel(top, left + 1)) +
                    v * ((1 - u) * pixel(top + 1, left) + u * pixel(top + 1, left + 1));
          } else {
            const auto v = cubic(py - top), u = cubic(px - left);
            for (int j = 0; j < 4; ++j)
              for (int k = 0; k < 4; ++k)
                value += v[static_cast<size_t>(j)] * u[static_cast<size_t>(k)] * pixel(top + j - 1, left + k - 1);
          }
        }
        y.data()[(n * channels + ch) * rows * columns + i] = value;
      }
    }
  }
  c.out(0, y);
}

}  // namespace pxl::reference
