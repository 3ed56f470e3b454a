// Candidates of gathers and scatters. The table is partitioned by entries and along its slices. Lookups of whole slices
// are also partitioned by indices.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/tiles/candidates/candidates.hpp"
#include "runtime/tiles/cuts/given_cut.hpp"

namespace pxl::tiles {

namespace {

struct Slices {
  int64_t entries = 1;  ///< of the table
  int64_t length = 1;   ///< elements of a slice
  int64_t indices = 1;
  size_t axis = 0;
};

std::string text_of_table(const TableCut& cut) {
  const std::string more = cut.lookups > 1 ? fmt::format(", indices in {} parts", cut.lookups) : "";
  return fmt::format("table in {} x {} parts{}", cut.entries, cut.along, more);
}

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

/// One tile's share of a table and its indices.
struct Share {
  Share(const Slices& v, const TableCut& cut, int64_t element_bytes)
      : entries(div_up(v.entries, cut.entries)),
        part(div_up(v.length, cut.along)),
        indices(div_up(v.indices, cut.lookups)),
        found(div_up(indices, cut.entries)),
        slice_bytes(part * element_bytes),
        index_bytes(indices * 4),
        table_bytes(entries * slice_bytes),
        stored_bytes(div_up(entries, cut.lookups) * slice_bytes) {}
  int64_t entries, part, indices, found;  ///< found: indices of the tile's own entries
  int64_t slice_bytes, index_bytes, table_bytes, stored_bytes;

  /// The bytes on a tile: tensors, then the most that a lookup and an update need at once.
  int64_t bytes(const TableCut& cut) const {
    const int64_t candidates = cut.entries > 1 ? indices * slice_bytes : 0, sums = entries * part * 4;
    const int64_t copy = cut.lookups > 1 ? table_bytes : 0, wide = indices * part * 4;
    const int64_t update =
        cut.lookups > 1 ? std::max({indices * slice_bytes + wide, index_bytes + wide + sums, 2 * sums}) : 0;
    return stored_bytes + index_bytes + found * slice_bytes + candidates + std::max({copy, candidates, update});
  }
};

/// The cut with the fewest bytes on a tile. Bytes of the table count twice: they stay, as PopLibs weighs them, and the
/// other bytes are free after the lookup. Slices are divided into words, so that no tile writes a part of a word.
TableCut smallest_cut(const Machine& m, const TensorSpec& table, const Slices& v, const Shape& lookups) {
  const int64_t size = element_bytes(table), word = std::max<int64_t>(1, 4 / size);
  const int64_t words = v.axis + 1 < table.shape.size() ? div_up(table.shape.back(), word) : 1;
  TableCut best;
  int64_t least = INT64_MAX;
  for (const int64_t along : all_partition_counts(words, m.tiles))
    for (const int64_t groups : all_axes_partition_counts(lookups, m.tiles / along))
      for (const int64_t entries : {int64_t{1}, std::min(div_up(v.entries, 2), m.tiles / (along * groups))}) {
        const TableCut cut{entries, along, groups};
        const Share share(v, cut, size);
        const int64_t bytes = share.stored_bytes + share.bytes(cut);
        if (bytes < least) least = bytes, best = cut;
      }
  return best;
}

/// The cuts to try. `lookups`: the shape of the indices if each of them names a whole slice, else null.
std::vector<TableCut> table_cuts(const CandidateRequest& r, const TensorSpec& table, const Slices& v,
                                 const Shape* lookups) {
  const Machine& m = r.machine;
  if (r.given && r.given->table()) {
    const TableCut& cut = *r.given->table();
    r.given->check_parts("entries", cut.entries, v.entries, "the table");
    const int64_t word = std::max<int64_t>(1, 4 / element_bytes(table));
    const bool divides = v.axis + 1 < table.shape.size();
    r.given->check_parts("along", cut.along,
                         !lookups  ? v.length
                         : divides ? div_up(table.shape.back(), word)
                                   : 1,
                         "a slice");
    r.given->check_axes("lookups", cut.lookups, lookups ? *lookups : Shape{}, "the indices");
    r.given->check_tiles(m, saturating_product(saturating_product(cut.entries, cut.along), cut.lookups));
    return {cut};
  }
  if (lookups) return {smallest_cut(m, table, v, *lookups)};
  std::vector<TableCut> cuts;
  for (int64_t along = 1; along <= v.length && along <= m.tiles; along *= 4) {
    const int64_t entries = std::min(v.entries, m.tiles / along);
    cuts.push_back({entries, along});
    if (entries >= 16) cuts.push_back({entries / 4, along});
  }
  return cuts;
}

TileMapping table_mapping(const TensorSpec& table, const Slices& v, const TableCut& cut) {
  std::vector<int32_t> parts(table.shape.size(), 1);
  if (!parts.empty()) parts[v.axis] = static_cast<int32_t>(cut.entries);
  if (parts.size() > v.axis + 1)
    parts.back() = static_cast<int32_t>(std::min(cut.along, std::max<int64_t>(1, table.shape.back())));
  return block_mapping(table, parts, cut.lookups);
}

/// The slices of all indices, each part on the tiles that find it.
TileMapping found_mapping(const TensorSpec& y, const Shape& indices, const Slices& v, const TableCut& cut) {
  std::vector<int32_t> by_index, parts(y.shape.size(), 1), strides(y.shape.size() + 2, 1);
  partition_axes(indices, 0, indices.size(), cut.lookups, by_index);
  int32_t next = 1;
  for (size_t i = by_index.size(); i-- > 0; next *= by_index[i])
    parts[v.axis + i] = by_index[i], strides[v.axis + i] = next;
  if (cut.along > 1) parts.back() = static_cast<int32_t>(cut.along), strides[y.shape.size() - 1] = next;
  strides[y.shape.size()] = next * static_cast<int32_t>(cut.along);
  return with_strides(block_mapping(y, parts, cut.entries), strides);
}

/// Whether an op looks whole slices up, one for each index. A second memory level moves whole transfers, so slices of
/// its tables are not divided into words.
bool looks_up(const Machine& m, const OpContext& s, const TensorSpec& table, const TensorSpec& slices,
              const TensorSpec* indices) {
  if (m.spill > 0 || !indices || table.shape.empty() || (s.row.name != "gather" && s.row.name != "gather_grad"))
    return false;
  return slices.shape.size() + 1 == table.shape.size() + indices->shape.size();
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
  const bool lookup = looks_up(m, s, table, y, indices);
  const int64_t size = element_bytes(table);
  for (const TableCut& cut : table_cuts(r, table, v, lookup ? &indices->shape : nullptr)) {
    const Share mine(v, cut, size);
    OpCandidate candidate = r.start("two stages");
    const TileMapping l = table_mapping(table, v, cut);
    const int64_t tiles = l.tiles(), copied = mine.table_bytes - mine.stored_bytes;
    candidate.in[0] = r.mapping(l);
    candidate.exchange(m, "indices, and the table to each group of tiles",
                       {mine.index_bytes + copied, div_up(v.indices * 4, m.tiles) + mine.stored_bytes,
                        div_up(mine.index_bytes, 256) + cut.lookups - 1, (mine.index_bytes + copied) * tiles, 0});
    candidate.compute(m, "MultiSlice", gather_cycles(m, mine.indices, mine.found, mine.part, size), tiles, {24});
    candidate.temp_bytes = mine.index_bytes + copied;
    candidate.resident_bytes = mine.stored_bytes + mine.found * mine.slice_bytes;
    for (const TensorSpec& t : s.out)
      candidate.out.push_back(r.mapping(lookup ? found_mapping(t, indices->shape, v, cut) : linear_mapping(m, t)));
    if (cut.entries > 1 || !lookup) {
      // Each slice comes from one of the tiles that hold its entry; all of these send what they found.
      const int64_t all = mine.found * mine.slice_bytes;
      const int64_t place = max_elements_per_tile(r.pool.table.at(candidate.out[0]), y.shape) * element_bytes(y);
      candidate.exchange(m, "slices to their places",
                         {place * (lookup ? cut.entries : 1), all,
                          std::max<int64_t>(1, div_up(place, mine.slice_bytes)), y.bytes(), 0});
      if (lookup)
        candidate.compute(m, "MultiSlice", gather_cycles(m, mine.found, mine.found, mine.part, size), tiles, {24});
      candidate.temp_bytes += (lookup ? 2 : 1) * mine.indices * mine.slice_bytes;
    }
    candidate.text = text_of_table(cut);
    candidate.table_cut = cut;
    candidate.table = {saturating_product(v.indices, cut.along), mine.slice_bytes};
    r.candidates.push_back(std::move(candidate));
  }
}

void enumerate_scatters(const CandidateRequest& r) {
  const Machine& m = r.machine;
  const OpContext& s = r.site;
  const TensorSpec& table = s.out[0];
  size_t slot = 0;
  const TensorSpec* indices = indices_of(s, slot);
  // The updates are the operand besides the table and the indices.
  int64_t moved = 1;
  size_t updates = 0;
  for (size_t i = 0; i < s.in.size(); ++i)
    if (s.in[i] && i != slot && (s.in[i]->shape != table.shape || s.in.size() <= 2) && s.in[i]->size() >= moved)
      moved = s.in[i]->size(), updates = i;
  const Slices v = slices_of(s, table, indices, moved);
  const bool lookup = s.has(updates) && looks_up(m, s, table, s.input(updates), indices);
  const int64_t size = element_bytes(table);
  for (const TableCut& cut : table_cuts(r, table, v, lookup ? &indices->shape : nullptr)) {
    const Share mine(v, cut, size);
    OpCandidate candidate = r.start("one stage");
    const TileMapping l = table_mapping(table, v, cut);
    const int32_t id = r.mapping(l);
    const int64_t tiles = l.tiles(), n = mine.entries * mine.part;
    bool overwrites = false;  // the table is an operand
    for (size_t i = 0; i < s.in.size(); ++i)
      if (s.in[i] && i != slot && s.in[i]->shape == table.shape && s.in.size() > 2)
        candidate.in[i] = id, overwrites = true;
    // The slices of all entries reach each tile. They are there if only the indices are divided.
    const int64_t arrives = lookup && cut.entries == 1 ? 0 : mine.indices * mine.slice_bytes;
    if (lookup) candidate.in[updates] = r.mapping(found_mapping(s.input(updates), indices->shape, v, cut));
    const int64_t bytes = mine.index_bytes + arrives;
    candidate.exchange(m, "indices and slices to all tiles",
                       {bytes, div_up(bytes, m.tiles) + 4, div_up(bytes, 256), bytes * tiles, 0});
    const int64_t sum_bytes = cut.lookups > 1 ? 4 : size;
    if (!overwrites)
      candidate.compute(m, "Fill", fill_cycles(m, n, sum_bytes), tiles);
    else if (s.row.alias < 0)
      candidate.compute(m, "Memcpy", memcpy_cycles(m, n * size), tiles);
    if (sum_bytes != size)
      candidate.compute(m, "Cast", cast_cycles(m, mine.indices * mine.part, size, sum_bytes), tiles);
    candidate.compute(m, "MultiUpdateAdd", scatter_cycles(m, mine.indices, mine.found, mine.part, sum_bytes), tiles,
                      {24});
    candidate.temp_bytes = bytes;
    if (cut.lookups > 1)
      candidate.temp_bytes += mine.indices * mine.part * sum_bytes + n * sum_bytes +
                              candidate.sum_partials(m, "partial sums", cut.lookups, n, sum_bytes, size, tiles);
    candidate.resident_bytes = mine.stored_bytes * (overwrites && s.row.alias < 0 ? 2 : 1);
    candidate.out.push_back(id);
    for (size_t i = 1; i < s.out.size(); ++i) candidate.out.push_back(r.mapping(linear_mapping(m, s.out[i])));
    candidate.outputs_share = s.row.alias == 0;
    if (candidate.outputs_share) candidate.table = {saturating_product(v.indices, cut.along), mine.slice_bytes};
    candidate.text = text_of_table(cut);
    candidate.table_cut = cut;
    r.candidates.push_back(std::move(candidate));
  }
}

}  // namespace pxl::tiles
