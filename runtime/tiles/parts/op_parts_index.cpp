// Partitions of gathers and scatters. Each tile has some entries of the table, or a part of each entry. A tile examines
// all indices on a table whose other entries are 0, so indices of other tiles' entries yield 0.
#include "runtime/ops/infer.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/tiles/layout.hpp"
#include "runtime/tiles/parts/op_parts.hpp"

namespace pxl::tiles {

namespace {

DType bits_of(DType dtype) {
  switch (size_of(dtype)) {
    case 1: return DType::uint8;
    case 2: return DType::uint16;
    case 4: return DType::uint32;
    default: return DType::uint64;
  }
}

/// Calls f(tile, block of the table, box of the indices). A block mapping spreads a block over the tiles that divide
/// the indices. Returns false for other mappings.
template <class F>
bool for_blocks(const PartsRequest& r, int32_t id, const Shape& shape, const Shape& indices, F&& f) {
  if (id < 0) return false;
  const TileMapping& mapping = r.mappings.at(id);
  std::vector<int32_t> lookups;
  partition_axes(indices, 0, indices.size(), mapping.spread, lookups);
  int64_t groups = 1, blocks = 1;
  for (const int32_t n : lookups) groups *= n;
  if (mapping.flat || groups != mapping.spread || mapping.copies > 1 || element_count(shape) == 0) return false;
  for (const int32_t n : mapping.parts) blocks *= n;
  const auto box_of = [](const Shape& of, const std::vector<int32_t>& parts, int64_t number) {
    Box box(of.size());
    for (size_t i = of.size(); i-- > 0; number /= parts[i]) box[i] = part_of(of[i], parts[i], number % parts[i]);
    return box;
  };
  for (int64_t b = 0; b < blocks * groups; ++b)
    f(static_cast<int32_t>((mapping.first + mapping.tile_of(0, b)) % r.machine.tiles),
      box_of(shape, mapping.parts, b / groups), box_of(indices, lookups, b % groups));
  return true;
}

/// Returns the box with the whole extent of one axis.
Box with_whole(Box box, size_t axis, int64_t extent) {
  box[axis] = {0, extent};
  return box;
}
/// Returns the box relative to the begin of `outer`.
Box within(Box box, const Box& outer) {
  for (size_t i = 0; i < box.size(); ++i) box[i] = {box[i].begin - outer[i].begin, box[i].end - outer[i].begin};
  return box;
}
/// Returns a box of a tensor in which the axes of the indices replace one axis of the table.
Box with_indices(const Box& table, size_t axis, const Box& indices) {
  Box box(table.begin(), table.begin() + static_cast<ptrdiff_t>(axis));
  box.insert(box.end(), indices.begin(), indices.end());
  box.insert(box.end(), table.begin() + static_cast<ptrdiff_t>(axis) + 1, table.end());
  return box;
}

}  // namespace

std::optional<OpParts> gather_parts(const PartsRequest& r) {
  const OpContext& s = r.site;
  if (s.row.name != "gather" || s.out[0].size() == 0) return std::nullopt;
  const Shape &table = s.input(0).shape, &indices = s.input(1).shape;
  const auto axis = static_cast<size_t>(normalise_axis(s.integer("axis"), std::ssize(table)));
  OpParts parts;
  parts.steps.emplace_back();
  bool partial = false;
  const bool found = for_blocks(r, r.candidate.in[0], table, indices, [&](int32_t tile, const Box& box, const Box& at) {
    const Box wide = with_whole(box, axis, table[axis]), result = with_indices(wide, axis, at);
    if (element_count(extents_of(result)) == 0) return;
    partial = partial || box != wide;
    Part part{.tile = tile};
    part.reads.push_back(
        {0, Region::box(table, box), extents_of(wide),
         Region::box(extents_of(wide), within(box, wide)).numbers_of(element_count(extents_of(wide)))});
    part.reads.push_back({1, Region::box(indices, at), extents_of(at)});
    part.writes.push_back({0, false, Region::box(s.out[0].shape, result), extents_of(result)});
    parts.steps[0].push_back(std::move(part));
  });
  if (!found) return std::nullopt;
  // A tile finds nothing, which is 0, for indices of other tiles' entries.
  if (partial) parts.partial = {PartialResults{&get_op("sum"), bits_of(s.input(0).dtype), true}};
  return parts;
}

std::optional<OpParts> scatter_parts(const PartsRequest& r) {
  const OpContext& s = r.site;
  if (s.row.name != "gather_grad" || s.integer("batch") != 0 || s.input(0).size() == 0) return own_element_parts(r);
  const Shape &table = s.out[0].shape, &indices = s.input(1).shape;
  const auto axis = static_cast<size_t>(s.integer("axis"));
  OpParts parts;
  parts.steps.emplace_back();
  if (r.candidate.out[0] >= 0 && r.mappings.at(r.candidate.out[0]).spread > 1)
    parts.partial = {PartialResults{&get_op("sum"), size_of(s.out[0].dtype) < 4 ? DType::float32 : s.out[0].dtype}};
  const bool found =
      for_blocks(r, r.candidate.out[0], table, indices, [&](int32_t tile, const Box& box, const Box& at) {
        const Box wide = with_whole(box, axis, table[axis]), given = with_indices(wide, axis, at);
        const Shape local = extents_of(wide);
        Part part{.tile = tile};
        part.reads.push_back({0, Region::box(s.input(0).shape, given), extents_of(given)});
        part.reads.push_back({1, Region::box(indices, at), extents_of(at)});
        ResultSlice mine{0, false, Region::box(table, box), local};
        Region::box(local, within(box, wide)).for_each([&](int64_t e) { mine.order.push_back(e); });
        part.writes.push_back(std::move(mine));
        part.attrs = s.attrs;
        (*part.attrs)[param_index(s.row, "shape")] = std::vector<int64_t>(local);
        parts.steps[0].push_back(std::move(part));
      });
  if (!found) return own_element_parts(r);
  return parts;
}

}  // namespace pxl::tiles
