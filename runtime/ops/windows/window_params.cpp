#include "runtime/ops/windows/window_params.hpp"

#include <fmt/format.h>

#include <limits>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/ops/infer.hpp"

namespace pxl {

namespace {

constexpr int64_t most = std::numeric_limits<int32_t>::max();

void check_range(const OpContext& s, std::string_view param, const std::vector<int64_t>& values, int64_t low) {
  for (int64_t v : values)
    if (v < low || v > most) refuse(s, fmt::format("{} must be {} or more, got {}", param, low, bracket_text(values)));
}

}  // namespace

Shape spatial_shape(const OpContext& s, size_t slot) {
  const Shape& shape = s.input(slot).shape;
  if (shape.size() < 3 || shape.size() > 5)
    refuse(s,
           fmt::format("{} must have a batch, a channel and one to three spatial axes, not shape {}", s.label(slot),
                       bracket_text(shape)),
           codes::shape);
  return Shape(shape.begin() + 2, shape.end());
}

std::vector<int64_t> per_axis(const OpContext& s, std::string_view param, size_t rank, int64_t if_none, int64_t low) {
  if (s.is_none(param)) return std::vector<int64_t>(rank, if_none);
  std::vector<int64_t> values = s.integers(param);
  if (values.size() == 1) values.assign(rank, values[0]);
  if (values.size() != rank)
    refuse(s, fmt::format("{} {} has {} values for {} spatial axes", param, bracket_text(values), values.size(), rank),
           codes::shape);
  check_range(s, param, values, low);
  return values;
}

std::vector<int64_t> paddings(const OpContext& s, std::string_view param, size_t rank) {
  if (s.is_none(param)) return std::vector<int64_t>(2 * rank, 0);
  std::vector<int64_t> values = s.integers(param);
  if (values.empty()) return std::vector<int64_t>(2 * rank, 0);
  if (values.size() == 1) values.assign(rank, values[0]);
  if (values.size() == rank) values.insert(values.end(), values.begin(), values.begin() + static_cast<ptrdiff_t>(rank));
  if (values.size() != 2 * rank)
    refuse(
        s,
        fmt::format("{} {} must have the begins, then the ends, of {} spatial axes", param, bracket_text(values), rank),
        codes::shape);
  check_range(s, param, values, 0);
  return values;
}

std::vector<WindowAxis> sliding_windows(const OpContext& s, const Shape& spatial, const Shape& kernel,
                                        const WindowParams& params) {
  const size_t rank = spatial.size();
  const std::vector<int64_t> stride = per_axis(s, params.stride, rank, 1, 1),
                             dilation = per_axis(s, params.dilation, rank, 1, 1),
                             padding = paddings(s, params.padding, rank);
  const std::vector<int64_t> in_dilation =
      params.in_dilation.empty() ? std::vector<int64_t>(rank, 1) : per_axis(s, params.in_dilation, rank, 1, 1);
  const bool ceil = !params.ceil_mode.empty() && s.boolean(params.ceil_mode);
  const std::string type = params.pad_type.empty() ? "not_set" : s.string(params.pad_type);
  const bool same = type == "same_upper" || type == "same_lower";
  if (!same && type != "valid" && type != "not_set")
    refuse(s, fmt::format("{} must be one of not_set, same_upper, same_lower, valid, not {}", params.pad_type, type));
  if (type != "not_set")
    for (int64_t p : padding)
      if (p != 0) refuse(s, fmt::format("{} and the {} {} exclude each other", params.padding, params.pad_type, type));

  std::vector<WindowAxis> axes(rank);
  for (size_t i = 0; i < rank; ++i) {
    WindowAxis& a = axes[i];
    if (kernel[i] < 1 || kernel[i] > most)
      refuse(s, fmt::format("the kernel {} must have positive extents", bracket_text(kernel)), codes::shape);
    if (spatial[i] < 1) refuse(s, fmt::format("the spatial axis {} has no elements", i + 2), codes::shape);
    a = {spatial[i], kernel[i], stride[i], dilation[i], padding[i], 0, in_dilation[i]};
    int64_t span = 0, full = 0;
    if (__builtin_mul_overflow(a.dilation, a.kernel - 1, &span) ||
        __builtin_mul_overflow(a.in_dilation, a.in - 1, &full))
      refuse(s, "the window is larger than memory");
    ++span, ++full;
    if (same) {
      a.out = (full - 1) / a.stride + 1;
      const int64_t total = std::max<int64_t>(0, (a.out - 1) * a.stride + span - full);
      a.padding_before = type == "same_upper" ? total / 2 : (total + 1) / 2;
      continue;
    }
    const int64_t room = full + padding[i] + padding[rank + i] - span;
    if (room < 0)
      refuse(s, fmt::format("the window spans {} elements, more than the {} of axis {} with its padding", span,
                            full + padding[i] + padding[rank + i], i + 2));
    a.out = room / a.stride + 1;
    if (ceil && room % a.stride != 0 && a.out * a.stride < full + a.padding_before) ++a.out;
  }
  return axes;
}

WindowAxes window_axes(const std::vector<WindowAxis>& axes) {
  WindowAxes all;
  for (size_t i = 0; i < axes.size(); ++i) all[3 - axes.size() + i] = axes[i];
  return all;
}

std::vector<int64_t> resolved_padding(const std::vector<WindowAxis>& axes) {
  std::vector<int64_t> padding;
  for (const WindowAxis& a : axes) padding.push_back(a.padding_before);
  for (const WindowAxis& a : axes)
    padding.push_back(std::max<int64_t>(0, (a.out - 1) * a.stride + a.dilation * (a.kernel - 1) + 1 - a.padding_before -
                                               a.in_dilation * (a.in - 1) - 1));
  return padding;
}

Pool resolve_pool(const OpContext& s, const Shape& data) {
  const Shape spatial(data.begin() + 2, data.end());
  const size_t rank = spatial.size();
  const auto axes = sliding_windows(s, spatial, per_axis(s, "kernel_size", rank, 1, 1),
                                    {.in_dilation = "in_dilations", .pad_type = "auto_pad", .ceil_mode = "ceil_mode"});
  Pool p{.planes = data[0] * data[1], .axes = window_axes(axes)};
  const std::vector<int64_t> pads = paddings(s, "out_pads", rank);
  const bool average = s.row.name.starts_with("average");
  p.count_padding = average && s.boolean("count_include_pad");
  const std::vector<int64_t> padding =
      s.string("auto_pad") == "not_set" ? paddings(s, "padding", rank) : resolved_padding(axes);
  for (size_t i = 0; i < rank; ++i) {
    p.padding_after[3 - rank + i] = padding[rank + i];
    p.out_padding_before[3 - rank + i] = pads[i];
    p.out_padding_after[3 - rank + i] = pads[rank + i];
  }
  return p;
}

}  // namespace pxl
