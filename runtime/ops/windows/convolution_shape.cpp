#include "runtime/ops/windows/convolution_shape.hpp"

#include <fmt/format.h>

#include <limits>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/ops/elementwise/float8.hpp"
#include "runtime/ops/infer.hpp"

namespace pxl {

namespace {

using Ints = std::vector<int64_t>;

bool is_scaled(const OpContext& s) { return s.row.params[2].name == log2_scale_param.name; }
/// Whether the row's operands are whole numbers, with zero points.
bool is_whole(const OpContext& s) { return s.row.params[0].kind == ParamKind::own_tensor; }
DType result_dtype(const OpContext& s) {
  return is_whole(s) ? DType::int32 : is_scaled(s) ? DType::float16 : s.input(0).dtype;
}

int64_t groups_of(const OpContext& s) {
  const int64_t groups = s.integer("groups");
  if (groups < 1) refuse(s, fmt::format("groups must be positive, got {}", groups));
  return groups;
}

// Checks dtypes and ranks of two operands, either of which may be a gradient.
void check_pair(const OpContext& s) {
  if (is_scaled(s)) {
    check_float8_product(s);
  } else if (!is_whole(s)) {
    check_floating(s, 0);
    check_one_dtype(s);
  }
  spatial_shape(s, 0);
  if (s.input(0).shape.size() != s.input(1).shape.size())
    refuse(s,
           fmt::format("{} has {} axes, {} has {}", s.label(0), s.input(0).shape.size(), s.label(1),
                       s.input(1).shape.size()),
           codes::shape);
}

// Checks the channels of a convolution's data and weight.
void check_channels(const OpContext& s, int64_t channels, const TensorSpec& weight, int64_t groups) {
  if (weight.shape[0] % groups != 0)
    refuse(s, fmt::format("{} groups do not divide the {} channels of the result", groups, weight.shape[0]),
           codes::shape);
  if (weight.shape[1] * groups != channels)
    refuse(s,
           fmt::format("{} has {} channels, but the weight takes {} in each of {} group{}", s.label(0), channels,
                       weight.shape[1], groups, groups == 1 ? "" : "s"),
           codes::shape);
}

// Checks the bias of conv and conv_transpose, if there is one.
void check_bias(const OpContext& s, int64_t channels) {
  if (is_scaled(s) || is_whole(s) || !s.has(2) || s.input(2).shape == Shape{channels}) return;
  refuse(s,
         fmt::format("the bias has the shape {}, but the result has {} channel{}: it must be [{}]",
                     bracket_text(s.input(2).shape), channels, channels == 1 ? "" : "s", channels),
         codes::shape);
}

// The convolution whose result has g's spatial shape; windows outside g are dropped.
ResolvedConvolution with_windows_of(const OpContext& s, ResolvedConvolution r, const Shape& g) {
  for (size_t i = 0; i < r.axes.size(); ++i) {
    if (g[i + 2] > r.axes[i].out)
      refuse(s,
             fmt::format("{} has {} windows along axis {}, there are {}", s.label(0), g[i + 2], i + 2, r.axes[i].out));
    r.axes[i].out = g[i + 2];
  }
  r.c.axes = window_axes(r.axes);
  return r;
}

}  // namespace

ResolvedConvolution resolve_conv(const OpContext& s) {
  check_pair(s);
  const TensorSpec &x = s.input(0), &w = s.input(1);
  const int64_t groups = groups_of(s);
  check_channels(s, x.shape[1], w, groups);
  ResolvedConvolution r;
  r.axes = sliding_windows(s, spatial_shape(s, 0), Shape(w.shape.begin() + 2, w.shape.end()), {.pad_type = "pad_type"});
  r.c = {x.shape[0], groups, w.shape[1], w.shape[0] / groups, window_axes(r.axes)};
  return r;
}

int64_t convolution_flops(const Convolution& c) {
  int64_t flops = 0;  // operands near the memory limit can have a product that overflows int64
  const int64_t results = c.batch * c.groups * c.cout * output_size(c.axes);
  return __builtin_mul_overflow(2 * results, c.cin * kernel_size(c.axes), &flops) ? std::numeric_limits<int64_t>::max()
                                                                                  : flops;
}

std::vector<TensorSpec> infer_conv(const OpContext& s) {
  const ResolvedConvolution r = resolve_conv(s);
  TensorSpec out{{r.c.batch, r.c.groups * r.c.cout}, result_dtype(s), {}};
  check_bias(s, out.shape[1]);
  for (const WindowAxis& a : r.axes) out.shape.push_back(a.out);
  prefixed(s, [&] { return element_count(out.shape); });
  return {out};
}

ResolvedConvolution resolve_data_grad(const OpContext& s) {
  check_pair(s);
  const TensorSpec &g = s.input(0), &w = s.input(1);
  const int64_t groups = groups_of(s);
  if (g.shape[1] != w.shape[0] || w.shape[0] % groups != 0)
    refuse(
        s,
        fmt::format("{} has {} channels, the weight gives {} in {} groups", s.label(0), g.shape[1], w.shape[0], groups),
        codes::shape);
  const Shape shape = s.integers("shape");
  if (shape.size() + 2 != g.shape.size()) refuse(s, "the shape needs an extent for each spatial axis", codes::shape);
  ResolvedConvolution r;
  r.axes = sliding_windows(s, shape, spatial(w.shape), {});
  r.c = {g.shape[0], groups, w.shape[1], w.shape[0] / groups, {}};
  return with_windows_of(s, std::move(r), g.shape);
}

ResolvedConvolution resolve_weights_grad(const OpContext& s) {
  check_pair(s);
  const TensorSpec &g = s.input(0), &x = s.input(1);
  const int64_t groups = groups_of(s);
  if (g.shape[0] != x.shape[0] || g.shape[1] % groups != 0 || x.shape[1] % groups != 0)
    refuse(s, fmt::format("{} and {} do not belong to one convolution of {} groups", s.label(0), s.label(1), groups));
  const Shape kernel = s.integers("kernel");
  if (kernel.size() + 2 != g.shape.size()) refuse(s, "the kernel needs an extent for each spatial axis", codes::shape);
  ResolvedConvolution r;
  r.axes = sliding_windows(s, spatial(x.shape), kernel, {});
  r.c = {g.shape[0], groups, x.shape[1] / groups, g.shape[1] / groups, {}};
  return with_windows_of(s, std::move(r), g.shape);
}

// The transposed convolution of t is the data gradient of the convolution with its result as data.
ResolvedConvolution resolve_transpose(const OpContext& s) {
  check_pair(s);
  const TensorSpec &t = s.input(0), &w = s.input(1);
  const int64_t groups = groups_of(s);
  if (t.shape[1] != w.shape[0])
    refuse(s, fmt::format("{} has {} channels, but the weight takes {}", s.label(0), t.shape[1], w.shape[0]),
           codes::shape);
  if (w.shape[0] % groups != 0)
    refuse(s, fmt::format("{} groups do not divide the {} channels of {}", groups, w.shape[0], s.label(0)),
           codes::shape);
  const size_t rank = t.shape.size() - 2;
  const auto none_or_empty = [&](std::string_view param) { return s.is_none(param) || s.integers(param).empty(); };
  const Ints stride = per_axis(s, "stride", rank, 1, 1), dilation = per_axis(s, "dilation", rank, 1, 1);
  Ints padding = paddings(s, "padding", rank);
  const Ints more = none_or_empty("output_padding") ? Ints(rank, 0) : per_axis(s, "output_padding", rank, 0, 0);
  const std::string& type = s.string("pad_type");
  const bool same = type == "same_upper" || type == "same_lower";
  if (!same && type != "not_set" && type != "valid")
    refuse(s, fmt::format("pad_type must be one of not_set, same_upper, same_lower, valid, not {}", type));
  Ints shape(rank);
  if (!none_or_empty("output_shape")) shape = per_axis(s, "output_shape", rank, 0, 1);
  ResolvedConvolution r;
  for (size_t i = 0; i < rank; ++i) {
    WindowAxis a{0, w.shape[i + 2], stride[i], dilation[i], padding[i], t.shape[i + 2], 1};
    if (a.kernel < 1) refuse(s, "the kernel must have positive extents", codes::shape);
    if (a.out < 1) refuse(s, fmt::format("the spatial axis {} has no elements", i + 2), codes::shape);
    if (more[i] >= std::max(a.stride, a.dilation))
      refuse(s, fmt::format("output_padding {} must be below the stride or the dilation, {}", more[i],
                            std::max(a.stride, a.dilation)));
    int64_t span = 0, reach = 0;
    if (__builtin_mul_overflow(a.dilation, a.kernel - 1, &span) ||
        __builtin_mul_overflow(a.out - 1, a.stride, &reach) ||
        __builtin_add_overflow(reach, span + 1 + more[i], &reach))
      refuse(s, "the result is larger than memory");
    if (same && shape[i] == 0) __builtin_mul_overflow(a.out, a.stride, &shape[i]);
    if (shape[i] != 0) {
      const int64_t total = std::max<int64_t>(0, reach - shape[i]);
      a.padding_before = type == "same_upper" ? total / 2 : total - total / 2;
      a.in = shape[i];
    } else {
      a.in = reach - padding[i] - padding[rank + i];
    }
    if (a.in < 1) refuse(s, fmt::format("the padding leaves nothing of the spatial axis {}", i + 2));
    r.axes.push_back(a);
  }
  r.c = {t.shape[0], groups, w.shape[1], w.shape[0] / groups, window_axes(r.axes)};
  return r;
}

std::vector<TensorSpec> data_spec(const OpContext& s, const ResolvedConvolution& r) {
  TensorSpec out{{r.c.batch, r.c.groups * r.c.cin}, result_dtype(s), {}};
  check_bias(s, out.shape[1]);
  for (const WindowAxis& a : r.axes) out.shape.push_back(a.in);
  prefixed(s, [&] { return element_count(out.shape); });
  return {out};
}

}  // namespace pxl
