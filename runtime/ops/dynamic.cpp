// Windows of static size at positions given by an index tensor at run time.
#include <fmt/format.h>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/movement/shape.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

using Ints = std::vector<int64_t>;

constexpr Param dynamic_slice_params[] = {{"t", ParamKind::tensor},
                                          {"index", ParamKind::index, no_default, "one start per axis"},
                                          {"axes", ParamKind::shape},
                                          {"sizes", ParamKind::shape},
                                          {"no_overlap", ParamKind::boolean, of(false)}};
constexpr Param dynamic_update_params[] = {
    {"t", ParamKind::tensor},        {"index", ParamKind::index, no_default, "one start per axis"},
    {"t_update", ParamKind::tensor}, {"axes", ParamKind::shape},
    {"sizes", ParamKind::shape},     {"no_overlap", ParamKind::boolean, of(false)}};
constexpr Param dynamic_grad_params[] = {
    {"g", ParamKind::tensor}, {"index", ParamKind::index}, {"axes", ParamKind::shape}, {"shape", ParamKind::shape}};

// Checks the axes and sizes of a dynamic window against t's shape and the index tensor.
void check_window(const OpContext& s, const Shape& whole, const Ints& axes, const Ints& sizes) {
  check_integers(s, 1);
  if (sizes.size() != axes.size()) refuse(s, "axes and sizes must have the same length", codes::shape);
  if (s.input(1).size() != static_cast<int64_t>(axes.size()) || s.input(1).shape.size() > 1)
    refuse(s,
           fmt::format("index must have shape [{}], one start per axis, not {}", axes.size(),
                       bracket_text(s.input(1).shape)),
           codes::shape);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(wrap_axis(s, axes[i], static_cast<int64_t>(whole.size())));
    if (sizes[i] < 0 || sizes[i] > whole[axis])
      refuse(s, fmt::format("size {} is not in 0..{}, the extent of axis {}", sizes[i], whole[axis], axis),
             codes::shape);
    for (size_t j = 0; j < i; ++j)
      if (wrap_axis(s, axes[j], static_cast<int64_t>(whole.size())) == static_cast<int64_t>(axis))
        refuse(s, fmt::format("axis {} is given twice", axis), codes::shape);
  }
}

Ints wrapped(const Ints& axes, int64_t rank) {
  Ints out;
  for (int64_t axis : axes) out.push_back(normalise_axis(axis, rank));
  return out;
}

std::vector<TensorSpec> infer_dynamic_slice(const OpContext& s) {
  TensorSpec out{s.input(0).shape, s.input(0).dtype, {}};
  const Ints axes = s.integers("axes"), sizes = s.integers("sizes");
  check_window(s, out.shape, axes, sizes);
  for (size_t i = 0; i < axes.size(); ++i)
    out.shape[static_cast<size_t>(normalise_axis(axes[i], rank_of(out)))] = sizes[i];
  return {out};
}

std::vector<TensorSpec> infer_dynamic_update(const OpContext& s) {
  TensorSpec window{s.input(0).shape, s.input(0).dtype, {}};
  const Ints axes = s.integers("axes"), sizes = s.integers("sizes");
  check_window(s, window.shape, axes, sizes);
  for (size_t i = 0; i < axes.size(); ++i)
    window.shape[static_cast<size_t>(normalise_axis(axes[i], rank_of(window)))] = sizes[i];
  check_shape(s, 2, window.shape);
  if (s.input(2).dtype != window.dtype) refuse(s, "t and t_update have different dtypes", codes::dtype);
  return {s.input(0)};
}

Kernel dynamic_update(const OpContext& s) {
  return dynamic_update_kernel(s.input(0), s.input(1), s.input(2), wrapped(s.integers("axes"), rank_of(s.input(0))));
}

/// A window of one element along one axis is a row, and the index names it: `axes` are counted from the first.
ScatterAdd dynamic_slice_scatter_add(const OpContext& s) {
  const Ints axes = s.integers("axes");
  if (axes.size() != 1 || s.input(0).shape[static_cast<size_t>(axes[0])] != 1) return {.axis = -1};
  return {.axis = axes[0]};
}

void dynamic_update_gradient(GradContext& c) {
  OpBuilder& at = c.builder();
  const OpContext s = c.site();
  const Attr axes = s.attr("axes"), sizes = s.attr("sizes");
  if (c.wants(0)) {
    const Expr zeros = at.one("init", {}, {{"shape", c.in_spec(2).shape}, {"dtype", c.in_spec(2).dtype}});
    c.set(0, at.one("dynamic_update", {c.dy(), c.in(1), zeros}, {{"axes", axes}, {"sizes", sizes}}));
  }
  if (c.wants(2)) c.set(2, at.one("dynamic_slice", {c.dy(), c.in(1)}, {{"axes", axes}, {"sizes", sizes}}));
}

/// A window on one axis fits from 0 to the extent less its size.
IndexCheck window_check(const OpContext& s) {
  const Ints sizes = s.integers("sizes"), axes = wrapped(s.integers("axes"), rank_of(s.input(0)));
  if (axes.size() != 1) return checks_values(s);
  return {true, 1, s.input(0).shape[static_cast<size_t>(axes[0])] - sizes[0] + 1, true};
}

constexpr OpRow dynamic_update_row = {
    .name = "dynamic_update",
    .path = "ops.dynamic_update",
    .schedule = "DynamicUpdate",
    .output = "dynamic_update_out",
    .doc = "A copy of t with the window at the position in an index tensor replaced by t_update.",
    .example = "dynamic_update(array([1.0, 2.0, 3.0]), array([1]), array([9.0]), [0], [1])",
    .params = dynamic_update_params,
    .infer = infer_dynamic_update,
    .definition = reference::dynamic_update,
    .kernel = dynamic_update,
    .gradient = dynamic_update_gradient,
    .pattern = Pattern::movement,
    .inplace_ok = true,
    .inplace = "dynamic_update_",
    .checks_indices = window_check,
    .tiles = tile_scatter};

constexpr OpRow dynamic_table[] = {
    {.name = "dynamic_slice",
     .path = "ops.dynamic_slice",
     .schedule = "DynamicSlice",
     .output = "dynamic_slice_out",
     .doc = "The window of t at a position given by an index tensor at run time.",
     .example = "dynamic_slice(array([1.0, 2.0, 3.0]), array([1]), [0], [2])",
     .params = dynamic_slice_params,
     .infer = infer_dynamic_slice,
     .definition = reference::dynamic_slice,
     .kernel =
         [](const OpContext& s) {
           return dynamic_slice_kernel(s.input(0), s.input(1), wrapped(s.integers("axes"), rank_of(s.input(0))),
                                       s.integers("sizes"));
         },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0))
             c.set(0, c.builder().one("dynamic_slice_grad", {c.dy(), c.in(1)},
                                      {{"axes", wrapped(c.site().integers("axes"), rank_of(c.in_spec(0)))},
                                       {"shape", c.in_spec(0).shape}}));
         },
     .pattern = Pattern::movement,
     .checks_indices = window_check,
     .tiles = tile_gather},
    {.name = "dynamic_slice_grad",
     .schedule = "DynamicSlicePadGrad",
     .output = "gradient",
     .doc = "Zeros with g in the window.",
     .params = dynamic_grad_params,
     .infer =
         [](const OpContext& s) {
           return std::vector<TensorSpec>{{s.integers("shape"), s.input(0).dtype, {}}};
         },
     .definition = reference::dynamic_slice_grad,
     .kernel =
         [](const OpContext& s) {
           return dynamic_slice_grad_kernel(s.input(0), s.input(1), s.integers("axes"), s.out[0].shape);
         },
     .gradient =
         [](GradContext& c) {
           if (!c.wants(0)) return;
           const Ints axes = c.site().integers("axes");
           Ints sizes;
           for (int64_t axis : axes) sizes.push_back(c.in_spec(0).shape[static_cast<size_t>(axis)]);
           c.set(0, c.builder().one("dynamic_slice", {c.dy(), c.in(1)}, {{"axes", axes}, {"sizes", sizes}}));
         },
     .scatter_add = dynamic_slice_scatter_add,
     .pattern = Pattern::movement,
     .checks_indices = checks_values,
     .tiles = tile_scatter},
    dynamic_update_row,
    in_place_form(dynamic_update_row,
                  {"dynamic_update_", "ops.dynamic_update_", "DynamicUpdateInplace", "dynamic_update_inplace_out"}),
};
static_assert(all_complete(dynamic_table));

}  // namespace

std::span<const OpRow> dynamic_rows() { return dynamic_table; }

}  // namespace pxl
