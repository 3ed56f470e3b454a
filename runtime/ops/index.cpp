// Reads at indices given by a tensor, and their gradients.
#include "runtime/kernels/indexing/index.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/movement/shape.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

using Ints = std::vector<int64_t>;

constexpr Param proportion_param{"available_memory_proportion", ParamKind::number, none_default, "not used"};
constexpr Param gather_params[] = {
    {"t", ParamKind::tensor},
    {"indices", ParamKind::index},
    {"axis", ParamKind::integer, of(0)},
    proportion_param,
    {"zero_OOR", ParamKind::boolean, of(false), "an index out of range yields 0 instead of an error"}};
constexpr Param grouped_params[] = {{"t", ParamKind::tensor},
                                    {"indices", ParamKind::index},
                                    {"axis", ParamKind::integer, of(0), "counted after the group axis"},
                                    proportion_param,
                                    {"zero_OOR", ParamKind::boolean, of(false)},
                                    {"group_size", ParamKind::integer, of(1), "extent of the leading axis of both"}};
constexpr Param gather_grad_params[] = {{"g", ParamKind::tensor},         {"indices", ParamKind::index},
                                        {"shape", ParamKind::shape},      {"axis", ParamKind::integer},
                                        {"zero_OOR", ParamKind::boolean}, {"batch", ParamKind::integer}};
constexpr Param onehot_params[] = {
    {"t", ParamKind::index},
    {"num_classes", ParamKind::integer},
    {"values", ParamKind::tensor, no_default, "[off, on]; their dtype is that of the result"},
    {"axis", ParamKind::integer, of(-1), "where the axis of classes is inserted"}};
constexpr Param onehot_grad_params[] = {{"g", ParamKind::tensor},
                                        {"indices", ParamKind::index},
                                        {"num_classes", ParamKind::integer},
                                        {"axis", ParamKind::integer}};

bool is_grouped(const OpContext& s) { return s.row.params.data() == grouped_params; }
int64_t batch_of(const OpContext& s) { return is_grouped(s) ? 1 : 0; }

// The axis of t.
int64_t gather_axis(const OpContext& s, int64_t rank) {
  if (!is_grouped(s)) return axis_of(s, "axis", rank);
  if (rank < 2) refuse(s, "t needs a group axis and at least one more", codes::shape);
  return axis_of(s, "axis", rank - 1) + 1;
}

std::vector<TensorSpec> infer_gather(const OpContext& s) {
  check_integers(s, 1);
  const TensorSpec& t = s.input(0);
  const int64_t axis = gather_axis(s, rank_of(t));
  if (is_grouped(s)) {
    const int64_t groups = s.integer("group_size");
    for (size_t i : {0, 1})
      if (s.input(i).shape.empty() || s.input(i).shape[0] != groups)
        refuse(s, fmt::format("the leading axis of {} must have extent {}, the group size", s.label(i), groups),
               codes::shape);
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

Kernel gather(const OpContext& s) {
  return gather_kernel(s.input(0), s.input(1), gather_axis(s, rank_of(s.input(0))), s.boolean("zero_OOR"), batch_of(s));
}

IndexCheck gather_check(const OpContext& s) {
  const TensorSpec& t = s.input(0);
  return indices_below(1, t.shape[static_cast<size_t>(gather_axis(s, rank_of(t)))], s.boolean("zero_OOR"));
}

ScatterAdd gather_scatter_add(const OpContext& s) {
  return {s.integer("axis"), s.integer("batch"), s.boolean("zero_OOR")};
}

void gather_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  const OpContext s = c.site();
  const int64_t rank = rank_of(c.in_spec(0)), batch = batch_of(s);
  c.set(0, c.builder().one("gather_grad", {c.dy(), c.in(1)},
                           {{"shape", c.in_spec(0).shape},
                            {"axis", normalise_axis(s.integer("axis"), rank - batch) + batch},
                            {"zero_OOR", s.boolean("zero_OOR")},
                            {"batch", batch}}));
}
constexpr OpRow gather_row = {.name = "gather",
                              .path = "ops.gather",
                              .schedule = "Gather",
                              .output = "gather_out",
                              .doc = "Slices along an axis at the given indices, as numpy.take.",
                              .example = "gather(array([10.0, 20.0, 30.0]), array([2, 0]))",
                              .params = gather_params,
                              .infer = infer_gather,
                              .definition = reference::gather,
                              .kernel = gather,
                              .gradient = gather_gradient,
                              .pattern = Pattern::movement,
                              .onnx = "Gather",
                              .checks_indices = gather_check,
                              .tiles = tile_gather};

constexpr OpRow tied_gather_row() {
  OpRow row = gather_row;
  row.name = "tied_gather";
  row.path = "ops.tied_gather";
  row.schedule = "PopartTiedGather";
  row.doc = "Equivalent to gather, for a table that a matrix product also uses.";
  row.example = "tied_gather(array([10.0, 20.0, 30.0]), array([2, 0]))";
  row.onnx = {};
  return row;
}

constexpr OpRow grouped_gather_row() {
  OpRow row = gather_row;
  row.name = "groupedgather";
  row.path = "ops.groupedgather";
  row.definition = reference::groupedgather;
  row.doc = "One gather per group, the leading axis of both operands.";
  row.example = "groupedgather(array([[1.0, 2.0], [3.0, 4.0]]), array([[1], [0]]), group_size = 2)";
  row.params = grouped_params;
  row.onnx = {};
  return row;
}

constexpr OpRow index_table[] = {
    gather_row,
    tied_gather_row(),
    grouped_gather_row(),
    {.name = "gather_grad",
     .schedule = "GatherGrad",
     .output = "gradient",
     .doc = "Zeros with g added at the indices.",
     .params = gather_grad_params,
     .infer =
         [](const OpContext& s) {
           check_no_float8(s, 0);
           return std::vector<TensorSpec>{{s.integers("shape"), s.input(0).dtype, {}}};
         },
     .definition = reference::gather_grad,
     .kernel =
         [](const OpContext& s) {
           const ScatterAdd a = gather_scatter_add(s);
           return scatter_add_kernel(s.out[0], s.input(1), a.axis, a.ignore_out_of_range, a.batch);
         },
     .gradient =
         [](GradContext& c) {
           if (!c.wants(0)) return;
           const OpContext s = c.site();
           const Attr zero = s.attr("zero_OOR");
           const int64_t axis = s.integer("axis"), batch = s.integer("batch");
           c.set(0, batch == 0
                        ? c.builder().one("gather", {c.dy(), c.in(1)}, {{"axis", axis}, {"zero_OOR", zero}})
                        : c.builder().one(
                              "groupedgather", {c.dy(), c.in(1)},
                              {{"axis", axis - batch}, {"zero_OOR", zero}, {"group_size", c.in_spec(1).shape[0]}}));
         },
     .scatter_add = gather_scatter_add,
     .checks_indices =
         [](const OpContext& s) {
           return indices_below(1, s.out[0].shape[static_cast<size_t>(s.integer("axis"))], s.boolean("zero_OOR"));
         },
     .tiles = tile_scatter},
    {.name = "onehot",
     .path = "ops.onehot",
     .schedule = "OneHot",
     .output = "onehot_out",
     .doc = "One-hot encoding along a new axis of classes: values[1] at each index, values[0] elsewhere.",
     .example = "onehot(array([1, 0]), 3, array([0.0, 1.0]))",
     .params = onehot_params,
     .infer =
         [](const OpContext& s) {
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
     .definition = reference::onehot,
     .kernel =
         [](const OpContext& s) {
           return onehot_kernel(s.input(0), s.integer("num_classes"), s.input(1).dtype,
                                axis_of(s, "axis", rank_of(s.input(0)) + 1));
         },
     .gradient =
         [](GradContext& c) {
           if (c.wants(1))
             c.set(1, c.builder().one("onehot_grad", {c.dy(), c.in(0)},
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
         [](const OpContext& s) {
           check_no_float8(s, 0);
           return std::vector<TensorSpec>{{{2}, s.input(0).dtype, {}}};
         },
     .definition = reference::onehot_grad,
     .kernel =
         [](const OpContext& s) {
           return onehot_grad_kernel(s.input(1), s.integer("num_classes"), s.input(0).dtype, s.integer("axis"));
         },
     .gradient =
         [](GradContext& c) {
           if (!c.wants(0)) return;
           const int64_t classes = c.site().integer("num_classes"), axis = c.site().integer("axis");
           c.set(0, c.builder().one("onehot", {c.in(1), Attr(classes), c.dy()}, {{"axis", axis}}));
         },
     .flops = [](const OpContext& s) { return s.input(0).size(); },
     .pattern = Pattern::reduction,
     .tiles = tile_reduction},
};
static_assert(all_complete(index_table));

}  // namespace

std::span<const OpRow> index_rows() { return index_table; }

}  // namespace pxl
