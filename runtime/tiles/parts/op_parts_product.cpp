// Partitions of matrix products.
#include <algorithm>

#include "runtime/ops/table.hpp"
#include "runtime/tiles/parts/op_parts.hpp"

namespace pxl::tiles {

namespace {

/// The axes of a product's operands and result. Either operand may lack the groups.
struct ProductAxes {
  Shape groups, rows;
  bool a_groups = false, b_groups = false, columns = false;
};

std::optional<ProductAxes> axes_of(const Shape& a, const Shape& b) {
  ProductAxes axes;
  axes.columns = b.size() >= 2;
  if (b.size() <= 2) {
    axes.rows.assign(a.begin(), a.end() - 1);
    return axes;
  }
  axes.groups.assign(b.begin(), b.end() - 2);
  axes.b_groups = true;
  axes.a_groups = a.size() > 2;
  if (axes.a_groups && Shape(a.begin(), a.end() - 2) != axes.groups) return std::nullopt;
  if (a.size() >= 2) axes.rows = {a.end()[-2]};
  return axes;
}

/// The blocks, in row-major order, of axes that are divided into `parts`.
std::vector<Box> blocks_of(const Shape& axes, int64_t parts) {
  std::vector<int32_t> counts;
  partition_axes(axes, 0, axes.size(), parts, counts);
  std::vector<Box> blocks{{}};
  for (size_t i = 0; i < axes.size(); ++i) {
    std::vector<Box> next;
    for (const Box& outer : blocks)
      for (int32_t k = 0; k < counts[i]; ++k) {
        next.push_back(outer);
        next.back().push_back(part_of(axes[i], counts[i], k));
      }
    blocks = std::move(next);
  }
  return blocks;
}

int64_t size_of_box(const Box& box) {
  int64_t n = 1;
  for (const ElementRange& r : box) n *= r.size();
  return n;
}

Box joined(Box box, const Box& more) {
  box.insert(box.end(), more.begin(), more.end());
  return box;
}

}  // namespace

std::optional<OpParts> product_parts(const PartsRequest& r) {
  const OpContext& s = r.site;
  if (!r.candidate.product || s.out[0].size() == 0 || s.input(0).size() == 0) return std::nullopt;
  const ProductCut& cut = *r.candidate.product;
  const Shape &a = s.input(0).shape, &b = s.input(1).shape;
  const std::optional<ProductAxes> axes = axes_of(a, b);
  // Every vertex reads all further operands whole.
  const bool others_are_scalars =
      std::all_of(s.in.begin() + 2, s.in.end(), [](const TensorSpec* t) { return !t || t->size() == 1; });
  if (!axes || !others_are_scalars) return std::nullopt;
  OpParts parts;
  const int64_t steps = cut.serial * cut.shifts;
  parts.steps.resize(static_cast<size_t>(steps));
  parts.keeps_received = cut.serial > 1;  // the left operand is read in each part of the columns
  if (cut.depth * cut.shifts > 1) {
    const int64_t bytes = product_partial_bytes(r.options, product_bytes(r.machine, s.input(0)));
    DType dtype = s.out[0].dtype;
    if (is_floating(dtype) && size_of(dtype) <= 4)
      dtype = bytes == 4 ? DType::float32 : is_narrow(dtype) ? dtype : DType::float16;
    parts.partial = {PartialResults{&get_op("sum"), dtype}};
  }
  const auto add = [&](int64_t step, int32_t tile, const Box& group, const Box& row, ElementRange d, ElementRange c) {
    const int64_t g = size_of_box(group), rows = size_of_box(row);
    if (g * rows * d.size() * c.size() == 0) return;
    const Box columns = axes->columns ? Box{c} : Box{};
    Part part{.tile = tile};
    part.reads.push_back({0,
                          Region::box(a, joined(joined(axes->a_groups ? group : Box{}, row), {d})),
                          {axes->a_groups ? g : 1, rows, d.size()}});
    part.reads.push_back({1,
                          Region::box(b, joined(joined(axes->b_groups ? group : Box{}, {d}), columns)),
                          {axes->b_groups ? g : 1, d.size(), c.size()}});
    for (size_t i = 2; i < s.in.size(); ++i)
      if (s.in[i]) part.reads.push_back({i, Region::all(s.in[i]->size()), s.in[i]->shape});
    part.writes.push_back(
        {0, false, Region::box(s.out[0].shape, joined(joined(group, row), columns)), {g, rows, c.size()}});
    parts.steps[static_cast<size_t>(step)].push_back(std::move(part));
  };
  const int64_t all_depth = a.back(), all_columns = axes->columns ? b.back() : 1;
  int64_t group_begin = 0;  // the first tile of the group
  for (const Box& group : blocks_of(axes->groups, cut.groups)) {
    int64_t r_index = 0;
    for (const Box& row : blocks_of(axes->rows, cut.rows)) {
      for (int64_t d = 0; d < cut.depth; ++d)
        for (int64_t c = 0; c < cut.columns; ++c) {
          const int64_t tile =
              group_begin + r_index * cut.row_stride() + d * cut.depth_stride() + c * cut.column_stride();
          const ElementRange depth = part_of(all_depth, cut.depth, d), columns = part_of(all_columns, cut.columns, c);
          for (int64_t step = 0; step < steps; ++step) {
            // Tiles of a ring begin at different pieces, so that each piece is on one tile.
            const int64_t piece =
                (step % cut.shifts + (cut.shift_a ? c : 0) + (cut.shift_b ? r_index : 0)) % cut.shifts;
            ElementRange chunk = part_of(all_depth, cut.depth * cut.shifts, d * cut.shifts + piece),
                         serial = part_of(columns.size(), cut.serial, step / cut.shifts);
            if (cut.shifts == 1) chunk = depth;
            serial = {columns.begin + serial.begin, columns.begin + serial.end};
            add(step, static_cast<int32_t>(tile % r.machine.tiles), group, row, chunk, serial);
          }
        }
      ++r_index;
    }
    group_begin += cut.rows * cut.depth * cut.columns;
  }
  return parts;
}

}  // namespace pxl::tiles
