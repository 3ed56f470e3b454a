// Partitions of matrix products: the output cut into rows and columns, the depth cut with partial sums, batches dealt
// out. Operands are gathered all at once, or rotated in steps (T10's compute-shift: spatial and temporal factors).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>

#include "runtime/tiles/plan_partition.hpp"

namespace pxl::tiles {

namespace {

/// The product as the partition sees it, [groups, rows, depth] x [groups, depth, columns].
struct Problem {
  int64_t groups = 1, rows = 1, depth = 1, columns = 1;
  int64_t operand_bytes = 4, partial_bytes = 4, out_bytes = 4;
  bool widened = false;  ///< float8 operands that become float16 first
  size_t a_groups = 0;   ///< leading axes of the left operand that are groups; the others before its last are rows
};

struct Cut {
  int64_t groups = 1, rows = 1, depth = 1, columns = 1;
  int64_t tiles() const { return groups * rows * depth * columns; }
};

Problem problem_of(const PlanRequest& r) {
  const TensorSpec& a = r.site.input(0);
  const TensorSpec& b = r.site.input(1);
  Problem p;
  p.operand_bytes = product_bytes(r.machine, a);
  p.partial_bytes = product_partial_bytes(r.options, p.operand_bytes);
  p.widened = is_float8(a.dtype) && p.operand_bytes > 1;
  p.out_bytes = element_bytes(r.site.out[0]);
  p.depth = a.shape.empty() ? 1 : a.shape.back();
  if (b.shape.size() >= 2) p.columns = b.shape.back();
  const size_t lead = a.shape.size() >= 2 ? a.shape.size() - 2 : 0;
  const bool batched = b.shape.size() > 2;
  p.a_groups = batched ? lead : 0;
  for (size_t i = 0; i + 1 < a.shape.size(); ++i) (i < p.a_groups ? p.groups : p.rows) *= a.shape[i];
  if (batched && a.shape.size() < b.shape.size()) {
    // The left operand is repeated for each group of the right one.
    p.groups = 1;
    for (size_t i = 0; i + 2 < b.shape.size(); ++i) p.groups *= b.shape[i];
  }
  int64_t* const extents[] = {&p.groups, &p.rows, &p.depth, &p.columns};
  for (int64_t* n : extents) *n = std::max<int64_t>(1, *n);
  // Products that no machine could hold are cut down to what cycles can be counted for.
  while (std::log2(p.groups) + std::log2(p.rows) + std::log2(p.depth) + std::log2(p.columns) > 52)
    **std::max_element(std::begin(extents), std::end(extents),
                       [](const int64_t* less, const int64_t* more) { return *less < *more; }) /= 2;
  return p;
}

/// A candidate before its strings and steps are made.
struct Candidate {
  Cut cut;
  int64_t shifts = 1;  ///< steps of the temporal partition; 1: operands are gathered
  bool shift_a = false, shift_b = false;
  int64_t serial = 1;                          ///< parts of a tile's columns that are computed one after the other
  int64_t cycles = 0, temp = 0, resident = 0;  ///< temp: copies of what others hold included

  std::string_view family() const {
    return shifts > 1 ? "compute shift" : serial > 1 ? "gather in serial parts" : "gather all";
  }
};

/// Parts of at least so many bytes, operands and sums, may be taken serially.
constexpr int64_t serial_from = 8192;

struct Block {
  int64_t groups, rows, depth, columns;
};

Block block_of(const Problem& p, const Cut& c) {
  return {div_up(p.groups, c.groups), div_up(p.rows, c.rows), div_up(p.depth, c.depth), div_up(p.columns, c.columns)};
}

int64_t on_tile(const Machine& m, const Problem& p, const Block& b, ProductVertex* vertex = nullptr) {
  const ProductShape straight{b.groups, b.rows, b.depth, b.columns, p.operand_bytes, p.partial_bytes};
  ProductShape swapped = straight;
  std::swap(swapped.rows, swapped.columns);
  const ProductCost one = product_cycles(m, straight), other = product_cycles(m, swapped);
  const ProductCost& best = other.cycles < one.cycles ? other : one;
  if (vertex) *vertex = best.vertex;
  return best.cycles;
}

int64_t pieces(int64_t senders, int64_t bytes) { return std::max(senders, div_up(bytes, 256)); }

/// Fills in the plan's steps and bytes; layouts and text stay empty.
void lay_out(const Machine& m, const Problem& p, const Candidate& c, OpPlan& plan) {
  const Block b = block_of(p, c.cut);
  const int64_t a_bytes = b.groups * b.rows * b.depth * p.operand_bytes;
  const int64_t b_bytes = b.groups * b.depth * b.columns * p.operand_bytes;
  const int64_t sums = b.groups * b.rows * b.columns;
  const int64_t used = c.cut.tiles();
  const int64_t a_sharers = c.cut.columns, b_sharers = c.cut.rows;
  ProductVertex vertex{};
  const ProductShape state{b.groups, b.rows, b.depth, b.columns, p.operand_bytes, p.partial_bytes};
  const bool partials = c.cut.depth > 1 || p.partial_bytes != p.out_bytes;
  if (p.widened)
    plan.compute(m, "Cast", cast_cycles(m, (a_bytes / a_sharers + b_bytes / b_sharers) / p.operand_bytes, 1, 2), used);
  if (c.serial > 1) {
    const int64_t b_own = div_up(b_bytes, b_sharers);
    const SharedPart a = equal_shares(a_bytes, a_sharers);
    Traffic left = gather(a, {}, p.operand_bytes, used);
    left.paired = a_sharers % 2 == 0;
    plan.exchange(m, "left operand to where it is used", left);
    Block step = b;
    step.columns = div_up(b.columns, c.serial);
    const int64_t b_step = div_up(b_bytes, c.serial);
    const SharedPart right = equal_shares(b_step, b_sharers);
    const int64_t step_sums = b.groups * b.rows * step.columns;
    OpPlan once;  // of the loop
    once.compute(m, "DynamicSlice", slice_cycles(m, div_up(b_own, c.serial * p.operand_bytes), p.operand_bytes), used);
    once.exchange(m, "a part of the right operand to where it is used", gather(right, {}, p.operand_bytes, used));
    const int64_t cycles = on_tile(m, p, step, &vertex);
    const ProductShape shape{b.groups, b.rows, b.depth, step.columns, p.operand_bytes, p.partial_bytes};
    once.compute(m, vertex_name(vertex), cycles, used, amp_state_bytes(m, shape));
    const int64_t arrives = finish_sums(m, once, c.cut.depth, step_sums, p.partial_bytes, p.out_bytes, used);
    once.compute(m, "DynamicUpdate", slice_cycles(m, div_up(step_sums, c.cut.depth), p.out_bytes), used);
    for (int64_t i = 0; i < c.serial; ++i) plan.steps.insert(plan.steps.end(), once.steps.begin(), once.steps.end());
    plan.cycles += c.serial * once.cycles;
    plan.code_bytes += once.code_bytes;
    plan.phases += once.phases;
    plan.control_steps += once.control_steps + 1;
    plan.state_bytes += once.state_bytes;
    plan.tiles = std::max(plan.tiles, once.tiles);
    plan.temp_bytes =
        (a.in ? a_bytes : 0) + (right.in ? b_step : 0) + (partials ? step_sums * p.partial_bytes : 0) + arrives;
    plan.resident_bytes = div_up(a_bytes, a_sharers) + b_own + div_up(sums, c.cut.depth) * p.out_bytes;
    return;
  }
  if (c.shifts == 1) {
    const SharedPart a = equal_shares(a_bytes, a_sharers), other = equal_shares(b_bytes, b_sharers);
    Traffic both = gather(a, other, p.operand_bytes, used);
    both.paired = a_sharers % 2 == 0 && a.in > 0 && other.in == 0;
    plan.exchange(m, "operands to where they are used", both);
    const int64_t cycles = on_tile(m, p, b, &vertex);
    plan.compute(m, vertex_name(vertex), cycles, used, amp_state_bytes(m, state));
    plan.temp_bytes = (a.in ? a_bytes : 0) + (other.in ? b_bytes : 0);
    plan.resident_bytes = div_up(a_bytes, a_sharers) + div_up(b_bytes, b_sharers);
  } else {
    Block step = b;
    step.depth = div_up(b.depth, c.shifts);
    const int64_t a_piece = c.shift_a ? div_up(a_bytes, c.shifts) : 0,
                  b_piece = c.shift_b ? div_up(b_bytes, c.shifts) : 0;
    Traffic shift;
    shift.in = shift.out = a_piece + b_piece;
    shift.runs = shift.sends = (a_piece > 0) + (b_piece > 0);
    shift.fragments = pieces(shift.runs, shift.in);
    shift.total = shift.in * used;
    const int64_t cycles = on_tile(m, p, step, &vertex);
    plan.compute(m, vertex_name(vertex), cycles, used, amp_state_bytes(m, state));
    for (int64_t i = 1; i < c.shifts; ++i) {
      // The loop's code and vertices stand once.
      const int64_t code = plan.code_bytes, held = plan.state_bytes, phases = plan.phases, steps = plan.control_steps;
      plan.exchange(m, "rotate pieces to the neighbour", shift);
      plan.compute(m, vertex_name(vertex), cycles, used);
      plan.state_bytes = held;
      if (i > 1) plan.code_bytes = code, plan.phases = phases, plan.control_steps = steps;
    }
    plan.temp_bytes = a_piece + b_piece;
    plan.resident_bytes = (c.shift_a ? a_piece : a_bytes) + (c.shift_b ? b_piece : b_bytes);
    plan.replicated_bytes = plan.resident_bytes - div_up(a_bytes, a_sharers) - div_up(b_bytes, b_sharers);
  }
  finish_product(m, plan, c.cut.depth, sums, p.partial_bytes, p.out_bytes, used);
}

std::string text_of(const Problem& p, const Candidate& c) {
  const Block b = block_of(p, c.cut);
  std::string s = fmt::format("{} x {} x {} x {} parts of [{}, {}] x [{}, {}]", c.cut.groups, c.cut.rows, c.cut.depth,
                              c.cut.columns, b.rows, b.depth, b.depth, b.columns);
  if (c.shifts > 1)
    s += fmt::format(", {} rotated in {} steps",
                     c.shift_a && c.shift_b ? "both operands"
                     : c.shift_a            ? "left operand"
                                            : "right operand",
                     c.shifts);
  if (c.serial > 1) s += fmt::format(", columns in {} serial parts", c.serial);
  return s + (p.partial_bytes == 2 ? ", float16 partial sums" : ", float32 partial sums");
}

/// Cuts the axes of a tensor whose last two axes and groups are cut as given.
std::vector<int32_t> cut_tensor(const TensorSpec& spec, size_t group_axes, int64_t groups, int64_t rows, int64_t last) {
  std::vector<int32_t> parts(spec.shape.size(), 1);
  const size_t end = spec.shape.empty() ? 0 : spec.shape.size() - 1;
  cut_axes(spec.shape, 0, std::min(group_axes, end), groups, parts);
  cut_axes(spec.shape, std::min(group_axes, end), end, rows, parts);
  if (end < spec.shape.size()) parts[end] = static_cast<int32_t>(last);
  return parts;
}

void set_layouts(const PlanRequest& r, const Problem& p, const Candidate& c, OpPlan& plan) {
  const TensorSpec& a = r.site.input(0);
  const TensorSpec& b = r.site.input(1);
  const TensorSpec& y = r.site.out[0];
  const size_t b_groups = b.shape.size() > 2 ? b.shape.size() - 2 : 0;
  const int64_t a_spread = c.shifts == 1 ? c.cut.columns : c.shift_a ? c.shifts : 1;
  const int64_t b_spread = c.shifts == 1 ? c.cut.rows : c.shift_b ? c.shifts : 1;
  plan.in[0] = r.layout(block_layout(a, cut_tensor(a, p.a_groups, c.cut.groups, c.cut.rows, c.cut.depth), a_spread,
                                     c.cut.columns / a_spread));
  plan.in[1] = r.layout(block_layout(b, cut_tensor(b, b_groups, c.cut.groups, c.cut.depth, c.cut.columns), b_spread,
                                     c.cut.rows / b_spread));
  plan.out = {r.layout(block_layout(
      y,
      cut_tensor(y, y.shape.size() > 2 ? std::max(p.a_groups, b_groups) : 0, c.cut.groups, c.cut.rows, c.cut.columns),
      c.cut.depth))};
}

}  // namespace

void plan_product(const PlanRequest& r) {
  const Machine& m = r.machine;
  const Problem p = problem_of(r);
  std::vector<Candidate> best;  // by cycles and temporary memory
  const auto offer = [&](Candidate c) {
    OpPlan plan;
    lay_out(m, p, c, plan);
    c.cycles = plan.cycles;
    c.temp = plan.temp_bytes + plan.replicated_bytes;
    c.resident = plan.resident_bytes;
    // Families want their operands in layouts of their own, which cost their neighbours what this does not see.
    const auto beats = [](const Candidate& a, const Candidate& b) {
      return a.family() == b.family() && a.cycles <= b.cycles && a.temp <= b.temp && a.resident <= b.resident;
    };
    keep_unbeaten(best, c, beats);
  };
  const int64_t columns_grain = product_column_grain(m, p.operand_bytes, p.partial_bytes);
  const auto groups = part_counts(p.groups, 1, m.tiles), rows = part_counts(p.rows, 1, m.tiles);
  const auto depths = part_counts(p.depth, product_depth_grain(p.operand_bytes), 64);
  const auto columns = part_counts(p.columns, columns_grain, m.tiles);
  for (auto g = groups.rbegin(); g != groups.rend(); ++g) {
    if (!deals_out(*g, p.groups, m)) continue;
    for (const int64_t row : rows) {
      if (*g * row > m.tiles) break;
      for (const int64_t depth : depths) {
        if (*g * row * depth > m.tiles) break;
        for_largest(columns, *g * row * depth, m, [&](int64_t n) {
          const Cut cut{*g, row, depth, n};
          offer({.cut = cut});
          // Where a part needs much, its columns may be taken one after the other.
          const Block part = block_of(p, cut);
          if (part.groups * ((part.rows + part.columns) * part.depth * p.operand_bytes +
                             part.rows * part.columns * p.partial_bytes) >
              serial_from)
            for (const int64_t serial : {2, 4, 8, 16})
              if (part.columns >= serial * columns_grain) offer({.cut = cut, .serial = serial});
          // Powers of two, and the whole rings, of which no tile holds anything twice.
          int64_t rings[] = {2, 4, 8, 16, std::gcd(cut.rows, cut.columns), cut.rows, cut.columns};
          std::sort(std::begin(rings), std::end(rings));
          const auto last = std::unique(std::begin(rings), std::end(rings));
          for (auto ring = std::begin(rings); ring != last; ++ring) {
            const int64_t shifts = *ring;
            if (!r.options.rotate || shifts > 64) break;
            if (shifts < 2) continue;
            const bool a = cut.columns % shifts == 0, b = cut.rows % shifts == 0;
            if (div_up(p.depth, cut.depth) < shifts * product_depth_grain(p.operand_bytes)) break;
            if (a && b) offer({.cut = cut, .shifts = shifts, .shift_a = true, .shift_b = true});
            if (b) offer({.cut = cut, .shifts = shifts, .shift_a = false, .shift_b = true});
            if (a) offer({.cut = cut, .shifts = shifts, .shift_a = true, .shift_b = false});
          }
        });
      }
    }
  }
  std::stable_sort(best.begin(), best.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cycles < b.cycles; });
  // Of each family a few fast ones, and every slower one that takes a fifth less memory than all before it.
  std::vector<Candidate> kept;
  std::map<std::string_view, std::pair<size_t, int64_t>> taken;  // by family: how many, and the least memory
  for (const Candidate& c : best) {
    auto& [count, least] = taken.try_emplace(c.family(), 0, INT64_MAX).first->second;
    if (count < r.options.most_plans || c.temp < least - least / 5) kept.push_back(c), ++count;
    least = std::min(least, c.temp);
  }
  for (const Candidate& c : kept) {
    OpPlan plan = r.start(c.family());
    lay_out(m, p, c, plan);
    set_layouts(r, p, c, plan);
    plan.text = text_of(p, c);
    r.plans.push_back(std::move(plan));
  }
}

}  // namespace pxl::tiles
