// Negative log-likelihood of labels, given probabilities, and its gradients.
#include <algorithm>
#include <cmath>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/indexing/index.hpp"
#include "runtime/kernels/reduction/axis_slices.hpp"
#include "runtime/kernels/reduction/normalise.hpp"

namespace pxl {
namespace {

struct Loss {
  int64_t rows = 1, classes = 1, first = 1;  ///< `first`: the extent of the first axis of the probabilities
  DType labels;
  NllOptions options;
  PerCall<int64_t> labels_read;  ///< one per row, -1 if ignored
  PerCall<int64_t> counted;      ///< one element: the number of rows that are not ignored
  WorkspaceLayout workspace;

  Loss(std::string_view what, const TensorSpec& probs, const TensorSpec& label_spec, const NllOptions& o)
      : labels(label_spec.dtype), options(o) {
    if (probs.shape.empty() || label_spec.shape != Shape(probs.shape.begin(), probs.shape.end() - 1)) {
      throw Error(std::string(what) + ": labels of shape " + bracket_text(label_spec.shape) +
                      " for probabilities of shape " + bracket_text(probs.shape),
                  {"labels have the shape of the probabilities without the last axis"})
          .as(codes::shape);
    }
    if (!is_integer(labels))
      throw Error(std::string(what) + ": labels must be integers, not " + std::string(name(labels))).as(codes::dtype);
    classes = probs.shape.back();
    rows = label_spec.size();
    first = probs.shape.size() > 1 ? probs.shape[0] : 1;
    labels_read = workspace.per_call<int64_t>(rows);
    counted = workspace.per_call<int64_t>(1);
  }
  /// Reads and checks the labels in input `slot`; labels_of and used_of are valid afterwards.
  void read(const Buffers& b, size_t slot) const {
    int64_t* at = b.workspace(labels_read);
    read_indices(labels, b.in[slot], rows, at);
    int64_t used = 0;
    for (int64_t r = 0; r < rows; ++r) {
      if (options.ignore_index && at[r] == *options.ignore_index) {
        at[r] = -1;
      } else {
        check_label(at[r], r, classes, options.ignore_index.has_value());
        ++used;
      }
    }
    *b.workspace(counted) = used;
  }
  const int64_t* labels_of(const Buffers& b) const { return b.workspace(labels_read); }
  int64_t used_of(const Buffers& b) const { return *b.workspace(counted); }
  /// A gradient in two phases: `check(b)` reads the labels on one thread, then `fill(b, begin, end)` fills rows of the
  /// gradient in parallel.
  template <class Check, class Fill>
  Kernel gradient(Check check, Fill fill) const {
    std::vector<Phase> phases;
    phases.push_back({1, 1, [check](const Buffers& b, int64_t, int64_t) { check(b); }});
    phases.push_back({rows, std::max<int64_t>(1, 1024 / std::max<int64_t>(classes, 1)), fill});
    return Kernel::parallel(std::move(phases), 0.5 * static_cast<double>(rows * classes)).with_workspace(workspace);
  }
  /// Divisor of a mean.
  double count(int64_t used) const {
    return static_cast<double>(options.ignore_index ? std::max<int64_t>(used, 1) : rows);
  }
};

template <class C>
C get(const C& x) {
  return x;
}
template <DType dtype>
float get(const NarrowFloat<dtype>& x) {
  return static_cast<float>(x);
}

/// Reduces the losses f(row, label) of the rows that are not ignored.
template <class T, class F>
void write_loss(const Loss& loss, const Buffers& b, F&& f) {
  const int64_t* labels = loss.labels_of(b);
  T* out = b.output<T>(0);
  double sum = 0;
  for (int64_t r = 0; r < loss.rows; ++r) {
    const auto l = labels[r] < 0 ? compute_type<T>(0) : f(r, labels[r]);
    if (loss.options.reduction == LossReduction::none) out[r] = static_cast<T>(l);
    sum += static_cast<double>(l);
  }
  if (loss.options.reduction == LossReduction::mean) sum /= loss.count(loss.used_of(b));
  if (loss.options.reduction != LossReduction::none) out[0] = static_cast<T>(static_cast<compute_type<T>>(sum));
}

template <class C>
C at_least(C p, C eps) {
  return p < eps ? eps : p;
}  // keeps NaN

/// Saturates a finite number to a narrow dtype's largest number, so that the gradient of a preceding softmax has no
/// NaN.
template <class T, class C>
T within(C x) {
  constexpr C most = static_cast<C>(row(dtype_of<T>()).max);
  if constexpr (is_narrow_v<T>)
    if (std::isfinite(x)) return T(std::clamp(x, -most, most));
  return static_cast<T>(x);
}

}  // namespace

void check_label(int64_t label, int64_t row, int64_t classes, bool may_be_ignored) {
  if (label < 0 || label >= classes)
    throw run_error("label " + index_text(label) + " is out of range for " + std::to_string(classes) + " classes",
                    {"it is label " + std::to_string(row) + "; labels are 0 to " + std::to_string(classes - 1) +
                     (may_be_ignored ? ", or ignore_index" : "")});
}

LossReduction loss_reduction(std::string_view reduction) {
  if (reduction == "none") return LossReduction::none;
  if (reduction == "sum") return LossReduction::sum;
  if (reduction == "mean") return LossReduction::mean;
  throw Error("not a valid reduction '" + std::string(reduction) + "'; choose from mean, sum, none");
}

Kernel nll_loss_kernel(const TensorSpec& probs, const TensorSpec& labels, const NllOptions& options) {
  return with_floating("nll_loss", probs.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    const Loss loss("nll_loss", probs, labels, options);
    return Kernel([loss](const Buffers& b) {
             const C eps = static_cast<C>(1e-7);
             loss.read(b, 1);
             write_loss<T>(loss, b, [&](int64_t row, int64_t label) {
               const C p = get(b.input<T>(0)[row * loss.classes + label]);
               return loss.options.log_prob ? -p : -std::log(at_least(p, eps));
             });
           })
        .with_workspace(loss.workspace);
  });
}

Kernel nll_loss_grad_kernel(const TensorSpec& probs, const TensorSpec& labels, const NllOptions& options) {
  return with_floating("nll_loss", probs.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    const Loss loss("nll_loss", probs, labels, options);
    const auto check = [loss](const Buffers& b) { loss.read(b, 2); };
    return loss.gradient(check, [loss](const Buffers& b, int64_t begin, int64_t end) {
      const C eps = static_cast<C>(1e-10);
      const bool each = loss.options.reduction == LossReduction::none;
      const C share =
          loss.options.reduction == LossReduction::mean ? static_cast<C>(loss.count(loss.used_of(b))) : C(1);
      const int64_t* checked = loss.labels_of(b);
      T* out = b.output<T>(0);
      std::fill(out + begin * loss.classes, out + end * loss.classes, static_cast<T>(C(0)));
      for (int64_t r = begin; r < end; ++r) {
        const int64_t label = checked[r];
        if (label < 0) continue;
        const C p = get(b.input<T>(1)[r * loss.classes + label]), g = get(b.input<T>(0)[each ? r : 0]);
        out[r * loss.classes + label] = within<T>(-g / share / (loss.options.log_prob ? C(1) : at_least(p, eps)));
      }
    });
  });
}

Kernel nll_loss_with_softmax_grad_kernel(const TensorSpec& probs, const TensorSpec& labels, DType loss_grad,
                                         const NllOptions& options) {
  return with_floating("nll_loss_with_softmax_grad", probs.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    const Loss loss("nll_loss_with_softmax_grad", probs, labels, options);
    const BinaryFn scaled = binary_block(Binary::mul, dtype_of<C>()).vs;
    const auto check = [loss](const Buffers& b) {
      const C eps = static_cast<C>(1e-7);
      loss.read(b, 1);
      if (!b.out[0]) return;
      const T *p = b.input<T>(0), *x = loss.options.logits ? b.input<T>(3) : nullptr;
      write_loss<T>(loss, b, [&](int64_t row, int64_t label) {
        const T* of_row = p + row * loss.classes;
        if (!x) return -std::log(get(of_row[label]) + eps);
        int64_t top = 0;
        for (int64_t i = 1; i < loss.classes; ++i)
          if (get(of_row[i]) > get(of_row[top])) top = i;
        const T* logits = x + row * loss.classes;
        return (get(logits[top]) - get(logits[label])) - std::log(get(of_row[top]));
      });
    };
    return loss.gradient(check, [=](const Buffers& b, int64_t begin, int64_t end) {
      if (!b.out[1]) return;
      double scale = b.in[2] ? read_number(loss_grad, b.in[2]) : 1.0;
      if (loss.options.reduction == LossReduction::mean) {
        scale /= loss.options.ignore_index ? loss.count(loss.used_of(b)) : static_cast<double>(loss.first);
      }
      const C factor = static_cast<C>(scale);
      constexpr int64_t most = 64, block = 512;
      C hits[most], buffer[block];
      for (int64_t r0 = begin; r0 < end; r0 += most) {
        const int64_t rows = std::min(most, end - r0), n = rows * loss.classes;
        const T* p = b.input<T>(0) + r0 * loss.classes;
        T* dx = b.output<T>(1) + r0 * loss.classes;
        const int64_t* label = loss.labels_of(b) + r0;
        // Read before writing: dx may alias the probabilities.
        for (int64_t r = 0; r < rows; ++r)
          hits[r] = label[r] < 0 ? C(0) : (get(p[r * loss.classes + label[r]]) - C(1)) * factor;
        for (int64_t i = 0; i < n; i += block) {
          const int64_t m = std::min(block, n - i);
          C* to = result_line<T>(dx + i, buffer);
          scaled(load_line(p + i, 1, m, buffer), &factor, to, m);
          store_line<T>(to, dx + i, 1, m);
        }
        for (int64_t r = 0; r < rows; ++r, dx += loss.classes) {
          if (label[r] < 0)
            std::fill(dx, dx + loss.classes, static_cast<T>(C(0)));
          else
            dx[label[r]] = static_cast<T>(hits[r]);
        }
      }
    });
  });
}

}  // namespace pxl
