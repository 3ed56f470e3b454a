#include "runtime/tiles/tile_mapping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/base/text/join_texts.hpp"
#include "runtime/tiles/costs/cost.hpp"

namespace pxl::tiles {

namespace {

constexpr int64_t min_bytes_per_tile = 128;  // as in Poplar's linear mapping

/// Size of part i if n is divided evenly into parts: the first n % parts have one more.
int64_t share(int64_t n, int64_t parts, int64_t i) { return n / parts + (i < n % parts ? 1 : 0); }

/// The first tile of a small tensor: a hash of the spec, so that small tensors are spread over the chip.
int64_t home_tile(const Machine& m, const TensorSpec& spec) {
  uint64_t h = 0x9E3779B97F4A7C15ULL + static_cast<uint64_t>(spec.dtype);
  for (int64_t extent : spec.shape) h = (h ^ static_cast<uint64_t>(extent)) * 0xBF58476D1CE4E5B9ULL, h ^= h >> 29;
  return static_cast<int64_t>(h % static_cast<uint64_t>(m.tiles));
}

TileMapping flat_mapping(const Machine& m, const TensorSpec& spec, int64_t grain) {
  const int64_t elements = std::max<int64_t>(1, spec.size()),
                size = std::max<int64_t>(1, static_cast<int64_t>(size_of(spec.dtype)));
  const int64_t grains = div_up(elements, grain);
  const int64_t each = std::max(div_up(grains, m.tiles), div_up(div_up(min_bytes_per_tile, size), grain));
  TileMapping l;
  l.grain = static_cast<int32_t>(std::min<int64_t>(grain, INT32_MAX));
  l.tiles_used = static_cast<int32_t>(div_up(grains, each));
  // Mappings that fill the chip start at tile 0, so that equal shapes are aligned.
  l.first = l.tiles_used * 2 > m.tiles ? 0 : static_cast<int32_t>(home_tile(m, spec));
  return l;
}

int64_t parts_product(const TileMapping& l) {
  int64_t n = 1;
  for (int32_t p : l.parts) n *= p;
  return n;
}

}  // namespace

int64_t TileMapping::tiles() const { return (flat ? int64_t{tiles_used} : parts_product(*this) * spread) * copies; }

int64_t TileMapping::tile_of(int64_t copy, int64_t index) const {
  if (strides.empty()) return copy * (tiles() / copies) + index;
  int64_t tile = copy * strides.back() + index % spread * strides[parts.size()], block = index / spread;
  for (size_t i = parts.size(); i-- > 0;) {
    tile += block % parts[i] * strides[i];
    block /= parts[i];
  }
  return tile;
}

std::vector<int32_t> TileMapping::all_strides() const {
  if (!strides.empty()) return strides;
  std::vector<int32_t> all(parts.size() + 2, 1);
  int32_t next = spread;
  for (size_t i = parts.size(); i-- > 0;) all[i] = next, next *= parts[i];
  all.back() = next;
  return all;
}

TileMapping with_strides(TileMapping l, std::vector<int32_t> strides) {
  l.strides.clear();
  const std::vector<int32_t> row_major = l.all_strides();
  bool same = true;
  for (size_t i = 0; i < strides.size(); ++i) {
    const int32_t count = i < l.parts.size() ? l.parts[i] : i == l.parts.size() ? l.spread : l.copies;
    if (count == 1) strides[i] = row_major[i];  // one of a kind
    same = same && strides[i] == row_major[i];
  }
  if (!same) l.strides = std::move(strides);
  return l;
}

std::string text(const TileMapping& l) {
  std::string s = l.flat ? fmt::format("flat {}", l.tiles_used)
                         : fmt::format("blocks {}", l.parts.empty() ? "1" : join_texts(l.parts, "x"));
  const auto add = [&](std::string_view key, int32_t n, int32_t usual) {
    if (n != usual) s += fmt::format(" {} {}", key, n);
  };
  add("grain", l.grain, 1);
  add("spread", l.spread, 1);
  add("first", l.first, 0);
  add("copies", l.copies, 1);
  add("group", l.group, 1);
  if (l.group > 1) s += fmt::format(" axis {}", l.inner_axis);
  return l.strides.empty() ? s : fmt::format("{} strides {}", s, join_texts(l.strides, "x"));
}

TileMapping linear_mapping(const Machine& m, const TensorSpec& spec) {
  return flat_mapping(m, spec, m.vector_elements(static_cast<int64_t>(size_of(spec.dtype))));
}

TileMapping row_mapping(const Machine& m, const TensorSpec& spec, int64_t row) {
  return flat_mapping(m, spec, std::max<int64_t>(1, row));
}

TileMapping block_mapping(const TensorSpec& spec, std::vector<int32_t> parts, int64_t spread, int64_t copies) {
  TileMapping l;
  l.flat = false;
  l.parts = std::move(parts);
  l.parts.resize(spec.shape.size(), 1);
  for (size_t i = 0; i < l.parts.size(); ++i)
    l.parts[i] = static_cast<int32_t>(std::clamp<int64_t>(l.parts[i], 1, std::max<int64_t>(1, spec.shape[i])));
  l.spread = static_cast<int32_t>(std::max<int64_t>(1, spread));
  l.copies = static_cast<int32_t>(std::max<int64_t>(1, copies));
  return l;
}

TileMapping with_inner_axis(TileMapping l, const Shape& shape, size_t axis, int64_t group) {
  l.group = 1;
  l.inner_axis = 0;
  if (l.flat || axis >= shape.size()) return l;
  // The last axis with more than one index is the innermost axis of row-major blocks.
  const bool is_last = std::all_of(shape.begin() + static_cast<int64_t>(axis) + 1, shape.end(),
                                   [](int64_t extent) { return extent == 1; });
  group = std::min(group, shape[axis]);
  if (group <= 1 || group > INT32_MAX || (is_last && group == shape[axis])) return l;
  l.group = static_cast<int32_t>(group);
  l.inner_axis = static_cast<int32_t>(axis);
  return l;
}

TileMapping with_channel_groups(TileMapping l, const Shape& shape) {
  constexpr int64_t most = 16;
  int64_t field = 1;
  for (size_t i = 2; i < shape.size(); ++i) field *= shape[i];
  return shape.size() > 2 && field > 1 ? with_inner_axis(std::move(l), shape, 1, most) : l;
}

StorageOrder order_of(const TileMapping& l, const Shape& shape) {
  if (l.flat || shape.empty()) return {shape.empty() ? 0 : shape.size() - 1, shape.empty() ? 1 : shape.back()};
  const auto block = [&](size_t i) { return div_up(shape[i], l.parts[i]); };
  if (l.group > 1) {
    const auto axis = static_cast<size_t>(l.inner_axis);
    if (const int64_t count = std::min<int64_t>(l.group, block(axis)); count > 1)
      return {axis, count, l.group >= shape[axis]};
  }
  size_t last = shape.size() - 1;
  while (last > 0 && block(last) == 1) --last;
  return {last, block(last)};
}

bool same_order(const TileMapping& a, const TileMapping& b, const Shape& shape) {
  if ((a.flat || a.group == 1) && (b.flat || b.group == 1)) return true;
  const StorageOrder x = order_of(a, shape), y = order_of(b, shape);
  return x.axis == y.axis && ((x.whole && y.whole) || x.count == y.count);
}

std::vector<int64_t> elements_by_tile(const Machine& m, const TileMapping& l, const Shape& shape) {
  std::vector<int64_t> out(static_cast<size_t>(m.tiles), 0);
  const int64_t elements = element_count(shape);
  const auto give = [&](int64_t copy, int64_t index, int64_t n) {
    out[static_cast<size_t>((l.first + l.tile_of(copy, index)) % m.tiles)] += n;
  };
  for (int32_t copy = 0; copy < l.copies; ++copy) {
    if (l.flat) {
      const int64_t grains = div_up(elements, l.grain), used = std::max<int32_t>(1, l.tiles_used);
      int64_t left = elements;
      for (int64_t i = 0; i < used; ++i) {
        const int64_t n = std::min(left, share(grains, used, i) * l.grain);
        give(copy, i, n);
        left -= n;
      }
      continue;
    }
    // Iterates over the blocks in row-major order.
    std::vector<int64_t> block(l.parts.size(), 0);
    const int64_t blocks = parts_product(l);
    for (int64_t b = 0; b < blocks; ++b) {
      int64_t n = 1;
      for (size_t i = 0; i < block.size(); ++i) n *= share(shape[i], l.parts[i], block[i]);
      for (int64_t k = 0; k < l.spread; ++k) give(copy, b * l.spread + k, share(n, l.spread, k));
      for (size_t i = block.size(); i-- > 0;) {
        if (++block[i] < l.parts[i]) break;
        block[i] = 0;
      }
    }
  }
  return out;
}

int64_t max_elements_per_tile(const TileMapping& l, const Shape& shape) {
  if (l.flat) {
    const int64_t elements = element_count(shape);
    return std::min(elements, div_up(div_up(elements, l.grain), std::max<int32_t>(1, l.tiles_used)) * l.grain);
  }
  int64_t n = 1;
  for (size_t i = 0; i < shape.size(); ++i) n *= div_up(shape[i], l.parts[i]);
  return div_up(n, l.spread);
}

bool reshape_mapping(const TileMapping& l, const Shape& from, const Shape& to, TileMapping& found) {
  TileMapping result = l;
  if (l.flat) {
    found = result;
    return true;
  }
  result.parts.assign(to.size(), 1);
  const std::vector<int32_t> from_strides = l.all_strides();
  std::vector<int32_t> strides(to.size() + 2, 1);
  std::copy(from_strides.end() - 2, from_strides.end(), strides.end() - 2);
  // Groups of axes with equal products. Only the first axis of a group may be partitioned further, into equal parts.
  size_t i = 0, j = 0, inner = 0;  // inner: the number after that of the innermost axis
  int64_t group = 1;
  while (i < from.size() || j < to.size()) {
    int64_t a = i < from.size() ? from[i] : 1, b = j < to.size() ? to[j] : 1;
    const size_t i0 = i, j0 = j;
    i = std::min(i + 1, from.size());
    j = std::min(j + 1, to.size());
    while (a != b) {
      if (a < b && i < from.size())
        a *= from[i++];
      else if (b < a && j < to.size())
        b *= to[j++];
      else
        return false;
    }
    if (const auto axis = static_cast<size_t>(l.inner_axis); l.group > 1 && i0 <= axis && axis < i) {
      // The innermost axis of the group stays innermost, in runs that are contiguous on both sides.
      int64_t before = 1, after = 1;
      for (size_t k = i0; k < axis; ++k) before *= from[k];
      for (size_t k = axis + 1; k < i; ++k) after *= from[k];
      if (after > 1) return false;
      inner = j;
      while (inner > j0 + 1 && to[inner - 1] == 1) --inner;
      group = before == 1 && l.group >= from[axis] ? INT32_MAX : l.group;
    }
    if (i - i0 == 1 && j - j0 == 1) {
      result.parts[j0] = l.parts[i0];
      strides[j0] = from_strides[i0];
      continue;
    }
    int64_t cut = 1;
    bool whole = true;  // the preceding axes are split into single indices
    for (size_t k = i0; k < i; ++k) {
      if (l.parts[k] > 1 && !whole) return false;
      cut *= l.parts[k];
      whole = whole && l.parts[k] == from[k];
    }
    if (cut > 1 && a % cut != 0) return false;
    // The blocks of the group must follow each other in even steps.
    int32_t step = 0;
    for (int64_t k = static_cast<int64_t>(i), blocks = 1; k-- > static_cast<int64_t>(i0);) {
      const auto axis = static_cast<size_t>(k);
      if (l.parts[axis] == 1) continue;
      if (step == 0) step = from_strides[axis];
      if (from_strides[axis] != step * blocks) return false;
      blocks *= l.parts[axis];
    }
    int64_t left = cut;
    // Assign the parts to the leading axes of the new group.
    for (size_t k = j0; k < j && cut > 1; ++k) {
      if (to[k] <= cut) {
        if (cut % to[k] != 0) return false;
        result.parts[k] = static_cast<int32_t>(to[k]);
        cut /= to[k];
      } else {
        if (to[k] % cut != 0) return false;
        result.parts[k] = static_cast<int32_t>(cut);
        cut = 1;
      }
      left /= result.parts[k];
      strides[k] = static_cast<int32_t>(step * left);
    }
    if (cut > 1) return false;
  }
  if (inner > 0 || l.group == 1) result = with_inner_axis(std::move(result), to, inner > 0 ? inner - 1 : 0, group);
  found = with_strides(std::move(result), std::move(strides));
  return true;
}

TileMapping transpose_mapping(const TileMapping& l, const std::vector<int64_t>& order) {
  if (l.flat) return l;
  TileMapping t = l;
  t.group = 1;
  t.inner_axis = 0;
  std::vector<int32_t> strides = l.all_strides();
  const std::vector<int32_t> from = strides;
  for (size_t i = 0; i < order.size(); ++i) {
    t.parts[i] = l.parts[static_cast<size_t>(order[i])];
    strides[i] = from[static_cast<size_t>(order[i])];
  }
  return with_strides(std::move(t), std::move(strides));
}

TileMapping transposed_view(const TileMapping& l, const Shape& shape, const std::vector<int64_t>& order) {
  if (l.flat || shape.empty()) return l;
  size_t last = shape.size() - 1;
  while (last > 0 && shape[last] == 1) --last;
  const bool row_major = l.group == 1;
  const auto inner = row_major ? static_cast<int64_t>(last) : l.inner_axis;
  Shape seen;
  size_t at = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    seen.push_back(shape[static_cast<size_t>(order[i])]);
    if (order[i] == inner) at = i;
  }
  return with_inner_axis(transpose_mapping(l, order), seen, at, row_major ? INT32_MAX : l.group);
}

int64_t run_length(const TileMapping& l, const Shape& shape) {
  if (l.flat) return max_elements_per_tile(l, shape);
  int64_t n = 1, groups = 1;
  size_t first = 0, skipped = shape.size();
  bool whole = true;  // the axes so far
  if (l.group > 1) {
    // Groups precede the axis itself and the last two axes.
    skipped = static_cast<size_t>(l.inner_axis);
    first = std::min(skipped, shape.size() - 2);
    const int64_t block = div_up(shape[skipped], l.parts[skipped]);
    n = std::min<int64_t>(l.group, block);
    groups = div_up(block, n);
    whole = l.group < shape[skipped] || l.parts[skipped] == 1;
  }
  for (size_t i = shape.size(); i-- > first && whole;) {
    if (i == skipped) continue;
    n *= div_up(shape[i], l.parts[i]);
    whole = l.parts[i] == 1;
  }
  if (whole) n *= groups;
  return std::max<int64_t>(1, std::min(n, max_elements_per_tile(l, shape)));
}

int32_t TileMappingTable::id(const TileMapping& mapping) {
  const auto [at, fresh] = ids_.emplace(mapping, static_cast<int32_t>(mappings_.size()));
  if (fresh) mappings_.push_back(&at->first);
  return at->second;
}

}  // namespace pxl::tiles
