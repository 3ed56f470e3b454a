// Ops that move elements and compute nothing: shapes, axes, slices, joining and splitting.
#include "runtime/kernels/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/base/diagnostic.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

using Ints = std::vector<int64_t>;

constexpr Param reshape_params[] = {{"t", ParamKind::tensor},
                                    {"shape", ParamKind::shape, no_default, "one extent may be -1: what is left"}};
constexpr Param squeeze_params[] = {{"t", ParamKind::tensor},
                                    {"axes", ParamKind::axes, none_default, "none: every axis of extent 1"}};
constexpr Param transpose_params[] = {{"t", ParamKind::tensor},
                                      {"permutation", ParamKind::axes, none_default, "none: the axes reversed"}};
constexpr Param concat_params[] = {{"ts", ParamKind::tensors}, {"axis", ParamKind::integer, of(0)}};
constexpr Param split_params[] = {
    {"t", ParamKind::tensor},
    {"splits", ParamKind::integers, no_default, "the number of equal parts, or the extents"},
    {"axis", ParamKind::integer, of(0)}};
constexpr Param slice_params[] = {{"t", ParamKind::tensor},
                                  {"start", ParamKind::integers, none_default},
                                  {"stop", ParamKind::integers, none_default},
                                  {"step", ParamKind::integers, none_default},
                                  {"axis", ParamKind::integers, none_default, "none: the leading axes"}};
constexpr Param window_params[] = {
    {"t", ParamKind::tensor}, {"starts", ParamKind::shape}, {"steps", ParamKind::shape}, {"sizes", ParamKind::shape}};
constexpr Param subsample_params[] = {{"t", ParamKind::tensor}, {"strides", ParamKind::shape}};

int64_t rank_of(const TensorSpec& spec) { return static_cast<int64_t>(spec.shape.size()); }

Kernel copy(const OpSite& s) { return copy_kernel(s.input(0)); }

std::vector<TensorSpec> infer_reshape(const OpSite& s) {
  const TensorSpec& x = s.input(0);
  Shape shape = s.integers("shape");
  int64_t known = 1;
  int64_t* open = nullptr;
  for (int64_t& extent : shape) {
    if (extent == -1) {
      if (open) refuse(s, fmt::format("the shape can contain at most one -1, got {}", bracket_text(shape)));
      open = &extent;
    } else if (extent < 0 || (extent == 0 && x.size() != 0)) {
      refuse(s, fmt::format("invalid extent {} in shape {}: it must be positive, or -1 for what is left", extent,
                            bracket_text(shape)));
    } else if (__builtin_mul_overflow(known, extent, &known)) {
      refuse(s, fmt::format("the shape {} is larger than memory", bracket_text(shape)));
    }
  }
  if (open && known > 0 && x.size() % known == 0) *open = x.size() / known, known = x.size();
  if (known != x.size() || (open && *open == -1))
    refuse(s, fmt::format("{} elements of shape {} do not fill shape {}", x.size(), bracket_text(x.shape),
                          bracket_text(s.integers("shape"))));
  return {{shape, x.dtype, {}}};
}

void reshape_gradient(GradContext& c) {
  if (c.wants(0)) c.set(0, reshape(c.dy(), c.in_spec(0).shape));
}

Ints permutation_of(const OpSite& s) {
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
    refuse(s, fmt::format("{} is not a permutation of the {} axes of {}", bracket_text(s.integers("permutation")), rank,
                          s.label(0)));
  return permutation;
}

std::vector<TensorSpec> infer_transpose(const OpSite& s) {
  Shape shape;
  for (int64_t axis : permutation_of(s)) shape.push_back(s.input(0).shape[static_cast<size_t>(axis)]);
  return {{shape, s.input(0).dtype, {}}};
}

void transpose_gradient(GradContext& c) {
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

Kernel concat(const OpSite& s) {
  std::vector<TensorSpec> specs;
  for (const TensorSpec* spec : s.in) specs.push_back(*spec);
  return concat_kernel(specs, axis_of(s, "axis", rank_of(s.input(0))));
}

// Elements [begin, begin + size) along one axis, without an op where that is everything.
Expr window(const Expr& e, size_t axis, int64_t begin, int64_t size) {
  Shape sizes = e.shape();
  if (begin == 0 && sizes[axis] == size) return e;
  Ints starts(sizes.size(), 0), steps(sizes.size(), 1);
  starts[axis] = begin;
  sizes[axis] = size;
  return e.emitter().one("slice_window", {e}, {{"starts", starts}, {"steps", steps}, {"sizes", sizes}});
}

void concat_gradient(GradContext& c) {
  const auto axis = static_cast<size_t>(normalise_axis(c.site().integer("axis"), rank_of(c.out_spec())));
  int64_t begin = 0;
  for (size_t i = 0; i < c.op().inputs.size(); ++i) {
    const int64_t size = c.in_spec(i).shape[axis];
    if (c.wants(i)) c.set(i, window(c.dy(), axis, begin, size));
    begin += size;
  }
}

std::vector<TensorSpec> infer_split(const OpSite& s) {
  const TensorSpec& x = s.input(0);
  const auto axis = static_cast<size_t>(axis_of(s, "axis", rank_of(x)));
  Ints sizes = s.integers("splits");
  if (std::holds_alternative<int64_t>(s.attr("splits"))) {
    const int64_t parts = sizes[0];
    if (parts <= 0 || parts > std::max<int64_t>(1, x.shape[axis]) || x.shape[axis] % parts != 0)
      refuse(s, fmt::format("axis {} of extent {} does not divide into {} equal parts", axis, x.shape[axis], parts));
    sizes.assign(static_cast<size_t>(parts), x.shape[axis] / parts);
  }
  int64_t total = 0;
  for (int64_t size : sizes)
    if (size < 0 || size > x.shape[axis])
      refuse(s, fmt::format("{} is not an extent of a part of axis {}", size, axis));
    else
      total = std::min(total + size, x.shape[axis] + 1);
  if (total != x.shape[axis] || sizes.empty())
    refuse(s, fmt::format("the parts {} do not add up to {}, the extent of axis {}", bracket_text(sizes), x.shape[axis],
                          axis));
  std::vector<TensorSpec> out;
  for (int64_t size : sizes) {
    out.push_back({x.shape, x.dtype, {}});
    out.back().shape[axis] = size;
  }
  return out;
}

Kernel split(const OpSite& s) {
  const auto axis = static_cast<size_t>(axis_of(s, "axis", rank_of(s.input(0))));
  Ints sizes;
  for (const TensorSpec& spec : s.out) sizes.push_back(spec.shape[axis]);
  return split_kernel(s.input(0), sizes, static_cast<int64_t>(axis));
}

void split_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  std::vector<Expr> parts;
  for (size_t i = 0; i < c.op().outputs.size(); ++i) {
    const Expr dy = c.dy(i);
    parts.push_back(dy ? dy
                       : c.emitter().one("init", {}, {{"shape", c.out_spec(i).shape}, {"dtype", c.out_spec(i).dtype}}));
  }
  c.set(0, c.emitter().one("concat", {parts}, {{"axis", c.site().integer("axis")}}));
}

// Python's slices of one or more axes: a Slice with steps of 1 or -1, then a Subsample for larger steps. Nothing to do
// gives the tensor itself.
std::vector<Expr> expand_slice(Emitter& at, const OpArgs& args) {
  const Expr& t = args.expr(0);
  const auto fail = [&](const std::string& message) {
    throw Error("slice: " + message, {fmt::format("{}: {}", t.label(), text(t.spec()))});
  };
  const auto list = [&](size_t param) -> Ints {
    if (args.is_none(param)) return {};
    const Attr& a = *args.attr(param);
    if (const int64_t* i = std::get_if<int64_t>(&a)) return {*i};
    return std::get<Ints>(a);
  };
  const Ints start = list(1), stop = list(2), step = list(3);
  Ints axes = list(4);
  size_t n = std::max({start.size(), stop.size(), step.size()});
  if (n == 0) return {t};
  for (const Ints* given : {&start, &stop, &step})
    if (!given->empty() && given->size() != n) fail("start, stop and step must have the same length");
  if (!axes.empty() && axes.size() != n) fail(fmt::format("{} axes for slices of {}", axes.size(), n));
  if (static_cast<int64_t>(n) > t.rank()) fail(fmt::format("{} slices of a tensor of {} axes", n, t.rank()));
  if (axes.empty())
    for (size_t i = 0; i < n; ++i) axes.push_back(static_cast<int64_t>(i));

  const Shape& shape = t.shape();
  Ints starts(shape.size(), 0), steps(shape.size(), 1), strides(shape.size(), 1);
  Shape sizes = shape;
  std::vector<bool> seen(shape.size());
  for (size_t i = 0; i < n; ++i) {
    const auto axis = static_cast<size_t>(normalise_axis(axes[i], t.rank()));
    if (seen[axis]) fail(fmt::format("axis {} is given twice", axis));
    seen[axis] = true;
    const int64_t extent = shape[axis], by = step.empty() ? 1 : step[i];
    if (by == 0) fail("the step is 0");
    const int64_t low = by < 0 ? -1 : 0, high = by < 0 ? extent - 1 : extent;
    const auto clamped = [&](int64_t at_index) {
      if (at_index < 0) at_index = at_index < -extent ? low : at_index + extent;
      return std::clamp(at_index, low, std::max(low, high));
    };
    const int64_t first = start.empty() ? (by < 0 ? extent - 1 : 0) : clamped(start[i]);
    const int64_t last = stop.empty() ? (by < 0 ? -1 : extent) : clamped(stop[i]);
    starts[axis] = first;
    steps[axis] = by < 0 ? -1 : 1;
    sizes[axis] = std::max<int64_t>(0, by < 0 ? first - last : last - first);
    if (sizes[axis] == 0) starts[axis] = 0;
    // A stride past the end keeps the first element only, as any larger one does.
    const int64_t stride = by == std::numeric_limits<int64_t>::min() ? extent : by < 0 ? -by : by;
    strides[axis] = std::clamp<int64_t>(stride, 1, std::max<int64_t>(1, sizes[axis]));
  }
  const auto all_ones = [](const Ints& v) { return std::all_of(v.begin(), v.end(), [](int64_t i) { return i == 1; }); };
  Expr result = t;
  const bool strided = !all_ones(strides);
  // Strides alone need no Slice before them.
  if (sizes != shape || !all_ones(steps) || !strided)
    result = at.one("slice_window", {t}, {{"starts", starts}, {"steps", steps}, {"sizes", sizes}});
  if (strided) result = at.one("subsample", {result}, {{"strides", strides}});
  return {result};
}

std::vector<TensorSpec> infer_window(const OpSite& s) {
  const TensorSpec& x = s.input(0);
  const Ints starts = s.integers("starts"), steps = s.integers("steps"), sizes = s.integers("sizes");
  if (starts.size() != x.shape.size() || steps.size() != x.shape.size() || sizes.size() != x.shape.size())
    refuse(s, "one start, step and size for each axis are needed");
  return {{sizes, x.dtype, {}}};
}

void window_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  const OpSite s = c.site();
  c.set(0, c.emitter().one(
               "slice_grad", {c.dy()},
               {{"starts", s.integers("starts")}, {"steps", s.integers("steps")}, {"sizes", c.in_spec(0).shape}}));
}

std::vector<TensorSpec> infer_subsample(const OpSite& s) {
  const TensorSpec& x = s.input(0);
  const Ints strides = s.integers("strides");
  if (strides.size() > x.shape.size()) refuse(s, fmt::format("{} strides for {} axes", strides.size(), x.shape.size()));
  TensorSpec out{x.shape, x.dtype, {}};
  for (size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] <= 0) refuse(s, fmt::format("strides must be positive, got {}", strides[i]));
    out.shape[i] = out.shape[i] == 0 ? 0 : (out.shape[i] - 1) / strides[i] + 1;
  }
  return {out};
}

// The strides of all axes; those not given are 1.
Ints full_strides(const OpSite& s, size_t rank) {
  Ints strides = s.integers("strides");
  strides.resize(rank, 1);
  return strides;
}

constexpr OpRow reshape_row = {.name = "reshape",
                               .path = "ops.reshape",
                               .schedule = "Reshape",
                               .output = "{0}_reshaped",
                               .doc = "The same elements, in row-major order, under another shape.",
                               .example = "reshape(array([[1.0, 2.0], [3.0, 4.0]]), [-1])",
                               .params = reshape_params,
                               .infer = infer_reshape,
                               .kernel = copy,
                               .gradient = reshape_gradient,
                               .pattern = Pattern::movement,
                               .view = true,
                               .method = true,
                               .inplace = "reshape_",
                               .onnx = "Reshape",
                               .tiles = tile_view};

constexpr OpRow transpose_row = {
    .name = "transpose",
    .path = "ops.transpose",
    .schedule = "Transpose",
    .output = "{0}_T",
    .doc = "Axis i of the result is axis permutation[i] of t.",
    .example = "transpose(array([[1.0, 2.0], [3.0, 4.0]]))",
    .params = transpose_params,
    .infer = infer_transpose,
    .kernel = [](const OpSite& s) { return transpose_kernel(s.input(0), permutation_of(s)); },
    .gradient = transpose_gradient,
    .pattern = Pattern::movement,
    .method = true,
    .inplace = "transpose_",
    .onnx = "Transpose",
    .tiles = tile_movement};

constexpr OpRow concat_row = {.name = "concat",
                              .path = "ops.concat",
                              .schedule = "Concat",
                              .output = "concat_out",
                              .doc = "Joins tensors along an axis.",
                              .example = "concat([array([1.0, 2.0]), array([3.0])], axis = 0)",
                              .params = concat_params,
                              .infer = infer_concat,
                              .kernel = concat,
                              .gradient = concat_gradient,
                              .pattern = Pattern::movement,
                              .inplace = "concat_",
                              .onnx = "Concat",
                              .tiles = tile_movement};

constexpr OpRow view_form(OpRow row, const InPlace& names, bool aliases) {
  row = in_place_form(row, names);
  row.modifies = 0;
  if (!aliases) row.alias = -1;
  return row;
}

// Rows whose in-place form PopXL makes a view: here memory is contiguous, so transposing and joining copy.
constexpr OpRow transpose_view() {
  OpRow row = view_form(transpose_row, {"transpose_", "ops.transpose_", "TransposeInplace", "{0}_T"}, false);
  row.gradient = transpose_gradient;
  row.example = "transpose_(array([[1.0, 2.0], [3.0, 4.0]]))";
  return row;
}
constexpr OpRow concat_view() {
  OpRow row = view_form(concat_row, {"concat_", "ops.concat_", "ConcatInplace", "concat_out"}, false);
  row.gradient = concat_gradient;
  row.example = "concat_([array([1.0, 2.0]), array([3.0])], axis = 0)";
  return row;
}
constexpr OpRow reshape_view() {
  OpRow row = view_form(reshape_row, {"reshape_", "ops.reshape_", "ReshapeInplace", "{0}_reshaped"}, true);
  row.gradient = reshape_gradient;
  return row;
}

template <bool in_place>
std::vector<Expr> expand_flatten(Emitter& at, const OpArgs& args) {
  return at.emit(in_place ? "reshape_" : "reshape", {args.expr(0)}, {{"shape", Ints{args.expr(0).spec().size()}}});
}

constexpr OpRow rows[] = {
    reshape_row,
    reshape_view(),
    {.name = "flatten",
     .path = "ops.flatten",
     .doc = "All elements along one axis.",
     .example = "flatten(array([[1.0, 2.0], [3.0, 4.0]]))",
     .params = unary_params,
     .expand = expand_flatten<false>,
     .role = Role::composite,
     .method = true,
     .inplace = "flatten_",
     .onnx = "Flatten"},
    {.name = "flatten_",
     .path = "ops.flatten_",
     .doc = "All elements along one axis, in the same memory.",
     .example = "flatten_(array([[1.0, 2.0], [3.0, 4.0]]))",
     .params = unary_params,
     .expand = expand_flatten<true>,
     .role = Role::composite,
     .method = true},
    {.name = "squeeze",
     .path = "ops.squeeze",
     .doc = "Drops axes of extent 1.",
     .example = "squeeze(array([[1.0, 2.0]]))",
     .params = squeeze_params,
     .expand =
         [](Emitter& at, const OpArgs& args) {
           const Expr& t = args.expr(0);
           std::vector<bool> drop(t.shape().size());
           if (args.is_none(1)) {
             for (size_t i = 0; i < drop.size(); ++i) drop[i] = t.shape()[i] == 1;
           } else {
             for (int64_t given : std::get<Ints>(*args.attr(1))) {
               const auto axis = static_cast<size_t>(normalise_axis(given, t.rank()));
               if (drop[axis]) throw Error(fmt::format("squeeze: axis {} is given twice", axis));
               if (t.shape()[axis] != 1)
                 throw Error(fmt::format("squeeze: axis {} has extent {}, not 1", axis, t.shape()[axis]),
                             {fmt::format("{}: {}", t.label(), text(t.spec()))});
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
    transpose_row,
    transpose_view(),
    concat_row,
    concat_view(),
    {.name = "split",
     .path = "ops.split",
     .schedule = "Split",
     .output = "{0}_split_{i}",
     .doc = "Parts along an axis: a number of equal ones, or ones of the given extents.",
     .example = "split(array([1.0, 2.0, 3.0, 4.0]), 2)",
     .params = split_params,
     .infer = infer_split,
     .kernel = split,
     .gradient = split_gradient,
     .pattern = Pattern::movement,
     .onnx = "Split",
     .tiles = tile_movement},
    {.name = "slice",
     .path = "ops.slice",
     .doc = "A part of one or more axes, as Python slices: negative positions count from the end.",
     .example = "slice(array([1.0, 2.0, 3.0, 4.0]), 1, 3)",
     .params = slice_params,
     .expand = expand_slice,
     .role = Role::composite,
     .inplace = "slice_",
     .onnx = "Slice"},
    {.name = "slice_",
     .path = "ops.slice_",
     .doc = "The same as slice: memory is contiguous, so a part of a tensor is a copy.",
     .example = "slice_(array([1.0, 2.0, 3.0, 4.0]), 1, 3)",
     .params = slice_params,
     .expand = expand_slice,
     .role = Role::composite},
    {.name = "slice_window",
     .schedule = "Slice",
     .output = "slice_out",
     .doc = "A start, a step and a size for each axis.",
     .params = window_params,
     .infer = infer_window,
     .kernel =
         [](const OpSite& s) {
           return slice_kernel(s.input(0), s.integers("starts"), s.integers("steps"), s.out[0].shape);
         },
     .gradient = window_gradient,
     .pattern = Pattern::movement,
     .tiles = tile_movement},
    {.name = "slice_grad",
     .schedule = "SliceGrad",
     .output = "gradient",
     .doc = "Zeros of shape `sizes` with t at the places that a slice took.",
     .params = window_params,
     .infer = infer_window,
     .kernel =
         [](const OpSite& s) {
           return slice_grad_kernel(s.input(0), s.integers("starts"), s.integers("steps"), s.out[0].shape);
         },
     .pattern = Pattern::movement,
     .tiles = tile_movement},
    {.name = "subsample",
     .path = "ops.subsample",
     .schedule = "Subsample",
     .output = "subsample_out",
     .doc = "Every strides[i]-th element along axis i.",
     .example = "subsample(array([1.0, 2.0, 3.0, 4.0]), [2])",
     .params = subsample_params,
     .infer = infer_subsample,
     .kernel =
         [](const OpSite& s) {
           return slice_kernel(s.input(0), Ints(s.input(0).shape.size(), 0), full_strides(s, s.input(0).shape.size()),
                               s.out[0].shape);
         },
     .gradient =
         [](GradContext& c) {
           if (!c.wants(0)) return;
           const size_t rank = c.in_spec(0).shape.size();
           c.set(0, c.emitter().one("slice_grad", {c.dy()},
                                    {{"starts", Ints(rank, 0)},
                                     {"steps", full_strides(c.site(), rank)},
                                     {"sizes", c.in_spec(0).shape}}));
         },
     .pattern = Pattern::movement,
     .tiles = tile_movement},
    {.name = "diag",
     .path = "ops.diag",
     .doc = "The diagonal of a matrix.",
     .example = "diag(array([[1.0, 2.0], [3.0, 4.0]]))",
     .params = unary_params,
     .expand =
         [](Emitter& at, const OpArgs& args) {
           const Expr& t = args.expr(0);
           if (t.rank() != 2)
             throw Error(fmt::format("diag: {} must be a matrix, not of rank {}", t.label(), t.rank()));
           // Past a square's last row the flattened stride would start over.
           const int64_t columns = t.shape()[1], n = std::min(t.shape()[0], columns);
           const Expr flat = window(reshape(t, {t.spec().size()}), 0, 0, n * columns);
           return at.emit("subsample", {flat}, {{"strides", Ints{columns + 1}}});
         },
     .role = Role::composite,
     .method = true},
    {.name = "broadcast_to",
     .path = "ops.broadcast_to",
     .schedule = "Expand",
     .output = "expand_out",
     .doc = "Repeats the tensor along missing axes and axes of extent 1 to fill a shape.",
     .example = "broadcast_to(array([1.0, 2.0]), [3, 2])",
     .params = reshape_params,
     .infer =
         [](const OpSite& s) {
           const Shape shape = s.integers("shape");
           for (int64_t extent : shape)
             if (extent < 0) refuse(s, fmt::format("invalid shape {}", bracket_text(shape)));
           prefixed(s, [&] { return element_count(shape); });
           check_broadcastable(s, 0, shape);
           return std::vector<TensorSpec>{{shape, s.input(0).dtype, {}}};
         },
     .kernel = [](const OpSite& s) { return broadcast_to_kernel(s.input(0).dtype, s.input(0).shape, s.out[0].shape); },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0)) c.set(0, sum_to(c.dy(), c.in_spec(0).shape));
         },
     .pattern = Pattern::movement,
     .onnx = "Expand",
     .tiles = tile_movement},
};
static_assert(all_complete(rows));

}  // namespace

std::span<const OpRow> shape_rows() { return rows; }

}  // namespace pxl
