// Negative log likelihood of labels under probabilities, and its gradients.
#include <algorithm>
#include <cmath>

#include "runtime/kernels/reduction/normalise.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

namespace {

// The rows that count: labels, with -1 for an ignored row.
struct Labels {
  std::vector<int64_t> at;
  bool some_ignored = false;  ///< whether the op was told of a label to ignore
  int64_t classes = 0, used = 0;
  std::string reduction;

  Labels(const ReferenceContext& c, size_t slot, const Shape& probs)
      : some_ignored(!c.is_none("ignore_index")), classes(probs.back()), reduction(c.string("reduction")) {
    const Wholes given = c.indices(slot);
    for (int64_t label : given) {
      const bool ignored = some_ignored && label == c.integers("ignore_index")[0];
      if (!ignored) check_label(label, static_cast<int64_t>(at.size()), classes, some_ignored);
      at.push_back(ignored ? -1 : label);
      used += !ignored;
    }
  }
  /// The divisor of a mean.
  double count() const {
    return static_cast<double>(some_ignored ? std::max<int64_t>(used, 1) : static_cast<int64_t>(at.size()));
  }
  /// f(row, label) for the rows that count.
  template <class F>
  void each(F f) const {
    for (size_t r = 0; r < at.size(); ++r)
      if (at[r] >= 0) f(static_cast<int64_t>(r), at[r]);
  }
  /// The result of losses by row.
  void give(ReferenceContext& c, const Reals& losses) const {
    if (reduction == "none")
      c.out(0, Reals(xt::reshape_view(losses, extents(c.out_shape()))));
    else
      c.out(0, Reals(sum_of(losses, {0})() / (reduction == "mean" ? count() : 1.0)));
  }
};

Reals by_row(const Labels& labels) { return xt::zeros<double>({labels.at.size()}); }

double at_least(double p, double floor) { return p < floor ? floor : p; }  // keeps NaN

}  // namespace

void nll_loss(ReferenceContext& c) {
  const Reals probs = c.real(0);
  const Labels labels(c, 1, c.shape(0));
  Reals losses = by_row(labels);
  labels.each([&](int64_t row, int64_t label) {
    const double p = probs.data()[row * labels.classes + label];
    losses(row) = c.boolean("log_prob") ? -p : -std::log(at_least(p, 1e-7));
  });
  labels.give(c, losses);
}

void nll_grad(ReferenceContext& c) {
  const Reals g = c.real(0), probs = c.real(1);
  const Labels labels(c, 2, c.shape(1));
  const double share = labels.reduction == "mean" ? labels.count() : 1;
  Reals dx = xt::zeros<double>(extents(c.out_shape()));
  labels.each([&](int64_t row, int64_t label) {
    const double p = probs.data()[row * labels.classes + label];
    const double each =
        -g.data()[labels.reduction == "none" ? row : 0] / share / (c.boolean("log_prob") ? 1.0 : at_least(p, 1e-10));
    const double most = pxl::row(c.out_dtype()).max;
    const bool narrow = is_narrow(c.out_dtype()) && std::isfinite(each);
    dx.data()[row * labels.classes + label] = narrow ? std::clamp(each, -most, most) : each;
  });
  c.out(0, dx);
}

// The loss is not scaled by loss_grad. A mean divides the gradient by the first extent of the probabilities, or, if
// rows may be ignored, by the number of rows that count.
void nll_loss_with_softmax_grad_direct(ReferenceContext& c) {
  const Reals probs = c.real(0);
  const Labels labels(c, 1, c.shape(0));
  double scale = c.real(2).data()[0];
  if (labels.reduction == "mean")
    scale /= labels.some_ignored ? labels.count() : c.shape(0).size() > 1 ? static_cast<double>(c.shape(0)[0]) : 1.0;
  const Reals logits = c.has(3) ? c.real(3) : Reals();
  const auto loss_of = [&](int64_t row, int64_t label) {
    const double* p = probs.data() + row * labels.classes;
    if (!c.has(3)) return -std::log(p[label] + 1e-7);
    const double* x = logits.data() + row * labels.classes;
    int64_t top = 0;
    for (int64_t i = 1; i < labels.classes; ++i) top = p[i] > p[top] ? i : top;
    return (x[top] - x[label]) - std::log(p[top]);
  };
  Reals losses = by_row(labels), dx = xt::zeros<double>(extents(c.shape(0)));
  labels.each([&](int64_t row, int64_t label) {
    losses(row) = loss_of(row, label);
    for (int64_t i = row * labels.classes; i < (row + 1) * labels.classes; ++i) dx.data()[i] = probs.data()[i] * scale;
    dx.data()[row * labels.classes + label] = (probs.data()[row * labels.classes + label] - 1.0) * scale;
  });
  labels.give(c, losses);
  c.out(1, dx);
}

}  // namespace pxl::reference
