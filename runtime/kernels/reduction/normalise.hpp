// Softmax, group, layer and batch normalisation, and the losses on probabilities, with their gradients.
// Formulas of the losses: docs of PopXL's nll_loss and nll_loss_with_softmax_grad. float16 computes in float32.
#pragma once

#include <optional>
#include <vector>

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// Softmax. in: x; out may be x's memory. Stable: the maximum is subtracted.
Kernel softmax_kernel(const TensorSpec& x, int64_t axis);
/// in: g, y (the forward output). out: y * (g - sum(g * y)).
Kernel softmax_grad_kernel(const TensorSpec& y, int64_t axis);
Kernel log_softmax_kernel(const TensorSpec& x, int64_t axis);
/// in: x, floating. out: 1 at the first largest element in each slice along the axis (the first NaN, if there is one),
/// 0 elsewhere.
Kernel hardmax_kernel(const TensorSpec& x, int64_t axis);
/// Local response normalisation: A. Krizhevsky et al., "ImageNet classification with deep convolutional neural
/// networks", NeurIPS 2012. in: x [N, C, ...]; out: x / (bias + alpha / size * s)^beta. s is the sum of squares over
/// `size` neighbouring channels, (size - 1) / 2 of them before.
Kernel lrn_kernel(const TensorSpec& x, int64_t size, double alpha, double beta, double bias);
/// in: g, y. out: g - exp(y) * sum(g).
Kernel log_softmax_grad_kernel(const TensorSpec& y, int64_t axis);

/// in: x [N, C, ...], weight [C], bias [C] (dtype `weight`). out: y (x's spec), mean and 1/sqrt(var + eps), each [N *
/// groups] (either may be null). Statistics are float64 for float64, else float32. y uses the mean before rounding, and
/// gradients recompute the rounding error. Biased variance over C/groups and the rest. Throws Error if groups does not
/// divide C, or if the rank is below 2.
Kernel group_norm_kernel(const TensorSpec& x, DType weight, int64_t groups, double eps);
/// in: g, x, weight, mean, inv_std; out: dx, dweight [C], dbias [C] (any may be null).
Kernel group_norm_grad_kernel(const TensorSpec& x, DType weight, int64_t groups);
/// The same over the last axis of any rank >= 1: rows = all other axes; statistics [rows].
Kernel layer_norm_kernel(const TensorSpec& x, DType weight, double eps);
Kernel layer_norm_grad_kernel(const TensorSpec& x, DType weight);
/// in: x [N, C, ...], scale, bias, mean, variance [C]. out: (x - mean) / sqrt(variance + eps) * scale + bias.
/// Elementwise.
Kernel batch_norm_kernel(const TensorSpec& x, DType parameters, double eps);
/// in: x [N, C, ...]. out, per channel [C]: the mean, the biased variance, and the rest of the mean that rounding
/// leaves. They are float64 for float64, else float32. One pass over memory: each plane's deviations are taken from its
/// own mean while it is in cache (T. Chan, G. Golub, R. LeVeque, "Updating formulae and a pairwise algorithm for
/// computing sample variances", 1979).
Kernel batch_statistics_kernel(const TensorSpec& x);
/// in: g, x (one spec), mean [C]. out: the sums of g and g (x - mean) over each channel [C]. All but g and x have the
/// dtype of the statistics.
Kernel batch_norm_grad_sums_kernel(const TensorSpec& x);

enum class LossReduction : uint8_t { none, sum, mean };
/// "none", "sum", "mean"; throws Error "not a valid reduction 'foo'; choose from mean, sum, none".
LossReduction loss_reduction(std::string_view name);

/// Throws a run-time Error unless 0 <= label < classes. `row` counts the labels. `may_be_ignored` says that an ignored
/// label value exists.
void check_label(int64_t label, int64_t row, int64_t classes, bool may_be_ignored);

struct NllOptions {
  LossReduction reduction = LossReduction::mean;
  std::optional<int64_t> ignore_index = {};
  bool log_prob = false;  ///< the first operand holds log-probabilities
  bool logits = false;    ///< a last operand holds the logits of the probabilities
};
/// in: probs [..., C], labels [...] (any integer dtype). out: the loss in probs' dtype, [] or labels' shape for `none`.
/// l = -log(max(p[label], 1e-7)). A label outside 0..C-1 that is not ignore_index is a run-time Error that states its
/// value.
Kernel nll_loss_kernel(const TensorSpec& probs, const TensorSpec& labels, const NllOptions& options);
/// in: g (loss gradient: scalar, or labels' shape for `none`; probs' dtype), probs, labels. out: dprobs, zero except
/// -g/N/max(p, 1e-10) at the labels; float16 saturates.
Kernel nll_loss_grad_kernel(const TensorSpec& probs, const TensorSpec& labels, const NllOptions& options);
/// in: probs, labels, loss_grad (scalar of dtype `loss_grad`, or null for 1), logits (or null). Out: loss and dx;
/// either may be null. The loss is as above but with log(p + 1e-7), or from the logits without a bound; loss_grad does
/// not scale it. dx = (p - onehot) * loss_grad [/ N for mean], 0 in ignored rows. N of dx is max(#not ignored, 1) with
/// ignore_index, else probs.shape[0] alone.
Kernel nll_loss_with_softmax_grad_kernel(const TensorSpec& probs, const TensorSpec& labels, DType loss_grad,
                                         const NllOptions& options);

}  // namespace pxl
