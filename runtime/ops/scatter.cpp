// Writes at indices given by a tensor, and their gradients.
#include "runtime/base/text/join_texts.hpp"
#include "runtime/kernels/indexing/index.hpp"

#include <fmt/format.h>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

using Ints = std::vector<int64_t>;

constexpr Param scatter_params[] = {{"t", ParamKind::tensor},
                                    {"indices", ParamKind::index},
                                    {"values", ParamKind::tensor},
                                    {"axis", ParamKind::integer, of(0)}};
constexpr Param along_params[] = {
    {"t", ParamKind::tensor}, {"indices", ParamKind::index}, {"axis", ParamKind::integer, of(0)}};
constexpr Param scatter_reduce_params[] = {
    {"data", ParamKind::tensor},
    {"indices", ParamKind::index},
    {"reduction", ParamKind::string, no_default, "sum, min, max or none"},
    {"initial_values", ParamKind::optional_tensor, none_default},
    {"axis", ParamKind::integer, of(0)},
    {"axis_size", ParamKind::integers, none_default, "extent of the result; needed without initial values"},
    {"enable_index_broadcast", ParamKind::boolean, of(true)}};
constexpr Param scatter_reduce_grad_params[] = {
    {"g", ParamKind::tensor}, {"indices", ParamKind::index}, {"shape", ParamKind::shape}, {"axis", ParamKind::integer}};

void check_along(const OpContext& s, int64_t axis) {
  check_integers(s, 1);
  const Shape &t = s.input(0).shape, &indices = s.input(1).shape;
  if (t.size() != indices.size())
    refuse(s, fmt::format("indices must have as many axes as {}: {}, not {}", s.label(0), t.size(), indices.size()),
           codes::shape);
  for (size_t i = 0; i < t.size(); ++i)
    if (static_cast<int64_t>(i) != axis && indices[i] > t[i])
      refuse(s, fmt::format("indices extend past {} at axis {}: {} and {}", s.label(0), i, indices[i], t[i]),
             codes::shape);
}

std::vector<TensorSpec> infer_scatter(const OpContext& s) {
  check_along(s, axis_of(s, "axis", rank_of(s.input(0))));
  if (s.in.size() > 2) {
    check_shape(s, 2, s.input(1).shape);
    check_same_dtype(s, 0, 2);
  }
  return {{s.input(0).shape, s.input(0).dtype, {}}};
}

ScatterReduction scatter_reduction_of(const OpContext& s) {
  const std::string& reduction = s.string("reduction");
  if (const auto found = scatter_reduction(reduction)) return *found;
  refuse(s, fmt::format("the reduction must be one of {}, not {}", join_texts(scatter_reduction_names(), ", "),
                        reduction));
}

std::vector<TensorSpec> infer_scatter_reduce(const OpContext& s) {
  check_no_float8(s, 0);
  check_integers(s, 1);
  scatter_reduction_of(s);
  const TensorSpec& data = s.input(0);
  const auto axis = static_cast<size_t>(axis_of(s, "axis", rank_of(data)));
  const bool by_slice = s.input(1).shape == Shape{data.shape[axis]} && s.boolean("enable_index_broadcast");
  if (s.input(1).shape != data.shape && !by_slice)
    refuse(s,
           fmt::format("indices must have shape {}, or one index for each of the {} slices along axis {}",
                       bracket_text(data.shape), data.shape[axis], axis),
           codes::shape);
  TensorSpec out{data.shape, data.dtype, {}};
  if (s.has(2)) {
    out.shape[axis] = s.input(2).shape.size() == data.shape.size() ? s.input(2).shape[axis] : 0;
    check_shape(s, 2, out.shape);
    if (s.input(2).dtype != data.dtype) refuse(s, "initial values and data have different dtypes", codes::dtype);
  }
  if (!s.is_none("axis_size")) {
    const Ints size = s.integers("axis_size");
    if (size.size() != 1 || size[0] < 0) refuse(s, "axis_size must be an integer, 0 or more", codes::shape);
    if (s.has(2) && size[0] != out.shape[axis])
      refuse(s, "axis_size differs from the extent of initial_values", codes::shape);
    out.shape[axis] = size[0];
  } else if (!s.has(2)) {
    refuse(s, "one of initial_values and axis_size must be given", codes::shape);
  }
  prefixed(s, [&] { return element_count(out.shape); });
  return {out};
}

Kernel scatter_reduce(const OpContext& s) {
  const int64_t axis = axis_of(s, "axis", rank_of(s.input(0)));
  return scatter_reduce_kernel(scatter_reduction_of(s), s.input(0), s.input(1), axis,
                               s.out[0].shape[static_cast<size_t>(axis)], s.has(2));
}

// The element whose index selected a position gets that position's gradient; for min and max, elements equal to the
// result share it. Initial values get it where nothing was written; for min and max they share as elements do.
void scatter_reduce_gradient(GradContext& c) {
  OpBuilder& at = c.builder();
  const std::string reduction = c.site().string("reduction");
  const bool extremum = reduction == "min" || reduction == "max", initial = c.op().inputs[2] != nullptr;
  const int64_t axis = normalise_axis(c.site().integer("axis"), rank_of(c.in_spec(0)));
  const auto taken = [&](const Expr& from) {
    return at.one("scatter_reduce_grad", {from, c.in(1)}, {{"shape", c.in_spec(0).shape}, {"axis", axis}});
  };
  if (extremum) {
    // The number of tied elements may exceed float16's range.
    const DType dtype = c.dy().dtype(), wide = compute_dtype(dtype);
    const Expr zero = at.scalar(0.0, dtype), chosen = at.one("equal", {c.in(0), taken(c.out())});
    const Expr chosen_first = initial ? at.one("equal", {c.in(2), c.out()}) : Expr();
    const Expr start =
        initial ? cast(chosen_first, wide) : at.one("init", {}, {{"shape", c.out_spec().shape}, {"dtype", wide}});
    const Expr ties = at.one("scatter_reduce", {cast(chosen, wide), c.in(1), Attr(std::string("sum")), start},
                             {{"axis", axis}, {"enable_index_broadcast", c.site().boolean("enable_index_broadcast")}});
    const Expr share =
        cast(cast(c.dy(), wide) / at.one("maximum", {std::vector<Expr>{ties, at.scalar(1.0, wide)}}), dtype);
    if (c.wants(0)) c.set(0, at.one("select", {chosen, taken(share), zero}));
    if (initial && c.wants(2)) c.set(2, at.one("select", {chosen_first, share, zero}));
    return;
  }
  if (c.wants(0)) c.set(0, taken(c.dy()));
  if (initial && c.wants(2)) {
    if (reduction == "none") {
      const Expr zeros = at.one("init", {}, {{"shape", c.in_spec(0).shape}, {"dtype", c.in_spec(0).dtype}});
      c.set(2, at.one("scatter_reduce", {zeros, c.in(1), Attr(std::string("none")), c.dy()}, {{"axis", axis}}));
    } else {
      c.set(2, c.dy());
    }
  }
}

// Pads t with zeros at the end, to `shape`.
Expr filled_up(const Expr& t, const Shape& shape) {
  if (t.shape() == shape) return t;
  return t.builder().one("slice_grad", {t},
                         {{"starts", Ints(shape.size(), 0)}, {"steps", Ints(shape.size(), 1)}, {"sizes", shape}});
}

void take_along_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  const Shape& shape = c.in_spec(0).shape;
  const int64_t axis = normalise_axis(c.site().integer("axis"), rank_of(c.in_spec(0)));
  const Expr sums = c.builder().one(
      "scatter_reduce", {c.dy(), c.in(1), Attr(std::string("sum"))},
      {{"axis", axis}, {"axis_size", shape[static_cast<size_t>(axis)]}, {"enable_index_broadcast", false}});
  c.set(0, filled_up(sums, shape));
}

constexpr OpRow take_along_row = {.name = "take_along",
                                  .path = "ops.take_along",
                                  .schedule = "GatherElements",
                                  .output = "take_along_out",
                                  .doc = "The elements of t at the indices along an axis, as numpy.take_along_axis.",
                                  .example = "take_along(array([[1.0, 2.0], [3.0, 4.0]]), array([[1], [0]]), 1)",
                                  .params = along_params,
                                  .infer =
                                      [](const OpContext& s) {
                                        check_along(s, axis_of(s, "axis", rank_of(s.input(0))));
                                        return std::vector<TensorSpec>{{s.input(1).shape, s.input(0).dtype, {}}};
                                      },
                                  .definition = reference::take_along,
                                  .kernel =
                                      [](const OpContext& s) {
                                        return take_along_kernel(s.input(0), s.input(1),
                                                                 axis_of(s, "axis", rank_of(s.input(0))));
                                      },
                                  .gradient = take_along_gradient,
                                  .pattern = Pattern::movement,
                                  .batch = Batch::axis,
                                  .onnx = "GatherElements",
                                  .checks_indices = checks_values,
                                  .tiles = tile_gather};

constexpr OpRow scatter_update_grad_row() {
  OpRow row = take_along_row;
  row.name = "scatter_update_grad";
  row.path = {};
  row.schedule = "ScatterUpdateGrad";
  row.output = "gradient";
  row.example = {};
  row.onnx = {};
  return row;
}

constexpr OpRow scatter_table[] = {
    {.name = "scatter",
     .path = "ops.scatter",
     .schedule = "Scatter",
     .output = "scatter_out",
     .doc = "A copy of t with values written at the indices along an axis; the last duplicate wins.",
     .example = "scatter(zeros([3]), array([2, 0]), array([5.0, 6.0]))",
     .params = scatter_params,
     .infer = infer_scatter,
     .definition = reference::scatter,
     .kernel =
         [](const OpContext& s) {
           return scatter_kernel(s.input(0), s.input(1), axis_of(s, "axis", rank_of(s.input(0))));
         },
     .gradient =
         [](GradContext& c) {
           const Attr axis = c.site().attr("axis");
           if (c.wants(0)) c.set(0, c.builder().one("scatter_zero", {c.dy(), c.in(1)}, {{"axis", axis}}));
           if (c.wants(2)) c.set(2, c.builder().one("scatter_update_grad", {c.dy(), c.in(1)}, {{"axis", axis}}));
         },
     .pattern = Pattern::movement,
     .batch = Batch::axis,
     .inplace_ok = true,
     .onnx = "ScatterElements",
     .checks_indices = checks_values,
     .tiles = tile_scatter},
    {.name = "scatter_zero",
     .schedule = "ScatterDataGrad",
     .output = "gradient",
     .doc = "t with zeros at the indices.",
     .params = along_params,
     .infer = infer_scatter,
     .definition = reference::scatter_zero,
     .kernel =
         [](const OpContext& s) {
           return scatter_zero_kernel(s.input(0), s.input(1), axis_of(s, "axis", rank_of(s.input(0))));
         },
     .gradient =
         [](GradContext& c) {
           const Attr axis = c.site().attr("axis");
           if (c.wants(0)) c.set(0, c.builder().one("scatter_zero", {c.dy(), c.in(1)}, {{"axis", axis}}));
         },
     .pattern = Pattern::movement,
     .batch = Batch::axis,
     .checks_indices = checks_values,
     .tiles = tile_scatter},
    take_along_row,
    scatter_update_grad_row(),
    {.name = "scatter_reduce",
     .path = "ops.scatter_reduce",
     .schedule = "ScatterReduce",
     .output = "scatter_reduce_out",
     .doc = "Combines the elements of data with equal indices; unwritten positions hold 0 (sum, none), or the dtype's "
            "lowest (max) or highest (min) value.",
     .example = "scatter_reduce(array([1.0, 2.0, 3.0]), array([1, 0, 1]), \"sum\", axis_size = 3)",
     .params = scatter_reduce_params,
     .infer = infer_scatter_reduce,
     .definition = reference::scatter_reduce,
     .kernel = scatter_reduce,
     .gradient = scatter_reduce_gradient,
     .flops = [](const OpContext& s) { return s.input(0).size(); },
     .checks_indices = checks_values,
     .tiles = tile_scatter},
    {.name = "scatter_reduce_grad",
     .schedule = "ScatterReduceGradOp",
     .output = "gradient",
     .doc = "The elements of g at the indices.",
     .params = scatter_reduce_grad_params,
     .infer =
         [](const OpContext& s) {
           return std::vector<TensorSpec>{{s.integers("shape"), s.input(0).dtype, {}}};
         },
     .definition = reference::scatter_reduce_grad,
     .kernel =
         [](const OpContext& s) {
           const int64_t axis = s.integer("axis");
           return scatter_reduce_grad_kernel(s.out[0], s.input(1), axis, s.input(0).shape[static_cast<size_t>(axis)]);
         },
     .gradient =
         [](GradContext& c) {
           if (!c.wants(0)) return;
           const int64_t axis = c.site().integer("axis");
           c.set(0, c.builder().one("scatter_reduce", {c.dy(), c.in(1), Attr(std::string("sum"))},
                                    {{"axis", axis}, {"axis_size", c.in_spec(0).shape[static_cast<size_t>(axis)]}}));
         },
     .pattern = Pattern::movement,
     .checks_indices = checks_values,
     .tiles = tile_gather},
};
static_assert(all_complete(scatter_table));

}  // namespace

std::span<const OpRow> scatter_rows() { return scatter_table; }

}  // namespace pxl
