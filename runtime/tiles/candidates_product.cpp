// Candidates of matrix products: partitions of groups, rows, depth (with partial sums) and columns. Operands are
// gathered at once, gathered in serial parts, or rotated in steps (compute-shift with spatial and temporal factors:
// T10, SOSP 2024).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>

#include "runtime/tiles/partition.hpp"

namespace pxl::tiles {

namespace {

/// A product as the partition sees it: [groups, rows, depth] x [groups, depth, columns].
struct ProductProblem {
  int64_t groups = 1, rows = 1, depth = 1, columns = 1;
  int64_t operand_bytes = 4, partial_bytes = 4, out_bytes = 4;
  bool widened = false;  ///< float8 operands, widened to float16 first
  size_t a_groups = 0;   ///< leading axes of the left operand that are groups; the other axes but the last are rows
  Shape group_axes, row_axes;
};

ProductProblem product_problem(const CandidateRequest& r) {
  const TensorSpec& a = r.site.input(0);
  const TensorSpec& b = r.site.input(1);
  ProductProblem p;
  p.operand_bytes = product_bytes(r.machine, a);
  p.partial_bytes = product_partial_bytes(r.options, p.operand_bytes);
  p.widened = is_float8(a.dtype) && p.operand_bytes > 1;
  p.out_bytes = element_bytes(r.site.out[0]);
  p.depth = a.shape.empty() ? 1 : a.shape.back();
  if (b.shape.size() >= 2) p.columns = b.shape.back();
  const size_t lead = a.shape.size() >= 2 ? a.shape.size() - 2 : 0;
  const bool batched = b.shape.size() > 2;
  p.a_groups = batched ? lead : 0;
  for (size_t i = 0; i + 1 < a.shape.size(); ++i) (i < p.a_groups ? p.group_axes : p.row_axes).push_back(a.shape[i]);
  if (batched && a.shape.size() < b.shape.size()) {
    // The left operand is broadcast to each group of the right one.
    p.group_axes.assign(b.shape.begin(), b.shape.end() - 2);
  }
  for (const int64_t extent : p.group_axes) p.groups *= extent;
  for (const int64_t extent : p.row_axes) p.rows *= extent;
  int64_t* const extents[] = {&p.groups, &p.rows, &p.depth, &p.columns};
  for (int64_t* n : extents) *n = std::max<int64_t>(1, *n);
  // Halve extents until the cycles can be counted without overflow; no machine could hold such products.
  while (std::log2(p.groups) + std::log2(p.rows) + std::log2(p.depth) + std::log2(p.columns) > 52)
    **std::max_element(std::begin(extents), std::end(extents),
                       [](const int64_t* less, const int64_t* more) { return *less < *more; }) /= 2;
  return p;
}

/// A candidate before its strings and steps are built.
struct ProductCandidate {
  ProductCut cut;
  int64_t cycles = 0, temp = 0, resident = 0;  ///< temp: includes replicated bytes

  std::string_view variant() const {
    return cut.shifts > 1 ? "compute shift" : cut.serial > 1 ? "gather in serial parts" : "gather all";
  }
};

/// Minimum bytes of a block, operands and sums, for which serial parts are tried. Not measured.
constexpr int64_t min_serial_bytes = 8192;

struct ProductBlock {
  int64_t groups, rows, depth, columns;
};

ProductBlock block_of(const ProductProblem& p, const ProductCut& c) {
  return {div_up(p.groups, c.groups), div_up(p.rows, c.rows), div_up(p.depth, c.depth), div_up(p.columns, c.columns)};
}

int64_t compute_cycles(const Machine& m, const ProductProblem& p, const ProductBlock& b,
                       ProductVertex* vertex = nullptr) {
  const ProductShape straight{b.groups, b.rows, b.depth, b.columns, p.operand_bytes, p.partial_bytes};
  ProductShape swapped = straight;
  std::swap(swapped.rows, swapped.columns);
  const ProductCost one = product_cycles(m, straight), other = product_cycles(m, swapped);
  const ProductCost& best = other.cycles < one.cycles ? other : one;
  if (vertex) *vertex = best.vertex;
  return best.cycles;
}

int64_t fragments(int64_t senders, int64_t bytes) { return std::max(senders, div_up(bytes, 256)); }

/// Sets the candidate's steps and bytes; mappings and text stay empty.
void add_product_steps(const Machine& m, const ProductProblem& p, const ProductCandidate& c, OpCandidate& candidate) {
  const ProductBlock b = block_of(p, c.cut);
  const int64_t a_bytes = b.groups * b.rows * b.depth * p.operand_bytes;
  const int64_t b_bytes = b.groups * b.depth * b.columns * p.operand_bytes;
  const int64_t sums = b.groups * b.rows * b.columns;
  const int64_t used = c.cut.tiles();
  const int64_t a_consumers = c.cut.columns, b_consumers = c.cut.rows;
  ProductVertex vertex{};
  const ProductShape state{b.groups, b.rows, b.depth, b.columns, p.operand_bytes, p.partial_bytes};
  const bool partials = c.cut.depth > 1 || p.partial_bytes != p.out_bytes;
  if (p.widened)
    candidate.compute(m, "Cast",
                      cast_cycles(m, (a_bytes / a_consumers + b_bytes / b_consumers) / p.operand_bytes, 1, 2), used);
  if (c.cut.serial > 1) {
    const int64_t b_own = div_up(b_bytes, b_consumers);
    const SharedSlice a = equal_shares(a_bytes, a_consumers);
    Traffic left = gather(a, {}, p.operand_bytes, used);
    left.paired = a_consumers % 2 == 0;
    candidate.exchange(m, "left operand to where it is used", left);
    ProductBlock step = b;
    step.columns = div_up(b.columns, c.cut.serial);
    const int64_t b_step = div_up(b_bytes, c.cut.serial);
    const SharedSlice right = equal_shares(b_step, b_consumers);
    const int64_t step_sums = b.groups * b.rows * step.columns;
    OpCandidate once;  // one iteration of the loop
    once.compute(m, "DynamicSlice", slice_cycles(m, div_up(b_own, c.cut.serial * p.operand_bytes), p.operand_bytes),
                 used);
    once.exchange(m, "a part of the right operand to where it is used", gather(right, {}, p.operand_bytes, used));
    const int64_t cycles = compute_cycles(m, p, step, &vertex);
    const ProductShape shape{b.groups, b.rows, b.depth, step.columns, p.operand_bytes, p.partial_bytes};
    once.compute(m, vertex_name(vertex), cycles, used, amp_state_bytes(m, shape));
    const int64_t arrives = add_reduction_steps(m, once, c.cut.depth, step_sums, p.partial_bytes, p.out_bytes, used);
    once.compute(m, "DynamicUpdate", slice_cycles(m, div_up(step_sums, c.cut.depth), p.out_bytes), used);
    for (int64_t i = 0; i < c.cut.serial; ++i)
      candidate.steps.insert(candidate.steps.end(), once.steps.begin(), once.steps.end());
    candidate.cycles += c.cut.serial * once.cycles;
    candidate.code_bytes += once.code_bytes;
    candidate.phases += once.phases;
    candidate.control_steps += once.control_steps + 1;
    candidate.state_bytes += once.state_bytes;
    candidate.tiles = std::max(candidate.tiles, once.tiles);
    candidate.temp_bytes =
        (a.in ? a_bytes : 0) + (right.in ? b_step : 0) + (partials ? step_sums * p.partial_bytes : 0) + arrives;
    candidate.resident_bytes = div_up(a_bytes, a_consumers) + b_own + div_up(sums, c.cut.depth) * p.out_bytes;
    return;
  }
  if (c.cut.shifts == 1) {
    const SharedSlice a = equal_shares(a_bytes, a_consumers), other = equal_shares(b_bytes, b_consumers);
    Traffic both = gather(a, other, p.operand_bytes, used);
    both.paired = a_consumers % 2 == 0 && a.in > 0 && other.in == 0;
    candidate.exchange(m, "operands to where they are used", both);
    const int64_t cycles = compute_cycles(m, p, b, &vertex);
    candidate.compute(m, vertex_name(vertex), cycles, used, amp_state_bytes(m, state));
    candidate.temp_bytes = (a.in ? a_bytes : 0) + (other.in ? b_bytes : 0);
    candidate.resident_bytes = div_up(a_bytes, a_consumers) + div_up(b_bytes, b_consumers);
  } else {
    ProductBlock step = b;
    step.depth = div_up(b.depth, c.cut.shifts);
    const int64_t a_piece = c.cut.shift_a ? div_up(a_bytes, c.cut.shifts) : 0,
                  b_piece = c.cut.shift_b ? div_up(b_bytes, c.cut.shifts) : 0;
    Traffic shift;
    shift.in = shift.out = a_piece + b_piece;
    shift.runs = shift.sends = (a_piece > 0) + (b_piece > 0);
    shift.fragments = fragments(shift.runs, shift.in);
    shift.total = shift.in * used;
    const int64_t cycles = compute_cycles(m, p, step, &vertex);
    // Tiles begin at different pieces: of two rotated operands both are brought to where they meet.
    if (c.cut.shift_a && c.cut.shift_b) candidate.exchange(m, "first pieces to where they meet", shift);
    candidate.compute(m, vertex_name(vertex), cycles, used, amp_state_bytes(m, state));
    for (int64_t i = 1; i < c.cut.shifts; ++i) {
      // The loop's code and vertices exist once.
      const int64_t code = candidate.code_bytes, held = candidate.state_bytes, phases = candidate.phases,
                    steps = candidate.control_steps;
      candidate.exchange(m, "rotate pieces to the neighbour", shift);
      candidate.compute(m, vertex_name(vertex), cycles, used);
      candidate.state_bytes = held;
      if (i > 1) candidate.code_bytes = code, candidate.phases = phases, candidate.control_steps = steps;
    }
    candidate.temp_bytes = a_piece + b_piece;
    candidate.resident_bytes = (c.cut.shift_a ? a_piece : a_bytes) + (c.cut.shift_b ? b_piece : b_bytes);
    candidate.replicated_bytes = candidate.resident_bytes - div_up(a_bytes, a_consumers) - div_up(b_bytes, b_consumers);
  }
  add_product_reduction(m, candidate, c.cut.depth, sums, p.partial_bytes, p.out_bytes, used);
}

std::string text_of(const ProductProblem& p, const ProductCandidate& c) {
  const ProductBlock b = block_of(p, c.cut);
  std::string s = fmt::format("{} x {} x {} x {} parts of [{}, {}] x [{}, {}]", c.cut.groups, c.cut.rows, c.cut.depth,
                              c.cut.columns, b.rows, b.depth, b.depth, b.columns);
  if (c.cut.shifts > 1)
    s += fmt::format(", {} rotated in {} steps",
                     c.cut.shift_a && c.cut.shift_b ? "both operands"
                     : c.cut.shift_a                ? "left operand"
                                                    : "right operand",
                     c.cut.shifts);
  if (c.cut.serial > 1) s += fmt::format(", columns in {} serial parts", c.cut.serial);
  return s + (p.partial_bytes == 2 ? ", float16 partial sums" : ", float32 partial sums");
}

/// A tensor with axes of groups, rows, depth and columns, in this order, or some of them: `parts` and `strides` by kind
/// of axis, then the strides of the tiles that share a block and of copies.
struct AxisKind {
  size_t axes = 0;  ///< how many
  int64_t parts = 1, stride = 1;
};
TileMapping product_mapping(const TensorSpec& spec, const std::vector<AxisKind>& kinds, int64_t spread,
                            int64_t spread_stride, int64_t copies, int64_t copy_stride) {
  std::vector<int32_t> parts(spec.shape.size(), 1), strides(spec.shape.size() + 2, 1);
  size_t first = 0;
  for (const AxisKind& kind : kinds) {
    const size_t end = std::min(first + kind.axes, spec.shape.size());
    partition_axes(spec.shape, first, end, kind.parts, parts);
    int64_t stride = kind.stride;
    for (size_t i = end; i-- > first; stride *= parts[i]) strides[i] = static_cast<int32_t>(stride);
    first = end;
  }
  strides.end()[-2] = static_cast<int32_t>(spread_stride);
  strides.back() = static_cast<int32_t>(copy_stride);
  return with_strides(block_mapping(spec, std::move(parts), spread, copies), std::move(strides));
}

void set_product_mappings(const CandidateRequest& r, const ProductProblem& p, const ProductCandidate& c,
                          OpCandidate& candidate) {
  const TensorSpec& a = r.site.input(0);
  const TensorSpec& b = r.site.input(1);
  const TensorSpec& y = r.site.out[0];
  const ProductCut& cut = c.cut;
  const int64_t rows_stride = cut.depth * cut.columns, groups_stride = cut.rows * rows_stride;
  const size_t b_groups = b.shape.size() > 2 ? b.shape.size() - 2 : 0, row_axes = p.row_axes.size();
  const AxisKind a_groups{p.a_groups, cut.groups, groups_stride}, rows{row_axes, cut.rows, rows_stride},
      columns{b.shape.size() >= 2 ? size_t{1} : 0, cut.columns, 1};
  // Of rotated operands each tile of a ring has one piece along the depth; the others have whole blocks.
  const auto depth = [&](bool rotated, int64_t stride) {
    return rotated ? AxisKind{1, cut.depth * cut.shifts, stride} : AxisKind{1, cut.depth, cut.columns};
  };
  const auto shares = [&](bool rotated, int64_t consumers) {
    return rotated ? consumers / cut.shifts : cut.shifts == 1 ? 1 : consumers;
  };
  const int64_t a_copies = shares(cut.shift_a, cut.columns), b_copies = shares(cut.shift_b, cut.rows);
  candidate.in[0] =
      r.mapping(product_mapping(a, {a_groups, rows, depth(cut.shift_a, 1)}, cut.shifts == 1 ? cut.columns : 1, 1,
                                a_copies, cut.shift_a ? cut.shifts : 1));
  candidate.in[1] = r.mapping(product_mapping(
      b, {{b_groups, cut.groups, groups_stride}, depth(cut.shift_b, rows_stride), columns},
      cut.shifts == 1 ? cut.rows : 1, rows_stride, b_copies, (cut.shift_b ? cut.shifts : 1) * rows_stride));
  candidate.out = {r.mapping(product_mapping(
      y, {{std::max(p.a_groups, b_groups), cut.groups, groups_stride}, rows, columns}, cut.depth, cut.columns, 1, 1))};
}

}  // namespace

void enumerate_products(const CandidateRequest& r) {
  const Machine& m = r.machine;
  const ProductProblem p = product_problem(r);
  std::vector<ProductCandidate> best;  // Pareto set
  const auto offer = [&](ProductCandidate c) {
    OpCandidate candidate;
    add_product_steps(m, p, c, candidate);
    c.cycles = candidate.cycles;
    c.temp = candidate.temp_bytes + candidate.replicated_bytes;
    c.resident = candidate.resident_bytes;
    // Variants need different operand mappings, with costs at the neighbours that are not visible here: only candidates
    // of one variant compete.
    const auto dominates = [](const ProductCandidate& a, const ProductCandidate& b) {
      return a.variant() == b.variant() && a.cycles <= b.cycles && a.temp <= b.temp && a.resident <= b.resident;
    };
    insert_pareto(best, c, dominates);
  };
  const int64_t columns_grain = product_column_grain(m, p.operand_bytes, p.partial_bytes);
  const auto groups = axes_partition_counts(p.group_axes, m.tiles), rows = axes_partition_counts(p.row_axes, m.tiles);
  const auto depths = partition_counts(p.depth, product_depth_grain(p.operand_bytes), 64);
  const auto columns = partition_counts(p.columns, columns_grain, m.tiles);
  for (auto g = groups.rbegin(); g != groups.rend(); ++g) {
    if (!splits_groups_enough(*g, p.groups, m)) continue;
    for (const int64_t row : rows) {
      if (*g * row > m.tiles) break;
      for (const int64_t depth : depths) {
        if (*g * row * depth > m.tiles) break;
        for_largest_counts(columns, *g * row * depth, m, [&](int64_t n) {
          const ProductCut cut{*g, row, depth, n};
          offer({.cut = cut});
          // Large blocks may compute their columns in serial parts.
          const ProductBlock part = block_of(p, cut);
          if (part.groups * ((part.rows + part.columns) * part.depth * p.operand_bytes +
                             part.rows * part.columns * p.partial_bytes) >
              min_serial_bytes)
            for (const int64_t serial : {2, 4, 8, 16})
              if (part.columns >= serial * columns_grain) {
                ProductCut in_parts = cut;
                in_parts.serial = serial;
                offer({.cut = in_parts});
              }
          // Powers of two, and full rings, in which no tile holds a duplicate.
          int64_t rings[] = {2, 4, 8, 16, std::gcd(cut.rows, cut.columns), cut.rows, cut.columns};
          std::sort(std::begin(rings), std::end(rings));
          const auto last = std::unique(std::begin(rings), std::end(rings));
          for (auto ring = std::begin(rings); ring != last; ++ring) {
            const int64_t shifts = *ring;
            if (!r.options.rotate || shifts > 64) break;
            if (shifts < 2) continue;
            // The pieces of a ring lie side by side.
            const bool a = cut.columns % shifts == 0 && (cut.depth == 1 || cut.columns == shifts),
                       b = cut.rows % shifts == 0 && cut.depth == 1;
            if (div_up(p.depth, cut.depth) < shifts * product_depth_grain(p.operand_bytes)) break;
            const auto shifted = [&](bool of_a, bool of_b) {
              ProductCut rotated = cut;
              rotated.shifts = shifts, rotated.shift_a = of_a, rotated.shift_b = of_b;
              return ProductCandidate{.cut = rotated};
            };
            if (a && b) offer(shifted(true, true));
            if (b) offer(shifted(false, true));
            if (a) offer(shifted(true, false));
          }
        });
      }
    }
  }
  std::stable_sort(best.begin(), best.end(),
                   [](const ProductCandidate& a, const ProductCandidate& b) { return a.cycles < b.cycles; });
  // Of each variant the fastest ones, and each slower one that takes a fifth less memory than all before it.
  std::vector<ProductCandidate> kept;
  std::map<std::string_view, std::pair<size_t, int64_t>> taken;  // by variant: count, and lowest memory
  for (const ProductCandidate& c : best) {
    auto& [count, least] = taken.try_emplace(c.variant(), 0, INT64_MAX).first->second;
    if (count < r.options.max_candidates || c.temp < least - least / 5) kept.push_back(c), ++count;
    least = std::min(least, c.temp);
  }
  for (const ProductCandidate& c : kept) {
    OpCandidate candidate = r.start(c.variant());
    add_product_steps(m, p, c, candidate);
    set_product_mappings(r, p, c, candidate);
    candidate.text = text_of(p, c);
    candidate.product = c.cut;
    r.candidates.push_back(std::move(candidate));
  }
}

}  // namespace pxl::tiles
