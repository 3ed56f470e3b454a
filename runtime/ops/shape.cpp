// Ops that keep the elements and change their shape or the order of axes.
#include "runtime/kernels/movement/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

using Ints = std::vector<int64_t>;

constexpr Param reshape_params[] = {
    {"t", ParamKind::tensor}, {"shape", ParamKind::shape, no_default, "one extent may be -1: the remaining elements"}};
constexpr Param squeeze_params[] = {{"t", ParamKind::tensor},
                                    {"axes", ParamKind::axes, none_default, "none: every axis of extent 1"}};
constexpr Param permutation_params[] = {{"t", ParamKind::tensor},
                                        {"permutation", ParamKind::axes, none_default, "none: the axes reversed"}};
constexpr Param tile_params[] = {{"t", ParamKind::tensor},
                                 {"repeats", ParamKind::shape, no_default, "number of repeats per axis"}};
constexpr Param expand_params[] = {{"t", ParamKind::tensor},
                                   {"axis", ParamKind::integer, no_default, "where the axis is inserted"}};

Kernel copy_first(const OpContext& s) { return copy_kernel(s.input(0)); }

std::vector<TensorSpec> infer_reshape(const OpContext& s) {
  const TensorSpec& x = s.input(0);
  Shape shape = s.integers("shape");
  int64_t known = 1;
  int64_t* open = nullptr;
  for (int64_t& extent : shape) {
    if (extent == -1) {
      if (open)
        refuse(s, fmt::format("the shape can contain at most one -1, got {}", bracket_text(shape)), codes::shape);
      open = &extent;
    } else if (extent < 0 || (extent == 0 && x.size() != 0)) {
      refuse(s,
             fmt::format("invalid extent {} in shape {}: it must be positive, or -1 for the remaining elements", extent,
                         bracket_text(shape)),
             codes::shape);
    } else if (__builtin_mul_overflow(known, extent, &known)) {
      refuse(s, fmt::format("the shape {} is larger than memory", bracket_text(shape)), codes::shape);
    }
  }
  if (open && known > 0 && x.size() % known == 0) *open = x.size() / known, known = x.size();
  if (known != x.size() || (open && *open == -1))
    refuse(s,
           fmt::format("{} elements of shape {} do not fill shape {}", x.size(), bracket_text(x.shape),
                       bracket_text(s.integers("shape"))),
           codes::shape);
  return {{shape, x.dtype, {}}};
}

void reshape_gradient(GradContext& c) {
  if (c.wants(0)) c.set(0, reshape(c.dy(), c.in_spec(0).shape));
}

Ints permutation_of(const OpContext& s) {
  const int64_t rank = rank_of(s.input(0));
  Ints permutation;
  if (s.is_none("permutation")) {
    for (int64_t i = rank; i-- > 0;) permutation.push_back(i);
    return permutation;
  }
  permutation = s.integers("permutation");
  for (int64_t& axis : permutation) axis = wrap_axis(s, axis, rank);
  Ints sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  const bool repeats = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  if (static_cast<int64_t>(sorted.size()) != rank || repeats)
    refuse(
        s,
        fmt::format("{} is not a permutation of the {} axes of {}", bracket_text(s.integers("permutation")), rank,
                    s.label(0)),
        codes::shape,
        "the permutation has all axes, in their new order: `transpose(x, [0, 2, 1])` exchanges the last two of three");
  return permutation;
}

std::vector<TensorSpec> infer_transpose(const OpContext& s) {
  Shape shape;
  for (int64_t axis : permutation_of(s)) shape.push_back(s.input(0).shape[static_cast<size_t>(axis)]);
  return {{shape, s.input(0).dtype, {}}};
}

void permutation_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  const int64_t rank = rank_of(c.in_spec(0));
  Ints inverse(static_cast<size_t>(rank));
  if (c.site().is_none("permutation"))
    for (int64_t i = 0; i < rank; ++i) inverse[static_cast<size_t>(i)] = rank - 1 - i;
  else {
    const Ints permutation = c.site().integers("permutation");
    for (size_t i = 0; i < permutation.size(); ++i)
      inverse[static_cast<size_t>(normalise_axis(permutation[i], rank))] = static_cast<int64_t>(i);
  }
  c.set(0, transpose(c.dy(), inverse));
}
constexpr OpRow reshape_row = {.name = "reshape",
                               .path = "ops.reshape",
                               .schedule = "Reshape",
                               .output = "{0}_reshaped",
                               .doc = "The same elements, in row-major order, under another shape.",
                               .example = "reshape(array([[1.0, 2.0], [3.0, 4.0]]), [-1])",
                               .params = reshape_params,
                               .infer = infer_reshape,
                               .definition = reference::identity,
                               .kernel = copy_first,
                               .gradient = reshape_gradient,
                               .pattern = Pattern::movement,
                               .view = true,
                               .method = true,
                               .inplace = "reshape_",
                               .onnx = "Reshape",
                               .tiles = tile_view};

constexpr OpRow permutation_row = {
    .name = "transpose",
    .path = "ops.transpose",
    .schedule = "Transpose",
    .output = "{0}_T",
    .doc = "Axis i of the result is axis permutation[i] of t.",
    .example = "transpose(array([[1.0, 2.0], [3.0, 4.0]]))",
    .params = permutation_params,
    .infer = infer_transpose,
    .definition = reference::transpose,
    .kernel = [](const OpContext& s) { return transpose_kernel(s.input(0), permutation_of(s)); },
    .gradient = permutation_gradient,
    .layout = [](const OpContext& s,
                 const StridedLayout& at) { return std::vector<StridedLayout>{permuted(at, permutation_of(s))}; },
    .pattern = Pattern::movement,
    .batch = Batch::permutation,
    .method = true,
    .inplace = "transpose_",
    .onnx = "Transpose",
    .tiles = tile_movement};
constexpr OpRow transpose_view() {
  OpRow row = view_form(permutation_row, {"transpose_", "ops.transpose_", "TransposeInplace", "{0}_T"});
  row.doc = "A view of t: axis i of the result is axis permutation[i] of t, in t's memory.";
  row.example = "transpose_(array([[1.0, 2.0], [3.0, 4.0]]))";
  return row;
}
constexpr OpRow reshape_view() {
  OpRow row = view_form(reshape_row, {"reshape_", "ops.reshape_", "ReshapeInplace", "{0}_reshaped"});
  row.doc = "A view of t: its elements in row-major order under another shape, in t's memory.";
  return row;
}

template <bool in_place>
std::vector<Expr> expand_flatten(OpBuilder& at, const OpArgs& args) {
  return at.emit(in_place ? "reshape_" : "reshape", {args.expr(0)}, {{"shape", Ints{args.expr(0).spec().size()}}});
}

constexpr OpRow shape_table[] = {
    reshape_row,
    reshape_view(),
    {.name = "flatten",
     .path = "ops.flatten",
     .doc = "All elements along one axis: flattens a tensor.",
     .example = "flatten(array([[1.0, 2.0], [3.0, 4.0]]))",
     .params = unary_params,
     .expand = expand_flatten<false>,
     .role = Role::composite,
     .method = true,
     .inplace = "flatten_",
     .onnx = "Flatten"},
    {.name = "flatten_",
     .path = "ops.flatten_",
     .doc = "A view of all elements along one axis, in t's memory.",
     .example = "flatten_(array([[1.0, 2.0], [3.0, 4.0]]))",
     .params = unary_params,
     .expand = expand_flatten<true>,
     .role = Role::composite,
     .method = true},
    {.name = "squeeze",
     .path = "ops.squeeze",
     .doc = "Removes axes of extent 1.",
     .example = "squeeze(array([[1.0, 2.0]]))",
     .params = squeeze_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           const Expr& t = args.expr(0);
           std::vector<bool> drop(t.shape().size());
           if (args.is_none(1)) {
             for (size_t i = 0; i < drop.size(); ++i) drop[i] = t.shape()[i] == 1;
           } else {
             for (int64_t given : std::get<Ints>(*args.attr(1))) {
               const auto axis = static_cast<size_t>(normalise_axis(given, t.rank()));
               if (drop[axis]) throw Error(fmt::format("squeeze: axis {} is given twice", axis)).as(codes::shape);
               if (t.shape()[axis] != 1)
                 throw Error(fmt::format("squeeze: axis {} has extent {}, not 1", axis, t.shape()[axis]),
                             {fmt::format("{}: {}", t.label(), text(t.spec()))})
                     .as(codes::shape);
               drop[axis] = true;
             }
           }
           Shape shape;
           for (size_t i = 0; i < drop.size(); ++i)
             if (!drop[i]) shape.push_back(t.shape()[i]);
           return at.emit("reshape", {t}, {{"shape", shape}});
         },
     .role = Role::composite,
     .method = true,
     .onnx = "Squeeze"},
    permutation_row,
    transpose_view(),
    {.name = "expand_dims",
     .path = "ops.expand_dims",
     .doc = "Inserts an axis of extent 1.",
     .example = "expand_dims(array([1.0, 2.0]), 0)",
     .params = expand_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           const Expr& t = args.expr(0);
           const int64_t axis = normalise_axis(std::get<int64_t>(*args.attr(1)), t.rank() + 1);
           Shape shape = t.shape();
           shape.insert(shape.begin() + static_cast<ptrdiff_t>(axis), 1);
           return at.emit("reshape", {t}, {{"shape", shape}});
         },
     .role = Role::composite,
     .onnx = "Unsqueeze"},
    {.name = "tile",
     .path = "ops.tile",
     .doc = "The tensor repeated along each axis.",
     .example = "tile(array([1.0, 2.0]), [2])",
     .params = tile_params,
     .expand =
         [](OpBuilder&, const OpArgs& args) {
           const Expr& t = args.expr(0);
           const Ints repeats = std::get<Ints>(*args.attr(1));
           if (repeats.size() != t.shape().size())
             throw Error(fmt::format("tile: {} repeats for {} axes", repeats.size(), t.rank())).as(codes::shape);
           // Each axis [d] becomes [1, d], broadcast to [repeats, d].
           Shape open, wide, result;
           for (size_t i = 0; i < repeats.size(); ++i) {
             if (repeats[i] < 0) throw Error(fmt::format("tile: a tensor cannot be repeated {} times", repeats[i]));
             for (int64_t extent : {int64_t{1}, t.shape()[i]}) open.push_back(extent);
             for (int64_t extent : {repeats[i], t.shape()[i]}) wide.push_back(extent);
             int64_t extent = 0;
             if (__builtin_mul_overflow(repeats[i], t.shape()[i], &extent))
               throw Error("tile: the result is larger than memory").as(codes::memory);
             result.push_back(extent);
           }
           return std::vector<Expr>{reshape(broadcast_to(reshape(t, open), wide), result)};
         },
     .role = Role::composite,
     .onnx = "Tile"},
    {.name = "broadcast_to",
     .path = "ops.broadcast_to",
     .schedule = "Expand",
     .output = "expand_out",
     .doc = "Broadcasts the tensor to a shape along missing axes and axes of extent 1.",
     .example = "broadcast_to(array([1.0, 2.0]), [3, 2])",
     .params = reshape_params,
     .infer =
         [](const OpContext& s) {
           const Shape shape = s.integers("shape");
           for (int64_t extent : shape)
             if (extent < 0) refuse(s, fmt::format("invalid shape {}", bracket_text(shape)), codes::shape);
           prefixed(s, [&] { return element_count(shape); });
           check_broadcastable(s, 0, shape);
           return std::vector<TensorSpec>{{shape, s.input(0).dtype, {}}};
         },
     .definition = reference::broadcast_to,
     .kernel =
         [](const OpContext& s) { return broadcast_to_kernel(s.input(0).dtype, s.input(0).shape, s.out[0].shape); },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0)) c.set(0, sum_to(c.dy(), c.in_spec(0).shape));
         },
     .pattern = Pattern::movement,
     .batch = Batch::shape,
     .order = orders::in_order,
     .onnx = "Expand",
     .tiles = tile_movement},
};
static_assert(all_complete(shape_table));

}  // namespace

std::span<const OpRow> shape_rows() { return shape_table; }

}  // namespace pxl
