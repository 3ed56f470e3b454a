// Reads and writes at positions on several axes.
#include "runtime/kernels/indexing/nd_index.hpp"

#include <fmt/format.h>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param batch_param{"batch_dims", ParamKind::integer, of(0), "leading axes that t and the indices share"};
constexpr Param gather_nd_params[] = {
    {"t", ParamKind::tensor}, {"indices", ParamKind::index, no_default, "[..., axes of a position]"}, batch_param};
constexpr Param scatter_nd_params[] = {
    {"t", ParamKind::tensor},
    {"indices", ParamKind::index, no_default, "[..., axes of a position]"},
    {"updates", ParamKind::tensor, no_default, "of the shape that gather_nd(t, indices) has"},
    {"reduction", ParamKind::string, of("none"), "none, add, mul, max or min"},
    batch_param};

NdShapes shapes_of(const OpContext& s) {
  check_integers(s, 1);
  return prefixed(s, [&] {
    NdShapes shapes(s.input(0).shape, s.input(1).shape, s.integer("batch_dims"));
    element_count(shapes.elements);
    return shapes;
  });
}

NdUpdate update_of(const OpContext& s) {
  const std::string& reduction = s.string("reduction");
  if (const auto found = nd_update(reduction)) return *found;
  refuse(s, fmt::format("the reduction must be one of {}, not {}", join_texts(nd_update_names()), reduction));
}

std::vector<TensorSpec> infer_scatter_nd(const OpContext& s) {
  const NdShapes shapes = shapes_of(s);
  if (update_of(s) != NdUpdate::none) check_numbers(s, 0);
  check_shape(s, 2, shapes.elements);
  check_same_dtype(s, 0, 2);
  return {{s.input(0).shape, s.input(0).dtype, {}}};
}

Expr zeros(OpBuilder& at, const TensorSpec& like) {
  return at.one("init", {}, {{"shape", like.shape}, {"dtype", like.dtype}});
}
Attr text(const char* value) { return std::string(value); }

// An update replaces the element of t, so t's gradient is 0 there, unless updates are added. Each update at equal
// positions gets the gradient, as in scatter.
void scatter_nd_gradient(GradContext& c) {
  OpBuilder& at = c.builder();
  const std::string reduction = c.site().string("reduction");
  const Attr batch = c.site().attr("batch_dims");
  if (reduction != "none" && reduction != "add")
    throw Error(fmt::format("scatter_nd: the reduction {} has no gradient", reduction),
                {"scatter_reduce has one for min and max, along one axis"})
        .as(codes::gradient);
  if (c.wants(0))
    c.set(0, reduction == "add" ? c.dy()
                                : at.one("scatter_nd", {c.dy(), c.in(1), zeros(at, c.in_spec(2)), text("none")},
                                         {{"batch_dims", batch}}));
  if (c.wants(2)) c.set(2, at.one("gather_nd", {c.dy(), c.in(1)}, {{"batch_dims", batch}}));
}

constexpr OpRow nd_index_table[] = {
    {.name = "gather_nd",
     .path = "ops.gather_nd",
     .schedule = "GatherND",
     .output = "gather_nd_out",
     .doc = "The slices of t at positions: the last axis of the indices has an index for each of t's first axes.",
     .formula = "out[i..., ...] = t[indices[i..., 0], indices[i..., 1], ..., ...]",
     .example = "gather_nd(array([[1.0, 2.0], [3.0, 4.0]]), array([[0, 1], [1, -2]]))",
     .params = gather_nd_params,
     .infer =
         [](const OpContext& s) {
           return std::vector<TensorSpec>{{shapes_of(s).elements, s.input(0).dtype, {}}};
         },
     .definition = reference::gather_nd,
     .kernel = [](const OpContext& s) { return gather_nd_kernel(s.input(0), s.input(1), s.integer("batch_dims")); },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0))
             c.set(0, c.builder().one("scatter_nd", {zeros(c.builder(), c.in_spec(0)), c.in(1), c.dy(), text("add")},
                                      {{"batch_dims", c.site().attr("batch_dims")}}));
         },
     .pattern = Pattern::movement,
     .onnx = "GatherND",
     .checks_indices = checks_values,
     .tiles = tile_gather},
    {.name = "scatter_nd",
     .path = "ops.scatter_nd",
     .schedule = "ScatterND",
     .output = "scatter_nd_out",
     .doc = "A copy of t with updates written at positions, or combined with what is there, one after the other.",
     .formula = "out = t, then out[indices[i..., 0], indices[i..., 1], ..., ...] = updates[i..., ...]",
     .example = "scatter_nd(zeros([2, 2]), array([[0, 1], [1, -2]]), array([5.0, 6.0]))",
     .params = scatter_nd_params,
     .infer = infer_scatter_nd,
     .definition = reference::scatter_nd,
     .tolerance = &tolerance::bits,
     .kernel =
         [](const OpContext& s) {
           return scatter_nd_kernel(s.input(0), s.input(1), s.integer("batch_dims"), update_of(s));
         },
     .gradient = scatter_nd_gradient,
     .flops = [](const OpContext& s) { return s.input(2).size(); },
     .inplace_ok = true,
     .onnx = "ScatterND",
     .checks_indices = checks_values,
     .tiles = tile_scatter},
};
static_assert(all_complete(nd_index_table));

}  // namespace

std::span<const OpRow> nd_index_rows() { return nd_index_table; }

}  // namespace pxl
