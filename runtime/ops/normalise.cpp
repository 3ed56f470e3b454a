// Softmax and normalisations, with their gradients. Statistics are float64 for float64, else float32.
#include "runtime/kernels/reduction/normalise.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param softmax_params[] = {{"t", ParamKind::tensor}, {"axis", ParamKind::integer}};
constexpr Param softmax_grad_params[] = {
    {"g", ParamKind::tensor}, {"y", ParamKind::tensor}, {"axis", ParamKind::integer}};
constexpr Param group_params[] = {{"t", ParamKind::tensor, no_default, "[N, C, ...]"},
                                  {"weight", ParamKind::tensor, no_default, "[C]"},
                                  {"bias", ParamKind::tensor, no_default, "[C]"},
                                  {"num_groups", ParamKind::integer},
                                  {"eps", ParamKind::number, of(1e-5)}};
constexpr Param layer_params[] = {{"t", ParamKind::tensor, no_default, "[..., C]"},
                                  {"weight", ParamKind::tensor, no_default, "[C]"},
                                  {"bias", ParamKind::tensor, no_default, "[C]"},
                                  {"eps", ParamKind::number, of(1e-5)}};
constexpr Param layer_grad_params[] = {{"g", ParamKind::tensor},
                                       {"x", ParamKind::tensor},
                                       {"weight", ParamKind::tensor},
                                       {"mean", ParamKind::tensor},
                                       {"inv_std_dev", ParamKind::tensor}};
constexpr Param group_grad_params[] = {{"g", ParamKind::tensor},           {"x", ParamKind::tensor},
                                       {"weight", ParamKind::tensor},      {"mean", ParamKind::tensor},
                                       {"inv_std_dev", ParamKind::tensor}, {"num_groups", ParamKind::integer}};
int64_t axis_in(const OpContext& s, size_t slot) { return axis_of(s, "axis", rank_of(s.input(slot))); }

// Subtract, exponential, sum, divide; the maximum first.
int64_t softmax_flops(const OpContext& s) { return 5 * s.out[0].size(); }
// Mean, deviation, square, sum, scale and shift.
int64_t norm_flops(const OpContext& s) { return 8 * s.out[0].size(); }

DType dtype_of_statistics(DType data) { return data == DType::float64 ? data : DType::float32; }

std::vector<TensorSpec> infer_group(const OpContext& s) {
  check_floating(s, 0);
  const TensorSpec& x = s.input(0);
  if (x.shape.size() < 2)
    refuse(s, fmt::format("{} must have at least two axes, [N, C, ...]", s.label(0)), codes::shape);
  const int64_t groups = s.integer("num_groups"), channels = x.shape[1];
  if (groups <= 0 || channels % groups != 0)
    refuse(s, fmt::format("{} groups do not divide the {} channels of axis 1", groups, channels), codes::shape);
  check_channel_parameters(s, 1, 2, channels);
  const Shape stats = prefixed(s, [&] {
    Shape shape{x.shape[0], groups};
    return Shape{element_count(shape)};
  });
  const TensorSpec statistics{stats, dtype_of_statistics(x.dtype), {}};
  return {x, statistics, statistics};
}

std::vector<TensorSpec> infer_layer(const OpContext& s) {
  check_floating(s, 0);
  const TensorSpec& x = s.input(0);
  if (x.shape.empty())
    refuse(s, fmt::format("{} is a scalar: there is no axis to normalise", s.label(0)), codes::shape);
  check_channel_parameters(s, 1, 2, x.shape.back());
  const TensorSpec statistics{
      {element_count(Shape(x.shape.begin(), x.shape.end() - 1))}, dtype_of_statistics(x.dtype), {}};
  return {x, statistics, statistics};
}

std::vector<TensorSpec> infer_norm_grad(const OpContext& s) {
  for (size_t i = 0; i < s.in.size(); ++i) check_floating(s, i);
  const DType statistics = dtype_of_statistics(s.input(1).dtype);
  for (size_t i : {3, 4})
    if (s.input(i).dtype != statistics)
      refuse(s, fmt::format("{} must be {}, not {}", s.label(i), name(statistics), name(s.input(i).dtype)),
             codes::dtype);
  return {s.input(1), s.input(2), s.input(2)};
}

/// Operands of a normalisation as [samples, groups, channels of a group, the rest], in the dtype of the statistics.
struct NormRows {
  Shape four;
  DType wide;
  double n;  ///< elements of a row

  NormRows(const TensorSpec& data, const TensorSpec& statistics, int64_t groups, int64_t channels)
      : four{statistics.size() / groups, groups, channels / groups,
             data.size() / std::max<int64_t>(1, statistics.size() / groups * channels)},
        wide(statistics.dtype),
        n(static_cast<double>(std::max<int64_t>(1, four[2] * four[3]))) {}

  Expr element(const Expr& e) const { return reshape(cast(e, wide), four); }
  Expr channel(const Expr& e) const { return reshape(cast(e, wide), {1, four[1], four[2], 1}); }
  Expr row(const Expr& e) const { return reshape(cast(e, wide), {four[0], four[1], 1, 1}); }
  Expr total(const Expr& e) const { return sum(e, {2, 3}, true); }
  Expr centred(const Expr& e) const { return e - total(e) * (1.0 / n); }
};

/// `groups` is 0 for layers, whose channels are the last axis.
NormRows norm_rows(const TensorSpec& data, const TensorSpec& statistics, int64_t groups) {
  if (groups > 0) return {data, statistics, groups, data.shape[1]};
  return {data, statistics, 1, data.shape.back()};
}

// The statistics are results too. A row has n elements, and c = x - mean. The derivative of the mean is 1 / n. The
// derivative of s = (mean(c^2) + eps)^(-1/2) is -s^3 c / n.
void norm_gradient(GradContext& c, std::string_view helper, int64_t groups) {
  Expr of_x;
  if (c.dy(0) && (c.wants(0) || c.wants(1) || c.wants(2))) {
    std::vector<OpArg> operands{c.dy(0), c.in(0), c.in(1), c.out(1), c.out(2)};
    const std::vector<Expr> gradients = groups > 0
                                            ? c.builder().emit(helper, std::move(operands), {{"num_groups", groups}})
                                            : c.builder().emit(helper, std::move(operands));
    of_x = gradients[0];
    for (size_t i = 1; i < 3; ++i)
      if (c.wants(i)) c.set(i, gradients[i]);
  }
  if (!c.wants(0)) return;
  const NormRows r = norm_rows(c.in_spec(0), c.out_spec(1), groups);
  const auto add = [&](const Expr& e) {
    const Expr part = reshape(cast(e * (1.0 / r.n), c.in_spec(0).dtype), c.in_spec(0).shape);
    of_x = of_x ? of_x + part : part;
  };
  if (c.dy(1)) add(broadcast_to(r.row(c.dy(1)), r.four));
  if (c.dy(2)) {
    const Expr s = r.row(c.out(2));
    add(r.centred(r.element(c.in(0)) - r.row(c.out(1))) * -(r.row(c.dy(2)) * s * s * s));
  }
  if (of_x) c.set(0, of_x);
}

// h is the gradient of dx; p and q are those of the parameters' gradients. A row of n elements has
// xhat = centred(x - mean) s, which does not depend on the given mean. dx = s N(g w), and
// N(e) = e - mean(e) - xhat mean(e xhat) is symmetric.
void norm_grad_gradient(GradContext& c, int64_t groups) {
  const NormRows r = norm_rows(c.in_spec(1), c.in_spec(3), groups);
  const auto mean = [&](const Expr& e) { return r.total(e) * (1.0 / r.n); };
  const Expr g = r.element(c.in(0)), w = r.channel(c.in(2)), s = r.row(c.in(4)), a = g * w;
  const Expr centred = r.centred(r.element(c.in(1)) - r.row(c.in(3))), hat = centred * s;
  const auto normal = [&](const Expr& e) { return r.centred(e) - hat * mean(e * hat); };
  const Expr dy = c.dy(0), dy_weight = c.dy(1), dy_bias = c.dy(2);
  const auto plus = [](const Expr& x, const Expr& y) { return x ? x + y : y; };
  Expr of_g, of_w, of_hat, of_s;
  if (dy) {
    const Expr h = r.element(dy), back = s * normal(h);
    of_g = w * back;
    of_w = g * back;
    of_hat = -(s * (h * mean(a * hat) + a * mean(h * hat)));
    of_s = h * normal(a);
  }
  if (dy_weight) {
    const Expr p = r.channel(dy_weight);
    of_g = plus(of_g, p * hat);
    of_hat = plus(of_hat, p * g);
  }
  if (dy_bias) of_g = plus(of_g, broadcast_to(r.channel(dy_bias), r.four));
  const auto give = [&](size_t slot, const Expr& e) {
    c.set(slot, reshape(cast(e, c.in_spec(slot).dtype), c.in_spec(slot).shape));
  };
  if (c.wants(0) && of_g) give(0, of_g);
  if (c.wants(1) && of_hat) give(1, s * r.centred(of_hat));
  if (c.wants(2) && of_w) give(2, sum(of_w, {0, 3}, false));
  if (c.wants(4) && of_hat) give(4, r.total(plus(of_s, of_hat * centred)));
}

// r = y (g - s) with s = sum(g y): for g the same op; for y, h (g - s) - g sum(h y).
void softmax_grad_gradient(GradContext& c) {
  const int64_t axis = c.site().integer("axis");
  if (c.wants(0)) c.set(0, c.builder().one("softmax_grad", {c.dy(), c.in(1)}, {{"axis", axis}}));
  if (!c.wants(1)) return;
  const Expr h = c.dy(), g = c.in(0), y = c.in(1);
  c.set(1, h * (g - sum(g * y, {axis}, true)) - g * sum(h * y, {axis}, true));
}

// r = g - e^y sum(g): for g, h - sum(h e^y); for y, -h e^y sum(g).
void log_softmax_grad_gradient(GradContext& c) {
  if (!c.wants(0) && !c.wants(1)) return;
  const int64_t axis = c.site().integer("axis");
  const Expr scaled = c.dy() * c.builder().one("exp", {c.in(1)});
  if (c.wants(0)) c.set(0, c.dy() - sum(scaled, {axis}, true));
  if (c.wants(1)) c.set(1, -(scaled * sum(c.in(0), {axis}, true)));
}

constexpr OpRow normalise_table[] = {
    {.name = "softmax",
     .path = "ops.softmax",
     .schedule = "Softmax",
     .output = "softmax_out",
     .doc = "Exponentials along an axis, divided by their sum; the maximum is subtracted first. A line of -inf alone "
            "is NaN.",
     .formula = "e^t / sum e^t",
     .example = "softmax(array([1.0, 2.0, 3.0]), axis = -1)",
     .params = softmax_params,
     .infer = infer_softmax,
     .definition = reference::softmax,
     .kernel = [](const OpContext& s) { return softmax_kernel(s.input(0), axis_in(s, 0)); },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0))
             c.set(0, c.builder().one("softmax_grad", {c.dy(), c.out()}, {{"axis", c.site().integer("axis")}}));
         },
     .flops = softmax_flops,
     .pattern = Pattern::other,
     .batch = Batch::axis,
     .inplace_ok = true,
     .onnx = "Softmax",
     .tiles = tile_softmax},
    {.name = "softmax_grad",
     .schedule = "SoftmaxGrad",
     .output = "gradient",
     .doc = "y (g - sum(g y)) along an axis; y is the forward output.",
     .params = softmax_grad_params,
     .infer = infer_gradient_pair,
     .definition = reference::softmax_grad,
     .kernel = [](const OpContext& s) { return softmax_grad_kernel(s.input(1), axis_in(s, 1)); },
     .gradient = softmax_grad_gradient,
     .flops = softmax_flops,
     .pattern = Pattern::other,
     .batch = Batch::axis,
     .tiles = tile_softmax_grad},
    {.name = "log_softmax",
     .path = "ops.log_softmax",
     .schedule = "LogSoftmax",
     .output = "log_softmax_out",
     .doc = "The logarithm of softmax along an axis, without overflow. A line of -inf alone is NaN.",
     .formula = "t - ln sum e^t",
     .example = "log_softmax(array([1.0, 2.0, 3.0]), axis = -1)",
     .params = softmax_params,
     .infer = infer_softmax,
     .definition = reference::log_softmax,
     .kernel = [](const OpContext& s) { return log_softmax_kernel(s.input(0), axis_in(s, 0)); },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0))
             c.set(0, c.builder().one("log_softmax_grad", {c.dy(), c.out()}, {{"axis", c.site().integer("axis")}}));
         },
     .flops = softmax_flops,
     .pattern = Pattern::other,
     .batch = Batch::axis,
     .onnx = "LogSoftmax",
     .tiles = tile_softmax},
    {.name = "log_softmax_grad",
     .schedule = "LogSoftmaxGrad",
     .output = "gradient",
     .doc = "g - e^y sum(g) along an axis; y is the forward output.",
     .params = softmax_grad_params,
     .infer = infer_gradient_pair,
     .definition = reference::log_softmax_grad,
     .tolerance = &tolerance::padded_sum,
     .kernel = [](const OpContext& s) { return log_softmax_grad_kernel(s.input(1), axis_in(s, 1)); },
     .gradient = log_softmax_grad_gradient,
     .flops = softmax_flops,
     .pattern = Pattern::other,
     .batch = Batch::axis,
     .tiles = tile_softmax_grad},
    {.name = "group_norm",
     .path = "ops.group_norm",
     .doc = "Normalises each group of channels (axis 1) of each sample, then scales and shifts each channel.",
     .formula = "(t - mean) / sqrt(variance + eps) * weight + bias",
     .example = "group_norm(array([[1.0, 2.0, 3.0, 4.0]]), array([1.0, 1.0, 1.0, 1.0]), "
                "array([0.0, 0.0, 0.0, 0.0]), 2)",
     .params = group_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           return std::vector<Expr>{at.emit("group_normalization", {args.expr(0), args.expr(1), args.expr(2)},
                                            {{"num_groups", *args.attr(3)}, {"eps", *args.attr(4)}})[0]};
         },
     .role = Role::composite},
    {.name = "layer_norm",
     .path = "ops.layer_norm",
     .doc = "Normalises along the last axis, then scales and shifts each feature.",
     .formula = "(t - mean) / sqrt(variance + eps) * weight + bias",
     .example = "layer_norm(array([[1.0, 2.0, 3.0]]), array([1.0, 1.0, 1.0]), array([0.0, 0.0, 0.0]))",
     .params = layer_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           return std::vector<Expr>{
               at.emit("layer_normalization", {args.expr(0), args.expr(1), args.expr(2)}, {{"eps", *args.attr(3)}})[0]};
         },
     .role = Role::composite,
     .onnx = "LayerNormalization"},
    {.name = "group_normalization",
     .schedule = "GroupNormalization",
     .output = "group_norm_out,group_norm_mean,group_norm_inv_std_dev",
     .doc = "Group normalisation with its statistics, float64 for float64, else float32 [N * groups].",
     .params = group_params,
     .infer = infer_group,
     .definition = reference::group_normalization,
     .tolerance = &tolerance::statistics,
     .kernel =
         [](const OpContext& s) {
           return group_norm_kernel(s.input(0), s.input(1).dtype, s.integer("num_groups"), s.number("eps"));
         },
     .gradient = [](GradContext& c) { norm_gradient(c, "group_normalization_grad", c.site().integer("num_groups")); },
     .flops = norm_flops,
     .pattern = Pattern::other,
     .tiles = tile_normalise},
    {.name = "group_normalization_grad",
     .schedule = "GroupNormalizationGrad",
     .output = "gradient,weight_gradient,bias_gradient",
     .doc = "The gradients of group normalisation for data, weight and bias.",
     .params = group_grad_params,
     .infer = infer_norm_grad,
     .definition = reference::group_normalization_grad,
     .tolerance = &tolerance::normalised_gradient,
     .kernel =
         [](const OpContext& s) {
           return group_norm_grad_kernel(s.input(1), s.input(2).dtype, s.integer("num_groups"));
         },
     .gradient = [](GradContext& c) { norm_grad_gradient(c, c.site().integer("num_groups")); },
     .flops = norm_flops,
     .pattern = Pattern::other,
     .tiles = tile_normalise_grad},
    {.name = "layer_normalization",
     .schedule = "GroupNormalization",
     .output = "group_norm_out,group_norm_mean,group_norm_inv_std_dev",
     .doc = "Layer normalisation with its statistics, float64 for float64, else float32 [rows].",
     .params = layer_params,
     .infer = infer_layer,
     .definition = reference::layer_normalization,
     .tolerance = &tolerance::statistics,
     .kernel = [](const OpContext& s) { return layer_norm_kernel(s.input(0), s.input(1).dtype, s.number("eps")); },
     .gradient = [](GradContext& c) { norm_gradient(c, "layer_normalization_grad", 0); },
     .flops = norm_flops,
     .pattern = Pattern::other,
     .tiles = tile_normalise},
    {.name = "layer_normalization_grad",
     .schedule = "GroupNormalizationGrad",
     .output = "gradient,weight_gradient,bias_gradient",
     .doc = "The gradients of layer normalisation for data, weight and bias.",
     .params = layer_grad_params,
     .infer = infer_norm_grad,
     .definition = reference::layer_normalization_grad,
     .tolerance = &tolerance::normalised_gradient,
     .kernel = [](const OpContext& s) { return layer_norm_grad_kernel(s.input(1), s.input(2).dtype); },
     .gradient = [](GradContext& c) { norm_grad_gradient(c, 0); },
     .flops = norm_flops,
     .pattern = Pattern::other,
     .tiles = tile_normalise_grad},
};
static_assert(all_complete(normalise_table));

}  // namespace

std::span<const OpRow> normalise_rows() { return normalise_table; }

}  // namespace pxl
