// Partitions of convolutions and their gradients. A tile that computes a slice of the leading spatial axis also reads
// the rim of its windows. Padding along that axis is zeros on the tile.
#include <algorithm>

#include "runtime/ops/table.hpp"
#include "runtime/ops/windows/convolution_shape.hpp"
#include "runtime/ops/windows/window_params.hpp"
#include "runtime/tiles/parts/op_parts.hpp"

namespace pxl::tiles {

namespace {

/// The slice of one part: ranges of batch, groups, depth, columns and the leading spatial axis.
struct Slice {
  ElementRange batch, groups, depth, columns, first;
};

/// Merges the axes [groups, channels of a group] into one axis.
Shape folded(const Shape& shape, size_t axis) {
  Shape result = shape;
  result[axis] *= result[axis + 1];
  result.erase(result.begin() + static_cast<ptrdiff_t>(axis) + 1);
  return result;
}

/// The data [batch, groups x channels, spatial...] of a part. Elements outside the leading spatial axis are 0.
OperandSlice data_slice(size_t slot, const Shape& shape, int64_t groups, const Slice& s, const ElementRange& channels,
                        const ElementRange& rows) {
  Shape view{shape[0], groups, shape[1] / groups};
  view.insert(view.end(), shape.begin() + 2, shape.end());
  const ElementRange inside = common(rows, {0, view[3]});
  Box box{s.batch, s.groups, channels, {inside.begin, std::max(inside.begin, inside.end)}};
  for (size_t i = 4; i < view.size(); ++i) box.push_back({0, view[i]});
  OperandSlice slice{slot, Region::box(view, box), {}};
  Shape local = extents_of(box);
  if (inside != rows) {
    int64_t inner = 1;
    for (size_t i = 4; i < local.size(); ++i) inner *= local[i];
    const int64_t planes = local[0] * local[1] * local[2], held = local[3] * inner;
    for (int64_t p = 0; p < planes; ++p)
      for (int64_t row = rows.begin; row < rows.end; ++row)
        for (int64_t i = 0; i < inner; ++i)
          slice.order.push_back(row < inside.begin || row >= inside.end ? -1
                                                                        : p * held + (row - inside.begin) * inner + i);
    local[3] = rows.size();
  }
  slice.shape = folded(local, 1);
  return slice;
}

/// Weights [groups x cout, cin, kernel...] of a part.
std::pair<Region, Shape> weight_box(const Shape& shape, int64_t groups, const Slice& s, const ElementRange& cout,
                                    const ElementRange& cin) {
  Shape view{groups, shape[0] / groups};
  view.insert(view.end(), shape.begin() + 1, shape.end());
  Box box{s.groups, cout, cin};
  for (size_t i = 3; i < view.size(); ++i) box.push_back({0, view[i]});
  return {Region::box(view, box), folded(extents_of(box), 0)};
}

/// The result [batch, groups x channels, spatial...] of a part.
ResultSlice result_slice(const Shape& shape, int64_t groups, const Slice& s, const ElementRange& channels) {
  Shape view{shape[0], groups, shape[1] / groups};
  view.insert(view.end(), shape.begin() + 2, shape.end());
  Box box{s.batch, s.groups, channels, s.first};
  for (size_t i = 4; i < view.size(); ++i) box.push_back({0, view[i]});
  return {0, false, Region::box(view, box), folded(extents_of(box), 1)};
}

/// The biases [groups x channels] of a part.
OperandSlice bias_slice(size_t slot, int64_t groups, int64_t channels, const Slice& s) {
  const Box box{s.groups, s.columns};
  return {slot, Region::box({groups, channels}, box), folded(extents_of(box), 0)};
}

/// The attributes of a part: padding of the leading spatial axis, groups, and a data gradient's spatial shape.
Attributes attributes_of(const OpContext& s, const ResolvedConvolution& r, int64_t groups, int64_t before,
                         int64_t after, int64_t extent) {
  Attributes attrs = s.attrs;
  std::vector<int64_t> padding = resolved_padding(r.axes);
  padding[0] = before;
  padding[r.axes.size()] = after;
  attrs[param_index(s.row, "padding")] = padding;
  attrs[param_index(s.row, "groups")] = groups;
  for (size_t i = 0; i < s.row.params.size(); ++i) {
    if (s.row.params[i].name == "pad_type") attrs[i] = std::string("not_set");
    if (s.row.params[i].name != "shape") continue;
    std::vector<int64_t> shape = s.integers("shape");
    shape[0] = extent;
    attrs[i] = shape;
  }
  return attrs;
}

/// Sets the extents of a transposed convolution's part by padding and output_padding. The leading spatial axis has
/// `more` elements after the windows; the other axes are those of the whole convolution. Returns false if the op does
/// not accept the value.
bool set_extents(const OpContext& s, const ResolvedConvolution& r, int64_t more, Attributes& attrs) {
  auto& padding = std::get<std::vector<int64_t>>(attrs[param_index(s.row, "padding")]);
  std::vector<int64_t> padding_after{more};
  for (size_t i = 1; i < r.axes.size(); ++i) {
    const WindowAxis& a = r.axes[i];
    const int64_t reach = (a.out - 1) * a.stride + a.dilation * (a.kernel - 1) + 1 - a.padding_before;
    padding[r.axes.size() + i] = std::max<int64_t>(0, reach - a.in);
    padding_after.push_back(std::max<int64_t>(0, a.in - reach));
  }
  for (size_t i = 0; i < r.axes.size(); ++i)
    if (padding_after[i] >= std::max(r.axes[i].stride, r.axes[i].dilation)) return false;
  attrs[param_index(s.row, "output_padding")] = padding_after;
  attrs[param_index(s.row, "output_shape")] = std::vector<int64_t>();
  return true;
}

/// The windows whose elements are in a range of the data. `before` is the distance from the first window's begin to the
/// range; it is at least 0.
ElementRange windows_over(const WindowAxis& a, const ElementRange& rows, int64_t& before) {
  const int64_t span = a.dilation * (a.kernel - 1);
  int64_t begin = std::max<int64_t>(0, rows.begin + a.padding_before - span);
  begin = (begin + a.stride - 1) / a.stride;
  if (begin * a.stride > rows.begin + a.padding_before) begin = (rows.begin + a.padding_before) / a.stride;
  const int64_t end = std::min(a.out, (rows.end - 1 + a.padding_before) / a.stride + 1);
  begin = std::min(begin, std::max<int64_t>(0, end - 1));
  before = rows.begin + a.padding_before - begin * a.stride;
  return {begin, end};
}

enum class Kind : uint8_t { forward, data_gradient, weight_gradient };

template <class Make>
std::optional<OpParts> convolution(const PartsRequest& r, const ResolvedConvolution& resolved, Kind kind, Make make) {
  const ConvolutionCut& cut = *r.candidate.convolution;
  const OpContext& s = r.site;
  const Convolution& c = resolved.c;
  for (const WindowAxis& a : resolved.axes)
    if (a.in_dilation != 1) return std::nullopt;
  // Partial sums are floating-point numbers, and a part pads with zeros, which are not the zero point.
  const bool zero_points = std::any_of(s.in.begin() + 2, s.in.end(), [](const TensorSpec* t) { return t != nullptr; });
  if (!is_floating(s.out[0].dtype) && (cut.depth > 1 || zero_points)) return std::nullopt;
  const bool forward = kind == Kind::forward;
  const int64_t depth = forward ? c.cin : c.cout, columns = forward ? c.cout : c.cin;
  const int64_t first = kind == Kind::data_gradient ? resolved.axes[0].in : resolved.axes[0].out;
  OpParts parts;
  parts.steps.emplace_back();
  int64_t tile = 0;
  for (int64_t b = 0; b < cut.batch; ++b)
    for (int64_t f = 0; f < cut.first; ++f)
      for (int64_t g = 0; g < cut.groups; ++g)
        for (int64_t d = 0; d < cut.depth; ++d)
          for (int64_t n = 0; n < cut.columns; ++n, ++tile) {
            const Slice slice{part_of(c.batch, cut.batch, b), part_of(c.groups, cut.groups, g),
                              part_of(depth, cut.depth, d), part_of(columns, cut.columns, n),
                              part_of(first, cut.first, f)};
            if (slice.batch.size() * slice.groups.size() * slice.depth.size() * slice.columns.size() *
                    slice.first.size() ==
                0)
              continue;
            Part part{.tile = static_cast<int32_t>(tile % r.machine.tiles)};
            make(slice, part);
            // Adds a scale, or a bias. Among the parts that share sums, the first one adds the bias.
            for (size_t i = 2; i < s.in.size(); ++i) {
              if (!s.in[i]) continue;
              if (s.in[i]->shape.empty())
                part.reads.push_back({i, Region::all(1), {}});
              else if (d == 0)
                part.reads.push_back(bias_slice(i, c.groups, columns, slice));
            }
            parts.steps[0].push_back(std::move(part));
          }
  if ((kind == Kind::weight_gradient ? cut.batch * cut.first : cut.depth) > 1) {
    DType dtype = s.out[0].dtype;
    if (size_of(dtype) <= 4)
      dtype = product_partial_bytes(r.options, product_bytes(r.machine, s.input(0))) == 4 ? DType::float32
              : is_narrow(dtype)                                                          ? dtype
                                                                                          : DType::float16;
    parts.partial = {PartialResults{&get_op("sum"), dtype}};
  }
  return parts;
}

}  // namespace

std::optional<OpParts> convolution_parts(const PartsRequest& r) {
  if (!r.candidate.convolution || r.site.out[0].size() == 0) return std::nullopt;
  const OpContext& s = r.site;
  const ResolvedConvolution c = resolve_conv(s);
  return convolution(r, c, Kind::forward, [&](const Slice& slice, Part& part) {
    const WindowAxis& a = c.axes[0];
    const int64_t begin = slice.first.begin * a.stride - a.padding_before;
    const ElementRange rows{begin, begin + (slice.first.size() - 1) * a.stride + a.dilation * (a.kernel - 1) + 1};
    part.reads.push_back(data_slice(0, s.input(0).shape, c.c.groups, slice, slice.depth, rows));
    auto [region, shape] = weight_box(s.input(1).shape, c.c.groups, slice, slice.columns, slice.depth);
    part.reads.push_back({1, std::move(region), std::move(shape)});
    part.writes.push_back(result_slice(s.out[0].shape, c.c.groups, slice, slice.columns));
    part.attrs = attributes_of(s, c, slice.groups.size(), 0, 0, 0);
  });
}

std::optional<OpParts> data_gradient_parts(const PartsRequest& r) {
  const OpContext& s = r.site;
  const bool has_shape =
      std::any_of(s.row.params.begin(), s.row.params.end(), [](const Param& p) { return p.name == "shape"; });
  if (!r.candidate.convolution || s.out[0].size() == 0) return std::nullopt;
  const ResolvedConvolution c = has_shape ? resolve_data_grad(s) : resolve_transpose(s);
  bool expressible = true;
  std::optional<OpParts> parts = convolution(r, c, Kind::data_gradient, [&](const Slice& slice, Part& part) {
    const WindowAxis& a = c.axes[0];
    int64_t before = 0;
    const ElementRange windows = windows_over(a, slice.first, before);
    const int64_t span = a.dilation * (a.kernel - 1) + 1;
    const int64_t reach = (windows.size() - 1) * a.stride + span - before;
    const int64_t after = std::max<int64_t>(0, reach - slice.first.size());
    part.reads.push_back(data_slice(0, s.input(0).shape, c.c.groups, slice, slice.depth, windows));
    auto [region, shape] = weight_box(s.input(1).shape, c.c.groups, slice, slice.depth, slice.columns);
    part.reads.push_back({1, std::move(region), std::move(shape)});
    part.writes.push_back(result_slice(s.out[0].shape, c.c.groups, slice, slice.columns));
    part.attrs = attributes_of(s, c, slice.groups.size(), before, after, slice.first.size());
    if (has_shape) return;
    expressible = set_extents(s, c, std::max<int64_t>(0, slice.first.size() - reach), *part.attrs) && expressible;
  });
  if (!expressible) return std::nullopt;
  return parts;
}

std::optional<OpParts> weight_gradient_parts(const PartsRequest& r) {
  if (!r.candidate.convolution || r.site.out[0].size() == 0 || r.site.input(0).size() == 0) return std::nullopt;
  const OpContext& s = r.site;
  const ResolvedConvolution c = resolve_weights_grad(s);
  return convolution(r, c, Kind::weight_gradient, [&](const Slice& slice, Part& part) {
    const WindowAxis& a = c.axes[0];
    const int64_t begin = slice.first.begin * a.stride - a.padding_before;
    const ElementRange rows{begin, begin + (slice.first.size() - 1) * a.stride + a.dilation * (a.kernel - 1) + 1};
    part.reads.push_back(data_slice(0, s.input(0).shape, c.c.groups, slice, slice.depth, slice.first));
    part.reads.push_back(data_slice(1, s.input(1).shape, c.c.groups, slice, slice.columns, rows));
    auto [region, shape] = weight_box(s.out[0].shape, c.c.groups, slice, slice.depth, slice.columns);
    part.writes.push_back({0, false, std::move(region), std::move(shape)});
    part.attrs = attributes_of(s, c, slice.groups.size(), 0, 0, 0);
  });
}

}  // namespace pxl::tiles
