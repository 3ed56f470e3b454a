// Candidates of elementwise ops, views and changes of order. Neighbours determine their mappings.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/tiles/candidates/partition.hpp"
#include "runtime/tiles/candidates/strategies.hpp"

namespace pxl::tiles {

namespace {

std::vector<int64_t> permutation_of(const OpContext& s) {
  const size_t rank = s.input(0).shape.size();
  std::vector<int64_t> order;
  for (size_t i = 0; i < s.row.params.size() && i < s.attrs.size(); ++i)
    if (s.row.params[i].name == "permutation")
      if (const auto* given = std::get_if<std::vector<int64_t>>(&s.attrs[i])) order = *given;
  if (order.size() != rank) {
    order.clear();
    for (size_t i = rank; i-- > 0;) order.push_back(static_cast<int64_t>(i));
  }
  for (int64_t& axis : order)
    if (axis < 0) axis += static_cast<int64_t>(rank);
  return order;
}

/// Cycles to copy `bytes` on a tile, in runs that are contiguous on both sides.
int64_t local_copy_cycles(const Machine& m, int64_t bytes, int64_t run_bytes) {
  const int64_t atom = atom_bytes(run_bytes);
  return atom == 8 ? memcpy_cycles(m, bytes) : reorder_cycles(m, bytes, atom);
}

/// Cycles to permute the axes of a tile's block. The tile holds `most` elements of the block.
int64_t permutation_cycles(const Machine& m, const Shape& block, const std::vector<int64_t>& order, int64_t most,
                           int64_t bytes) {
  // Axes with one index do not count.
  std::vector<int64_t> rank(block.size(), -1), extents, permuted;
  for (size_t i = 0; i < block.size(); ++i)
    if (block[i] > 1) rank[i] = std::ssize(extents), extents.push_back(block[i]);
  for (const int64_t axis : order)
    if (rank[static_cast<size_t>(axis)] >= 0) permuted.push_back(rank[static_cast<size_t>(axis)]);
  // Trailing axes that stay in place are contiguous. Leading axes that stay in place count matrices.
  int64_t together = 1, count = 1;
  size_t first = 0, end = permuted.size();
  while (end > 0 && permuted[end - 1] == static_cast<int64_t>(end) - 1)
    together = saturating_product(together, extents[--end]);
  while (first < end && permuted[first] == static_cast<int64_t>(first))
    count = saturating_product(count, extents[first++]);
  int64_t rows = 1, columns = 1;
  bool two_groups = end > first;  // swapped: a transposition of matrices
  for (size_t i = first; i < end; ++i) {
    const bool moved_up = permuted[i] >= permuted[first];
    int64_t& n = moved_up ? columns : rows;
    n = saturating_product(n, extents[static_cast<size_t>(permuted[i])]);
    two_groups =
        two_groups && (i == first || permuted[i] == permuted[i - 1] + 1 || permuted[i] == static_cast<int64_t>(first));
  }
  const int64_t elements = saturating_product(saturating_product(count, rows), saturating_product(columns, together));
  if (!two_groups || elements != most) return local_copy_cycles(m, most * bytes, saturating_product(together, bytes));
  return transpose_cycles(m, count, rows, columns, together * bytes);
}

/// Offers a candidate whose result is another view of its operand.
void offer_view(const CandidateRequest& r, const TileMapping& from, const TileMapping& to) {
  const TensorSpec& x = r.site.input(0);
  OpCandidate candidate = r.start("no step");
  candidate.in[0] = r.mapping(from);
  candidate.out = {r.mapping(to)};
  candidate.outputs_share = true;
  candidate.resident_bytes = max_elements_per_tile(from, x.shape) * element_bytes(x);
  candidate.text = text(to);
  r.candidates.push_back(std::move(candidate));
}

bool is_transposition(const OpContext& s) {
  return std::any_of(s.row.params.begin(), s.row.params.end(), [](const Param& p) { return p.name == "permutation"; });
}

void enumerate_transpositions(const CandidateRequest& r) {
  const Machine& m = r.machine;
  const TensorSpec& x = r.site.input(0);
  const TensorSpec& y = r.site.out[0];
  const std::vector<int64_t> order = permutation_of(r.site);
  // Only the mapping's axes are permuted; each tile transposes its own block.
  std::vector<int32_t> from = r.offered(x);
  for (const int32_t wanted : r.offered(y)) {
    const TileMapping& l = r.pool.table.at(wanted);
    if (l.flat) continue;
    std::vector<int64_t> back(order.size());
    for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    from.push_back(r.mapping(m.has_orders() ? transposed_view(l, y.shape, back) : transpose_mapping(l, back)));
  }
  for (const int32_t id : from) {
    const TileMapping l = r.pool.table.at(id);
    OpCandidate candidate = r.start("on its tile");
    candidate.in[0] = id;
    if (!l.flat && m.has_orders()) {
      // The elements stay in place. Readers that need another order rearrange the elements.
      offer_view(r, l, transposed_view(l, x.shape, order));
      continue;
    }
    const int64_t most = r.max_elements(id, x), bytes = element_bytes(x);
    if (l.flat) {
      // No tile holds a whole block: all elements move.
      const TileMapping to = linear_mapping(m, y);
      candidate.variant = "through an exchange";
      Traffic t;
      t.in = t.out = most * bytes;
      // Axes after the last permuted one stay contiguous.
      int64_t together = 1;
      for (size_t i = order.size(); i-- > 0 && order[i] == static_cast<int64_t>(i);) together *= x.shape[i];
      t.fragments = div_up(most, std::max<int64_t>(1, together)) + 1;
      t.total = x.bytes();
      candidate.exchange(m, "transposition", t);
      candidate.compute(m, "Transpose", reorder_cycles(m, most * bytes, bytes), to.tiles());
      candidate.temp_bytes = most * bytes;
      candidate.out = {r.mapping(to)};
    } else {
      Shape block = x.shape;
      for (size_t i = 0; i < block.size(); ++i) block[i] = div_up(block[i], l.parts[i]);
      candidate.compute(m, "Transpose", permutation_cycles(m, block, order, most, bytes), l.tiles());
      candidate.out = {r.mapping(transpose_mapping(l, order))};
    }
    candidate.resident_bytes = 2 * most * bytes;
    candidate.text = text(l);
    r.candidates.push_back(std::move(candidate));
  }
}

/// Number of the operand's elements that one block of the result depends on. The operand's shape is broadcast to the
/// result's.
int64_t elements_for_block(const TileMapping& l, const Shape& result, const Shape& operand) {
  int64_t n = element_count(operand);
  if (l.flat || operand.size() > result.size()) return n;
  const size_t missing = result.size() - operand.size();
  n = 1;
  for (size_t i = 0; i < operand.size(); ++i) n *= operand[i] == 1 ? 1 : div_up(operand[i], l.parts[missing + i]);
  return n;
}

/// The mapping of a part that has the axes of the whole. The part is partitioned as the whole is.
TileMapping partitioned_as(const TensorSpec& part, const TileMapping& l) {
  TileMapping mapping = with_strides(block_mapping(part, l.parts, l.spread, l.copies), l.all_strides());
  return l.group > 1 ? with_inner_axis(std::move(mapping), part.shape, static_cast<size_t>(l.inner_axis), l.group)
                     : mapping;
}

/// Contiguous elements in a tile's block where parts are joined or sliced off. The last axis in which a part differs
/// from the whole limits the run.
int64_t contiguous_elements(const OpContext& s, const TensorSpec& whole, const TileMapping& l) {
  int64_t least = INT64_MAX;
  const auto limit = [&](const TensorSpec& part) {
    int64_t n = 1;
    for (size_t i = part.shape.size(); i-- > 0;) {
      n *= div_up(part.shape[i], l.parts[i]);
      if (part.shape[i] != whole.shape[i]) break;
    }
    least = std::min(least, std::max<int64_t>(1, n));
  };
  for (const TensorSpec* t : s.in)
    if (t && t->size() > 1) limit(*t);
  for (const TensorSpec& t : s.out) limit(t);
  return least;
}

}  // namespace

void enumerate_elementwise(const CandidateRequest& r, const Vertex& vertex) {
  const Machine& m = r.machine;
  const OpContext& s = r.site;
  const TensorSpec& out = s.out[0];
  for (const int32_t id : r.offered(out)) {
    const TileMapping l = r.pool.table.at(id);
    const int64_t n = r.max_elements(id, out), tiles = l.tiles();
    OpCandidate candidate = r.start("as the result is mapped");
    Traffic spread;  // operands without the result's shape: each tile needs a slice stored elsewhere
    for (size_t i = 0; i < s.in.size(); ++i) {
      if (!s.in[i]) continue;
      const TensorSpec& x = *s.in[i];
      if (x.shape == out.shape) {
        candidate.in[i] = id;
        candidate.resident_bytes += n * element_bytes(x);
        continue;
      }
      if (i < r.constant.size() && r.constant[i]) continue;
      const int64_t needed = std::min(n, elements_for_block(l, out.shape, x.shape)) * element_bytes(x);
      add_broadcast(m, x, needed, tiles, spread);
    }
    candidate.temp_bytes = spread.in;
    candidate.exchange(m, "broadcast operands", spread);
    const int64_t in_place = s.row.alias == 0 ? vertex.in_place(m, n, element_bytes(out)) : 0;
    candidate.compute(m, vertex.name, vertex.cycles(r, {n, 1, n, element_bytes(out)}) + in_place, tiles, {20});
    candidate.resident_bytes += n * element_bytes(out);
    candidate.out.assign(s.out.size(), -1);
    for (size_t i = 0; i < s.out.size(); ++i)
      candidate.out[i] = s.out[i].shape == out.shape ? id : r.mapping(linear_mapping(m, s.out[i]));
    candidate.outputs_share = s.row.alias == 0;
    candidate.text = text(l);
    r.candidates.push_back(std::move(candidate));
  }
}

void enumerate_views(const CandidateRequest& r) {
  const TensorSpec& x = r.site.input(0);
  const TensorSpec& y = r.site.out[0];
  TileMapping seen;
  for (const int32_t id : r.offered(x))
    if (reshape_mapping(r.pool.table.at(id), x.shape, y.shape, seen)) offer_view(r, r.pool.table.at(id), seen);
  for (const int32_t id : r.offered(y))
    if (reshape_mapping(r.pool.table.at(id), y.shape, x.shape, seen)) offer_view(r, seen, r.pool.table.at(id));
}

void enumerate_movement(const CandidateRequest& r) {
  const Machine& m = r.machine;
  const OpContext& s = r.site;
  if (is_transposition(s)) return enumerate_transpositions(r);
  // These mappings do not partition the sliced or joined axes, so each tile works on its own elements.
  const bool joins = s.out.size() == 1 && s.in.size() > 1;
  const TensorSpec& large = joins ? s.out[0] : s.input(0);
  const auto fits = [&](const TensorSpec& part, const TileMapping& l) {
    if (l.flat || part.shape.size() != large.shape.size()) return false;
    for (size_t i = 0; i < part.shape.size(); ++i)
      if (part.shape[i] != large.shape[i] && l.parts[i] > 1) return false;
    return true;
  };
  for (const int32_t id : r.offered(large)) {
    const TileMapping l = r.pool.table.at(id);
    bool all = true;
    for (const TensorSpec* t : s.in) all = all && (!t || t->size() <= 1 || fits(*t, l));
    for (const TensorSpec& t : s.out) all = all && fits(t, l);
    if (!all) continue;
    OpCandidate candidate = r.start("on its tile");
    for (size_t i = 0; i < s.in.size(); ++i)
      if (s.in[i] && s.in[i]->size() > 1) candidate.in[i] = r.mapping(partitioned_as(*s.in[i], l));
    int64_t bytes = 0;
    for (const TensorSpec& t : s.out) {
      const TileMapping part = partitioned_as(t, l);
      candidate.out.push_back(r.mapping(part));
      bytes += max_elements_per_tile(part, t.shape) * element_bytes(t);
    }
    candidate.compute(m, "Memcpy", local_copy_cycles(m, bytes, contiguous_elements(s, large, l) * element_bytes(large)),
                      l.tiles(), {12});
    candidate.resident_bytes = 2 * bytes;
    candidate.text = text(l);
    r.candidates.push_back(std::move(candidate));
  }
  for (const int32_t id : r.offered(s.out[0])) {
    const TileMapping l = r.pool.table.at(id);
    OpCandidate candidate = r.start("through an exchange");
    Traffic t;
    int64_t run = INT64_MAX, held = 0;
    for (size_t i = 0; i < s.in.size(); ++i) {
      if (!s.in[i] || s.in[i]->size() <= 1) continue;
      // The operand has any mapping, evenly distributed. The elements that arrive are the result.
      t.out += max_elements_per_tile(linear_mapping(m, *s.in[i]), s.in[i]->shape) * element_bytes(*s.in[i]);
      held += t.out;
      run = std::min(run, std::max<int64_t>(1, s.in[i]->shape.empty() ? 1 : s.in[i]->shape.back()));
    }
    for (const TensorSpec& y : s.out) {
      const TileMapping to = y.shape == s.out[0].shape ? l : linear_mapping(m, y);
      candidate.out.push_back(r.mapping(to));
      t.in += max_elements_per_tile(to, y.shape) * element_bytes(y);
      t.total += y.bytes();
      run = std::min({run, run_length(to, y.shape), std::max<int64_t>(1, y.shape.empty() ? 1 : y.shape.back())});
    }
    if (held == 0) t.out = std::min<int64_t>(t.in, 4);
    t.fragments = div_up(t.in, std::max<int64_t>(1, run) * element_bytes(s.out[0]));
    candidate.exchange(m, "elements to their places", t);
    candidate.resident_bytes = held + t.in;
    candidate.tiles = l.tiles();
    candidate.text = text(l);
    r.candidates.push_back(std::move(candidate));
  }
}

void enumerate_host(const CandidateRequest& r) {
  const Machine& m = r.machine;
  const TensorSpec& t = r.site.out.empty() ? r.site.input(0) : r.site.out[0];
  // The host link reads and writes equal runs on all tiles. The link works in place if the tensor has such a mapping,
  // and uses buffers otherwise. The tensor's neighbours determine its mapping.
  const TileMapping buffers = linear_mapping(m, t);
  const int64_t buffer = max_elements_per_tile(buffers, t.shape) * element_bytes(t);
  for (const int32_t mapping : r.offered(t)) {
    const TileMapping& l = r.pool.table.at(mapping);
    if (l.copies > 1 || !same_order(l, buffers, t.shape)) continue;
    OpCandidate candidate = r.start("host link");
    // The loaded tensor takes the memory of operand 0, which holds nothing yet.
    for (size_t i = 0; i < r.site.in.size(); ++i)
      candidate.in[i] = r.site.out.empty() || (i == 0 && *r.site.in[0] == t) ? mapping : -1;
    candidate.outputs_share = !r.site.out.empty() && !r.site.in.empty() && candidate.in[0] == mapping;
    candidate.out.assign(r.site.out.size(), mapping);
    const int64_t bytes = r.max_elements(mapping, t) * element_bytes(t);
    const int64_t run =
        std::max<int64_t>(1, std::min(run_length(l, t.shape), run_length(buffers, t.shape))) * element_bytes(t);
    candidate.host(m, t.bytes());
    Traffic traffic;
    traffic.in = r.site.out.empty() ? buffer : bytes;
    traffic.out = r.site.out.empty() ? bytes : buffer;
    traffic.runs = div_up(traffic.in, run);
    traffic.sends = div_up(traffic.out, run);
    traffic.fragments = std::max(div_up(std::max(bytes, buffer), 256), std::max(traffic.runs, traffic.sends));
    traffic.total = t.bytes();
    candidate.exchange(m, "between host buffers and tiles", traffic);
    candidate.resident_bytes = bytes;
    candidate.temp_bytes = l == buffers ? 0 : buffer;
    candidate.text = text(l);
    r.candidates.push_back(std::move(candidate));
  }
}

}  // namespace pxl::tiles
