// Candidates of matrix products: partitions of groups, rows, depth (with partial sums) and columns. Operands are
// gathered at once, gathered in serial parts, stored where they are used, or rotated in steps. Rotation is
// compute-shift with spatial and temporal factors (T10, SOSP 2024).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "runtime/tiles/candidates/library_plan.hpp"
#include "runtime/tiles/candidates/partition.hpp"
#include "runtime/tiles/candidates/product_search.hpp"
#include "runtime/tiles/cuts/given_cut.hpp"

namespace pxl::tiles {

ProductProblem product_problem(const Machine& m, const CandidateOptions& options, const OpContext& site) {
  const TensorSpec& a = site.input(0);
  const TensorSpec& b = site.input(1);
  ProductProblem p;
  p.operand_bytes = product_bytes(m, a);
  p.partial_bytes = product_partial_bytes(options, p.operand_bytes);
  p.widened = is_float8(a.dtype) && p.operand_bytes > 1;
  p.out_bytes = element_bytes(site.out[0]);
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
  // Halves extents until the cycles can be counted without overflow; no machine could hold such products.
  while (std::log2(p.groups) + std::log2(p.rows) + std::log2(p.depth) + std::log2(p.columns) > 52)
    **std::max_element(std::begin(extents), std::end(extents),
                       [](const int64_t* less, const int64_t* more) { return *less < *more; }) /= 2;
  return p;
}

namespace {

/// Bytes that both tiles of a pair receive (PopLibs, convolution planner). Neighbouring tiles that compute neighbouring
/// columns receive the same slices of the left operand. Such tiles form pairs if the number of column parts is even.
/// The same holds for rows and the right operand.
int64_t paired_bytes(const ProductCut& cut, const SharedSlice& left, const SharedSlice& right) {
  if (cut.order == ProductOrder::columns_depth_rows) return cut.rows % 2 == 0 ? right.in : 0;
  return cut.order != ProductOrder::rows_columns_depth && cut.columns % 2 == 0 ? left.in : 0;
}

int64_t fragments(int64_t senders, int64_t bytes) { return std::max(senders, div_up(bytes, 256)); }

}  // namespace

ProductCost compute_cost(const Machine& m, const ProductProblem& p, const ProductBlock& b, ProductOperands operands) {
  const ProductShape straight{b.groups, b.rows, b.depth, b.columns, p.operand_bytes, p.partial_bytes};
  ProductShape swapped = straight;
  std::swap(swapped.rows, swapped.columns);
  const ProductCost one = product_cycles(m, straight), other = product_cycles(m, swapped);
  const bool swaps =
      operands == ProductOperands::faster ? other.cycles < one.cycles : operands == ProductOperands::swapped;
  return swaps ? ProductCost{other.vertex, other.cycles, true} : one;
}

namespace {

VertexState product_state(const Machine& m, const ProductProblem& p, ProductBlock b, const ProductCost& cost) {
  if (cost.swapped) std::swap(b.rows, b.columns);
  return amp_state(m, {b.groups, b.rows, b.depth, b.columns, p.operand_bytes, p.partial_bytes});
}

}  // namespace

void add_product_steps(const Machine& m, const ProductProblem& p, const ProductCut& cut, OpCandidate& candidate) {
  const ProductBlock b = block_of(p, cut);
  const int64_t a_bytes = b.groups * b.rows * b.depth * p.operand_bytes;
  const int64_t b_bytes = b.groups * b.depth * b.columns * p.operand_bytes;
  const int64_t sums = b.groups * b.rows * b.columns;
  const int64_t used = cut.tiles();
  const int64_t a_consumers = cut.columns, b_consumers = cut.rows;
  const int64_t a_shares = shares_of(a_bytes, a_consumers, min_share_of_data),
                b_shares = shares_of(b_bytes, b_consumers, min_share_of_weights);
  const bool partials = cut.depth > 1 || p.partial_bytes != p.out_bytes;
  int64_t partial_bytes = p.partial_bytes;  // outer products have no sums: they write results
  if (p.widened)
    candidate.compute(m, "Cast", cast_cycles(m, (a_bytes / a_shares + b_bytes / b_shares) / p.operand_bytes, 1, 2),
                      used);
  if (cut.serial > 1) {
    const int64_t b_own = div_up(b_bytes, b_shares);
    const SharedSlice a = equal_shares(a_bytes, a_consumers, a_shares);
    Traffic left = gather(a, {}, p.operand_bytes, used);
    left.paired_in = paired_bytes(cut, a, {});
    candidate.exchange(m, "left operand to where it is used", left);
    ProductBlock step = b;
    step.columns = div_up(b.columns, cut.serial);
    const int64_t b_step = div_up(b_bytes, cut.serial);
    const SharedSlice right = equal_shares(b_step, b_consumers, b_shares);
    const int64_t step_sums = b.groups * b.rows * step.columns;
    OpCandidate once;  // one iteration of the loop
    once.records_steps = candidate.records_steps;
    once.compute(m, "DynamicSlice", slice_cycles(m, div_up(b_own, cut.serial * p.operand_bytes), p.operand_bytes),
                 used);
    once.exchange(m, "a part of the right operand to where it is used", gather(right, {}, p.operand_bytes, used));
    const ProductCost cost = compute_cost(m, p, step, cut.operands);
    once.compute(m, vertex_name(cost.vertex), cost.cycles, used, product_state(m, p, step, cost));
    const int64_t arrives = add_reduction_steps(m, once, cut.depth, step_sums, p.partial_bytes, p.out_bytes, used);
    once.compute(m, "DynamicUpdate", slice_cycles(m, div_up(step_sums, cut.depth), p.out_bytes), used);
    candidate.repeat(once, cut.serial);
    candidate.temp_bytes = a.in + (right.in ? b_step : 0) + (partials ? step_sums * p.partial_bytes : 0) + arrives;
    candidate.own_bytes = a.in ? a.own : 0;
    candidate.resident_bytes = div_up(a_bytes, a_shares) + b_own + div_up(sums, cut.depth) * p.out_bytes;
    return;
  }
  if (cut.shifts == 1) {
    const SharedSlice a = cut.hold_a ? equal_shares(a_bytes, 1, 1) : equal_shares(a_bytes, a_consumers, a_shares),
                      other = cut.hold_b ? equal_shares(b_bytes, 1, 1) : equal_shares(b_bytes, b_consumers, b_shares);
    Traffic both = gather(a, other, p.operand_bytes, used);
    both.paired_in = paired_bytes(cut, a, other);
    candidate.exchange(m, "operands to where they are used", both);
    const ProductCost cost = compute_cost(m, p, b, cut.operands);
    candidate.compute(m, vertex_name(cost.vertex), cost.cycles, used, product_state(m, p, b, cost));
    if (cost.vertex == ProductVertex::outer) partial_bytes = p.out_bytes;
    candidate.temp_bytes = a.in + other.in;
    candidate.own_bytes = (a.in ? a.own : 0) + (other.in ? other.own : 0);
    const int64_t a_share = div_up(a_bytes, a_shares), b_share = div_up(b_bytes, b_shares);
    candidate.resident_bytes = (cut.hold_a ? a_bytes : a_share) + (cut.hold_b ? b_bytes : b_share);
    candidate.replicated_bytes = candidate.resident_bytes - a_share - b_share;
  } else {
    ProductBlock step = b;
    step.depth = div_up(b.depth, cut.shifts);
    const int64_t a_piece = cut.shift_a ? div_up(a_bytes, cut.shifts) : 0,
                  b_piece = cut.shift_b ? div_up(b_bytes, cut.shifts) : 0;
    Traffic shift;
    shift.in = shift.out = a_piece + b_piece;
    shift.runs = shift.sends = (a_piece > 0) + (b_piece > 0);
    shift.fragments = fragments(shift.runs, shift.in);
    shift.total = shift.in * used;
    const ProductCost cost = compute_cost(m, p, step, cut.operands);
    // Tiles begin at different pieces. If both operands rotate, an exchange first brings the two pieces together.
    if (cut.shift_a && cut.shift_b) candidate.exchange(m, "first pieces to where they meet", shift);
    candidate.compute(m, vertex_name(cost.vertex), cost.cycles, used, product_state(m, p, b, cost));
    OpCandidate next;
    next.records_steps = candidate.records_steps;
    next.exchange(m, "rotate pieces to the neighbour", shift);
    next.compute(m, vertex_name(cost.vertex), cost.cycles, used, {0});
    candidate.repeat(next, cut.shifts - 1);
    candidate.temp_bytes = a_piece + b_piece;
    candidate.resident_bytes = (cut.shift_a ? a_piece : a_bytes) + (cut.shift_b ? b_piece : b_bytes);
    candidate.replicated_bytes = candidate.resident_bytes - div_up(a_bytes, a_consumers) - div_up(b_bytes, b_consumers);
  }
  add_product_reduction(m, candidate, cut.depth, sums, partial_bytes, p.out_bytes, used);
}

namespace {

std::string text_of(const ProductProblem& p, const ProductCut& cut) {
  const ProductBlock b = block_of(p, cut);
  std::string s = fmt::format("{} x {} x {} x {} parts of [{}, {}] x [{}, {}]", cut.groups, cut.rows, cut.depth,
                              cut.columns, b.rows, b.depth, b.depth, b.columns);
  if (cut.shifts > 1)
    s += fmt::format(", {} rotated in {} steps",
                     cut.shift_a && cut.shift_b ? "both operands"
                     : cut.shift_a              ? "left operand"
                                                : "right operand",
                     cut.shifts);
  if (cut.hold_a || cut.hold_b) s += fmt::format(", {} operand stored in copies", cut.hold_a ? "left" : "right");
  if (cut.serial > 1) s += fmt::format(", columns in {} serial parts", cut.serial);
  if (cut.joint) s += ", planned with the other products of the variable";
  return s + (p.partial_bytes == 2 ? ", float16 partial sums" : ", float32 partial sums");
}

/// One kind of axis in a product's tensor. A tensor has some of the kinds groups, rows, depth and columns, in this
/// order. The strides of tiles that share a block, and of copies, come after these axes.
struct AxisKind {
  size_t axes = 0;  ///< number of axes
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

/// Sets mappings with the element order that the units read and write (PopLibs: input and output channels are the
/// innermost axis). Operands have the terms of a sum side by side. Results have columns side by side, or rows if
/// operands are swapped.
void set_product_mappings(const CandidateRequest& r, const ProductProblem& p, const ProductCut& cut,
                          OpCandidate& candidate) {
  const TensorSpec& a = r.site.input(0);
  const TensorSpec& b = r.site.input(1);
  const TensorSpec& y = r.site.out[0];
  const int64_t rows_stride = cut.row_stride(), groups_stride = cut.rows * cut.depth * cut.columns;
  const size_t b_groups = b.shape.size() > 2 ? b.shape.size() - 2 : 0, row_axes = p.row_axes.size();
  const AxisKind a_groups{p.a_groups, cut.groups, groups_stride}, rows{row_axes, cut.rows, rows_stride},
      columns{b.shape.size() >= 2 ? size_t{1} : 0, cut.columns, cut.column_stride()};
  // If an operand rotates, each tile of a ring has one piece along the depth. Other operands have whole blocks.
  const auto depth = [&](bool rotated, int64_t stride) {
    return rotated ? AxisKind{1, cut.depth * cut.shifts, stride} : AxisKind{1, cut.depth, cut.depth_stride()};
  };
  const auto copies = [&](bool rotated, bool held, int64_t consumers) {
    return rotated ? consumers / cut.shifts : cut.shifts > 1 || held ? consumers : 1;
  };
  const ProductBlock block = block_of(p, cut);
  const auto spread = [&](bool held, int64_t consumers, int64_t elements, int64_t least) {
    return cut.shifts > 1 || held ? 1 : shares_of(elements * p.operand_bytes, consumers, least);
  };
  const int64_t a_spread = spread(cut.hold_a, cut.columns, block.groups * block.rows * block.depth, min_share_of_data),
                b_spread =
                    spread(cut.hold_b, cut.rows, block.groups * block.depth * block.columns, min_share_of_weights);
  const int64_t a_copies = copies(cut.shift_a, cut.hold_a, cut.columns),
                b_copies = copies(cut.shift_b, cut.hold_b, cut.rows);
  candidate.in[0] = r.mapping(product_mapping(a, {a_groups, rows, depth(cut.shift_a, 1)}, a_spread, cut.column_stride(),
                                              a_copies, cut.shift_a ? cut.shifts : 1));
  TileMapping right =
                  product_mapping(b, {{b_groups, cut.groups, groups_stride}, depth(cut.shift_b, rows_stride), columns},
                                  b_spread, rows_stride, b_copies, (cut.shift_b ? cut.shifts : 1) * rows_stride),
              result = product_mapping(y, {{std::max(p.a_groups, b_groups), cut.groups, groups_stride}, rows, columns},
                                       cut.depth, cut.depth_stride(), 1, 1);
  if (r.machine.has_orders() && b.shape.size() >= 2) {
    right = with_inner_axis(std::move(right), b.shape, b.shape.size() - 2);
    if (row_axes > 0 && compute_cost(r.machine, p, block, cut.operands).swapped)
      result = with_inner_axis(std::move(result), y.shape, y.shape.size() - 2);
  }
  candidate.in[1] = r.mapping(right);
  candidate.out = {r.mapping(result)};
}

}  // namespace

namespace {

/// The library's plan. If its temporary memory exceeds the bound, adds the plans that compute in serial parts.
std::vector<ProductCut> library_cuts(const Machine& m, const ProductProblem& p, int64_t bound) {
  std::vector<ProductCut> cuts{library_cut(m, p, bound)};
  if (library_temp_bytes(m, p, cuts[0]) > bound)
    for (ProductCut cut : search_products(m, 10, p)) {
      if (cut.serial == 1) continue;
      for (const ProductOperands operands : {ProductOperands::swapped, ProductOperands::straight}) {
        cut.operands = operands;
        cut.order =
            operands == ProductOperands::swapped ? ProductOrder::columns_depth_rows : ProductOrder::rows_depth_columns;
        cuts.push_back(cut);
      }
    }
  return cuts;
}

/// The cut with each order of its result that may be worth its cycles. A slower vertex must not take longer than the
/// faster vertex and a transposition of its result.
std::vector<ProductCut> with_orders(const Machine& m, const ProductProblem& p, const ProductCut& cut) {
  if (cut.operands != ProductOperands::faster || !m.has_orders()) return {cut};
  std::vector<ProductCut> cuts(2, cut);
  cuts[0].operands = ProductOperands::straight, cuts[1].operands = ProductOperands::swapped;
  ProductBlock b = block_of(p, cut);
  const int64_t order = transpose_cycles(m, b.groups, b.rows, b.columns, p.out_bytes);
  const bool one_order = b.rows == 1 || b.columns == 1;
  b.columns = div_up(b.columns, cut.serial), b.depth = div_up(b.depth, cut.shifts);
  const int64_t times = cut.serial * cut.shifts;
  const int64_t more =
      times * (compute_cost(m, p, b, cuts[1].operands).cycles - compute_cost(m, p, b, cuts[0].operands).cycles);
  if (more < 0 ? one_order || -more >= order : false) return {cuts[1]};
  if (one_order || more >= order) return {cuts[0]};
  return cuts;
}

}  // namespace

namespace {

/// Throws Error if the product cannot have the given cut.
void check_given_product(const CandidateRequest& r, const ProductProblem& p, const ProductCut& cut) {
  const GivenCut& given = *r.given;
  given.check_axes("groups", cut.groups, p.group_axes, "the groups");
  given.check_axes("rows", cut.rows, p.row_axes, "the rows");
  given.check_parts("depth", cut.depth, p.depth, "the depth");
  given.check_parts("columns", cut.columns, p.columns, "the columns");
  given.check_tiles(r.machine, saturating_product(saturating_product(cut.groups, cut.rows),
                                                  saturating_product(cut.depth, cut.columns)));
  const ProductBlock b = block_of(p, cut);
  given.check_parts("serial", cut.serial, b.columns, "the columns of a tile");
  given.check_parts("steps", cut.shifts, b.depth, "the depth of a tile");
  const bool rotates = cut.shift_a || cut.shift_b, holds = cut.hold_a || cut.hold_b;
  if (rotates != (cut.shifts > 1))
    given.refuse("steps", "`rotate` and `steps` belong together", {"rotate left, steps 4"});
  if ((cut.serial > 1) + rotates + holds > 1 || (cut.hold_a && cut.hold_b))
    given.refuse("copies", "a product has one of `serial`, `rotate`, `copies left` and `copies right`");
  if (cut.shift_a && (cut.columns % cut.shifts != 0 || (cut.depth > 1 && cut.columns != cut.shifts)))
    given.refuse("steps", "the left operand rotates among columns: their number is a multiple of the steps",
                 {"with more than one part of the depth it is the number of steps"});
  if (cut.shift_b && (cut.rows % cut.shifts != 0 || cut.depth > 1))
    given.refuse("steps",
                 "the right operand rotates among rows: their number is a multiple of the steps, the depth is whole");
  if ((cut.hold_a && !r.stored[0]) || (cut.hold_b && !r.stored[1]))
    given.refuse("copies", "an op computes this operand: only stored operands are in copies", {"leave `copies` out"});
}

}  // namespace

void enumerate_products(const CandidateRequest& r) {
  const ProductProblem p = product_problem(r.machine, r.options, r.site);
  const ProductCut* const given = r.given && r.given->product() ? &*r.given->product() : nullptr;
  if (given) check_given_product(r, p, *given);
  const int64_t bound = r.machine.usable() * r.options.available_memory_permille / 1000;
  const bool as_library = r.options.separately && r.machine.block_rows == 0;
  std::vector<ProductCut> own;
  std::vector<ProductCut>& found = r.options.products ? r.options.products->of(p) : own;
  if (found.empty() && !given)
    found = as_library ? library_cuts(r.machine, p, bound) : search_products(r.machine, r.options.max_candidates, p);
  const auto possible = [&](const ProductCut& cut) {
    return given ||
           ((r.options.copies || !cut.in_copies()) && (!cut.hold_a || r.stored[0]) && (!cut.hold_b || r.stored[1]));
  };
  const bool only_copies = !r.options.gather && std::any_of(found.begin(), found.end(), [&](const ProductCut& cut) {
    return cut.in_copies() && possible(cut);
  });
  std::vector<ProductCut> offered;
  if (given) {
    offered = {*given};
  } else {
    if (!as_library || r.joint.empty()) offered = found;
    offered.insert(offered.end(), r.joint.begin(), r.joint.end());
  }
  for (const ProductCut& cut : offered) {
    if (!possible(cut) || (!given && only_copies && !cut.in_copies())) continue;
    for (const ProductCut& c : with_orders(r.machine, p, cut)) {
      OpCandidate candidate = r.start(c.variant());
      add_product_steps(r.machine, p, c, candidate);
      set_product_mappings(r, p, c, candidate);
      candidate.text = text_of(p, c);
      candidate.product = c;
      if (as_library) candidate.planner_cycles = library_cycles(r.machine, p, c);
      r.candidates.push_back(std::move(candidate));
    }
  }
}

}  // namespace pxl::tiles
