// Batch normalisation, with given statistics or those of the batch.
#include <fmt/format.h>

#include "runtime/base/codes.hpp"
#include "runtime/base/diagnostic.hpp"
#include "runtime/kernels/normalise.hpp"
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

// With s = 1/sqrt(var + epsilon), y = (t - mean) s scale + bias.
void batch_norm_gradient(GradContext& c) {
  OpBuilder& at = c.builder();
  const TensorSpec &data = c.in_spec(0), &parameter = c.in_spec(1);
  Shape over(data.shape.size(), 1);
  over[1] = data.shape[1];
  const auto spread = [&](const Expr& e) { return reshape(cast(e, data.dtype), over); };
  const auto give = [&](size_t slot, const Expr& e) {
    c.set(slot, reshape(cast(sum_to(e, over), parameter.dtype), parameter.shape));
  };
  const bool of_data = c.wants(0), of_statistics = c.wants(3) || c.wants(4);
  if (c.wants(2)) give(2, c.dy());
  if (!of_data && !of_statistics && !c.wants(1)) return;
  const Expr s = spread(at.one("rsqrt", {c.in(4) + c.site().number("epsilon")}));
  if (of_data || of_statistics) {
    const Expr dx = c.dy() * (spread(c.in(1)) * s);
    if (of_data) c.set(0, dx);
    if (c.wants(3)) give(3, -dx);
    if (c.wants(4)) give(4, dx * (c.in(0) - spread(c.in(3))) * (at.one("square", {s}) * -0.5));
  }
  if (c.wants(1)) give(1, c.dy() * ((c.in(0) - spread(c.in(3))) * s));
}

// t as [samples, channels, positions]; statistics are over the outer axes. float16 is widened, because sums of squares
// exceed its range.
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
  const DType wide = t.dtype() == DType::float16 ? DType::float32 : t.dtype();
  const auto channel = [&](const Expr& e) { return reshape(cast(e, wide), {1, channels, 1}); };
  const Expr x = cast(reshape(t, {t.shape()[0], channels, count / t.shape()[0]}), wide);
  const auto averaged = [&](const Expr& e) {
    return at.one("mean", {e}, {{"axis", std::vector<int64_t>{0, 2}}, {"keepdims", true}});
  };
  const Expr batch_mean = averaged(x), centred = x - batch_mean;
  const Expr batch_var = averaged(at.one("square", {centred}));
  const Expr factor = at.one("rsqrt", {batch_var + std::get<double>(*args.attr(5))}) * channel(scale);
  const Expr y = centred * factor + channel(args.expr(2));

  // The running statistics are updated outside the gradient; the variance uses the unbiased estimate, as in PyTorch.
  const double momentum = std::get<double>(*args.attr(6));
  const auto moved = [&](const Expr& running, const Expr& now, double correction) {
    const Expr value = cast(reshape(at.one("detach", {now}), {channels}), running.dtype());
    return running * momentum + value * ((1 - momentum) * correction);
  };
  const double unbiased = static_cast<double>(count) / static_cast<double>(count - 1);
  return {reshape(cast(y, t.dtype()), t.shape()), moved(mean, batch_mean, 1.0), moved(var, batch_var, unbiased)};
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
           check_floating(s, 0);
           if (s.input(0).shape.size() < 2)
             refuse(s, fmt::format("{} must have at least two axes", s.label(0)), codes::shape);
           check_channel_parameters(s, 1, 4, s.input(0).shape[1]);
           return std::vector<TensorSpec>{s.input(0)};
         },
     .definition = reference::batch_norm_inference,
     .kernel = [](const OpContext& s) { return batch_norm_kernel(s.input(0), s.input(1).dtype, s.number("epsilon")); },
     .gradient = batch_norm_gradient,
     .flops = [](const OpContext& s) { return 4 * s.out[0].size(); },
     .pattern = Pattern::other,
     .onnx = "BatchNormalization",
     .tiles = tile_add},
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
