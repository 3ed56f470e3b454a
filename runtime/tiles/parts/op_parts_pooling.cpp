// Partitions of pooling and its gradients: planes, and slices of the leading spatial axis with the rims of their
// windows. The vertex sees whole planes, in which elements that the tile does not need are 0. The vertex returns the
// windows of the tile's slice.
#include <algorithm>

#include "runtime/ops/windows/window_params.hpp"
#include "runtime/tiles/parts/op_parts.hpp"

namespace pxl::tiles {

namespace {

/// Some rows of a part's planes. The other rows of the planes are 0.
OperandSlice rows_of(size_t slot, const Shape& shape, const Box& planes, ElementRange rows) {
  rows = common(rows, {0, shape[2]});
  Box box = planes, all = planes;
  box.push_back({rows.begin, std::max(rows.begin, rows.end)});
  all.push_back({0, shape[2]});
  for (size_t i = 3; i < shape.size(); ++i) box.push_back({0, shape[i]}), all.push_back({0, shape[i]});
  OperandSlice slice{slot, Region::box(shape, box), extents_of(all)};
  if (box == all) return slice;
  Box local = box;
  for (size_t i = 0; i < 2; ++i) local[i] = {0, planes[i].size()};
  slice.order = Region::box(slice.shape, local).numbers_of(element_count(slice.shape));
  return slice;
}

}  // namespace

std::optional<OpParts> pooling_parts(const PartsRequest& r) {
  const OpContext& s = r.site;
  const Shape& y = s.out[0].shape;
  if (r.candidate.out[0] < 0 || s.out.size() != 1 || s.out[0].size() == 0) return std::nullopt;
  const TileMapping& mapping = r.mappings.at(r.candidate.out[0]);
  if (mapping.flat || mapping.spread > 1 || mapping.copies > 1) return std::nullopt;
  for (size_t i = 3; i < mapping.parts.size(); ++i)
    if (mapping.parts[i] > 1) return std::nullopt;
  // Gradients produce what windows read. Operands of both kinds are mapped as the data, or as the windows.
  const bool gradient = s.row.name.ends_with("_grad");
  if (!s.is_none("out_pads"))
    for (const int64_t pad : s.integers("out_pads"))
      if (pad != 0) return std::nullopt;
  Shape data = s.input(0).shape;
  if (s.row.name == "max_pool_grad" || s.row.name == "max_pool_pick") data = s.input(1).shape;
  if (s.row.name == "average_pool_grad") data = y;
  const Pool pool = resolve_pool(s, data);
  const size_t leading = 3 - (data.size() - 2);
  const WindowAxis& a = pool.axes[leading];
  if (a.in_dilation != 1) return std::nullopt;
  OpParts parts;
  parts.steps.emplace_back();
  int64_t block = 0;
  for (int32_t n = 0; n < mapping.parts[0]; ++n)
    for (int32_t c = 0; c < mapping.parts[1]; ++c)
      for (int32_t f = 0; f < mapping.parts[2]; ++f, ++block) {
        const Box planes{part_of(y[0], mapping.parts[0], n), part_of(y[1], mapping.parts[1], c)};
        const ElementRange mine = part_of(y[2], mapping.parts[2], f);
        if (planes[0].size() * planes[1].size() * mine.size() == 0) continue;
        // The windows that touch the slice, and the rows that these windows read.
        ElementRange windows = mine;
        if (gradient) {
          const int64_t reach = a.dilation * (a.kernel - 1), first = mine.begin + a.padding_before - reach;
          windows = {std::max<int64_t>(0, first <= 0 ? 0 : (first + a.stride - 1) / a.stride),
                     std::min(a.out, (mine.end - 1 + a.padding_before) / a.stride + 1)};
          windows.end = std::max(windows.begin, windows.end);
        }
        const ElementRange rows{windows.begin * a.stride - a.padding_before,
                                (windows.end - 1) * a.stride - a.padding_before + a.dilation * (a.kernel - 1) + 1};
        Part part{.tile = static_cast<int32_t>((mapping.first + mapping.tile_of(0, block)) % r.machine.tiles)};
        for (size_t i = 0; i < s.in.size(); ++i)
          if (s.in[i])
            part.reads.push_back(rows_of(i, s.in[i]->shape, planes, Shape(s.in[i]->shape) == data ? rows : windows));
        ResultSlice result{0, false, {}, {}};
        Box box = planes, local{{0, planes[0].size()}, {0, planes[1].size()}};
        box.push_back(mine), local.push_back(mine);
        for (size_t i = 3; i < y.size(); ++i) box.push_back({0, y[i]}), local.push_back({0, y[i]});
        result.region = Region::box(y, box);
        result.shape = y;
        result.shape[0] = planes[0].size(), result.shape[1] = planes[1].size();
        if (mapping.parts[2] > 1)
          Region::box(result.shape, local).for_each([&](int64_t e) { result.order.push_back(e); });
        part.writes.push_back(std::move(result));
        if (s.row.name == "average_pool_grad") {
          part.attrs = s.attrs;
          std::vector<int64_t> shape = s.integers("shape");
          shape[0] = planes[0].size(), shape[1] = planes[1].size();
          (*part.attrs)[param_index(s.row, "shape")] = shape;
        }
        parts.steps[0].push_back(std::move(part));
      }
  return parts;
}

}  // namespace pxl::tiles
