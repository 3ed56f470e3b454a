// Slices and strides.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/movement/shape.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

Expr narrow(const Expr& e, size_t axis, int64_t begin, int64_t size) {
  Shape sizes = e.shape();
  if (begin == 0 && sizes[axis] == size) return e;
  std::vector<int64_t> starts(sizes.size(), 0), steps(sizes.size(), 1);
  starts[axis] = begin;
  sizes[axis] = size;
  return e.builder().one("slice_window", {e}, {{"starts", starts}, {"steps", steps}, {"sizes", sizes}});
}

namespace {

using Ints = std::vector<int64_t>;

constexpr Param slice_params[] = {{"t", ParamKind::tensor},
                                  {"start", ParamKind::integers, none_default},
                                  {"stop", ParamKind::integers, none_default},
                                  {"step", ParamKind::integers, none_default},
                                  {"axis", ParamKind::integers, none_default, "none: the leading axes"}};
constexpr Param window_params[] = {
    {"t", ParamKind::tensor}, {"starts", ParamKind::shape}, {"steps", ParamKind::shape}, {"sizes", ParamKind::shape}};
constexpr Param subsample_params[] = {{"t", ParamKind::tensor}, {"strides", ParamKind::shape}};

// Python's slices of one or more axes: a Slice with steps of 1 or -1, then a Subsample for larger steps. A slice of
// everything returns the tensor.
template <bool in_place>
std::vector<Expr> expand_slice(OpBuilder& at, const OpArgs& args) {
  const Expr& t = args.expr(0);
  const auto fail = [&](const std::string& message) {
    throw Error("slice: " + message, {fmt::format("{}: {}", t.label(), text(t.spec()))}).as(codes::index);
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
  if (static_cast<int64_t>(n) > t.rank()) fail(fmt::format("{} slices for a tensor with {} axes", n, t.rank()));
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
    // A stride past the end keeps the first element only, as any larger stride does.
    const int64_t stride = by == std::numeric_limits<int64_t>::min() ? extent : by < 0 ? -by : by;
    strides[axis] = std::clamp<int64_t>(stride, 1, std::max<int64_t>(1, sizes[axis]));
  }
  const auto all_ones = [](const Ints& v) { return std::all_of(v.begin(), v.end(), [](int64_t i) { return i == 1; }); };
  Expr result = t;
  const bool strided = !all_ones(strides);
  // Strides alone need no preceding Slice.
  if (sizes != shape || !all_ones(steps) || !strided)
    result = at.one(in_place ? "slice_window_" : "slice_window", {t},
                    {{"starts", starts}, {"steps", steps}, {"sizes", sizes}});
  if (strided) result = at.one(in_place ? "subsample_" : "subsample", {result}, {{"strides", strides}});
  return {result};
}

std::vector<TensorSpec> infer_window(const OpContext& s) {
  const TensorSpec& x = s.input(0);
  const Ints starts = s.integers("starts"), steps = s.integers("steps"), sizes = s.integers("sizes");
  if (starts.size() != x.shape.size() || steps.size() != x.shape.size() || sizes.size() != x.shape.size())
    refuse(s, "expected one start, step and size per axis", codes::shape);
  return {{sizes, x.dtype, {}}};
}

void window_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  const OpContext s = c.site();
  c.set(0, c.builder().one(
               "slice_grad", {c.dy()},
               {{"starts", s.integers("starts")}, {"steps", s.integers("steps")}, {"sizes", c.in_spec(0).shape}}));
}

std::vector<TensorSpec> infer_subsample(const OpContext& s) {
  const TensorSpec& x = s.input(0);
  const Ints strides = s.integers("strides");
  if (strides.size() > x.shape.size())
    refuse(s, fmt::format("{} strides for {} axes", strides.size(), x.shape.size()), codes::shape);
  TensorSpec out{x.shape, x.dtype, {}};
  for (size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] <= 0) refuse(s, fmt::format("strides must be positive, got {}", strides[i]));
    out.shape[i] = out.shape[i] == 0 ? 0 : (out.shape[i] - 1) / strides[i] + 1;
  }
  return {out};
}

// Strides of all axes; 1 by default.
Ints full_strides(const OpContext& s, size_t rank) {
  Ints strides = s.integers("strides");
  strides.resize(rank, 1);
  return strides;
}

// A window without steps is framed by zeros.
ElementOrder grad_order(const OpContext& s) {
  const Ints steps = s.integers("steps");
  const bool framed = !steps.empty() && s.input(0).size() > 0;
  return framed && std::ranges::count(steps, 1) == std::ssize(steps) ? ElementOrder::in_order : ElementOrder::whole;
}

constexpr OpRow slice_window_row = {.name = "slice_window",
                                    .schedule = "Slice",
                                    .output = "slice_out",
                                    .doc = "A strided window, with a start, a step and a size per axis.",
                                    .params = window_params,
                                    .infer = infer_window,
                                    .definition = reference::slice_window,
                                    .kernel =
                                        [](const OpContext& s) {
                                          return slice_kernel(s.input(0), s.integers("starts"), s.integers("steps"),
                                                              s.out[0].shape);
                                        },
                                    .gradient = window_gradient,
                                    .pattern = Pattern::movement,
                                    .batch = Batch::window,
                                    .order = orders::in_order,
                                    .tiles = tile_movement};
constexpr OpRow slice_window_view() {
  OpRow row = view_form(slice_window_row, {"slice_window_", {}, "SliceInplace", "slice_out"}, [](const OpContext& s) {
    const Ints starts = s.integers("starts"), steps = s.integers("steps");
    StridedLayout at = contiguous(s.input(0).shape);
    for (size_t i = 0; i < at.shape.size(); ++i) {
      at.offset += starts[i] * at.strides[i];
      at.strides[i] *= steps[i];
    }
    at.shape = s.out[0].shape;
    return whole_view(std::move(at));
  });
  row.doc = "A view of t: a strided window with a start, a step and a size per axis, in t's memory.";
  return row;
}

constexpr OpRow subsample_row = {.name = "subsample",
                                 .path = "ops.subsample",
                                 .schedule = "Subsample",
                                 .output = "subsample_out",
                                 .doc = "Every strides[i]-th element along axis i.",
                                 .example = "subsample(array([1.0, 2.0, 3.0, 4.0]), [2])",
                                 .params = subsample_params,
                                 .infer = infer_subsample,
                                 .definition = reference::subsample,
                                 .kernel =
                                     [](const OpContext& s) {
                                       return slice_kernel(s.input(0), Ints(s.input(0).shape.size(), 0),
                                                           full_strides(s, s.input(0).shape.size()), s.out[0].shape);
                                     },
                                 .gradient =
                                     [](GradContext& c) {
                                       if (!c.wants(0)) return;
                                       const size_t rank = c.in_spec(0).shape.size();
                                       c.set(0, c.builder().one("slice_grad", {c.dy()},
                                                                {{"starts", Ints(rank, 0)},
                                                                 {"steps", full_strides(c.site(), rank)},
                                                                 {"sizes", c.in_spec(0).shape}}));
                                     },
                                 .pattern = Pattern::movement,
                                 .order = orders::in_order,
                                 .tiles = tile_movement};
constexpr OpRow subsample_view() {
  OpRow row = view_form(subsample_row, {"subsample_", {}, "SubsampleInplace", "subsample_out"}, [](const OpContext& s) {
    StridedLayout at = contiguous(s.input(0).shape);
    const Ints strides = full_strides(s, at.shape.size());
    for (size_t i = 0; i < at.shape.size(); ++i) at.strides[i] *= strides[i];
    at.shape = s.out[0].shape;
    return whole_view(std::move(at));
  });
  row.doc = "A view of t: every strides[i]-th element along axis i, in t's memory.";
  return row;
}

constexpr OpRow slice_table[] = {
    {.name = "slice",
     .path = "ops.slice",
     .doc = "Slices one or more axes, as in Python: negative positions count from the end.",
     .example = "slice(array([1.0, 2.0, 3.0, 4.0]), 1, 3)",
     .params = slice_params,
     .expand = expand_slice<false>,
     .role = Role::composite,
     .inplace = "slice_",
     .onnx = "Slice"},
    {.name = "slice_",
     .path = "ops.slice_",
     .doc = "A view of a slice of one or more axes, as in Python: modifying the view modifies t, and vice versa.",
     .example = "slice_(array([1.0, 2.0, 3.0, 4.0]), 1, 3)",
     .params = slice_params,
     .expand = expand_slice<true>,
     .role = Role::composite},
    slice_window_row,
    slice_window_view(),
    {.name = "slice_grad",
     .schedule = "SliceGrad",
     .output = "gradient",
     .doc = "Zeros of shape `sizes` with t at the positions of a slice.",
     .params = window_params,
     .infer = infer_window,
     .definition = reference::slice_grad,
     .kernel =
         [](const OpContext& s) {
           return slice_grad_kernel(s.input(0), s.integers("starts"), s.integers("steps"), s.out[0].shape);
         },
     .gradient =
         [](GradContext& c) {
           if (!c.wants(0)) return;
           const OpContext s = c.site();
           c.set(0, c.builder().one(
                        "slice_window", {c.dy()},
                        {{"starts", s.attr("starts")}, {"steps", s.attr("steps")}, {"sizes", c.in_spec(0).shape}}));
         },
     .pattern = Pattern::movement,
     .order = grad_order,
     .tiles = tile_movement},
    subsample_row,
    subsample_view(),
    {.name = "diag",
     .path = "ops.diag",
     .doc = "The diagonal of a matrix.",
     .example = "diag(array([[1.0, 2.0], [3.0, 4.0]]))",
     .params = unary_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           const Expr& t = args.expr(0);
           if (t.rank() != 2)
             throw Error(fmt::format("diag: {} must be a matrix, not of rank {}", t.label(), t.rank()))
                 .as(codes::shape);
           // Past the last row of a square the flattened stride would wrap around.
           const int64_t columns = t.shape()[1], n = std::min(t.shape()[0], columns);
           Expr flat = reshape(t, {t.spec().size()});
           if (n * columns != t.spec().size()) flat = narrow(flat, 0, 0, n * columns);
           return at.emit("subsample", {flat}, {{"strides", Ints{columns + 1}}});
         },
     .role = Role::composite,
     .method = true},
};
static_assert(all_complete(slice_table));

}  // namespace

std::span<const OpRow> slice_rows() { return slice_table; }

}  // namespace pxl
