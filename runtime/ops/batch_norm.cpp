// Batch normalisation, with given statistics or those of the batch.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/reduction/normalise.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param batch_params[] = {{"t", ParamKind::tensor, no_default, "[N, C, ...]"},
                                  {"scale", ParamKind::tensor, no_default, "[C]"},
                                  {"bias", ParamKind::tensor, no_default, "[C]"},
                                  {"mean", ParamKind::tensor, no_default, "[C]"},
                                  {"var", ParamKind::tensor, no_default, "[C]"},
                                  {"epsilon", ParamKind::number, of(1e-5)},
                                  {"momentum", ParamKind::number, of(0.9), "not used in inference"}};

constexpr Param training_params[] = {{"t", ParamKind::tensor, no_default, "[N, C, ...]"},
                                     {"scale", ParamKind::tensor, no_default, "[C]"},
                                     {"bias", ParamKind::tensor, no_default, "[C]"},
                                     {"mean", ParamKind::tensor, no_default, "[C], the running mean"},
                                     {"var", ParamKind::tensor, no_default, "[C], the running variance"},
                                     {"epsilon", ParamKind::number, of(1e-5)},
                                     {"momentum", ParamKind::number, of(0.9), "weight of the old running statistics"}};

constexpr Param statistics_params[] = {{"t", ParamKind::tensor, no_default, "[N, C, ...]"}};
constexpr Param grad_sums_params[] = {{"g", ParamKind::tensor, no_default, "[N, C, ...]"},
                                      {"x", ParamKind::tensor, no_default, "[N, C, ...]"},
                                      {"mean", ParamKind::tensor, no_default, "[C]"}};

/// Statistics have the dtype in which kernels compute: sums of squares exceed float16's range.
void check_channels(const OpContext& s, size_t slot) {
  check_floating(s, slot);
  if (s.input(slot).shape.size() < 2)
    refuse(s, fmt::format("{} must have at least two axes, [N, C, ...]", s.label(slot)), codes::shape);
}

std::vector<TensorSpec> infer_statistics(const OpContext& s) {
  check_channels(s, 0);
  const TensorSpec of_channels{{s.input(0).shape[1]}, compute_dtype(s.input(0).dtype), {}};
  return {of_channels, of_channels, of_channels};
}

std::vector<TensorSpec> infer_grad_sums(const OpContext& s) {
  check_channels(s, 1);
  check_shape(s, 0, s.input(1).shape);
  check_same_dtype(s, 1, 0);
  check_channel_parameters(s, 2, 2, s.input(1).shape[1]);
  const DType dtype = compute_dtype(s.input(1).dtype);
  if (s.input(2).dtype != dtype)
    refuse(s, fmt::format("{} must be {}, not {}", s.label(2), name(dtype), name(s.input(2).dtype)), codes::dtype);
  return {s.input(2), s.input(2)};
}

/// Conversions that the gradients share: t and gradients with its shape, and channel values that broadcast over them.
class Channels {
 public:
  explicit Channels(const TensorSpec& data) : data_(data), over_(data.shape.size(), 1) { over_[1] = data.shape[1]; }
  DType dtype() const { return compute_dtype(data_.dtype); }
  Expr values(const Expr& e) const { return cast(e, dtype()); }
  Expr spread(const Expr& e) const { return reshape(values(e), over_); }
  Expr narrowed(const Expr& e) const { return cast(e, data_.dtype); }
  /// Sums a value with t's shape over all axes except the channels.
  Expr summed(const Expr& e) const { return reshape(sum_to(e, over_), {data_.shape[1]}); }
  double count() const {
    const int64_t channels = std::max<int64_t>(1, data_.shape[1]);
    return static_cast<double>(std::max<int64_t>(1, data_.size() / channels));
  }

 private:
  const TensorSpec& data_;
  Shape over_;
};

// The result is y = (t - mean) s scale + bias, where s = 1/sqrt(var + epsilon). All gradients but t's follow from two
// sums.
void batch_norm_gradient(GradContext& c) {
  OpBuilder& at = c.builder();
  const Channels channels(c.in_spec(0));
  const DType parameter = c.in_spec(1).dtype;
  if (!c.wants(0) && !c.wants(1) && !c.wants(2) && !c.wants(3) && !c.wants(4)) return;
  const Expr s = at.one("rsqrt", {channels.values(c.in(4)) + c.site().number("epsilon")});
  const Expr factor = channels.values(c.in(1)) * s;
  if (c.wants(0)) c.set(0, channels.narrowed(channels.values(c.dy()) * channels.spread(factor)));
  if (!c.wants(1) && !c.wants(2) && !c.wants(3) && !c.wants(4)) return;
  const std::vector<Expr> sums = at.emit("batch_norm_grad_sums", {c.dy(), c.in(0), channels.values(c.in(3))});
  if (c.wants(1)) c.set(1, cast(sums[1] * s, parameter));
  if (c.wants(2)) c.set(2, cast(sums[0], parameter));
  if (c.wants(3)) c.set(3, cast(-(sums[0] * factor), parameter));
  if (c.wants(4)) c.set(4, cast(sums[1] * factor * (at.one("square", {s}) * -0.5), parameter));
}

// The gradient is dm / n + 2 dv (t - m) / n, where m is the mean of n elements and v the mean of (t - m)^2. The
// rounding error of m has no gradient: m has the gradient of the whole mean.
void statistics_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  const Channels channels(c.in_spec(0));
  const double n = channels.count();
  Expr dx, moved;
  if (const Expr dm = c.dy(0)) moved = dm * (1 / n);
  if (const Expr dv = c.dy(1)) {
    const Expr factor = dv * (2 / n), back = c.out(2) * factor;
    dx = (channels.values(c.in(0)) - channels.spread(c.out(0))) * channels.spread(factor);
    moved = moved ? moved - back : -back;
  }
  if (moved) dx = dx ? dx + channels.spread(moved) : broadcast_to(channels.spread(moved), c.in_spec(0).shape);
  if (dx) c.set(0, channels.narrowed(dx));
}

// p = sum g, q = sum g (x - mean).
void grad_sums_gradient(GradContext& c) {
  const Channels channels(c.in_spec(1));
  const Expr dp = c.dy(0), dq = c.dy(1);
  if (c.wants(0)) {
    Expr dg;
    if (dq) dg = (channels.values(c.in(1)) - channels.spread(c.in(2))) * channels.spread(dq);
    if (dp) dg = dg ? dg + channels.spread(dp) : broadcast_to(channels.spread(dp), c.in_spec(0).shape);
    if (dg) c.set(0, channels.narrowed(dg));
  }
  if (!dq || (!c.wants(1) && !c.wants(2))) return;
  const Expr dx = channels.values(c.in(0)) * channels.spread(dq);
  if (c.wants(1)) c.set(1, channels.narrowed(dx));
  if (c.wants(2)) c.set(2, -channels.summed(dx));
}

// float16 is normalised in float32, because sums of squares exceed its range.
std::vector<Expr> expand_batch_norm(OpBuilder& at, const OpArgs& args) {
  const Expr &t = args.expr(0), &scale = args.expr(1), &mean = args.expr(3), &var = args.expr(4);
  const auto refuse = [&](const std::string& why) { throw Error("batch_norm: " + why, {text(t.spec())}); };
  if (!is_floating(t.dtype())) refuse(fmt::format("{} must be floating, not {}", t.label(), name(t.dtype())));
  if (t.rank() < 2) refuse(fmt::format("{} must have at least two axes, [N, C, ...]", t.label()));
  const int64_t channels = t.shape()[1], count = channels == 0 ? 0 : t.spec().size() / channels;
  if (count < 2) refuse(fmt::format("a channel of {} needs two elements or more for a variance", t.label()));
  for (size_t i = 1; i <= 4; ++i) {
    const Expr& e = args.expr(i);
    if (e.shape() != Shape{channels})
      refuse(fmt::format("{} must have shape [{}], not {}", e.label(), channels, bracket_text(e.shape())));
    if (e.dtype() != scale.dtype())
      refuse(fmt::format("operands have different dtypes: {} ({}) and {} ({})", name(scale.dtype()), scale.label(),
                         name(e.dtype()), e.label()));
  }
  const std::vector<Expr> now = at.emit("batch_statistics", {t});
  const auto widened = [&](size_t i) { return cast(args.expr(i), compute_dtype(t.dtype())); };
  // The bias absorbs the rounding error of the mean, since batch_norm_inference takes one number for the mean.
  const double epsilon = std::get<double>(*args.attr(5));
  const Expr rest = at.one("detach", {now[2]}) * widened(1) * at.one("rsqrt", {now[1] + epsilon});
  const Expr y =
      at.one("batch_norm_inference", {t, widened(1), widened(2) - rest, now[0], now[1]}, {{"epsilon", epsilon}});

  // The running statistics are updated outside the gradient; the variance uses the unbiased estimate, as in PyTorch.
  const double momentum = std::get<double>(*args.attr(6));
  const auto moved = [&](const Expr& running, const Expr& value, double correction) {
    return running * momentum + cast(at.one("detach", {value}), running.dtype()) * ((1 - momentum) * correction);
  };
  const double unbiased = static_cast<double>(count) / static_cast<double>(count - 1);
  return {y, moved(mean, now[0], 1.0), moved(var, now[1], unbiased)};
}

constexpr OpRow batch_norm_table[] = {
    {.name = "batch_norm_inference",
     .path = "ops.batch_norm_inference",
     .schedule = "BatchNormalization",
     .output = "batch_norm_out",
     .doc = "Batch normalisation of each channel (axis 1) with given statistics.",
     .formula = "(t - mean) / sqrt(var + epsilon) * scale + bias",
     .example = "batch_norm_inference(array([[1.0, 2.0]]), array([1.0, 1.0]), array([0.0, 0.0]), array([0.5, 0.5]), "
                "array([1.0, 1.0]))",
     .params = batch_params,
     .infer =
         [](const OpContext& s) {
           check_channels(s, 0);
           check_channel_parameters(s, 1, 4, s.input(0).shape[1]);
           return std::vector<TensorSpec>{s.input(0)};
         },
     .definition = reference::batch_norm_inference,
     .kernel = [](const OpContext& s) { return batch_norm_kernel(s.input(0), s.input(1).dtype, s.number("epsilon")); },
     .gradient = batch_norm_gradient,
     .flops = [](const OpContext& s) { return 4 * s.out[0].size(); },
     .pattern = Pattern::other,
     .order = orders::prepared,
     .onnx = "BatchNormalization",
     .tiles = tile_add},
    {.name = "batch_statistics",
     .schedule = "BatchNormStatistics",
     .output = "batch_mean,batch_var,batch_mean_rest",
     .doc = "The mean and the biased variance of each channel (axis 1), in float32 for float16, and what the mean has "
            "beyond its rounded value.",
     .params = statistics_params,
     .infer = infer_statistics,
     .definition = reference::batch_statistics,
     .tolerance = &tolerance::statistics,
     .kernel = [](const OpContext& s) { return batch_statistics_kernel(s.input(0)); },
     .gradient = statistics_gradient,
     .flops = [](const OpContext& s) { return 4 * s.input(0).size(); },
     .pattern = Pattern::reduction,
     .tiles = tile_reduction},
    {.name = "batch_norm_grad_sums",
     .schedule = "BatchNormGradSums",
     .output = "gradient_sum,centred_sum",
     .doc = "The sums of g and of g (x - mean) over each channel (axis 1).",
     .params = grad_sums_params,
     .infer = infer_grad_sums,
     .definition = reference::batch_norm_grad_sums,
     .tolerance = &tolerance::statistics,
     .kernel = [](const OpContext& s) { return batch_norm_grad_sums_kernel(s.input(1)); },
     .gradient = grad_sums_gradient,
     .flops = [](const OpContext& s) { return 4 * s.input(1).size(); },
     .pattern = Pattern::reduction,
     .tiles = tile_reduction},
    {.name = "batch_norm",
     .path = "ops.batch_norm",
     .doc = "Batch normalisation of each channel (axis 1) with the mean and variance of the batch. Also returns the "
            "updated running statistics, which have no gradient for t.",
     .formula = "(t - batch mean) / sqrt(batch variance + epsilon) * scale + bias, "
                "mean momentum + batch mean (1 - momentum), the same of var",
     .example = "batch_norm(array([[1.0], [3.0]]), array([1.0]), array([0.0]), array([0.0]), array([1.0]))",
     .params = training_params,
     .expand = expand_batch_norm,
     .role = Role::composite},
};
static_assert(all_complete(batch_norm_table));

}  // namespace

std::span<const OpRow> batch_norm_rows() { return batch_norm_table; }

}  // namespace pxl
