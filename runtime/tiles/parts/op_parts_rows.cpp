// Partitions of reductions, and of ops on rows.
#include <algorithm>

#include "runtime/ops/table.hpp"
#include "runtime/tiles/layout.hpp"
#include "runtime/tiles/parts/op_parts.hpp"

namespace pxl::tiles {

namespace {

/// Reductions, and the reductions that combine their partial results.
struct Combined {
  std::string_view op, by;
};
constexpr Combined combined[] = {
    {"sum", "sum"},       {"max", "max"}, {"min", "min"},  {"prod", "prod"},           {"l1", "sum"},
    {"sumsquare", "sum"}, {"l2", "l2"},   {"mean", "sum"}, {"logsumexp", "logsumexp"}, {"lamb_square", "sum"}};

const OpRow* combining_row(const OpRow& row) {
  for (const Combined& c : combined)
    if (c.op == row.name) return &get_op(c.by);
  return nullptr;
}

/// Rows that compute each index of some axes by itself, and the other axes.
enum class Whole : uint8_t {
  axis,      ///< of parameter `axis`
  axes,      ///< of parameter `axes`; only operand 0 has them
  scaled,    ///< of factors that are not 1
  channels,  ///< no axis; operands of one axis follow the axis of channels
  broadcast  ///< no axis; operands are broadcast to operand 0
};
struct IndependentRow {
  std::string_view op;
  Whole whole;
};
constexpr IndependentRow independent_rows[] = {{"sum", Whole::axis},
                                               {"mean", Whole::axis},
                                               {"logsum", Whole::axis},
                                               {"logsumexp", Whole::axis},
                                               {"variance", Whole::axis},
                                               {"deviation", Whole::axis},
                                               {"argmax", Whole::axis},
                                               {"argmin", Whole::axis},
                                               {"median_indices", Whole::axis},
                                               {"topk", Whole::axis},
                                               {"take_along", Whole::axis},
                                               {"softmax", Whole::axis},
                                               {"log_softmax", Whole::axis},
                                               {"dynamic_slice", Whole::axes},
                                               {"interpolate", Whole::scaled},
                                               {"prelu", Whole::broadcast},
                                               {"batch_norm_inference", Whole::channels},
                                               {"quantize_linear", Whole::channels},
                                               {"dequantize_linear", Whole::channels}};

/// Appends the boxes that cover a range of elements: at most two for each axis.
void add_boxes(ElementRange range, const Shape& shape, std::vector<Box>& boxes) {
  while (range.size() > 0) {
    // The largest box that begins here. The box covers whole indices of the outermost axis that has a whole index in
    // the range.
    int64_t inner = 1;
    size_t axis = shape.size();
    while (axis > 1 && range.begin % (inner * shape[axis - 1]) == 0 && range.size() >= inner * shape[axis - 1])
      inner *= shape[--axis];
    const size_t last = axis - 1;  // the axis along which whole indices of `inner` elements follow each other
    const int64_t at = range.begin / inner % shape[last];
    const int64_t count = std::min(range.size() / inner, shape[last] - at);
    Box box(shape.size());
    int64_t outer = range.begin / (inner * shape[last]);
    for (size_t i = last; i-- > 0;) box[i] = {outer % shape[i], outer % shape[i] + 1}, outer /= shape[i];
    box[last] = {at, at + count};
    for (size_t i = axis; i < shape.size(); ++i) box[i] = {0, shape[i]};
    boxes.push_back(std::move(box));
    range.begin += count * inner;
  }
}

/// The region of a tile as boxes. A block is a single box.
std::vector<Box> boxes_of(const Region& region, const Shape& shape) {
  Box around(shape.size(), {INT64_MAX, 0});
  region.for_each([&](int64_t e) {
    for (size_t i = shape.size(); i-- > 0;) {
      around[i].begin = std::min(around[i].begin, e % shape[i]);
      around[i].end = std::max(around[i].end, e % shape[i] + 1);
      e /= shape[i];
    }
  });
  if (Region::box(shape, around) == region) return {around};
  std::vector<Box> boxes;
  for (const ElementRange& r : region.ranges()) add_boxes(r, shape, boxes);
  return boxes;
}

/// The box without the reduced axes. The result keeps such an axis with extent 1, or not at all.
Box kept_box(const Box& box, const std::vector<bool>& along, size_t rank) {
  Box kept;
  for (size_t i = 0; i < box.size(); ++i) {
    if (!along[i])
      kept.push_back(box[i]);
    else if (rank == box.size())
      kept.push_back({0, 1});
  }
  return kept;
}

/// Calls f(tile, box) for the blocks of rows. A block is whole along the named axes, on the first tile that has a part.
template <class F>
void for_row_blocks(const PartsRequest& r, const TileMapping& mapping, const Shape& shape,
                    const std::vector<bool>& along, F&& f) {
  if (mapping.flat) {
    size_t kept = shape.size();
    while (kept > 0 && along[kept - 1]) --kept;
    const Shape lead(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(kept));
    const int64_t length = element_count(shape) / element_count(lead);
    int64_t next = 0;
    const Layout layout(r.machine, mapping, shape);
    for (const Layout::Owner& o : layout.owners(0)) {
      const ElementRange rows{std::max(next, o.elements.begin / length), div_up(o.elements.end, length)};
      std::vector<Box> boxes;
      if (rows.size() > 0) add_boxes(rows, lead, boxes);
      for (Box& box : boxes) {
        for (size_t i = kept; i < shape.size(); ++i) box.push_back({0, shape[i]});
        f(o.tile, box);
      }
      next = std::max(next, rows.end);
    }
    return;
  }
  std::vector<int32_t> at(shape.size(), 0);
  for (size_t axis = 1; axis > 0;) {
    int64_t block = 0;
    Box rows(shape.size());
    for (size_t i = 0; i < shape.size(); ++i) {
      rows[i] = along[i] ? ElementRange{0, shape[i]} : part_of(shape[i], mapping.parts[i], at[i]);
      block = block * mapping.parts[i] + at[i];
    }
    if (std::all_of(rows.begin(), rows.end(), [](const ElementRange& range) { return range.size() > 0; }))
      f(static_cast<int32_t>((mapping.first + mapping.tile_of(0, block * mapping.spread)) % r.machine.tiles), rows);
    for (axis = shape.size(); axis > 0; --axis) {
      if (!along[axis - 1] && ++at[axis - 1] < mapping.parts[axis - 1]) break;
      at[axis - 1] = 0;
    }
  }
}

/// Whether a shape is `x` without the reduced axes.
bool is_kept(const Shape& shape, const Shape& x, const std::vector<bool>& along) {
  Shape with_ones, without;
  for (size_t i = 0; i < x.size(); ++i) {
    with_ones.push_back(along[i] ? 1 : x[i]);
    if (!along[i]) without.push_back(x[i]);
  }
  return shape == with_ones || shape == without;
}

}  // namespace

std::optional<OpParts> reduction_parts(const PartsRequest& r) {
  const OpContext& s = r.site;
  if (s.row.pattern != Pattern::reduction || s.row.modifies != 0 || s.in.size() != 1 || s.out.size() != 1)
    return std::nullopt;
  const TensorSpec &x = s.input(0), &y = s.out[0];
  const OpRow* combine = combining_row(s.row);
  if (!combine) return row_parts(r);
  if (r.candidate.in[0] < 0 || x.size() == 0 || x.shape.empty()) return std::nullopt;
  const std::vector<bool> along = axes_of_site(s, x.shape.size(), false);
  if (!is_kept(y.shape, x.shape, along)) return std::nullopt;
  const Layout layout(r.machine, r.mappings.at(r.candidate.in[0]), x.shape);
  if (layout.copies() > 1) return std::nullopt;
  OpParts parts;
  parts.steps.emplace_back();
  int64_t written = 0;
  for (int32_t tile = 0; tile < layout.tiles(); ++tile) {
    if (layout.on(tile).empty()) continue;
    for (const Box& box : boxes_of(layout.on(tile), x.shape)) {
      Part part{.tile = tile};
      part.reads.push_back({0, Region::box(x.shape, box), extents_of(box)});
      const Box kept = kept_box(box, along, y.shape.size());
      part.writes.push_back({0, false, Region::box(y.shape, kept), extents_of(kept)});
      written += part.writes[0].region.size();
      parts.steps[0].push_back(std::move(part));
    }
  }
  if (written <= y.size()) return parts;
  parts.partial = {PartialResults{combine, is_floating(y.dtype) && size_of(y.dtype) < 4 ? DType::float32 : y.dtype}};
  if (s.row.name == "mean") {
    if (!is_floating(y.dtype)) return std::nullopt;
    parts.partial[0]->part = combine;
    parts.partial[0]->divisor = x.size() / y.size();
  }
  return parts;
}

std::optional<OpParts> axis_parts(const PartsRequest& r) {
  const OpContext& s = r.site;
  const auto known = std::find_if(std::begin(independent_rows), std::end(independent_rows),
                                  [&](const IndependentRow& row) { return row.op == s.row.name; });
  if (known == std::end(independent_rows) || !s.has(0) || r.candidate.out.empty() || r.candidate.out[0] < 0)
    return std::nullopt;
  const Shape &x = s.input(0).shape, &y = s.out[0].shape;
  if (x.empty() || s.input(0).size() == 0 || s.out[0].size() == 0) return std::nullopt;
  std::vector<bool> along(x.size(), false);
  if (known->whole == Whole::axis) along = axes_of_site(s, x.size(), false);
  if (known->whole == Whole::axes)
    for (const int64_t axis : s.integers("axes"))
      along[static_cast<size_t>(axis < 0 ? axis + std::ssize(x) : axis)] = true;
  if (known->whole == Whole::scaled && !s.is_none("scale_factor")) {
    const auto& scale = std::get<std::vector<double>>(s.attr("scale_factor"));
    for (size_t i = 0; i < x.size(); ++i) along[i] = scale[i] != 1;
  }
  // Of each tensor: the axis of operand 0 that each of its axes follows, or none for an operand that is read whole.
  const auto axes_of = [&](const Shape& t) -> std::optional<std::vector<size_t>> {
    std::vector<size_t> all, kept;
    for (size_t i = 0; i < x.size(); ++i) {
      all.push_back(i);
      if (!along[i]) kept.push_back(i);
    }
    if (known->whole == Whole::channels && t.size() == 1 && x.size() > 1) {
      const std::vector<bool> named = axes_of_site(s, x.size(), false);
      const bool one = std::count(named.begin(), named.end(), true) == 1;
      kept = {one ? static_cast<size_t>(std::find(named.begin(), named.end(), true) - named.begin()) : 1};
    }
    if (known->whole == Whole::broadcast && t.size() < x.size()) kept.assign(all.end() - std::ssize(t), all.end());
    for (const std::vector<size_t>& axes : {all, kept}) {
      bool follows = axes.size() == t.size();
      for (size_t i = 0; i < t.size() && follows; ++i)
        follows = along[axes[i]] || t[i] == x[axes[i]] || (known->whole == Whole::broadcast && t[i] == 1);
      if (follows) return axes;
    }
    return std::nullopt;
  };
  const auto of_result = axes_of(y);
  if (!of_result) return std::nullopt;
  for (const TensorSpec& t : s.out)
    if (t.shape != y) return std::nullopt;
  OpParts parts;
  parts.steps.emplace_back();
  const Layout layout(r.machine, r.mappings.at(r.candidate.out[0]), y);
  for (int32_t tile = 0; tile < layout.tiles(); ++tile)
    for (const Box& mine : layout.on(tile).empty() ? std::vector<Box>{} : boxes_of(layout.on(tile), y)) {
      Box wide = mine, of_x(x.size()), local = mine;
      for (size_t i = 0; i < x.size(); ++i) of_x[i] = {0, x[i]};
      for (size_t i = 0; i < y.size(); ++i) {
        if (along[(*of_result)[i]])
          wide[i] = {0, y[i]};
        else
          of_x[(*of_result)[i]] = mine[i];
        local[i] = {mine[i].begin - wide[i].begin, mine[i].end - wide[i].begin};
      }
      Part part{.tile = tile};
      for (size_t i = 0; i < s.in.size(); ++i) {
        if (!s.in[i]) continue;
        const Shape& t = s.in[i]->shape;
        const bool alone = known->whole == Whole::axes && i > 0;
        const auto axes = alone ? std::nullopt : axes_of(t);
        if (!axes && !alone && s.in[i]->size() > 1) return std::nullopt;
        Box box(t.size());
        for (size_t k = 0; k < t.size(); ++k)
          box[k] = axes && !along[(*axes)[k]] && t[k] == x[(*axes)[k]] ? of_x[(*axes)[k]] : ElementRange{0, t[k]};
        part.reads.push_back({i, Region::box(t, box), extents_of(box)});
      }
      std::vector<int64_t> order;
      if (wide != mine) Region::box(extents_of(wide), local).for_each([&](int64_t e) { order.push_back(e); });
      for (size_t o = 0; o < s.out.size(); ++o)
        part.writes.push_back({o, false, Region::box(y, mine), extents_of(wide), order});
      parts.steps[0].push_back(std::move(part));
    }
  // The results of a small reduction are stored on one tile.
  if (s.row.pattern == Pattern::reduction && parts.steps[0].size() == 1) return std::nullopt;
  return parts;
}

std::optional<OpParts> row_parts(const PartsRequest& r) {
  const OpContext& s = r.site;
  if (s.row.modifies != 0 || s.row.exchange != Exchange::none || s.row.side_effect) return std::nullopt;
  size_t main = 0;
  for (size_t i = 0; i < s.in.size(); ++i)
    if (s.in[i] && (!s.has(main) || s.in[i]->size() > s.in[main]->size())) main = i;
  if (!s.has(main)) return std::nullopt;
  const TensorSpec& x = s.input(main);
  if (x.size() == 0 || x.shape.empty() || r.candidate.in[main] < 0) return std::nullopt;
  const std::vector<bool> along = axes_of_site(s, x.shape.size(), true);
  const TileMapping& mapping = r.mappings.at(r.candidate.in[main]);
  // Rows of a flat mapping are runs of elements.
  const bool runs = std::is_sorted(along.begin(), along.end()) && !along.empty() && !along[0];
  if ((mapping.flat && !runs) || mapping.copies > 1) return std::nullopt;
  // Operands and results have the rows' shape, or one element a row. All are partitioned by rows.
  const auto by_rows = [&](const TensorSpec& t) { return t.shape == x.shape || is_kept(t.shape, x.shape, along); };
  for (size_t i = 0; i < s.in.size(); ++i)
    if (s.in[i] && !by_rows(*s.in[i])) return std::nullopt;
  for (const TensorSpec& t : s.out)
    if (!by_rows(t)) return std::nullopt;
  OpParts parts;
  parts.steps.emplace_back();
  for_row_blocks(r, mapping, x.shape, along, [&](int32_t tile, const Box& rows) {
    Part part{.tile = tile};
    const auto slice_of = [&](const TensorSpec& t) {
      return t.shape == x.shape ? rows : kept_box(rows, along, t.shape.size());
    };
    for (size_t i = 0; i < s.in.size(); ++i)
      if (s.in[i])
        part.reads.push_back({i, Region::box(s.in[i]->shape, slice_of(*s.in[i])), extents_of(slice_of(*s.in[i]))});
    for (size_t o = 0; o < s.out.size(); ++o)
      part.writes.push_back(
          {o, false, Region::box(s.out[o].shape, slice_of(s.out[o])), extents_of(slice_of(s.out[o]))});
    if (!part.writes.empty() && !part.writes[0].region.empty()) parts.steps[0].push_back(std::move(part));
  });
  return parts;
}

namespace {

std::optional<OpParts> normalised(const PartsRequest& r, bool gradient) {
  const OpContext& s = r.site;
  // Statistics belong to rows, or to samples. A sample has one row for each group.
  const bool samples =
      std::any_of(s.row.params.begin(), s.row.params.end(), [](const Param& p) { return p.name == "num_groups"; });
  const size_t main = gradient ? 1 : 0;
  if (s.in.size() != (gradient ? 5U : 3U) || s.out.size() != 3 || s.input(main).size() == 0) return std::nullopt;
  const Shape& x = s.input(main).shape;
  if (r.candidate.in[main] < 0) return std::nullopt;
  const TileMapping& mapping = r.mappings.at(r.candidate.in[main]);
  if (mapping.flat || mapping.copies > 1) return std::nullopt;
  const auto is_parameter = [](const Param& p) { return p.name == "weight" || p.name == "bias"; };
  std::vector<bool> along(x.size(), samples);
  along[0] = x.size() == 1;
  along.back() = true;
  OpParts parts;
  parts.steps.emplace_back();
  for_row_blocks(r, mapping, x, along, [&](int32_t tile, const Box& rows) {
    Part part{.tile = tile};
    // Statistics have one axis: rows, or samples and groups.
    Shape counts(x.begin(), x.end() - 1);
    Box of_statistics(rows.begin(), rows.end() - 1);
    if (samples) {
      const int64_t groups = s.integer("num_groups");
      counts = {x[0], groups};
      of_statistics = {rows[0], {0, groups}};
    }
    const Region statistics = Region::box(counts, of_statistics);
    for (size_t i = 0; i < s.in.size(); ++i) {
      if (is_parameter(s.row.params[i]))
        part.reads.push_back({i, Region::all(s.input(i).size()), s.input(i).shape});
      else if (i < (gradient ? 2U : 1U))
        part.reads.push_back({i, Region::box(x, rows), extents_of(rows)});
      else
        part.reads.push_back({i, statistics, {statistics.size()}});
    }
    for (size_t o = 0; o < 3; ++o) {
      if (gradient && o > 0)
        part.writes.push_back({o, false, Region::all(s.out[o].size()), s.out[o].shape});
      else if (o == 0)
        part.writes.push_back({o, false, Region::box(x, rows), extents_of(rows)});
      else
        part.writes.push_back({o, false, statistics, {statistics.size()}});
    }
    parts.steps[0].push_back(std::move(part));
  });
  if (gradient) {
    parts.partial.resize(3);
    for (size_t o = 1; o < 3; ++o)
      parts.partial[o] = PartialResults{&get_op("sum"), size_of(s.out[o].dtype) < 4 ? DType::float32 : s.out[o].dtype};
  }
  return parts;
}

}  // namespace

std::optional<OpParts> normalisation_parts(const PartsRequest& r) { return normalised(r, false); }
std::optional<OpParts> normalisation_gradient_parts(const PartsRequest& r) { return normalised(r, true); }

}  // namespace pxl::tiles
