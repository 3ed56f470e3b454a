// Reductions, arg-reductions, prefix sums and selections along axes.
#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/kernels/reduction/reduce.hpp"
#include "runtime/kernels/update/update.hpp"
#include "runtime/op/algebra_definitions.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param reduce_params[] = {
    {"t", ParamKind::tensor},
    {"axis", ParamKind::axes, none_default, "the axes to reduce; none means all"},
    {"keepdims", ParamKind::boolean, of(false), "whether reduced axes are kept, with extent 1"}};
constexpr Param arg_params[] = {
    {"t", ParamKind::tensor}, {"axis", ParamKind::integer, of(0)}, {"keepdims", ParamKind::boolean, of(false)}};
constexpr Param cumsum_params[] = {{"t", ParamKind::tensor},
                                   {"axis", ParamKind::integer, of(0)},
                                   {"exclusive", ParamKind::boolean, of(false), "each sum excludes its own element"},
                                   {"reverse", ParamKind::boolean, of(false), "from the end of the axis"}};
constexpr Param cumprod_params[] = {{"t", ParamKind::tensor},
                                    {"axis", ParamKind::integer, of(0)},
                                    {"exclusive", ParamKind::boolean, of(false), "each product excludes its element"},
                                    {"reverse", ParamKind::boolean, of(false), "from the end of the axis"}};
constexpr Param topk_params[] = {{"t", ParamKind::tensor},
                                 {"k", ParamKind::integer},
                                 {"axis", ParamKind::integer, of(-1)},
                                 {"largest", ParamKind::boolean, of(true)},
                                 {"sorted", ParamKind::boolean, of(true), "results are sorted in any case"}};
constexpr Param histogram_params[] = {{"t", ParamKind::tensor},
                                      {"levels", ParamKind::numbers, no_default, "increasing"},
                                      {"absolute_of_input", ParamKind::boolean, of(false)}};

template <Reduction f>
Kernel reduction(const OpContext& s) {
  return reduce_kernel(f, s.input(0), axes_of(s, "axis", rank_of(s.input(0))), s.out[0].dtype);
}

template <Reduction f>
ElementOrder reduction_order(const OpContext& s) {
  const bool in_order = reduces_in_order(f, s.input(0), axes_of(s, "axis", rank_of(s.input(0))), s.out[0].dtype);
  return in_order ? ElementOrder::in_order : ElementOrder::whole;
}

// Each element of the operand is read once.
int64_t input_flops(const OpContext& s) { return s.input(0).size(); }

std::vector<int64_t> reduced_axes(const GradContext& c) { return axes_of(c.site(), "axis", rank_of(c.in_spec(0))); }

// Reshapes a value of the output's shape so that it broadcasts over the operand: reduced axes get extent 1, unless they
// are leading axes.
Expr spread(GradContext& c, const Expr& e) {
  if (c.site().boolean("keepdims")) return e;
  const std::vector<int64_t> axes = reduced_axes(c);
  if (axes.empty() || axes.back() == static_cast<int64_t>(axes.size()) - 1) return e;
  return reshape(e, reduced_shape(c.in_spec(0).shape, axes, true));
}

Expr full(GradContext& c, const Expr& e) { return broadcast_to(spread(c, e), c.in_spec(0).shape); }

Expr zero(GradContext& c) { return c.builder().scalar(0.0, c.dy().dtype()); }

// Tied extreme elements share the gradient equally. Their number may exceed float16's range, so that counting and
// dividing are in float32.
void reduced_extremum_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  OpBuilder& at = c.builder();
  const DType dtype = c.dy().dtype(), wide = compute_dtype(dtype);
  const Expr chosen = at.one("equal", {c.in(0), spread(c, c.out())});
  const Expr ties = sum(cast(chosen, wide), reduced_axes(c), true);
  // NaN equals nothing, so no element is selected for it.
  const Expr share = cast(spread(c, c.dy()), wide) / at.one("maximum", {std::vector<Expr>{ties, at.scalar(1.0, wide)}});
  c.set(0, at.one("select", {chosen, cast(share, dtype), zero(c)}));
}

// dy y / x, except at x = 0: there it is the product of the other elements, which is 0 if another one is 0.
void prod_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  OpBuilder& at = c.builder();
  const DType dtype = c.in_spec(0).dtype;
  const Expr x = c.in(0), none = zero(c), one = at.scalar(1.0, dtype);
  const std::vector<int64_t> axes = reduced_axes(c);
  const Expr is_zero = at.one("equal", {x, none});
  const Expr safe = at.one("select", {is_zero, one, x});
  const Expr zeros = sum(cast(is_zero, dtype), axes, true);
  const Expr others = at.one("prod", {safe}, {{"axis", axes}, {"keepdims", true}});
  const Expr at_zero = at.one("select", {at.one("equal", {zeros, one}), others, none});
  const Expr elsewhere = at.one("select", {at.one("equal", {zeros, none}), others / safe, none});
  c.set(0, at.one("select", {is_zero, at_zero, elsewhere}) * spread(c, c.dy()));
}

// dy times the softmax of x. The result is rounded, so that x less the result is no logarithm of a share.
void logsumexp_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  OpBuilder& at = c.builder();
  const std::vector<int64_t> axes = reduced_axes(c);
  const Expr x = c.in(0);
  Expr share = x;  // of no elements
  if (x.tensor()->spec.size() == 0) {
    // There is nothing to share.
  } else if (axes.size() == 1) {
    share = at.one("softmax", {x}, {{"axis", axes[0]}});
  } else {
    const Expr top = at.one("detach", {at.one("max", {x}, {{"axis", axes}, {"keepdims", true}})});
    const Expr e = at.one("exp", {x - top});
    share = e / sum(e, axes, true);
  }
  c.set(0, share * spread(c, c.dy()));
}

// The elements less their mean, times dy 2 / n; of the root, times dy / (n y), and 0 where y is 0.
template <bool root>
void variance_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  const double n =
      static_cast<double>(c.in_spec(0).size()) / static_cast<double>(std::max<int64_t>(1, c.out_spec().size()));
  const auto centred = [&](const Expr& e) {
    return e - c.builder().one("mean", {e}, {{"axis", reduced_axes(c)}, {"keepdims", true}});
  };
  const Expr d = centred(centred(c.in(0)));  // a mean is rounded
  const auto per_root = [&] {
    const Expr corner = c.builder().one("equal", {c.out(), zero(c)});
    return c.builder().one("select", {corner, zero(c), c.dy() / c.out()}) * (1 / n);
  };
  c.set(0, d * spread(c, root ? per_root() : c.dy() * (2 / n)));
}

// The gradient goes to the selected element: the reduced axes are moved to the end and flattened, as the indices count.
void median_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  OpBuilder& at = c.builder();
  const Shape& shape = c.in_spec(0).shape;
  const std::vector<int64_t> axes = reduced_axes(c);
  std::vector<int64_t> permutation;
  Shape moved, flat;
  for (int64_t i = 0; i < rank_of(c.in_spec(0)); ++i)
    if (!std::binary_search(axes.begin(), axes.end(), i)) {
      permutation.push_back(i);
      flat.push_back(shape[static_cast<size_t>(i)]);
    }
  permutation.insert(permutation.end(), axes.begin(), axes.end());
  for (int64_t i : permutation) moved.push_back(shape[static_cast<size_t>(i)]);
  Shape single = flat;
  single.push_back(1);
  flat.push_back(element_count(shape) / std::max<int64_t>(1, element_count(flat)));
  const Expr zeros = at.one("init", {}, {{"shape", flat}, {"dtype", c.dy().dtype()}});
  const Expr scattered =
      at.one("scatter", {zeros, reshape(c.out(1), single), reshape(c.dy(), single)}, {{"axis", int64_t{-1}}});
  const Expr unflattened = reshape(scattered, moved);
  std::vector<int64_t> inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i)
    inverse[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  c.set(0, std::is_sorted(inverse.begin(), inverse.end()) ? unflattened : transpose(unflattened, inverse));
}

void topk_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  const Expr zeros = c.builder().one("init", {}, {{"shape", c.in_spec(0).shape}, {"dtype", c.in_spec(0).dtype}});
  c.set(0, c.builder().one("scatter", {zeros, c.out(1), c.dy()}, {{"axis", c.site().integer("axis")}}));
}

std::vector<TensorSpec> infer_arg(const OpContext& s) {
  check_no_float8(s, 0);
  const TensorSpec& x = s.input(0);
  const int64_t axis = axis_of(s, "axis", rank_of(x));
  if (x.shape[static_cast<size_t>(axis)] == 0) refuse(s, "the axis has no elements", codes::shape);
  return {{reduced_shape(x.shape, {axis}, s.boolean("keepdims")), DType::int32, {}}};
}

std::vector<TensorSpec> infer_nonempty_reduce(const OpContext& s) {
  std::vector<TensorSpec> out = infer_reduce(s);
  for (int64_t axis : axes_of(s, "axis", rank_of(s.input(0))))
    if (s.input(0).shape[static_cast<size_t>(axis)] == 0) refuse(s, "there are no elements to select from");
  return out;
}

std::vector<TensorSpec> infer_median(const OpContext& s) {
  std::vector<TensorSpec> out = infer_nonempty_reduce(s);
  out.push_back({out[0].shape, DType::int32, {}});
  return out;
}

std::vector<TensorSpec> infer_cumsum(const OpContext& s) {
  check_numbers(s, 0);
  axis_of(s, "axis", rank_of(s.input(0)));
  return infer_same(s);
}

// Prefix sum; its gradient is the prefix sum in the opposite direction.
template <bool opposite>
Kernel running_sum(const OpContext& s) {
  return cumsum_kernel(s.input(0), axis_of(s, "axis", rank_of(s.input(0))), s.boolean("exclusive"),
                       s.boolean("reverse") != opposite);
}

void running_sum_gradient(GradContext& c, std::string_view op) {
  if (!c.wants(0)) return;
  const OpContext s = c.site();
  c.set(0, c.builder().one(
               op, {c.dy()},
               {{"axis", s.attr("axis")}, {"exclusive", s.attr("exclusive")}, {"reverse", s.attr("reverse")}}));
}

Kernel running_product(const OpContext& s) {
  return cumprod_kernel(s.input(0), axis_of(s, "axis", rank_of(s.input(0))), s.boolean("exclusive"),
                        s.boolean("reverse"));
}

/// The derivative by an element is the product of those before it, times the sum over each later result of its gradient
/// and the product of the elements between both. Each step doubles the distance to which that sum extends. Source:
/// W. Hillis, G. Steele, "Data parallel algorithms", 1986. It needs no division, so it is exact at zeros.
void cumprod_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  const OpContext s = c.site();
  OpBuilder& at = c.builder();
  const int64_t axis = axis_of(s, "axis", rank_of(c.in_spec(0))), n = c.in_spec(0).shape[static_cast<size_t>(axis)];
  const auto part = [&](const Expr& e, int64_t begin, int64_t size) {
    return narrow(e, static_cast<size_t>(axis), begin, size);
  };
  const auto joined = [&](const Expr& a, const Expr& b) {
    return at.one("concat", {std::vector<Expr>{a, b}}, {{"axis", axis}});
  };
  const auto turned = [&](const Expr& e) {
    return s.boolean("reverse") ? at.one("flip", {e}, {{"axes", std::vector<int64_t>{axis}}}) : e;
  };
  if (n == 0) return c.set(0, c.dy());
  const Expr before =
      at.one("cumprod", {c.in(0)}, {{"axis", axis}, {"exclusive", true}, {"reverse", s.attr("reverse")}});
  Expr sums = turned(c.dy()), between = turned(c.in(0));
  const Expr first = part(between, 0, 1);
  const auto full = [&](double v) { return broadcast_to(at.scalar(v, first.dtype()), first.shape()); };
  if (n > 1) between = joined(part(between, 1, n - 1), full(1));
  if (s.boolean("exclusive")) sums = n > 1 ? joined(part(sums, 1, n - 1), full(0)) : full(0);
  for (int64_t by = 1; by < n; by *= 2) {
    const Expr head = part(between, 0, n - by);
    sums = joined(part(sums, 0, n - by) + head * part(sums, by, n - by), part(sums, n - by, by));
    between = joined(head * part(between, by, n - by), part(between, n - by, by));
  }
  c.set(0, before * turned(sums));
}

std::vector<TensorSpec> infer_topk(const OpContext& s) {
  check_no_float8(s, 0);
  TensorSpec spec = s.input(0);
  const int64_t axis = axis_of(s, "axis", rank_of(spec));
  const int64_t k = s.integer("k"), extent = spec.shape[static_cast<size_t>(axis)];
  if (k < 0 || k > extent)
    refuse(s, "k = " + std::to_string(k) + " is not in 0.." + std::to_string(extent) + ", the extent of the axis",
           codes::shape);
  spec.shape[static_cast<size_t>(axis)] = k;
  return {spec, {spec.shape, DType::int32, {}}};
}

template <Reduction f>
constexpr OpRow reduce(const RowText& text, InferFn infer, DefinitionFn definition, GradFn gradient) {
  OpRow row =
      described(text, reduce_params, infer, definition, reduction<f>, gradient, Pattern::reduction, tile_reduction);
  row.order = reduction_order<f>;
  row.flops = input_flops;
  row.batch = Batch::axis;
  row.method = !text.path.empty();
  return row;
}

constexpr OpRow reduce_table[] = {
    reduce<Reduction::sum>(
        {"sum", "ops.sum", "ReduceSum", "sum_out", "The sum over axes. Integers wrap around in their dtype.", "sum t",
         "sum(array([[1.0, 2.0], [3.0, 4.0]]), axis = 0)", "ReduceSum"},
        infer_reduce, reference::sum,
        [](GradContext& c) {
          if (c.wants(0)) c.set(0, full(c, c.dy()));
        }),
    reduce<Reduction::mean>({"mean", "ops.mean", "ReduceMean", "mean_out", "The mean over axes.", "sum t / n",
                             "mean(array([[1.0, 2.0], [3.0, 4.0]]), axis = 0)", "ReduceMean"},
                            infer_reduce_float, reference::mean,
                            [](GradContext& c) {
                              if (!c.wants(0)) return;
                              const int64_t n = c.in_spec(0).size() / std::max<int64_t>(1, c.out_spec().size());
                              c.set(0, full(c, n == 1 ? c.dy() : c.dy() * (1.0 / static_cast<double>(n))));
                            }),
    within(
        tolerance::bits,
        reduce<Reduction::max>(
            {"max", "ops.max", "ReduceMax", "max_out",
             "The largest element over axes. NaN where one is NaN; -0 is less than 0. Tied elements share the gradient "
             "equally.",
             "max t", "max(array([[1.0, 2.0], [3.0, 4.0]]), axis = 0)", "ReduceMax"},
            infer_nonempty_reduce, reference::max, reduced_extremum_gradient)),
    within(tolerance::bits,
           reduce<Reduction::min>(
               {"min", "ops.min", "ReduceMin", "min_out",
                "The smallest element over axes. NaN where one is NaN; -0 is less than 0. Tied elements share the "
                "gradient equally.",
                "min t", "min(array([[1.0, 2.0], [3.0, 4.0]]), axis = 0)", "ReduceMin"},
               infer_nonempty_reduce, reference::min, reduced_extremum_gradient)),
    reduce<Reduction::prod>({"prod", "ops.prod", "ReduceProd", "prod_out", "The product of the elements over axes.",
                             "product t", "prod(array([[1.0, 2.0], [3.0, 4.0]]), axis = 0)", "ReduceProd"},
                            infer_reduce, reference::prod, prod_gradient),
    reduce<Reduction::l1>({"l1", "ops.l1", "ReduceL1", "l1_out", "The sum of absolute values over axes.", "sum |t|",
                           "l1(array([[1.0, -2.0], [3.0, 4.0]]), axis = 0)", "ReduceL1"},
                          infer_reduce, reference::l1,
                          [](GradContext& c) {
                            if (c.wants(0)) c.set(0, c.builder().one("sign", {c.in(0)}) * spread(c, c.dy()));
                          }),
    reduce<Reduction::l2>(
        {"l2", "ops.l2", "ReduceL2", "l2_out", "The Euclidean norm over axes.", "sqrt(sum t^2)",
         "l2(array([[3.0, 1.0], [4.0, 1.0]]), axis = 0)", "ReduceL2"},
        infer_reduce_float, reference::l2,
        [](GradContext& c) {
          if (!c.wants(0)) return;
          // The gradient is 0 at the origin, where the norm is not differentiable.
          const Expr corner = c.builder().one("equal", {c.out(), zero(c)});
          c.set(0, c.in(0) * spread(c, c.builder().one("select", {corner, zero(c), c.dy() / c.out()})));
        }),
    reduce<Reduction::sumsquare>(
        {"sumsquare", "ops.sumsquare", "ReduceSumSquare", "sumsquare_out", "The sum of squares over axes.", "sum t^2",
         "sumsquare(array([[1.0, 2.0], [3.0, 4.0]]), axis = 0)", "ReduceSumSquare"},
        infer_reduce, reference::sumsquare,
        [](GradContext& c) {
          if (c.wants(0)) c.set(0, c.in(0) * spread(c, c.dy() * 2.0));
        }),
    reduce<Reduction::logsum>(
        {"logsum", "ops.logsum", "ReduceLogSum", "logsum_out", "The logarithm of the sum over axes.", "ln sum t",
         "logsum(array([[1.0, 2.0], [3.0, 4.0]]), axis = 0)", "ReduceLogSum"},
        infer_reduce_float, reference::logsum,
        [](GradContext& c) {
          if (c.wants(0)) c.set(0, full(c, c.dy() / sum(c.in(0), reduced_axes(c), c.site().boolean("keepdims"))));
        }),
    reduce<Reduction::logsumexp>({"logsumexp", "ops.logsumexp", "ReduceLogSumExp", "logsumexp_out",
                                  "The logarithm of summed exponentials over axes, without overflow.", "ln sum e^t",
                                  "logsumexp(array([[1.0, 2.0], [3.0, 4.0]]), axis = 0)", "ReduceLogSumExp"},
                                 infer_reduce_float, reference::logsumexp, logsumexp_gradient),
    reduce<Reduction::variance>({"variance",
                                 {},
                                 "ReduceVariance",
                                 "variance_out",
                                 "The mean of squared deviations from the mean, over axes.",
                                 "sum (t - mean t)^2 / n",
                                 {}},
                                infer_reduce_float, reference::variance, variance_gradient<false>),
    reduce<Reduction::deviation>({"deviation",
                                  {},
                                  "ReduceDeviation",
                                  "deviation_out",
                                  "The root of the mean of squared deviations from the mean, over axes.",
                                  "sqrt(sum (t - mean t)^2 / n)",
                                  {}},
                                 infer_reduce_float, reference::deviation, variance_gradient<true>),
    {.name = "median",
     .path = "ops.median",
     .doc = "The lower median over axes: element (n-1)/2 of the sorted elements, or NaN if one is NaN.",
     .example = "median(array([[1.0, 2.0], [3.0, 4.0]]), axis = 0)",
     .params = reduce_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           return std::vector<Expr>{
               at.emit("median_indices", {args.expr(0)}, {{"axis", *args.attr(1)}, {"keepdims", *args.attr(2)}})[0]};
         },
     .role = Role::composite},
    {.name = "median_indices",
     .schedule = "ReduceMedian",
     .output = "median_out,median_indices_out",
     .doc = "The lower median and its index among the reduced elements.",
     .params = reduce_params,
     .infer = infer_median,
     .definition = reference::median_indices,
     .tolerance = &tolerance::bits,
     .kernel = [](const OpContext& s) { return median_kernel(s.input(0), axes_of(s, "axis", rank_of(s.input(0)))); },
     .gradient = median_gradient,
     .flops = input_flops,
     .pattern = Pattern::reduction,
     .batch = Batch::axis,
     .tiles = tile_sort},
    {.name = "argmax",
     .path = "ops.argmax",
     .schedule = "ArgMax",
     .output = "argmax_out",
     .doc = "The index of the largest element along an axis, as int32; the first index on ties.",
     .example = "argmax(array([[1.0, 5.0, 2.0], [7.0, 0.0, 7.0]]), axis = -1)",
     .params = arg_params,
     .infer = infer_arg,
     .definition = reference::argmax,
     .kernel = [](const OpContext& s) { return arg_kernel(true, s.input(0), axis_of(s, "axis", rank_of(s.input(0)))); },
     .flops = input_flops,
     .pattern = Pattern::reduction,
     .batch = Batch::axis,
     .method = true,
     .onnx = "ArgMax",
     .tiles = tile_reduction},
    {.name = "argmin",
     .path = "ops.argmin",
     .schedule = "ArgMin",
     .output = "argmin_out",
     .doc = "The index of the smallest element along an axis, as int32; the first index on ties.",
     .example = "argmin(array([[1.0, 5.0, 2.0], [7.0, 0.0, 7.0]]), axis = -1)",
     .params = arg_params,
     .infer = infer_arg,
     .definition = reference::argmin,
     .kernel =
         [](const OpContext& s) { return arg_kernel(false, s.input(0), axis_of(s, "axis", rank_of(s.input(0)))); },
     .flops = input_flops,
     .pattern = Pattern::reduction,
     .batch = Batch::axis,
     .method = true,
     .onnx = "ArgMin",
     .tiles = tile_reduction},
    {.name = "cumsum",
     .path = "ops.cumsum",
     .schedule = "CumSum",
     .output = "cumsum_out",
     .doc =
         "The cumulative sum along an axis, inclusive unless `exclusive` is set. Integers wrap around in their dtype.",
     .example = "cumsum(array([[1.0, 2.0], [3.0, 4.0]]), axis = 0)",
     .params = cumsum_params,
     .infer = infer_cumsum,
     .definition = reference::cumsum,
     .kernel = running_sum<false>,
     .gradient = [](GradContext& c) { running_sum_gradient(c, "cumsum_grad"); },
     .pattern = Pattern::other,
     .batch = Batch::axis,
     .onnx = "CumSum",
     .tiles = tile_scan},
    {.name = "cumsum_grad",
     .schedule = "CumSumGrad",
     .output = "gradient",
     .doc = "The gradient of cumsum: the cumulative sum in the opposite direction.",
     .params = cumsum_params,
     .infer = infer_cumsum,
     .definition = reference::cumsum_grad,
     .kernel = running_sum<true>,
     .gradient = [](GradContext& c) { running_sum_gradient(c, "cumsum"); },
     .pattern = Pattern::other,
     .batch = Batch::axis,
     .tiles = tile_scan},
    {.name = "cumprod",
     .path = "ops.cumprod",
     .schedule = "CumProd",
     .output = "cumprod_out",
     .doc = "The cumulative product along an axis, inclusive unless `exclusive` is set. Integers wrap around in their "
            "dtype. Its gradient is exact at zeros.",
     .formula = "product of t[0..i]",
     .example = "cumprod(array([[1.0, 2.0], [3.0, 4.0]]), axis = 1)",
     .params = cumprod_params,
     .infer = infer_cumsum,
     .definition = reference::cumprod,
     .kernel = running_product,
     .gradient = cumprod_gradient,
     .pattern = Pattern::other,
     .batch = Batch::axis,
     .tiles = tile_scan},
    {.name = "topk",
     .path = "ops.topk",
     .schedule = "TopK",
     .output = "topk_out_value,topk_out_indices",
     .doc = "The k largest (or smallest) elements along an axis, in order, and their int32 indices.",
     .example = "topk(array([3.0, 1.0, 2.0]), 2, axis = 0)",
     .params = topk_params,
     .infer = infer_topk,
     .definition = reference::topk,
     .tolerance = &tolerance::bits,
     .kernel =
         [](const OpContext& s) {
           return topk_kernel(s.input(0), axis_of(s, "axis", rank_of(s.input(0))), s.integer("k"),
                              s.boolean("largest"));
         },
     .gradient = topk_gradient,
     .flops = input_flops,
     .pattern = Pattern::other,
     .batch = Batch::axis,
     .onnx = "TopK",
     .tiles = tile_sort},
    {.name = "histogram",
     .path = "ops.histogram",
     .schedule = "Histogram",
     .output = "histogram_out",
     .doc = "Counts elements between increasing levels, as uint32: below the first level, ..., from the last level on.",
     .example = "histogram(array([0.5, 1.5, 2.5, 1.0]), [1.0, 2.0])",
     .params = histogram_params,
     .infer =
         [](const OpContext& s) {
           check_no_float8(s, 0);
           const auto& levels = std::get<std::vector<double>>(s.attr("levels"));
           for (size_t i = 1; i < levels.size(); ++i)
             if (!(levels[i - 1] < levels[i])) refuse(s, "the levels must be increasing");
           return std::vector<TensorSpec>{{{static_cast<int64_t>(levels.size()) + 1}, DType::uint32, {}}};
         },
     .definition = reference::histogram,
     .kernel =
         [](const OpContext& s) {
           return histogram_kernel(s.input(0), std::get<std::vector<double>>(s.attr("levels")),
                                   s.boolean("absolute_of_input"));
         },
     .flops = input_flops,
     .pattern = Pattern::reduction,
     .tiles = tile_reduction},
    {.name = "lamb_square",
     .path = "ops.lamb_square",
     .schedule = "LambSquare",
     .output = "lamb_square_out",
     .doc = "The sum of all elements' squares, as a float32 scalar: the norms of LAMB.",
     .formula = "sum t^2",
     .example = "lamb_square(array([3.0, 4.0]))",
     .params = unary_params,
     .infer =
         [](const OpContext& s) {
           check_floating(s, 0);
           return std::vector<TensorSpec>{{{}, DType::float32, {}}};
         },
     .definition = reference::lamb_square,
     .kernel = [](const OpContext& s) { return lamb_square_kernel(s.input(0)); },
     .flops = input_flops,
     .pattern = Pattern::reduction,
     .tiles = tile_reduction},
};
static_assert(all_complete(reduce_table));

}  // namespace

std::span<const OpRow> reduce_rows() { return reduce_table; }

}  // namespace pxl
