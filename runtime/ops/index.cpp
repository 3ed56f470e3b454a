// Ops that read or write where an index tensor says, and their gradients.
#include "runtime/kernels/index.hpp"

#include <fmt/format.h>

#include "runtime/base/diagnostic.hpp"
#include "runtime/kernels/shape.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

using Ints = std::vector<int64_t>;

constexpr Param gather_params[] = {
    {"t", ParamKind::tensor},
    {"indices", ParamKind::index},
    {"axis", ParamKind::integer, of(0)},
    {"zero_OOR", ParamKind::boolean, of(false), "an index out of range gives 0 instead of an error"}};
constexpr Param grouped_params[] = {{"t", ParamKind::tensor},
                                    {"indices", ParamKind::index},
                                    {"axis", ParamKind::integer, of(0), "counted behind the group axis"},
                                    {"zero_OOR", ParamKind::boolean, of(false)},
                                    {"group_size", ParamKind::integer, of(1), "extent of the leading axis of both"}};
constexpr Param gather_grad_params[] = {{"g", ParamKind::tensor},         {"indices", ParamKind::index},
                                        {"shape", ParamKind::shape},      {"axis", ParamKind::integer},
                                        {"zero_OOR", ParamKind::boolean}, {"batch", ParamKind::integer}};
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
constexpr Param dynamic_slice_params[] = {{"t", ParamKind::tensor},
                                          {"index", ParamKind::index, no_default, "one start for each of axes"},
                                          {"axes", ParamKind::shape},
                                          {"sizes", ParamKind::shape},
                                          {"no_overlap", ParamKind::boolean, of(false)}};
constexpr Param dynamic_update_params[] = {
    {"t", ParamKind::tensor},        {"index", ParamKind::index, no_default, "one start for each of axes"},
    {"t_update", ParamKind::tensor}, {"axes", ParamKind::shape},
    {"sizes", ParamKind::shape},     {"no_overlap", ParamKind::boolean, of(false)}};
constexpr Param dynamic_grad_params[] = {
    {"g", ParamKind::tensor}, {"index", ParamKind::index}, {"axes", ParamKind::shape}, {"shape", ParamKind::shape}};
constexpr Param onehot_params[] = {{"t", ParamKind::index},
                                   {"num_classes", ParamKind::integer},
                                   {"values", ParamKind::tensor, no_default, "[off, on]; their dtype is the result's"},
                                   {"axis", ParamKind::integer, of(-1), "where the axis of classes is inserted"}};
constexpr Param onehot_grad_params[] = {{"g", ParamKind::tensor},
                                        {"indices", ParamKind::index},
                                        {"num_classes", ParamKind::integer},
                                        {"axis", ParamKind::integer}};

int64_t rank_of(const TensorSpec& spec) { return static_cast<int64_t>(spec.shape.size()); }
bool is_grouped(const OpSite& s) { return s.row.name == "groupedgather"; }
int64_t batch_of(const OpSite& s) { return is_grouped(s) ? 1 : 0; }

// The axis in t itself.
int64_t gather_axis(const OpSite& s, int64_t rank) {
  if (!is_grouped(s)) return axis_of(s, "axis", rank);
  if (rank < 2) refuse(s, "t needs a group axis and one more");
  return axis_of(s, "axis", rank - 1) + 1;
}

std::vector<TensorSpec> infer_gather(const OpSite& s) {
  check_integers(s, 1);
  const TensorSpec& t = s.input(0);
  const int64_t axis = gather_axis(s, rank_of(t));
  if (is_grouped(s)) {
    const int64_t groups = s.integer("group_size");
    for (size_t i : {0, 1})
      if (s.input(i).shape.empty() || s.input(i).shape[0] != groups)
        refuse(s, fmt::format("the leading axis of {} must have extent {}, the group size", s.label(i), groups));
  }
  return {{prefixed(s,
                    [&] {
                      Shape shape = gather_shape(t.shape, s.input(1).shape, axis, batch_of(s));
                      element_count(shape);
                      return shape;
                    }),
           t.dtype,
           {}}};
}

Kernel gather(const OpSite& s) {
  return gather_kernel(s.input(0), s.input(1), gather_axis(s, rank_of(s.input(0))), s.boolean("zero_OOR"), batch_of(s));
}

void gather_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  const OpSite s = c.site();
  const int64_t rank = rank_of(c.in_spec(0)), batch = batch_of(s);
  c.set(0, c.emitter().one("gather_grad", {c.dy(), c.in(1)},
                           {{"shape", c.in_spec(0).shape},
                            {"axis", normalise_axis(s.integer("axis"), rank - batch) + batch},
                            {"zero_OOR", s.boolean("zero_OOR")},
                            {"batch", batch}}));
}

void check_along(const OpSite& s, int64_t axis) {
  check_integers(s, 1);
  const Shape &t = s.input(0).shape, &indices = s.input(1).shape;
  if (t.size() != indices.size())
    refuse(s, fmt::format("indices must have as many axes as {}: {}, not {}", s.label(0), t.size(), indices.size()));
  for (size_t i = 0; i < t.size(); ++i)
    if (static_cast<int64_t>(i) != axis && indices[i] > t[i])
      refuse(s, fmt::format("indices extend past {} at axis {}: {} and {}", s.label(0), i, indices[i], t[i]));
}

std::vector<TensorSpec> infer_scatter(const OpSite& s) {
  check_along(s, axis_of(s, "axis", rank_of(s.input(0))));
  if (s.in.size() > 2) {
    check_shape(s, 2, s.input(1).shape);
    if (s.input(2).dtype != s.input(0).dtype)
      refuse(s, fmt::format("operands have different dtypes: {} ({}) and {} ({})", name(s.input(0).dtype), s.label(0),
                            name(s.input(2).dtype), s.label(2)));
  }
  return {{s.input(0).shape, s.input(0).dtype, {}}};
}

ScatterReduction scatter_reduction(const OpSite& s) {
  const std::string& reduction = s.string("reduction");
  if (reduction == "sum") return ScatterReduction::sum;
  if (reduction == "min") return ScatterReduction::min;
  if (reduction == "max") return ScatterReduction::max;
  if (reduction == "none") return ScatterReduction::none;
  refuse(s, fmt::format("the reduction must be one of sum, min, max, none, not {}", reduction));
}

std::vector<TensorSpec> infer_scatter_reduce(const OpSite& s) {
  check_integers(s, 1);
  scatter_reduction(s);
  const TensorSpec& data = s.input(0);
  const auto axis = static_cast<size_t>(axis_of(s, "axis", rank_of(data)));
  const bool by_slice = s.input(1).shape == Shape{data.shape[axis]} && s.boolean("enable_index_broadcast");
  if (s.input(1).shape != data.shape && !by_slice)
    refuse(s, fmt::format("indices must have shape {}, or one index for each of the {} slices along axis {}",
                          bracket_text(data.shape), data.shape[axis], axis));
  TensorSpec out{data.shape, data.dtype, {}};
  if (s.has(2)) {
    out.shape[axis] = s.input(2).shape.size() == data.shape.size() ? s.input(2).shape[axis] : 0;
    check_shape(s, 2, out.shape);
    if (s.input(2).dtype != data.dtype) refuse(s, "initial values and data have different dtypes");
  }
  if (!s.is_none("axis_size")) {
    const Ints size = s.integers("axis_size");
    if (size.size() != 1 || size[0] < 0) refuse(s, "axis_size must be an integer, 0 or more");
    if (s.has(2) && size[0] != out.shape[axis]) refuse(s, "axis_size differs from the extent of initial_values");
    out.shape[axis] = size[0];
  } else if (!s.has(2)) {
    refuse(s, "one of initial_values and axis_size must be given");
  }
  prefixed(s, [&] { return element_count(out.shape); });
  return {out};
}

Kernel scatter_reduce(const OpSite& s) {
  const int64_t axis = axis_of(s, "axis", rank_of(s.input(0)));
  return scatter_reduce_kernel(scatter_reduction(s), s.input(0), s.input(1), axis,
                               s.out[0].shape[static_cast<size_t>(axis)], s.has(2));
}

void scatter_reduce_gradient(GradContext& c) {
  const std::string& reduction = c.site().string("reduction");
  if (reduction == "min" || reduction == "max")
    throw Error(
        fmt::format("scatter_reduce: no gradient for the reduction {}; it has one for sum and none", reduction));
  const int64_t axis = normalise_axis(c.site().integer("axis"), rank_of(c.in_spec(0)));
  if (c.wants(0))
    c.set(0,
          c.emitter().one("scatter_reduce_grad", {c.dy(), c.in(1)}, {{"shape", c.in_spec(0).shape}, {"axis", axis}}));
  if (c.op().inputs[2] && c.wants(2)) {
    if (reduction == "none") throw Error("scatter_reduce: no gradient for initial values that are overwritten");
    c.set(2, c.dy());
  }
}

// The axes and sizes of a dynamic window, checked against t's shape and the index tensor.
void check_window(const OpSite& s, const Shape& whole, const Ints& axes, const Ints& sizes) {
  check_integers(s, 1);
  if (sizes.size() != axes.size()) refuse(s, "axes and sizes must have the same length");
  if (s.input(1).size() != static_cast<int64_t>(axes.size()) || s.input(1).shape.size() > 1)
    refuse(s, fmt::format("index must have shape [{}], a start for each axis, not {}", axes.size(),
                          bracket_text(s.input(1).shape)));
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(wrap_axis(s, axes[i], static_cast<int64_t>(whole.size())));
    if (sizes[i] < 0 || sizes[i] > whole[axis])
      refuse(s, fmt::format("size {} is not in 0..{}, the extent of axis {}", sizes[i], whole[axis], axis));
    for (size_t j = 0; j < i; ++j)
      if (wrap_axis(s, axes[j], static_cast<int64_t>(whole.size())) == static_cast<int64_t>(axis))
        refuse(s, fmt::format("axis {} is given twice", axis));
  }
}

Ints wrapped(const Ints& axes, int64_t rank) {
  Ints out;
  for (int64_t axis : axes) out.push_back(normalise_axis(axis, rank));
  return out;
}

std::vector<TensorSpec> infer_dynamic_slice(const OpSite& s) {
  TensorSpec out{s.input(0).shape, s.input(0).dtype, {}};
  const Ints axes = s.integers("axes"), sizes = s.integers("sizes");
  check_window(s, out.shape, axes, sizes);
  for (size_t i = 0; i < axes.size(); ++i)
    out.shape[static_cast<size_t>(normalise_axis(axes[i], rank_of(out)))] = sizes[i];
  return {out};
}

std::vector<TensorSpec> infer_dynamic_update(const OpSite& s) {
  TensorSpec window{s.input(0).shape, s.input(0).dtype, {}};
  const Ints axes = s.integers("axes"), sizes = s.integers("sizes");
  check_window(s, window.shape, axes, sizes);
  for (size_t i = 0; i < axes.size(); ++i)
    window.shape[static_cast<size_t>(normalise_axis(axes[i], rank_of(window)))] = sizes[i];
  check_shape(s, 2, window.shape);
  if (s.input(2).dtype != window.dtype) refuse(s, "t and t_update have different dtypes");
  return {s.input(0)};
}

Kernel dynamic_update(const OpSite& s) {
  return dynamic_update_kernel(s.input(0), s.input(1), s.input(2), wrapped(s.integers("axes"), rank_of(s.input(0))));
}

void dynamic_update_gradient(GradContext& c) {
  Emitter& at = c.emitter();
  const OpSite s = c.site();
  const Attr axes = s.attr("axes"), sizes = s.attr("sizes");
  if (c.wants(0)) {
    const Expr zeros = at.one("init", {}, {{"shape", c.in_spec(2).shape}, {"dtype", c.in_spec(2).dtype}});
    c.set(0, at.one("dynamic_update", {c.dy(), c.in(1), zeros}, {{"axes", axes}, {"sizes", sizes}}));
  }
  if (c.wants(2)) c.set(2, at.one("dynamic_slice", {c.dy(), c.in(1)}, {{"axes", axes}, {"sizes", sizes}}));
}

constexpr OpRow gather_row = {.name = "gather",
                              .path = "ops.gather",
                              .schedule = "Gather",
                              .output = "gather_out",
                              .doc = "Takes slices along an axis at the given indices, as numpy.take.",
                              .example = "gather(array([10.0, 20.0, 30.0]), array([2, 0]))",
                              .params = gather_params,
                              .infer = infer_gather,
                              .kernel = gather,
                              .gradient = gather_gradient,
                              .pattern = Pattern::movement,
                              .onnx = "Gather",
                              .tiles = tile_gather};

constexpr OpRow tied_gather_row() {
  OpRow row = gather_row;
  row.name = "tied_gather";
  row.path = "ops.tied_gather";
  row.schedule = "PopartTiedGather";
  row.doc = "The same as gather, for a table that a matrix product also uses.";
  row.example = "tied_gather(array([10.0, 20.0, 30.0]), array([2, 0]))";
  row.onnx = {};
  return row;
}

constexpr OpRow grouped_gather_row() {
  OpRow row = gather_row;
  row.name = "groupedgather";
  row.path = "ops.groupedgather";
  row.doc = "A gather for each group, the leading axis of both operands.";
  row.example = "groupedgather(array([[1.0, 2.0], [3.0, 4.0]]), array([[1], [0]]), group_size = 2)";
  row.params = grouped_params;
  row.onnx = {};
  return row;
}

constexpr OpRow dynamic_update_row = {
    .name = "dynamic_update",
    .path = "ops.dynamic_update",
    .schedule = "DynamicUpdate",
    .output = "dynamic_update_out",
    .doc = "A copy of t with a window, whose place an index tensor gives, replaced by t_update.",
    .example = "dynamic_update(array([1.0, 2.0, 3.0]), array([1]), array([9.0]), [0], [1])",
    .params = dynamic_update_params,
    .infer = infer_dynamic_update,
    .kernel = dynamic_update,
    .gradient = dynamic_update_gradient,
    .pattern = Pattern::movement,
    .inplace_ok = true,
    .inplace = "dynamic_update_",
    .tiles = tile_scatter};

constexpr OpRow rows[] = {
    gather_row,
    tied_gather_row(),
    grouped_gather_row(),
    {.name = "gather_grad",
     .schedule = "GatherGrad",
     .output = "gradient",
     .doc = "Zeros with g added at the indices.",
     .params = gather_grad_params,
     .infer =
         [](const OpSite& s) {
           return std::vector<TensorSpec>{{s.integers("shape"), s.input(0).dtype, {}}};
         },
     .kernel =
         [](const OpSite& s) {
           return scatter_add_kernel(s.out[0], s.input(1), s.integer("axis"), s.boolean("zero_OOR"),
                                     s.integer("batch"));
         },
     .tiles = tile_scatter},
    {.name = "scatter",
     .path = "ops.scatter",
     .schedule = "Scatter",
     .output = "scatter_out",
     .doc = "A copy of t with values at the indices along an axis; of duplicates, the last stays.",
     .example = "scatter(zeros([3]), array([2, 0]), array([5.0, 6.0]))",
     .params = scatter_params,
     .infer = infer_scatter,
     .kernel =
         [](const OpSite& s) {
           return scatter_kernel(s.input(0), s.input(1), axis_of(s, "axis", rank_of(s.input(0))));
         },
     .gradient =
         [](GradContext& c) {
           const Attr axis = c.site().attr("axis");
           if (c.wants(0)) c.set(0, c.emitter().one("scatter_zero", {c.dy(), c.in(1)}, {{"axis", axis}}));
           if (c.wants(2)) c.set(2, c.emitter().one("take_along", {c.dy(), c.in(1)}, {{"axis", axis}}));
         },
     .pattern = Pattern::movement,
     .inplace_ok = true,
     .onnx = "ScatterElements",
     .tiles = tile_scatter},
    {.name = "scatter_zero",
     .schedule = "ScatterDataGrad",
     .output = "gradient",
     .doc = "t with zeros at the indices.",
     .params = along_params,
     .infer = infer_scatter,
     .kernel =
         [](const OpSite& s) {
           return scatter_zero_kernel(s.input(0), s.input(1), axis_of(s, "axis", rank_of(s.input(0))));
         },
     .pattern = Pattern::movement,
     .tiles = tile_scatter},
    {.name = "take_along",
     .schedule = "ScatterUpdateGrad",
     .output = "gradient",
     .doc = "The elements of t at the indices along an axis, as numpy.take_along_axis.",
     .params = along_params,
     .infer =
         [](const OpSite& s) {
           check_along(s, axis_of(s, "axis", rank_of(s.input(0))));
           return std::vector<TensorSpec>{{s.input(1).shape, s.input(0).dtype, {}}};
         },
     .kernel =
         [](const OpSite& s) {
           return take_along_kernel(s.input(0), s.input(1), axis_of(s, "axis", rank_of(s.input(0))));
         },
     .pattern = Pattern::movement,
     .tiles = tile_gather},
    {.name = "scatter_reduce",
     .path = "ops.scatter_reduce",
     .schedule = "ScatterReduce",
     .output = "scatter_reduce_out",
     .doc = "Combines the elements of data that have the same index; untouched places hold 0 (sum, none), or the "
            "dtype's lowest (max) or highest (min) value.",
     .example = "scatter_reduce(array([1.0, 2.0, 3.0]), array([1, 0, 1]), \"sum\", axis_size = 3)",
     .params = scatter_reduce_params,
     .infer = infer_scatter_reduce,
     .kernel = scatter_reduce,
     .gradient = scatter_reduce_gradient,
     .flops = [](const OpSite& s) { return s.input(0).size(); },
     .tiles = tile_scatter},
    {.name = "scatter_reduce_grad",
     .schedule = "ScatterReduceGradOp",
     .output = "gradient",
     .doc = "The elements of g at the indices.",
     .params = scatter_reduce_grad_params,
     .infer =
         [](const OpSite& s) {
           return std::vector<TensorSpec>{{s.integers("shape"), s.input(0).dtype, {}}};
         },
     .kernel =
         [](const OpSite& s) {
           const int64_t axis = s.integer("axis");
           return scatter_reduce_grad_kernel(s.out[0], s.input(1), axis, s.input(0).shape[static_cast<size_t>(axis)]);
         },
     .pattern = Pattern::movement,
     .tiles = tile_gather},
    {.name = "dynamic_slice",
     .path = "ops.dynamic_slice",
     .schedule = "DynamicSlice",
     .output = "dynamic_slice_out",
     .doc = "A window of t whose place an index tensor gives when the program runs.",
     .example = "dynamic_slice(array([1.0, 2.0, 3.0]), array([1]), [0], [2])",
     .params = dynamic_slice_params,
     .infer = infer_dynamic_slice,
     .kernel =
         [](const OpSite& s) {
           return dynamic_slice_kernel(s.input(0), s.input(1), wrapped(s.integers("axes"), rank_of(s.input(0))),
                                       s.integers("sizes"));
         },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0))
             c.set(0, c.emitter().one("dynamic_slice_grad", {c.dy(), c.in(1)},
                                      {{"axes", wrapped(c.site().integers("axes"), rank_of(c.in_spec(0)))},
                                       {"shape", c.in_spec(0).shape}}));
         },
     .pattern = Pattern::movement,
     .tiles = tile_gather},
    {.name = "dynamic_slice_grad",
     .schedule = "DynamicSlicePadGrad",
     .output = "gradient",
     .doc = "Zeros with g in the window.",
     .params = dynamic_grad_params,
     .infer =
         [](const OpSite& s) {
           return std::vector<TensorSpec>{{s.integers("shape"), s.input(0).dtype, {}}};
         },
     .kernel =
         [](const OpSite& s) {
           return dynamic_slice_grad_kernel(s.input(0), s.input(1), s.integers("axes"), s.out[0].shape);
         },
     .pattern = Pattern::movement,
     .tiles = tile_scatter},
    dynamic_update_row,
    in_place_form(dynamic_update_row,
                  {"dynamic_update_", "ops.dynamic_update_", "DynamicUpdateInplace", "dynamic_update_inplace_out"}),
    {.name = "onehot",
     .path = "ops.onehot",
     .schedule = "OneHot",
     .output = "onehot_out",
     .doc = "A new axis of classes: values[1] at each index, values[0] elsewhere.",
     .example = "onehot(array([1, 0]), 3, array([0.0, 1.0]))",
     .params = onehot_params,
     .infer =
         [](const OpSite& s) {
           check_integers(s, 0);
           check_shape(s, 1, {2});
           const int64_t classes = s.integer("num_classes");
           if (classes <= 0) refuse(s, fmt::format("num_classes must be positive, got {}", classes));
           Shape shape = s.input(0).shape;
           const int64_t axis = axis_of(s, "axis", static_cast<int64_t>(shape.size()) + 1);
           shape.insert(shape.begin() + static_cast<ptrdiff_t>(axis), classes);
           prefixed(s, [&] { return element_count(shape); });
           return std::vector<TensorSpec>{{shape, s.input(1).dtype, {}}};
         },
     .kernel =
         [](const OpSite& s) {
           return onehot_kernel(s.input(0), s.integer("num_classes"), s.input(1).dtype,
                                axis_of(s, "axis", rank_of(s.input(0)) + 1));
         },
     .gradient =
         [](GradContext& c) {
           if (c.wants(1))
             c.set(1, c.emitter().one("onehot_grad", {c.dy(), c.in(0)},
                                      {{"num_classes", c.site().integer("num_classes")},
                                       {"axis", normalise_axis(c.site().integer("axis"), rank_of(c.out_spec()))}}));
         },
     .pattern = Pattern::movement,
     .onnx = "OneHot",
     .tiles = tile_scatter},
    {.name = "onehot_grad",
     .schedule = "OneHotGrad",
     .output = "gradient",
     .doc = "The sums of g where off and where on.",
     .params = onehot_grad_params,
     .infer =
         [](const OpSite& s) {
           return std::vector<TensorSpec>{{{2}, s.input(0).dtype, {}}};
         },
     .kernel =
         [](const OpSite& s) {
           return onehot_grad_kernel(s.input(1), s.integer("num_classes"), s.input(0).dtype, s.integer("axis"));
         },
     .flops = [](const OpSite& s) { return s.input(0).size(); },
     .pattern = Pattern::reduction,
     .tiles = tile_reduction},
};
static_assert(all_complete(rows));

}  // namespace

std::span<const OpRow> index_rows() { return rows; }

}  // namespace pxl
