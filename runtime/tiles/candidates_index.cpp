// Candidates of gathers and scatters. The table is partitioned by entries and along its slices. Each tile examines all
// indices.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/tiles/candidates.hpp"

namespace pxl::tiles {

namespace {

struct Slices {
  int64_t entries = 1;  ///< of the table
  int64_t length = 1;   ///< elements of a slice
  int64_t indices = 1;
  size_t axis = 0;
};

Slices slices_of(const OpContext& s, const TensorSpec& table, const TensorSpec* indices, int64_t moved) {
  Slices v;
  const std::vector<bool> named = axes_of_site(s, table.shape.size(), false);
  for (size_t i = named.size(); i-- > 0;)
    if (named[i]) v.axis = i;
  v.entries = table.shape.empty() ? 1 : std::max<int64_t>(1, table.shape[v.axis]);
  v.length = std::max<int64_t>(1, table.size() / v.entries);
  v.indices = indices ? std::max<int64_t>(1, indices->size()) : 1;
  // Ops on windows, and on elements along an axis, are counted as the equivalent number of whole slices.
  if (v.indices * v.length > moved) v.length = std::max<int64_t>(1, moved / v.indices);
  if (v.indices * v.length < moved) v.indices = div_up(moved, v.length);
  return v;
}

/// Calls f(parts of the entries, parts of a slice) for the partitions to try.
template <class F>
void for_cuts(const Machine& m, const Slices& v, F&& f) {
  for (int64_t along = 1; along <= v.length && along <= m.tiles; along *= 4) {
    const int64_t entries = std::min(v.entries, m.tiles / along);
    f(entries, along);
    if (entries >= 16) f(entries / 4, along);
  }
}

std::vector<int32_t> table_parts(const TensorSpec& table, const Slices& v, int64_t entries, int64_t along) {
  std::vector<int32_t> parts(table.shape.size(), 1);
  if (parts.empty()) return parts;
  parts[v.axis] = static_cast<int32_t>(entries);
  if (parts.size() > v.axis + 1)
    parts.back() = static_cast<int32_t>(std::min(along, std::max<int64_t>(1, table.shape.back())));
  return parts;
}

const TensorSpec* indices_of(const OpContext& s, size_t& slot) {
  for (slot = 0; slot < s.in.size(); ++slot)
    if (s.in[slot] && is_integer(s.in[slot]->dtype)) return s.in[slot];
  return nullptr;
}

}  // namespace

void enumerate_gathers(const CandidateRequest& r) {
  const Machine& m = r.machine;
  const OpContext& s = r.site;
  const TensorSpec& table = s.input(0);
  const TensorSpec& y = s.out[0];
  size_t slot = 0;
  const TensorSpec* indices = indices_of(s, slot);
  const Slices v = slices_of(s, table, indices, std::max<int64_t>(1, y.size()));
  const int64_t size = element_bytes(table);
  for_cuts(m, v, [&](int64_t entries, int64_t along) {
    OpCandidate candidate = r.start("two stages");
    const TileMapping l = block_mapping(table, table_parts(table, v, entries, along));
    candidate.in[0] = r.mapping(l);
    const int64_t tiles = l.tiles(), part = div_up(v.length, along), found = div_up(v.indices, entries);
    const int64_t index_bytes = v.indices * 4;
    candidate.exchange(m, "indices to all tiles",
                       {index_bytes, div_up(index_bytes, m.tiles), div_up(index_bytes, 256), index_bytes * tiles, 0});
    candidate.compute(m, "MultiSlice", gather_cycles(m, v.indices, found, part, size), tiles, {24});
    const TileMapping to = linear_mapping(m, y);
    const int64_t mine = max_elements_per_tile(to, y.shape) * element_bytes(y);
    // Each slice comes from one of the tiles that hold its entry; all of these send what they found.
    candidate.exchange(m, "slices to their places",
                       {mine, found * part * size, std::max<int64_t>(1, div_up(mine, part * size)), y.bytes(), 0});
    candidate.temp_bytes = index_bytes + v.indices * part * size;
    candidate.resident_bytes = max_elements_per_tile(l, table.shape) * size + mine;
    for (const TensorSpec& t : s.out) candidate.out.push_back(r.mapping(linear_mapping(m, t)));
    candidate.text = fmt::format("table in {} x {} parts", entries, along);
    candidate.table = {saturating_product(v.indices, along), part * size};
    r.candidates.push_back(std::move(candidate));
  });
}

void enumerate_scatters(const CandidateRequest& r) {
  const Machine& m = r.machine;
  const OpContext& s = r.site;
  const TensorSpec& table = s.out[0];
  size_t slot = 0;
  const TensorSpec* indices = indices_of(s, slot);
  // The updates are the operand besides the table and the indices.
  int64_t moved = 1;
  for (size_t i = 0; i < s.in.size(); ++i)
    if (s.in[i] && i != slot && (s.in[i]->shape != table.shape || s.in.size() <= 2))
      moved = std::max(moved, s.in[i]->size());
  const Slices v = slices_of(s, table, indices, moved);
  const int64_t size = element_bytes(table);
  for_cuts(m, v, [&](int64_t entries, int64_t along) {
    OpCandidate candidate = r.start("one stage");
    const TileMapping l = block_mapping(table, table_parts(table, v, entries, along));
    const int32_t id = r.mapping(l);
    const int64_t tiles = l.tiles(), part = div_up(v.length, along), n = max_elements_per_tile(l, table.shape);
    const int64_t found = div_up(v.indices, entries);
    bool overwrites = false;  // the table is an operand
    for (size_t i = 0; i < s.in.size(); ++i)
      if (s.in[i] && i != slot && s.in[i]->shape == table.shape && s.in.size() > 2)
        candidate.in[i] = id, overwrites = true;
    const int64_t index_bytes = v.indices * 4, slice_bytes = v.indices * part * size;
    candidate.exchange(m, "indices and slices to all tiles",
                       {index_bytes + slice_bytes, div_up(index_bytes + slice_bytes, m.tiles) + 4,
                        div_up(index_bytes + slice_bytes, 256), (index_bytes + slice_bytes) * tiles, 0});
    if (!overwrites)
      candidate.compute(m, "Fill", fill_cycles(m, n, size), tiles);
    else if (s.row.alias < 0)
      candidate.compute(m, "Memcpy", memcpy_cycles(m, n * size), tiles);
    candidate.compute(m, "MultiUpdateAdd", scatter_cycles(m, v.indices, found, part, size), tiles, {24});
    candidate.temp_bytes = index_bytes + slice_bytes;
    candidate.resident_bytes = n * size * (overwrites && s.row.alias < 0 ? 2 : 1);
    candidate.out.push_back(id);
    for (size_t i = 1; i < s.out.size(); ++i) candidate.out.push_back(r.mapping(linear_mapping(m, s.out[i])));
    candidate.outputs_share = s.row.alias == 0;
    if (candidate.outputs_share) candidate.table = {saturating_product(v.indices, along), part * size};
    candidate.text = fmt::format("table in {} x {} parts", entries, along);
    r.candidates.push_back(std::move(candidate));
  });
}

}  // namespace pxl::tiles
