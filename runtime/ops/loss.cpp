// Losses on class probabilities. Formulas: PopXL's nll_loss and nll_loss_with_softmax_grad.
#include <fmt/format.h>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/kernels/reduction/normalise.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param ignore_param{"ignore_index", ParamKind::integers, none_default, "rows with this label are ignored"};
constexpr Param loss_reduction_param{"reduction", ParamKind::string, of("mean"), "mean, sum or none"};
constexpr Param nll_params[] = {{"probs", ParamKind::tensor, no_default, "[..., C]"},
                                {"labels", ParamKind::index, no_default, "[...], integers in 0..C-1"},
                                ignore_param,
                                loss_reduction_param,
                                {"log_prob", ParamKind::boolean, of(false), "probs contains logarithms"}};
constexpr Param nll_grad_params[] = {{"g", ParamKind::tensor},     {"probs", ParamKind::tensor},
                                     {"labels", ParamKind::index}, ignore_param,
                                     loss_reduction_param,         {"log_prob", ParamKind::boolean, of(false)}};
constexpr Param with_grad_params[] = {{"probs", ParamKind::tensor},
                                      {"labels", ParamKind::index},
                                      {"loss_grad", ParamKind::number_or_tensor, of(1.0), "scales the gradient only"},
                                      ignore_param,
                                      loss_reduction_param};
constexpr Param direct_params[] = {
    {"probs", ParamKind::tensor},
    {"labels", ParamKind::index},
    {"loss_grad", ParamKind::optional_tensor},
    ignore_param,
    loss_reduction_param,
    {"logits", ParamKind::optional_tensor, none_default, "of which probs are the softmax"}};
constexpr Param cross_entropy_params[] = {{"x", ParamKind::tensor, no_default, "scores (logits), [..., C]"},
                                          {"labels", ParamKind::index, no_default, "[...], integers in 0..C-1"},
                                          ignore_param,
                                          loss_reduction_param};
constexpr Param cross_entropy_grad_params[] = {
    {"x", ParamKind::tensor, no_default, "scores (logits), [..., C]"},
    {"labels", ParamKind::index, no_default, "[...], integers in 0..C-1"},
    {"loss_scaling", ParamKind::number_or_tensor, of(1.0), "scales the gradient only"},
    ignore_param,
    loss_reduction_param};

LossReduction loss_reduction_of(const OpContext& s) {
  return prefixed(s, [&] { return loss_reduction(s.string("reduction")); });
}

NllOptions options(const OpContext& s, bool log_prob) {
  NllOptions o{.reduction = loss_reduction_of(s), .ignore_index = {}, .log_prob = log_prob, .logits = false};
  if (!s.is_none("ignore_index")) {
    const std::vector<int64_t> given = s.integers("ignore_index");
    if (given.size() != 1) refuse(s, "ignore_index must be one integer");
    o.ignore_index = given[0];
  }
  return o;
}

// Spec of the loss, from probabilities in slot `p`, followed by the labels.
TensorSpec loss_spec(const OpContext& s, size_t p) {
  options(s, false);
  check_floating(s, p);
  check_integers(s, p + 1);
  const TensorSpec& probs = s.input(p);
  if (probs.shape.empty())
    refuse(s, fmt::format("{} is a scalar: there is no axis of classes", s.label(p)), codes::shape);
  check_shape(s, p + 1, Shape(probs.shape.begin(), probs.shape.end() - 1));
  if (loss_reduction_of(s) == LossReduction::none) return {s.input(p + 1).shape, probs.dtype, {}};
  return {{}, probs.dtype, {}};
}

Expr along_classes(OpBuilder& at, std::string_view op, const Expr& x) {
  return at.one(op, {x}, {{"axis", int64_t{-1}}});
}

/// Losses of logits read the logits: the probability of a label may be below the numbers of its dtype.
std::vector<Expr> expand_with_grad(OpBuilder& at, const OpArgs& args, const Expr& probs, const Expr& logits) {
  const DType wide = args.expr(0).dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Expr scale = args.has_expr(2) ? args.expr(2) : at.scalar(std::get<double>(*args.attr(2)), wide);
  return at.emit("nll_loss_with_softmax_grad_direct", {probs, args.expr(1), scale, {}, {}, logits},
                 {{"ignore_index", *args.attr(3)}, {"reduction", *args.attr(4)}});
}

// r = -g w / p at the labels: for g, the sum of h r / g; for p, -h r / p (0 with logarithms).
void nll_grad_gradient(GradContext& c) {
  OpBuilder& at = c.builder();
  const OpContext s = c.site();
  const auto derivative = [&](const Expr& g) {
    return at.one("nll_grad", {g, c.in(1), c.in(2)},
                  {{"ignore_index", s.attr("ignore_index")},
                   {"reduction", s.attr("reduction")},
                   {"log_prob", s.attr("log_prob")}});
  };
  const TensorSpec& g = c.in_spec(0);
  if (c.wants(0)) {
    const Expr each = c.dy() * derivative(at.constant(Array::full(g.dtype, g.shape, 1.0)));
    c.set(0, g.shape.empty() ? at.one("sum", {each}) : sum(each, {-1}, false));
  }
  if (s.boolean("log_prob")) return set_zero(c, 1);
  if (!c.wants(1)) return;
  const Expr floor = at.scalar(std::max(1e-10, row(g.dtype).min), g.dtype);
  c.set(1, -(c.dy() * derivative(c.in(0)) / at.one("maximum", {std::vector<Expr>{c.in(1), floor}})));
}

int64_t probs_flops(const OpContext& s) { return s.input(0).size(); }

constexpr OpRow loss_table[] = {
    {.name = "nll_loss",
     .path = "ops.nll_loss",
     .schedule = "Nll",
     .output = "loss",
     .doc = "The negative log likelihood of labels under class probabilities. `mean` divides by the number of labels "
            "that are not ignored.",
     .formula = "-ln max(probs[label], 1e-7)",
     .example = "nll_loss(array([[0.1, 0.9], [0.8, 0.2]]), array([1, 0]))",
     .params = nll_params,
     .infer = [](const OpContext& s) { return std::vector<TensorSpec>{loss_spec(s, 0)}; },
     .definition = reference::nll_loss,
     .kernel =
         [](const OpContext& s) { return nll_loss_kernel(s.input(0), s.input(1), options(s, s.boolean("log_prob"))); },
     .gradient =
         [](GradContext& c) {
           if (!c.wants(0)) return;
           const OpContext s = c.site();
           c.set(0, c.builder().one("nll_grad", {c.dy(), c.in(0), c.in(1)},
                                    {{"ignore_index", s.attr("ignore_index")},
                                     {"reduction", s.attr("reduction")},
                                     {"log_prob", s.attr("log_prob")}}));
         },
     .flops = probs_flops,
     .pattern = Pattern::reduction,
     .onnx = "NegativeLogLikelihoodLoss",
     .checks_indices = checks_values,
     .tiles = tile_loss},
    {.name = "nll_grad",
     .schedule = "NllGrad",
     .output = "gradient",
     .doc =
         "The gradient of nll_loss with respect to the probabilities, of which the least is 1e-10; a quotient beyond "
         "float16 is its largest number.",
     .params = nll_grad_params,
     .infer =
         [](const OpContext& s) {
           check_shape(s, 0, loss_spec(s, 1).shape);
           if (s.input(0).dtype != s.input(1).dtype)
             refuse(s, fmt::format("g is {} and probs are {}", name(s.input(0).dtype), name(s.input(1).dtype)),
                    codes::dtype);
           return std::vector<TensorSpec>{s.input(1)};
         },
     .definition = reference::nll_grad,
     .kernel =
         [](const OpContext& s) {
           return nll_loss_grad_kernel(s.input(1), s.input(2), options(s, s.boolean("log_prob")));
         },
     .gradient = nll_grad_gradient,
     .pattern = Pattern::other,
     .checks_indices = checks_values,
     .tiles = tile_loss_grad},
    {.name = "nll_loss_with_softmax_grad",
     .path = "ops.nll_loss_with_softmax_grad",
     .doc = "The negative log likelihood of labels under a softmax's probabilities, and the gradient with respect to "
            "the softmax's input, in one op.",
     .formula = "-ln(probs[label] + 1e-7), (probs - onehot(label)) * loss_grad / N",
     .example = "nll_loss_with_softmax_grad(array([[0.1, 0.9], [0.8, 0.2]]), array([1, 0]))",
     .params = with_grad_params,
     .expand = [](OpBuilder& at, const OpArgs& args) { return expand_with_grad(at, args, args.expr(0), {}); },
     .role = Role::composite},
    {.name = "nll_loss_with_softmax_grad_direct",
     .schedule = "NlllWithSoftmaxGradDirect",
     .output = "loss,dx",
     .doc =
         "The loss and the gradient with respect to the softmax's input. With logits the loss has no bound: it is that "
         "of the largest probability, and how far the label's logit is below.",
     .params = direct_params,
     .infer =
         [](const OpContext& s) {
           if (!s.has(2)) refuse(s, "loss_grad must be a tensor");
           check_scalar_if_tensor(s, "loss_grad");
           if (s.has(3)) {
             check_shape(s, 3, s.input(0).shape);
             check_same_dtype(s, 0, 3);
           }
           return std::vector<TensorSpec>{loss_spec(s, 0), s.input(0)};
         },
     .definition = reference::nll_loss_with_softmax_grad_direct,
     .kernel =
         [](const OpContext& s) {
           NllOptions o = options(s, false);
           o.logits = s.has(3);
           return nll_loss_with_softmax_grad_kernel(s.input(0), s.input(1), s.input(2).dtype, o);
         },
     .flops = [](const OpContext& s) { return 3 * s.input(0).size(); },
     .pattern = Pattern::other,
     .checks_indices = checks_values,
     .tiles = tile_loss},
    {.name = "cross_entropy",
     .path = "addons.ops.cross_entropy",
     .doc = "The cross entropy of logits and labels: log_softmax along the last axis, then nll_loss.",
     .formula = "-log_softmax(x)[label]",
     .example = "cross_entropy(array([[1.0, 2.0], [3.0, 1.0]]), array([1, 0]))",
     .params = cross_entropy_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           return at.emit("nll_loss", {along_classes(at, "log_softmax", args.expr(0)), args.expr(1)},
                          {{"ignore_index", *args.attr(2)}, {"reduction", *args.attr(3)}, {"log_prob", true}});
         },
     .role = Role::composite},
    {.name = "cross_entropy_with_grad",
     .path = "addons.ops.cross_entropy_with_grad",
     .doc = "The cross entropy of logits and labels, and its gradient with respect to the logits. The gradient, not "
            "the loss, is multiplied by loss_scaling.",
     .formula = "-log_softmax(x)[label], (softmax(x) - onehot(label)) * loss_scaling / N",
     .example = "cross_entropy_with_grad(array([[1.0, 2.0], [3.0, 1.0]]), array([1, 0]))",
     .params = cross_entropy_grad_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           return expand_with_grad(at, args, along_classes(at, "softmax", args.expr(0)), args.expr(0));
         },
     .role = Role::composite},
};
static_assert(all_complete(loss_table));

}  // namespace

std::span<const OpRow> loss_rows() { return loss_table; }

}  // namespace pxl
