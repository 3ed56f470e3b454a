// Partitions of gathers and scatters. Each tile has some entries of the table, or a part of each entry. A tile examines
// all indices on a table whose other entries are 0, so indices of other tiles' entries yield 0.
#include "runtime/ops/infer.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/tiles/layout.hpp"
#include "runtime/tiles/op_parts.hpp"

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

/// Calls f for the block of a table on each tile. Supports block mappings without shared or repeated blocks.
template <class F>
bool for_blocks(const PartsRequest& r, int32_t id, const Shape& shape, F&& f) {
  if (id < 0) return false;
  const TileMapping& mapping = r.mappings.at(id);
  if (mapping.flat || mapping.spread > 1 || mapping.copies > 1 || element_count(shape) == 0) return false;
  int64_t blocks = 1;
  for (const int32_t n : mapping.parts) blocks *= n;
  for (int64_t b = 0; b < blocks; ++b) {
    Box box(shape.size());
    int64_t left = b;
    for (size_t i = shape.size(); i-- > 0; left /= mapping.parts[i])
      box[i] = part_of(shape[i], mapping.parts[i], left % mapping.parts[i]);
    f(static_cast<int32_t>((mapping.first + mapping.tile_of(0, b)) % r.machine.tiles), box);
  }
  return true;
}

/// Numbers the elements of a tensor with this shape: the number within the box, or -1.
std::vector<int64_t> elements_in(const Shape& shape, const Box& box) {
  const Region inside = Region::box(shape, box);
  std::vector<int64_t> order(static_cast<size_t>(element_count(shape)), -1);
  int64_t next = 0;
  inside.for_each([&](int64_t e) { order[static_cast<size_t>(e)] = next++; });
  return order;
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
Box with_indices(const Box& table, size_t axis, const Shape& indices) {
  Box box(table.begin(), table.begin() + static_cast<ptrdiff_t>(axis));
  for (const int64_t extent : indices) box.push_back({0, extent});
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
  parts.partial = {PartialResults{&get_op("sum"), bits_of(s.input(0).dtype), true}};
  const bool found = for_blocks(r, r.candidate.in[0], table, [&](int32_t tile, const Box& box) {
    const Box wide = with_whole(box, axis, table[axis]), result = with_indices(wide, axis, indices);
    Part part{.tile = tile};
    part.reads.push_back(
        {0, Region::box(table, box), extents_of(wide), elements_in(extents_of(wide), within(box, wide))});
    part.reads.push_back({1, Region::all(s.input(1).size()), indices});
    part.writes.push_back({0, false, Region::box(s.out[0].shape, result), extents_of(result)});
    parts.steps[0].push_back(std::move(part));
  });
  if (!found) return std::nullopt;
  return parts;
}

std::optional<OpParts> scatter_parts(const PartsRequest& r) {
  const OpContext& s = r.site;
  if (s.row.name != "gather_grad" || s.integer("batch") != 0 || s.input(0).size() == 0) return own_element_parts(r);
  const Shape &table = s.out[0].shape, &indices = s.input(1).shape;
  const auto axis = static_cast<size_t>(s.integer("axis"));
  OpParts parts;
  parts.steps.emplace_back();
  const bool found = for_blocks(r, r.candidate.out[0], table, [&](int32_t tile, const Box& box) {
    const Box wide = with_whole(box, axis, table[axis]), given = with_indices(wide, axis, indices);
    const Shape local = extents_of(wide);
    Part part{.tile = tile};
    part.reads.push_back({0, Region::box(s.input(0).shape, given), extents_of(given)});
    part.reads.push_back({1, Region::all(s.input(1).size()), indices});
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
