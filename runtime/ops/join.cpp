// Concatenates tensors along an axis, and splits them.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/movement/shape.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

using Ints = std::vector<int64_t>;

constexpr Param concat_params[] = {{"ts", ParamKind::tensors}, {"axis", ParamKind::integer, of(0)}};
constexpr Param split_params[] = {
    {"t", ParamKind::tensor},
    {"splits", ParamKind::integers, no_default, "the number of equal slices, or their extents"},
    {"axis", ParamKind::integer, of(0)}};
constexpr Param stack_params[] = {{"ts", ParamKind::tensors},
                                  {"axis", ParamKind::integer, of(0), "where the new axis is inserted"}};

Kernel concat(const OpContext& s) {
  std::vector<TensorSpec> specs;
  for (const TensorSpec* spec : s.in) specs.push_back(*spec);
  return concat_kernel(specs, axis_of(s, "axis", rank_of(s.input(0))));
}

void concat_gradient(GradContext& c) {
  const auto axis = static_cast<size_t>(normalise_axis(c.site().integer("axis"), rank_of(c.out_spec())));
  int64_t begin = 0;
  for (size_t i = 0; i < c.op().inputs.size(); ++i) {
    const int64_t size = c.in_spec(i).shape[axis];
    if (c.wants(i)) c.set(i, narrow(c.dy(), axis, begin, size));
    begin += size;
  }
}

// Equal parts are copied side by side.
ElementOrder split_order(const OpContext& s) {
  const bool equal = std::all_of(s.out.begin(), s.out.end(), [&](const TensorSpec& t) { return t == s.out[0]; });
  return equal ? ElementOrder::in_order : ElementOrder::whole;
}

std::vector<TensorSpec> infer_split(const OpContext& s) {
  const TensorSpec& x = s.input(0);
  const auto axis = static_cast<size_t>(axis_of(s, "axis", rank_of(x)));
  Ints sizes = s.integers("splits");
  if (std::holds_alternative<int64_t>(s.attr("splits"))) {
    const int64_t parts = sizes[0];
    if (parts <= 0 || parts > std::max<int64_t>(1, x.shape[axis]) || x.shape[axis] % parts != 0)
      refuse(s, fmt::format("axis {} of extent {} cannot be split into {} equal parts", axis, x.shape[axis], parts),
             codes::shape);
    sizes.assign(static_cast<size_t>(parts), x.shape[axis] / parts);
  }
  int64_t total = 0;
  for (int64_t size : sizes)
    if (size < 0 || size > x.shape[axis])
      refuse(s, fmt::format("{} is not an extent of a part of axis {}", size, axis), codes::shape);
    else
      total = std::min(total + size, x.shape[axis] + 1);
  if (total != x.shape[axis] || sizes.empty())
    refuse(s,
           fmt::format("the extents {} do not add up to {}, the extent of axis {}", bracket_text(sizes), x.shape[axis],
                       axis),
           codes::shape);
  std::vector<TensorSpec> out;
  for (int64_t size : sizes) {
    out.push_back({x.shape, x.dtype, {}});
    out.back().shape[axis] = size;
  }
  return out;
}

Kernel split(const OpContext& s) {
  const auto axis = static_cast<size_t>(axis_of(s, "axis", rank_of(s.input(0))));
  Ints sizes;
  for (const TensorSpec& spec : s.out) sizes.push_back(spec.shape[axis]);
  return split_kernel(s.input(0), sizes, static_cast<int64_t>(axis));
}

std::vector<StridedLayout> split_layout(const OpContext& s, const StridedLayout& at) {
  const auto axis = static_cast<size_t>(axis_of(s, "axis", rank_of(s.input(0))));
  std::vector<StridedLayout> parts;
  int64_t start = 0;
  for (const TensorSpec& spec : s.out) {
    parts.push_back(narrowed(at, axis, start, spec.shape[axis]));
    start += spec.shape[axis];
  }
  return parts;
}

void split_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  std::vector<Expr> parts;
  for (size_t i = 0; i < c.op().outputs.size(); ++i) {
    const Expr dy = c.dy(i);
    parts.push_back(dy ? dy
                       : c.builder().one("init", {}, {{"shape", c.out_spec(i).shape}, {"dtype", c.out_spec(i).dtype}}));
  }
  c.set(0, c.builder().one("concat", {parts}, {{"axis", c.site().integer("axis")}}));
}
constexpr OpRow concat_row = {.name = "concat",
                              .path = "ops.concat",
                              .schedule = "Concat",
                              .output = "concat_out",
                              .doc = "Concatenates tensors along an axis.",
                              .example = "concat([array([1.0, 2.0]), array([3.0])], axis = 0)",
                              .params = concat_params,
                              .infer = infer_concat,
                              .definition = reference::concat,
                              .kernel = concat,
                              .gradient = concat_gradient,
                              .pattern = Pattern::movement,
                              .batch = Batch::axis,
                              .inplace = "concat_",
                              .onnx = "Concat",
                              .tiles = tile_movement};

std::vector<ViewPart> joined_parts(const OpContext& s) {
  const auto axis = static_cast<size_t>(axis_of(s, "axis", rank_of(s.input(0))));
  std::vector<ViewPart> parts;
  int64_t begin = 0;
  for (size_t i = 0; i < s.in.size(); ++i) {
    const int64_t size = s.input(i).shape[axis];
    parts.push_back({i, contiguous(s.input(i).shape), narrowed(contiguous(s.out[0].shape), axis, begin, size)});
    begin += size;
  }
  return parts;
}

constexpr OpRow concat_view() {
  OpRow row = view_form(concat_row, {"concat_", "ops.concat_", "ConcatInplace", "concat_out"}, joined_parts);
  row.doc = "A view of tensors concatenated along an axis: each slice of the result is the memory of one operand.";
  row.example = "concat_([array([1.0, 2.0]), array([3.0])], axis = 0)";
  return row;
}

constexpr OpRow join_table[] = {
    concat_row,
    concat_view(),
    {.name = "split",
     .path = "ops.split",
     .schedule = "Split",
     .output = "{0}_split_{i}",
     .doc = "Splits a tensor along an axis into equal slices, or into slices of the given extents.",
     .example = "split(array([1.0, 2.0, 3.0, 4.0]), 2)",
     .params = split_params,
     .infer = infer_split,
     .definition = reference::split,
     .kernel = split,
     .gradient = split_gradient,
     .layout = split_layout,
     .pattern = Pattern::movement,
     .batch = Batch::axis,
     .order = split_order,
     .onnx = "Split",
     .tiles = tile_movement},
    {.name = "stack",
     .path = "ops.stack",
     .doc = "Stacks tensors of equal shape along a new axis.",
     .example = "stack([array([1.0, 2.0]), array([3.0, 4.0])])",
     .params = stack_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           const auto& parts = std::get<std::vector<Expr>>(args.values[0]);
           const int64_t axis = normalise_axis(std::get<int64_t>(*args.attr(1)), parts[0].rank() + 1);
           std::vector<Expr> wider;
           for (const Expr& e : parts) {
             if (e.shape() != parts[0].shape())
               throw Error(fmt::format("stack: shapes differ: {} ({}) and {} ({})", bracket_text(parts[0].shape()),
                                       parts[0].label(), bracket_text(e.shape()), e.label()))
                   .as(codes::shape);
             Shape shape = e.shape();
             shape.insert(shape.begin() + static_cast<ptrdiff_t>(axis), 1);
             wider.push_back(reshape(e, shape));
           }
           return at.emit("concat", {wider}, {{"axis", axis}});
         },
     .role = Role::composite},
};
static_assert(all_complete(join_table));

}  // namespace

std::span<const OpRow> join_rows() { return join_table; }

}  // namespace pxl
