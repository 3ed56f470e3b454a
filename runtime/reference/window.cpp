// Convolutions and pools: sums, maxima and averages over windows.
#include <algorithm>
#include <limits>

#include "runtime/op/definitions.hpp"
#include "runtime/ops/elementwise/float8.hpp"
#include "runtime/ops/windows/convolution_shape.hpp"
#include "runtime/ops/windows/window_params.hpp"
#include "runtime/reference/context.hpp"
#include "runtime/tensor/float8.hpp"

namespace pxl::reference {

namespace {

// Element k of window o, counted in the operand; nullopt for padding and between dilated elements.
int64_t element(const WindowAxis& a, int64_t o, int64_t k) {
  const int64_t place = a.place(o, k);
  if (place < 0 || place % a.in_dilation != 0 || place / a.in_dilation >= a.in) return -1;
  return place / a.in_dilation;
}

// f(window, kernel element, element of the operand): row-major offsets in a plane, for all that is not padding, windows
// and their elements in order.
template <class F>
void each_element(const WindowAxes& w, F f) {
  for (Place o({w[0].out, w[1].out, w[2].out}); o; o.next())
    for (Place k({w[0].kernel, w[1].kernel, w[2].kernel}); k; k.next()) {
      int64_t place[3];
      for (size_t i = 0; i < 3; ++i) place[i] = element(w[i], o[i], k[i]);
      if (std::min({place[0], place[1], place[2]}) < 0) continue;
      f(o.index(), k.index(), (place[0] * w[1].in + place[1]) * w[2].in + place[2]);
    }
}

// Calls f for every product of a convolution. Arguments: the elements of x [batch, groups cin, in...], the weight
// [groups cout, cin, kernel...] and y [batch, groups cout, out...].
template <class F>
void each_product(const Convolution& c, F f) {
  each_element(c.axes, [&](int64_t o, int64_t k, int64_t i) {
    for (int64_t n = 0; n < c.batch; ++n)
      for (int64_t out = 0; out < c.groups * c.cout; ++out)
        for (int64_t in = 0; in < c.cin; ++in)
          f((n * c.groups * c.cin + out / c.cout * c.cin + in) * input_size(c.axes) + i,
            (out * c.cin + in) * kernel_size(c.axes) + k, (n * c.groups * c.cout + out) * output_size(c.axes) + o);
  });
}

bool has_scale(const ReferenceContext& c) { return c.site().row.params[2].name == log2_scale_param.name; }

// 2 to the power of the scale operand; 1 for rows without a scale.
double scale_of(const ReferenceContext& c) {
  if (!has_scale(c)) return 1;
  const int64_t log2_scale = c.whole(2).data()[0];
  check_log2_scale(log2_scale);
  return std::ldexp(1.0, static_cast<int>(log2_scale));
}

Reals empty_result(const ReferenceContext& c) { return xt::zeros<double>(extents(c.out_shape())); }

// A result of a convolution without its terms: the bias of each channel, if there is one.
Reals biased_result(const ReferenceContext& c) {
  Reals y = empty_result(c);
  if (has_scale(c) || !c.site().has(2)) return y;
  const Reals bias = c.real(2);
  const auto planes = static_cast<size_t>(c.out_shape()[0] * c.out_shape()[1]);
  for (size_t i = 0; i < y.size(); ++i) y.data()[i] = bias.data()[i / (y.size() / planes) % bias.size()];
  return y;
}

void data_grad(ReferenceContext& c, const Convolution& convolution) {
  const Reals g = c.real(0), weight = c.real(1);
  Reals dx = biased_result(c);
  each_product(convolution, [&](int64_t x, int64_t w, int64_t y) { dx.data()[x] += g.data()[y] * weight.data()[w]; });
  c.out(0, dx * scale_of(c));
}

// The index of window o in plane `plane` of the results, which may have zeros around them.
int64_t result(const Pool& p, int64_t plane, int64_t o) {
  const int64_t h = p.axes[1].out, w = p.axes[2].out;
  const Shape at{plane, p.out_padding_before[0] + o / (h * w), p.out_padding_before[1] + o / w % h,
                 p.out_padding_before[2] + o % w};
  return offset(at, {p.planes, p.out_extent(0), p.out_extent(1), p.out_extent(2)});
}

// Calls f(window among the results, element of its first maximum, or -1 if there is none) for all windows.
template <class F>
void each_maximum(const Pool& p, const Reals& x, F f) {
  for (int64_t plane = 0; plane < p.planes; ++plane) {
    std::vector<int64_t> best(static_cast<size_t>(output_size(p.axes)), -1);
    each_element(p.axes, [&](int64_t o, int64_t, int64_t i) {
      const int64_t at = plane * input_size(p.axes) + i;
      int64_t& now = best[static_cast<size_t>(o)];
      if (now < 0) {
        now = at;
      } else {
        const double value = x.data()[at], top = x.data()[now];
        if (value > top || (value != value && top == top)) now = at;
      }
    });
    for (size_t o = 0; o < best.size(); ++o) f(result(p, plane, static_cast<int64_t>(o)), best[o]);
  }
}

// f(window among the results, element, share of it) for all that is not padding.
template <class F>
void each_share(const Pool& p, F f) {
  const auto count = [&](size_t axis, int64_t o) {
    const WindowAxis& a = p.axes[axis];
    const int64_t end = a.in_dilation * (a.in - 1) + 1 + p.padding_after[axis];
    int64_t n = 0;
    for (int64_t k = 0; k < a.kernel; ++k) n += p.count_padding ? a.place(o, k) < end : element(a, o, k) >= 0;
    return static_cast<double>(n);
  };
  const int64_t h = p.axes[1].out, w = p.axes[2].out;
  for (int64_t plane = 0; plane < p.planes; ++plane)
    each_element(p.axes, [&](int64_t o, int64_t, int64_t i) {
      f(result(p, plane, o), plane * input_size(p.axes) + i,
        1.0 / (count(0, o / (h * w)) * count(1, o / w % h) * count(2, o % w)));
    });
}

}  // namespace

void conv(ReferenceContext& c) {
  const Reals t = c.real(0), weight = c.real(1);
  Reals out = biased_result(c);
  each_product(resolve_conv(c.site()).c,
               [&](int64_t x, int64_t w, int64_t y) { out.data()[y] += t.data()[x] * weight.data()[w]; });
  c.out(0, out * scale_of(c));
}
void conv_integer(ReferenceContext& c) {
  const Wholes t = c.whole(0), weight = c.whole(1);
  const Wholes none = xt::zeros<int64_t>({1}), t_zero = c.has(2) ? c.whole(2) : none,
               weight_zero = c.has(3) ? c.whole(3) : none;
  const Convolution convolution = resolve_conv(c.site()).c;
  const auto per_channel = static_cast<size_t>(convolution.cin * kernel_size(convolution.axes));
  Wholes out = xt::zeros<int64_t>(extents(c.out_shape()));
  each_product(convolution, [&](int64_t x, int64_t w, int64_t y) {
    const int64_t zero = weight_zero.data()[static_cast<size_t>(w) / per_channel % weight_zero.size()];
    out.data()[y] += (t.data()[x] - t_zero.data()[0]) * (weight.data()[w] - zero);
  });
  c.out(0, out);
}
void conv_data_grad(ReferenceContext& c) { data_grad(c, resolve_data_grad(c.site()).c); }
void conv_transpose(ReferenceContext& c) { data_grad(c, resolve_transpose(c.site()).c); }
void conv_weights_grad(ReferenceContext& c) {
  const Reals g = c.real(0), t = c.real(1);
  Reals dw = empty_result(c);
  each_product(resolve_weights_grad(c.site()).c,
               [&](int64_t x, int64_t w, int64_t y) { dw.data()[w] += g.data()[y] * t.data()[x]; });
  c.out(0, dw);
}

// -inf for a window of padding, 0 around the windows.
void max_pool(ReferenceContext& c) {
  const Reals x = c.real(0);
  const Pool p = resolve_pool(c.site(), c.shape(0));
  Reals y = empty_result(c);
  for (int64_t plane = 0; plane < p.planes; ++plane) {
    for (int64_t o = 0; o < output_size(p.axes); ++o)
      y.data()[result(p, plane, o)] = -std::numeric_limits<double>::infinity();
    each_element(p.axes, [&](int64_t o, int64_t, int64_t i) {
      double& top = y.data()[result(p, plane, o)];
      top = larger(top, x.data()[plane * input_size(p.axes) + i]);
    });
  }
  c.out(0, y);
}
void max_pool_pick(ReferenceContext& c) {
  const Reals t = c.real(0);
  Reals y = empty_result(c);
  each_maximum(resolve_pool(c.site(), c.shape(1)), c.real(1),
               [&](int64_t window, int64_t best) { y.data()[window] = best < 0 ? 0 : t.data()[best]; });
  c.out(0, y);
}
void max_pool_grad(ReferenceContext& c) {
  const Reals g = c.real(0);
  Reals dx = empty_result(c);
  each_maximum(resolve_pool(c.site(), c.shape(1)), c.real(1), [&](int64_t window, int64_t best) {
    if (best >= 0) dx.data()[best] += g.data()[window];
  });
  c.out(0, dx);
}
void average_pool(ReferenceContext& c) {
  const Reals x = c.real(0);
  Reals y = empty_result(c);
  each_share(resolve_pool(c.site(), c.shape(0)),
             [&](int64_t window, int64_t i, double share) { y.data()[window] += x.data()[i] * share; });
  c.out(0, y);
}
void average_pool_grad(ReferenceContext& c) {
  const Reals g = c.real(0);
  Reals dx = empty_result(c);
  each_share(resolve_pool(c.site(), c.integers("shape")),
             [&](int64_t window, int64_t i, double share) { dx.data()[i] += g.data()[window] * share; });
  c.out(0, dx);
}

}  // namespace pxl::reference
