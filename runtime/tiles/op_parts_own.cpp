// Partitions of ops whose definitions depend on all elements: random numbers, scatters, losses. Each tile runs the op
// on whole tensors. A tile reads only elements on which its own results depend, and keeps these results.
#include <algorithm>
#include <map>

#include "runtime/ops/table.hpp"
#include "runtime/tiles/layout.hpp"
#include "runtime/tiles/op_parts.hpp"

namespace pxl::tiles {

namespace {

/// Maximum number of elements over all vertices. Fewer tiles run the op if the number is larger. The bound limits the
/// time and memory of execution; not measured.
constexpr int64_t max_elements = int64_t{1} << 22;

/// The region that each tile computes, if each vertex has `elements` elements. Above `max_elements`, tiles form groups.
/// The first tile of a group then computes the group's region.
using Shares = std::vector<std::pair<int32_t, Region>>;
Shares joined(const std::map<int32_t, Region>& by_tile, int64_t elements) {
  const int64_t most = std::max<int64_t>(1, max_elements / std::max<int64_t>(1, elements)),
                group = div_up(std::ssize(by_tile), most);
  Shares shares;
  int64_t i = 0;
  for (const auto& [tile, region] : by_tile) {
    if (i++ % group == 0)
      shares.emplace_back(tile, region);
    else
      shares.back().second = merged(shares.back().second, region);
  }
  return shares;
}

/// Numbers `elements` elements: the number within the region, or -1.
std::vector<int64_t> order_of(const Region& region, int64_t elements) {
  std::vector<int64_t> order(static_cast<size_t>(elements), -1);
  int64_t next = 0;
  region.for_each([&](int64_t e) { order[static_cast<size_t>(e)] = next++; });
  return order;
}
std::vector<int64_t> elements_of(const Region& region) {
  std::vector<int64_t> elements;
  region.for_each([&](int64_t e) { elements.push_back(e); });
  return elements;
}

}  // namespace

std::optional<OpParts> own_element_parts(const PartsRequest& r) {
  const OpContext& s = r.site;
  if (s.out.empty() || s.out[0].size() == 0 || r.candidate.out[0] < 0 || s.row.exchange == Exchange::members ||
      s.row.side_effect)
    return std::nullopt;
  const Shape& shape = s.out[0].shape;
  const int64_t n = s.out[0].size();
  for (const TensorSpec& t : s.out)
    if (t.shape != shape) return std::nullopt;
  // An element of the result depends on all other operands, and on one element of the operand that the op changes.
  const auto is_changed = [&](size_t i) {
    return i == 0 && i < s.in.size() && s.in[i] && s.in[i]->shape == shape &&
           (r.op.modifies(i) || s.row.params[i].name == "t");
  };
  for (size_t i = 0; i < s.in.size(); ++i)
    if (i < r.op.inputs.size() && r.op.modifies(i) && !is_changed(i)) return std::nullopt;
  std::map<int32_t, Region> by_tile;
  const Layout layout(r.machine, r.mappings.at(r.candidate.out[0]), shape);
  for (const Layout::Owner& o : layout.owners(0)) by_tile[o.tile].add(o.elements);
  OpParts parts;
  parts.steps.emplace_back();
  for (const auto& [tile, mine] : joined(by_tile, n)) {
    Part part{.tile = tile};
    for (size_t i = 0; i < s.in.size() && i < r.op.inputs.size(); ++i) {
      if (!s.in[i]) continue;
      if (is_changed(i)) {
        part.reads.push_back({i, mine, shape, order_of(mine, n)});
        if (r.op.modifies(i)) part.writes.push_back({i, true, mine, shape, elements_of(mine)});
      } else {
        part.reads.push_back({i, Region::all(s.in[i]->size()), s.in[i]->shape});
      }
    }
    for (size_t o = 0; o < s.out.size(); ++o)
      if (!(o == 0 && s.row.alias >= 0)) part.writes.push_back({o, false, mine, shape, elements_of(mine)});
    parts.steps[0].push_back(std::move(part));
  }
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
  for (const auto& [tile, rows] : joined(rows_by_tile, x.size())) {
    Region mine;
    for (const ElementRange& range : rows.ranges()) mine.add({range.begin * classes, range.end * classes});
    Part part{.tile = tile};
    for (size_t i = 0; i < s.in.size(); ++i) {
      if (!s.in[i]) continue;
      if (i == probabilities)
        part.reads.push_back({i, mine, x.shape, order_of(mine, x.size()), !logarithms});
      else if (s.input(i).shape == x.shape)
        part.reads.push_back({i, mine, x.shape, order_of(mine, x.size())});
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
