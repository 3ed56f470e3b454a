// Reductions over axes, and running sums. Each reduction is evaluated before it is used (xtensor.hpp says why).
#include <algorithm>
#include <cmath>

#include "runtime/op/algebra_definitions.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

namespace {

// f(x, axes, keep), in the type that the dtype is computed in.
template <class F>
void reduction(ReferenceContext& c, F f) {
  const std::vector<int64_t> axes = c.axes("axis");
  const bool keep = c.boolean("keepdims");
  c.numbers([&](const auto& x) { return f(x, axes, keep); });
}

Reals squared(const Reals& x) { return x * x; }

// The mean of squared deviations from the mean.
Reals squared_deviation(const ReferenceContext& c) {
  const Reals x = c.real(0);
  const std::vector<int64_t> axes = c.axes("axis");
  const Reals total = sum_of(x, axes, true);
  const double n = static_cast<double>(x.size()) / static_cast<double>(total.size());
  return sum_of(squared(Reals(x - total / n)), axes, c.boolean("keepdims")) / n;
}

// The elements up to each one of an axis, or from it on, combined from `start` on.
template <class F>
void running(ReferenceContext& c, bool reverse, int start, F combined) {
  const size_t axis = c.axis("axis");
  const bool exclusive = c.boolean("exclusive");
  c.numbers([&](const auto& x) {
    const Shape shape = shape_of(x);
    const int64_t n = shape[axis];
    std::decay_t<decltype(x)> y = xt::zeros_like(x);
    Shape lines = shape;
    lines[axis] = std::min<int64_t>(n, 1);
    for (Place line(lines); line; line.next()) {
      Shape at = line.at();
      auto total = static_cast<std::decay_t<decltype(y.data()[0])>>(start);
      for (int64_t i = 0; i < n; ++i) {
        at[axis] = reverse ? n - 1 - i : i;
        const auto last = total;
        total = combined(total, x.data()[offset(at, shape)]);
        y.data()[offset(at, shape)] = exclusive ? last : total;
      }
    }
    return y;
  });
}
void running_sum(ReferenceContext& c, bool reverse) {
  running(c, reverse, 0, [](auto a, auto b) { return a + b; });
}

}  // namespace

void sum(ReferenceContext& c) {
  reduction(c, [](const auto& x, const auto& axes, bool keep) { return sum_of(x, axes, keep); });
}
void mean(ReferenceContext& c) {
  const Reals total = sum_of(c.real(0), c.axes("axis"), c.boolean("keepdims"));
  const double all = static_cast<double>(element_count(c.shape(0))), left = static_cast<double>(total.size());
  c.out(0, total / (all / left));
}
void max(ReferenceContext& c) {
  reduction(c, [](const auto& x, const auto& axes, bool keep) { return largest_of(x, axes, keep); });
}
void min(ReferenceContext& c) {
  reduction(c, [](const auto& x, const auto& axes, bool keep) { return smallest_of(x, axes, keep); });
}
void prod(ReferenceContext& c) {
  reduction(c, [](const auto& x, const auto& axes, bool keep) { return product_of(x, axes, keep); });
}
void l1(ReferenceContext& c) {
  reduction(c, [](const auto& x, const auto& axes, bool keep) {
    const std::decay_t<decltype(x)> size = each([](auto v) { return v < 0 ? static_cast<decltype(v)>(-v) : v; }, x);
    return sum_of(size, axes, keep);
  });
}
void l2(ReferenceContext& c) { c.out(0, xt::sqrt(sum_of(squared(c.real(0)), c.axes("axis"), c.boolean("keepdims")))); }
void sumsquare(ReferenceContext& c) {
  reduction(c, [](const auto& x, const auto& axes, bool keep) {
    const std::decay_t<decltype(x)> square = x * x;
    return sum_of(square, axes, keep);
  });
}
void logsum(ReferenceContext& c) { c.out(0, xt::log(sum_of(c.real(0), c.axes("axis"), c.boolean("keepdims")))); }
// The largest element is taken out, so that nothing overflows.
void logsumexp(ReferenceContext& c) {
  const Reals x = c.real(0);
  const std::vector<int64_t> axes = c.axes("axis");
  const Reals top = each([](double v) { return std::isfinite(v) ? v : 0.0; }, largest_of(x, axes, true));
  const Reals total = top + xt::log(sum_of(Reals(xt::exp(x - top)), axes, true));
  c.out(0, Reals(xt::reshape_view(total, extents(c.out_shape()))));
}
void variance(ReferenceContext& c) { c.out(0, squared_deviation(c)); }
void deviation(ReferenceContext& c) { c.out(0, xt::sqrt(squared_deviation(c))); }
void lamb_square(ReferenceContext& c) {
  const Reals x = c.real(0);
  c.out(0, Reals(xt::sum(x * x)()));
}
void cumsum(ReferenceContext& c) { running_sum(c, c.boolean("reverse")); }
void cumsum_grad(ReferenceContext& c) { running_sum(c, !c.boolean("reverse")); }
void cumprod(ReferenceContext& c) {
  running(c, c.boolean("reverse"), 1, [](auto a, auto b) { return a * b; });
}

}  // namespace pxl::reference
