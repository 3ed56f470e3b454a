// Softmax and the normalisations, with their gradients. Statistics are float32 whatever the data.
#include "runtime/kernels/normalise.hpp"

#include <fmt/format.h>

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
constexpr Param batch_params[] = {{"t", ParamKind::tensor, no_default, "[N, C, ...]"},
                                  {"scale", ParamKind::tensor, no_default, "[C]"},
                                  {"bias", ParamKind::tensor, no_default, "[C]"},
                                  {"mean", ParamKind::tensor, no_default, "[C]"},
                                  {"var", ParamKind::tensor, no_default, "[C]"},
                                  {"epsilon", ParamKind::number, of(1e-5)},
                                  {"momentum", ParamKind::number, of(0.9), "not used in inference"}};

int64_t rank_of(const TensorSpec& spec) { return static_cast<int64_t>(spec.shape.size()); }

int64_t axis_in(const OpSite& s, size_t slot) { return axis_of(s, "axis", rank_of(s.input(slot))); }

// Subtract, exponential, sum, divide; the maximum before.
int64_t softmax_flops(const OpSite& s) { return 5 * s.out[0].size(); }
// Mean, deviation, square, sum, scale and shift.
int64_t norm_flops(const OpSite& s) { return 8 * s.out[0].size(); }

void check_parameters(const OpSite& s, size_t first, size_t last, int64_t channels) {
  for (size_t i = first; i <= last; ++i) {
    check_floating(s, i);
    check_shape(s, i, {channels});
    if (s.input(i).dtype != s.input(first).dtype)
      refuse(s, fmt::format("operands have different dtypes: {} ({}) and {} ({})", name(s.input(first).dtype),
                            s.label(first), name(s.input(i).dtype), s.label(i)));
  }
}

std::vector<TensorSpec> infer_group(const OpSite& s) {
  check_floating(s, 0);
  const TensorSpec& x = s.input(0);
  if (x.shape.size() < 2) refuse(s, fmt::format("{} must have at least two axes, [N, C, ...]", s.label(0)));
  const int64_t groups = s.integer("num_groups"), channels = x.shape[1];
  if (groups <= 0 || channels % groups != 0)
    refuse(s, fmt::format("{} groups do not divide the {} channels of axis 1", groups, channels));
  check_parameters(s, 1, 2, channels);
  const Shape stats = prefixed(s, [&] {
    Shape shape{x.shape[0], groups};
    return Shape{element_count(shape)};
  });
  return {x, {stats, DType::float32, {}}, {stats, DType::float32, {}}};
}

std::vector<TensorSpec> infer_layer(const OpSite& s) {
  check_floating(s, 0);
  const TensorSpec& x = s.input(0);
  if (x.shape.empty()) refuse(s, fmt::format("{} is a scalar: there is no axis to normalise", s.label(0)));
  check_parameters(s, 1, 2, x.shape.back());
  const Shape stats{element_count(Shape(x.shape.begin(), x.shape.end() - 1))};
  return {x, {stats, DType::float32, {}}, {stats, DType::float32, {}}};
}

std::vector<TensorSpec> infer_norm_grad(const OpSite& s) { return {s.input(1), s.input(2), s.input(2)}; }

void norm_gradient(GradContext& c, std::string_view helper, bool grouped) {
  if (!c.wants(0) && !c.wants(1) && !c.wants(2)) return;
  std::vector<OpArg> operands{c.dy(), c.in(0), c.in(1), c.out(1), c.out(2)};
  const std::vector<Expr> gradients =
      grouped ? c.emitter().emit(helper, std::move(operands), {{"num_groups", c.site().integer("num_groups")}})
              : c.emitter().emit(helper, std::move(operands));
  for (size_t i = 0; i < 3; ++i)
    if (c.wants(i)) c.set(i, gradients[i]);
}

constexpr OpRow rows[] = {
    {.name = "softmax",
     .path = "ops.softmax",
     .schedule = "Softmax",
     .output = "softmax_out",
     .doc = "Exponentials along an axis, divided by their sum; the maximum is subtracted first.",
     .formula = "e^t / sum e^t",
     .example = "softmax(array([1.0, 2.0, 3.0]), axis = -1)",
     .params = softmax_params,
     .infer = infer_softmax,
     .kernel = [](const OpSite& s) { return softmax_kernel(s.input(0), axis_in(s, 0)); },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0))
             c.set(0, c.emitter().one("softmax_grad", {c.dy(), c.out()}, {{"axis", c.site().integer("axis")}}));
         },
     .flops = softmax_flops,
     .pattern = Pattern::other,
     .inplace_ok = true,
     .onnx = "Softmax",
     .tiles = tile_softmax},
    {.name = "softmax_grad",
     .schedule = "SoftmaxGrad",
     .output = "gradient",
     .doc = "y (g - sum(g y)) along an axis, y being the forward output.",
     .params = softmax_grad_params,
     .infer = infer_gradient_pair,
     .kernel = [](const OpSite& s) { return softmax_grad_kernel(s.input(1), axis_in(s, 1)); },
     .flops = softmax_flops,
     .pattern = Pattern::other,
     .tiles = tile_softmax_grad},
    {.name = "log_softmax",
     .path = "ops.log_softmax",
     .schedule = "LogSoftmax",
     .output = "log_softmax_out",
     .doc = "The logarithm of softmax along an axis, without overflow.",
     .formula = "t - ln sum e^t",
     .example = "log_softmax(array([1.0, 2.0, 3.0]), axis = -1)",
     .params = softmax_params,
     .infer = infer_softmax,
     .kernel = [](const OpSite& s) { return log_softmax_kernel(s.input(0), axis_in(s, 0)); },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0))
             c.set(0, c.emitter().one("log_softmax_grad", {c.dy(), c.out()}, {{"axis", c.site().integer("axis")}}));
         },
     .flops = softmax_flops,
     .pattern = Pattern::other,
     .onnx = "LogSoftmax",
     .tiles = tile_softmax},
    {.name = "log_softmax_grad",
     .schedule = "LogSoftmaxGrad",
     .output = "gradient",
     .doc = "g - e^y sum(g) along an axis, y being the forward output.",
     .params = softmax_grad_params,
     .infer = infer_gradient_pair,
     .kernel = [](const OpSite& s) { return log_softmax_grad_kernel(s.input(1), axis_in(s, 1)); },
     .flops = softmax_flops,
     .pattern = Pattern::other,
     .tiles = tile_softmax_grad},
    {.name = "group_norm",
     .path = "ops.group_norm",
     .doc = "Normalises each group of channels (axis 1) of each sample, then scales and shifts each channel.",
     .formula = "(t - mean) / sqrt(variance + eps) * weight + bias",
     .example = "group_norm(array([[1.0, 2.0, 3.0, 4.0]]), array([1.0, 1.0, 1.0, 1.0]), "
                "array([0.0, 0.0, 0.0, 0.0]), 2)",
     .params = group_params,
     .expand =
         [](Emitter& at, const OpArgs& args) {
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
         [](Emitter& at, const OpArgs& args) {
           return std::vector<Expr>{
               at.emit("layer_normalization", {args.expr(0), args.expr(1), args.expr(2)}, {{"eps", *args.attr(3)}})[0]};
         },
     .role = Role::composite,
     .onnx = "LayerNormalization"},
    {.name = "group_normalization",
     .schedule = "GroupNormalization",
     .output = "group_norm_out,group_norm_mean,group_norm_inv_std_dev",
     .doc = "Group normalisation with its statistics, float32 [N * groups].",
     .params = group_params,
     .infer = infer_group,
     .kernel =
         [](const OpSite& s) {
           return group_norm_kernel(s.input(0), s.input(1).dtype, s.integer("num_groups"), s.number("eps"));
         },
     .gradient = [](GradContext& c) { norm_gradient(c, "group_normalization_grad", true); },
     .flops = norm_flops,
     .pattern = Pattern::other,
     .tiles = tile_normalise},
    {.name = "group_normalization_grad",
     .schedule = "GroupNormalizationGrad",
     .output = "gradient,weight_gradient,bias_gradient",
     .doc = "The gradients of group normalisation for data, weight and bias.",
     .params = group_grad_params,
     .infer = infer_norm_grad,
     .kernel =
         [](const OpSite& s) { return group_norm_grad_kernel(s.input(1), s.input(2).dtype, s.integer("num_groups")); },
     .flops = norm_flops,
     .pattern = Pattern::other,
     .tiles = tile_normalise_grad},
    {.name = "layer_normalization",
     .schedule = "GroupNormalization",
     .output = "group_norm_out,group_norm_mean,group_norm_inv_std_dev",
     .doc = "Layer normalisation with its statistics, float32 [rows].",
     .params = layer_params,
     .infer = infer_layer,
     .kernel = [](const OpSite& s) { return layer_norm_kernel(s.input(0), s.input(1).dtype, s.number("eps")); },
     .gradient = [](GradContext& c) { norm_gradient(c, "layer_normalization_grad", false); },
     .flops = norm_flops,
     .pattern = Pattern::other,
     .tiles = tile_normalise},
    {.name = "layer_normalization_grad",
     .schedule = "GroupNormalizationGrad",
     .output = "gradient,weight_gradient,bias_gradient",
     .doc = "The gradients of layer normalisation for data, weight and bias.",
     .params = layer_grad_params,
     .infer = infer_norm_grad,
     .kernel = [](const OpSite& s) { return layer_norm_grad_kernel(s.input(1), s.input(2).dtype); },
     .flops = norm_flops,
     .pattern = Pattern::other,
     .tiles = tile_normalise_grad},
    {.name = "batch_norm_inference",
     .path = "ops.batch_norm_inference",
     .schedule = "BatchNormalization",
     .output = "batch_norm_out",
     .doc = "Normalises each channel (axis 1) by given statistics.",
     .formula = "(t - mean) / sqrt(var + epsilon) * scale + bias",
     .example = "batch_norm_inference(array([[1.0, 2.0]]), array([1.0, 1.0]), array([0.0, 0.0]), array([0.5, 0.5]), "
                "array([1.0, 1.0]))",
     .params = batch_params,
     .infer =
         [](const OpSite& s) {
           check_floating(s, 0);
           if (s.input(0).shape.size() < 2) refuse(s, fmt::format("{} must have at least two axes", s.label(0)));
           check_parameters(s, 1, 4, s.input(0).shape[1]);
           return std::vector<TensorSpec>{s.input(0)};
         },
     .kernel = [](const OpSite& s) { return batch_norm_kernel(s.input(0), s.input(1).dtype, s.number("epsilon")); },
     .flops = [](const OpSite& s) { return 4 * s.out[0].size(); },
     .pattern = Pattern::other,
     .onnx = "BatchNormalization",
     .tiles = tile_add},
};
static_assert(all_complete(rows));

}  // namespace

std::span<const OpRow> normalise_rows() { return rows; }

}  // namespace pxl
