// Partitions of ops whose definitions depend on all elements: random numbers, scatters, losses, and ops without another
// rule. Each tile runs the op on whole tensors. A tile keeps its own results, and reads only elements on which they
// depend.
#include <algorithm>
#include <map>

#include "runtime/ops/table.hpp"
#include "runtime/tiles/layout.hpp"
#include "runtime/tiles/parts/op_parts.hpp"

namespace pxl::tiles {

namespace {

/// The regions of all results that a tile computes.
using Regions = std::vector<Region>;

std::vector<int64_t> elements_of(const Region& region) {
  std::vector<int64_t> elements;
  region.for_each([&](int64_t e) { elements.push_back(e); });
  return elements;
}

/// The elements of all results, divided evenly among tiles from `first` on. Small results are stored on fewer tiles
/// than their op is planned on.
std::map<int32_t, Regions> divided(const PartsRequest& r, int32_t first, int64_t tiles) {
  std::map<int32_t, Regions> by_tile;
  for (int64_t k = 0; k < tiles; ++k) {
    Regions& regions = by_tile[static_cast<int32_t>((first + k) % r.machine.tiles)];
    for (const TensorSpec& t : r.site.out) regions.emplace_back().add(part_of(t.size(), tiles, k));
  }
  return by_tile;
}

/// Each tile computes its own elements of the results. It reads whole operands, and its own elements of `changed`.
std::optional<OpParts> own_parts(const PartsRequest& r, std::optional<size_t> changed) {
  const OpContext& s = r.site;
  const size_t operands = std::min(s.in.size(), r.op.inputs.size());
  if (s.row.exchange == Exchange::members || s.row.side_effect || s.out.empty()) return std::nullopt;
  for (size_t i = 0; i < operands; ++i)
    if (r.op.modifies(i) && i != changed) return std::nullopt;
  std::map<int32_t, Regions> by_tile;
  for (size_t o = 0; o < s.out.size(); ++o) {
    if (r.candidate.out[o] < 0) return std::nullopt;
    const Layout layout(r.machine, r.mappings.at(r.candidate.out[o]), s.out[o].shape);
    for (const Layout::Owner& owner : layout.owners(0)) {
      Regions& regions = by_tile[owner.tile];
      regions.resize(s.out.size());
      regions[o].add(owner.elements);
    }
  }
  if (by_tile.empty()) return std::nullopt;
  const int64_t wanted = std::min(r.candidate.tiles, s.out[0].size());
  if (std::ssize(by_tile) < wanted) by_tile = divided(r, by_tile.begin()->first, wanted);
  OpParts parts;
  parts.steps.emplace_back();
  for (const auto& [tile, mine] : by_tile) {
    Part part{.tile = tile};
    for (size_t i = 0; i < operands; ++i) {
      if (!s.in[i]) continue;
      const int64_t n = s.in[i]->size();
      if (i != changed) {
        part.reads.push_back({i, Region::all(n), s.in[i]->shape});
        continue;
      }
      part.reads.push_back({i, mine[0], s.in[i]->shape, mine[0].numbers_of(n)});
      if (r.op.modifies(i)) part.writes.push_back({i, true, mine[0], s.in[i]->shape, elements_of(mine[0])});
    }
    for (size_t o = s.row.alias >= 0 ? 1 : 0; o < s.out.size(); ++o)
      part.writes.push_back({o, false, mine[o], s.out[o].shape, elements_of(mine[o])});
    parts.steps[0].push_back(std::move(part));
  }
  return parts;
}

}  // namespace

std::optional<OpParts> own_element_parts(const PartsRequest& r) {
  const OpContext& s = r.site;
  const bool changes = !s.in.empty() && s.in[0] && !s.out.empty() && s.in[0]->shape == s.out[0].shape &&
                       !r.op.inputs.empty() && (r.op.modifies(0) || s.row.params[0].name == "t");
  return own_parts(r, changes ? std::optional<size_t>(0) : std::nullopt);
}

std::optional<OpParts> own_result_parts(const PartsRequest& r) {
  std::optional<OpParts> parts = own_parts(r, std::nullopt);
  if (parts) parts->as_planned = parts->steps[0].size() > 1;
  return parts;
}

std::optional<OpParts> loss_parts(const PartsRequest& r) {
  const OpContext& s = r.site;
  // The operands are probabilities [..., classes], integer labels [...], and scalars or one value for each label.
  size_t probabilities = 0, labels = 0;
  for (size_t i = 0; i < s.in.size(); ++i) {
    if (!s.in[i]) continue;
    if (is_integer(s.in[i]->dtype)) labels = i;
    if (is_floating(s.in[i]->dtype) && (!s.has(probabilities) || s.in[i]->size() > s.input(probabilities).size()))
      probabilities = i;
  }
  const TensorSpec& x = s.input(probabilities);
  if (x.shape.empty() || x.size() == 0 || r.candidate.in[probabilities] < 0 || r.op.modifies(probabilities))
    return std::nullopt;
  // Ops with loss and gradient add a constant to each probability, unless they have logits. Rows of ones then have a
  // loss, so the loss is no sum of the parts.
  const bool of_logits = std::any_of(s.row.params.begin(), s.row.params.end(), [&](const Param& p) {
    return p.name == "logits" && s.has(slot_of(s.row, p.name));
  });
  if (s.out.size() > 1 && !of_logits &&
      std::any_of(s.out.begin(), s.out.end(), [](const TensorSpec& t) { return t.shape.empty(); }))
    return std::nullopt;
  const int64_t classes = x.shape.back();
  const Shape of_labels(x.shape.begin(), x.shape.end() - 1);
  if (s.input(labels).shape != of_labels) return std::nullopt;
  // Whole rows, each on the first tile that has a part of the row.
  std::map<int32_t, Region> rows_by_tile;
  const Layout layout(r.machine, r.mappings.at(r.candidate.in[probabilities]), x.shape);
  int64_t next = 0;
  for (const Layout::Owner& o : layout.owners(0)) {
    const ElementRange rows{std::max(next, o.elements.begin / classes), div_up(o.elements.end, classes)};
    if (rows.size() == 0) continue;
    rows_by_tile[o.tile].add(rows);
    next = rows.end;
  }
  // A row of ones has no loss, regardless of its label. A row of zeros has none if the values are logarithms.
  const bool logarithms =
      std::any_of(s.row.params.begin(), s.row.params.end(), [](const Param& p) { return p.name == "log_prob"; }) &&
      s.boolean("log_prob");
  OpParts parts;
  parts.steps.emplace_back();
  parts.partial.resize(s.out.size());
  for (const auto& [tile, rows] : rows_by_tile) {
    Region mine;
    for (const ElementRange& range : rows.ranges()) mine.add({range.begin * classes, range.end * classes});
    Part part{.tile = tile};
    for (size_t i = 0; i < s.in.size(); ++i) {
      if (!s.in[i]) continue;
      if (i == probabilities)
        part.reads.push_back({i, mine, x.shape, mine.numbers_of(x.size()), !logarithms});
      else if (s.input(i).shape == x.shape)
        part.reads.push_back({i, mine, x.shape, mine.numbers_of(x.size())});
      else
        part.reads.push_back({i, Region::all(s.in[i]->size()), s.in[i]->shape});
    }
    for (size_t o = 0; o < s.out.size(); ++o) {
      const TensorSpec& t = s.out[o];
      if (t.shape == x.shape) {
        part.writes.push_back({o, false, mine, t.shape, elements_of(mine)});
      } else if (t.shape == of_labels && !of_labels.empty()) {
        part.writes.push_back({o, false, rows, t.shape, elements_of(rows)});
      } else if (t.shape.empty()) {
        part.writes.push_back({o, false, Region::all(1), t.shape});
        parts.partial[o] = PartialResults{&get_op("sum"), t.dtype};
      } else {
        return std::nullopt;
      }
    }
    parts.steps[0].push_back(std::move(part));
  }
  return parts;
}

}  // namespace pxl::tiles
