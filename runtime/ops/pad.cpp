// Padding, reversal, rotation and triangles.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/movement/shape.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

using Ints = std::vector<int64_t>;

constexpr Param pad_params[] = {{"t", ParamKind::tensor},
                                {"padding", ParamKind::shape, no_default, "before each axis, then after each"},
                                {"value", ParamKind::element, of(0.0)}};
constexpr Param flip_params[] = {{"t", ParamKind::tensor}, {"axes", ParamKind::axes, none_default, "none: all axes"}};
constexpr Param roll_params[] = {
    {"t", ParamKind::tensor}, {"shift", ParamKind::integer}, {"axis", ParamKind::integer, of(0)}};
constexpr Param triangle_params[] = {
    {"t", ParamKind::tensor, no_default, "[..., rows, columns]"},
    {"diagonal", ParamKind::integer, of(0), "0: the main diagonal; positive: above it"}};

Ints before_of(const OpContext& s) {
  const Ints padding = s.integers("padding");
  return Ints(padding.begin(), padding.begin() + static_cast<ptrdiff_t>(padding.size() / 2));
}

std::vector<TensorSpec> infer_pad(const OpContext& s) {
  TensorSpec out = s.input(0);
  check_numbers(s, 0);
  const Ints padding = s.integers("padding");
  const size_t rank = out.shape.size();
  if (padding.size() != 2 * rank)
    refuse(s, fmt::format("padding {} must have the begins, then the ends, of {} axes", bracket_text(padding), rank));
  for (size_t i = 0; i < padding.size(); ++i) {
    if (padding[i] < 0 || padding[i] > int64_t{1} << 40)
      refuse(s, fmt::format("padding must be 0 or more, got {}", padding[i]));
    out.shape[i % rank] += padding[i];
  }
  prefixed(s, [&] { return element_count(out.shape); });
  return {out};
}

// Keeps the elements on one side of a diagonal; zeros elsewhere.
template <bool upper>
std::vector<Expr> expand_triangle(OpBuilder& at, const OpArgs& args) {
  const Expr& t = args.expr(0);
  if (t.rank() < 2)
    throw Error(fmt::format("{}: {} must have rows and columns, not shape {}", upper ? "triu" : "tril", t.label(),
                            bracket_text(t.shape())))
        .as(codes::shape);
  const int64_t rows = t.shape()[t.shape().size() - 2], columns = t.shape().back();
  const int64_t diagonal = std::clamp(std::get<int64_t>(*args.attr(1)), -rows - 1, columns + 1);
  Array keep(DType::boolean, {rows, columns});
  bool* to = keep.mutable_data<bool>();
  for (int64_t i = 0; columns > 0 && i < rows; ++i, to += columns) {
    const int64_t left = std::clamp<int64_t>(upper ? i + diagonal : i + diagonal + 1, 0, columns);
    std::memset(to, !upper, static_cast<size_t>(left));
    std::memset(to + left, upper, static_cast<size_t>(columns - left));
  }
  return at.emit("select", {at.constant(std::move(keep), "mask"), t, at.scalar(0.0, t.dtype())});
}

// The elements come row by row, with the padding around them. Scalars and operands without elements are only filled.
ElementOrder framed_order(const OpContext& s) {
  return !s.out[0].shape.empty() && s.input(0).size() > 0 ? ElementOrder::in_order : ElementOrder::whole;
}

constexpr OpRow pad_table[] = {
    {.name = "pad",
     .path = "ops.pad",
     .schedule = "Pad",
     .output = "pad_out",
     .doc = "Pads with a value before and after each axis.",
     .example = "pad(array([1.0, 2.0]), [1, 2])",
     .params = pad_params,
     .infer = infer_pad,
     .definition = reference::pad,
     .kernel =
         [](const OpContext& s) {
           const Ints padding = s.integers("padding"), before = before_of(s);
           return pad_kernel(s.input(0), before,
                             Ints(padding.begin() + static_cast<ptrdiff_t>(before.size()), padding.end()),
                             s.element("value", s.input(0).dtype));
         },
     .gradient =
         [](GradContext& c) {
           if (!c.wants(0)) return;
           c.set(0, c.builder().one("slice_window", {c.dy()},
                                    {{"starts", before_of(c.site())},
                                     {"steps", Ints(c.in_spec(0).shape.size(), 1)},
                                     {"sizes", c.in_spec(0).shape}}));
         },
     .pattern = Pattern::movement,
     .order = framed_order,
     .onnx = "Pad",
     .tiles = tile_movement},
    {.name = "flip",
     .path = "ops.flip",
     .schedule = "Flip",
     .output = "flip_out",
     .doc = "The elements in reversed order along axes.",
     .example = "flip(array([1.0, 2.0, 3.0]), 0)",
     .params = flip_params,
     .infer =
         [](const OpContext& s) {
           axes_of(s, "axes", rank_of(s.input(0)));
           return infer_same(s);
         },
     .definition = reference::flip,
     .kernel = [](const OpContext& s) { return flip_kernel(s.input(0), axes_of(s, "axes", rank_of(s.input(0)))); },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0)) c.set(0, c.builder().one("flip", {c.dy()}, {{"axes", c.site().attr("axes")}}));
         },
     .pattern = Pattern::movement,
     .order = orders::in_order,
     .tiles = tile_movement},
    {.name = "roll",
     .path = "ops.roll",
     .schedule = "Roll",
     .output = "roll_out",
     .doc = "Rotates the elements along an axis: elements shifted past the end re-enter at the beginning.",
     .example = "roll(array([1.0, 2.0, 3.0]), 1)",
     .params = roll_params,
     .infer =
         [](const OpContext& s) {
           axis_of(s, "axis", rank_of(s.input(0)));
           return infer_same(s);
         },
     .definition = reference::roll,
     .kernel =
         [](const OpContext& s) {
           return roll_kernel(s.input(0), s.integer("shift"), axis_of(s, "axis", rank_of(s.input(0))));
         },
     .gradient =
         [](GradContext& c) {
           if (!c.wants(0)) return;
           const OpContext s = c.site();
           const int64_t extent =
               c.in_spec(0).shape[static_cast<size_t>(normalise_axis(s.integer("axis"), rank_of(c.in_spec(0))))];
           const int64_t back = extent == 0 ? 0 : extent - 1 - (s.integer("shift") % extent + extent - 1) % extent;
           c.set(0, c.builder().one("roll", {c.dy()}, {{"shift", back}, {"axis", s.integer("axis")}}));
         },
     .pattern = Pattern::movement,
     .batch = Batch::axis,
     .order = orders::in_order,
     .tiles = tile_movement},
    {.name = "tril",
     .path = "ops.tril",
     .doc = "The lower triangle of matrices; zeros above a diagonal.",
     .example = "tril(array([[1.0, 2.0], [3.0, 4.0]]))",
     .params = triangle_params,
     .expand = expand_triangle<false>,
     .role = Role::composite},
    {.name = "triu",
     .path = "ops.triu",
     .doc = "The upper triangle of matrices; zeros below a diagonal.",
     .example = "triu(array([[1.0, 2.0], [3.0, 4.0]]))",
     .params = triangle_params,
     .expand = expand_triangle<true>,
     .role = Role::composite},
};
static_assert(all_complete(pad_table));

}  // namespace

std::span<const OpRow> pad_rows() { return pad_table; }

}  // namespace pxl
