// Group and layer normalisation.
#include "runtime/kernels/reduction/normalise.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/reduction/axis_slices.hpp"

namespace pxl {
namespace {

/// x as [samples, groups, channels, spatial], channels per group.
struct Groups {
  int64_t samples = 1, groups = 1, channels = 1, spatial = 1;
  int64_t row() const { return channels * spatial; }
  int64_t rows() const { return samples * groups; }
  int64_t all_channels() const { return groups * channels; }
  /// Whether channels are so long that an inner loop reads their parameters as scalars. Otherwise parameters are
  /// expanded per element.
  bool by_channel() const { return spatial >= 8; }
};

Groups group_norm_groups(const TensorSpec& x, int64_t groups) {
  if (x.shape.size() < 2)
    throw Error("group_norm needs a rank of at least 2, not shape " + bracket_text(x.shape)).as(codes::shape);
  if (groups <= 0 || x.shape[1] % groups != 0) {
    throw Error("group_norm: " + std::to_string(groups) + " groups do not divide the " + std::to_string(x.shape[1]) +
                " channels of " + bracket_text(x.shape))
        .as(codes::shape);
  }
  Groups g{x.shape[0], groups, x.shape[1] / groups, 1};
  for (size_t d = 2; d < x.shape.size(); ++d) g.spatial *= x.shape[d];
  return g;
}
Groups layer_norm_groups(const TensorSpec& x) {
  if (x.shape.empty()) throw Error("layer_norm needs at least one axis").as(codes::shape);
  Groups g;
  for (size_t d = 0; d + 1 < x.shape.size(); ++d) g.samples *= x.shape[d];
  g.channels = x.shape.back();
  return g;
}

/// A channel parameter in the computing type, one value per channel or per row element.
template <class C>
class Parameter {
 public:
  Parameter(WorkspaceLayout& w, const Groups& groups, DType dtype, bool by_element)
      : groups_(groups),
        dtype_(dtype),
        spreads_(by_element && groups.spatial != 1),
        converted_(w.per_thread<C>(dtype == dtype_of<C>() ? 0 : groups.all_channels())),
        spread_(w.per_thread<C>(spreads_ ? groups.all_channels() * groups.spatial : 0)) {}

  const C* read(const Buffers& b, size_t slot) const {
    const C* values = b.input<C>(slot);
    if (dtype_ != dtype_of<C>()) {
      C* to = b.workspace(converted_);
      convert(dtype_, b.in[slot], dtype_of<C>(), reinterpret_cast<std::byte*>(to), groups_.all_channels());
      values = to;
    }
    if (!spreads_) return values;
    C* to = b.workspace(spread_);
    for (int64_t c = 0; c < groups_.all_channels(); ++c)
      std::fill(to + c * groups_.spatial, to + (c + 1) * groups_.spatial, values[c]);
    return to;
  }

 private:
  Groups groups_;
  DType dtype_;
  bool spreads_;
  PerThread<C> converted_, spread_;
};

constexpr double normalise_element_ns = 0.5;  // per element and pass; measured with AVX2, processor not recorded

int64_t row_grain(const Groups& g) { return std::max<int64_t>(1, min_elements / std::max<int64_t>(g.row(), 1)); }

Kernel forward(std::string_view what, const TensorSpec& x, DType weight, Groups groups, double eps) {
  return with_floating(what, x.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    const double cost_ns = 3 * normalise_element_ns * static_cast<double>(groups.rows() * groups.row());
    WorkspaceLayout workspace;
    const Parameter<C> weights(workspace, groups, weight, !groups.by_channel());
    const Parameter<C> biases(workspace, groups, weight, !groups.by_channel());
    const auto loaded = slice_buffer<T>(workspace, groups.row()), stored = slice_buffer<T>(workspace, groups.row());
    return Kernel::parallel(groups.rows(), row_grain(groups), cost_ns,
                            [=](const Buffers& b, int64_t begin, int64_t end) {
                              const int64_t n = groups.row();
                              const C *w = weights.read(b, 1), *bias = biases.read(b, 2);
                              C* from = b.workspace(loaded);
                              for (int64_t r = begin; r < end; ++r) {
                                const C* line = load_line(b.input<T>(0) + r * n, 1, n, from);
                                const LineMoments<C> moments(line, n);
                                const double inverse = 1.0 / std::sqrt(moments.variance + eps);
                                if (b.out[1]) b.output<C>(1)[r] = moments.mean;
                                if (b.out[2]) b.output<C>(2)[r] = static_cast<C>(inverse);
                                const int64_t group = r % groups.groups;
                                C* to = result_line<T>(b.output<T>(0) + r * n, b.workspace(stored));
                                if (groups.by_channel()) {
                                  for (int64_t c = 0; c < groups.channels; ++c) {
                                    const int64_t channel = group * groups.channels + c;
                                    const double moved = moments.rest * inverse * static_cast<double>(w[channel]);
                                    row_functions<C>().normalise_channel(
                                        line + c * groups.spatial, moments.mean, static_cast<C>(inverse), w[channel],
                                        static_cast<C>(static_cast<double>(bias[channel]) - moved),
                                        to + c * groups.spatial, groups.spatial);
                                  }
                                } else {
                                  row_functions<C>().normalise(line, moments.mean, static_cast<C>(moments.rest),
                                                               static_cast<C>(inverse), w + group * n, bias + group * n,
                                                               to, n);
                                }
                                store_line<T>(to, b.output<T>(0) + r * n, 1, n);
                              }
                            })
        .with_workspace(workspace);
  });
}

/// The data gradient for rows [begin, end). The given mean is rounded. Each row's rest of the mean is kept in `shifts`,
/// in standard deviations, even if only the parameters' gradients are wanted.
template <class T>
struct DataGradient {
  using C = compute_type<T>;
  Groups groups;
  PerCall<double> shifts;
  Parameter<C> weights;
  PerThread<C> first, second, stored;

  DataGradient(WorkspaceLayout& w, const Groups& g, DType weight)
      : groups(g),
        shifts(w.per_call<double>(g.rows())),
        weights(w, g, weight, true),
        first(slice_buffer<T>(w, g.row())),
        second(slice_buffer<T>(w, g.row())),
        stored(slice_buffer<T>(w, g.row())) {}
  void operator()(const Buffers& b, int64_t begin, int64_t end) const;
};

template <class T>
void DataGradient<T>::operator()(const Buffers& b, int64_t begin, int64_t end) const {
  const int64_t n = groups.row();
  const C* w = weights.read(b, 2);
  C *first_buffer = b.workspace(first), *second_buffer = b.workspace(second);
  for (int64_t r = begin; r < end; ++r) {
    const C* g = load_line(b.input<T>(0) + r * n, 1, n, first_buffer);
    const C* line = load_line(b.input<T>(1) + r * n, 1, n, second_buffer);
    const C mean = b.input<C>(3)[r], inverse = b.input<C>(4)[r];
    const C* scale = w + r % groups.groups * n;
    double sums[3];  // sums of dy w, dy w xhat, and xhat
    row_functions<C>().normalise_sums(g, line, scale, static_cast<double>(mean), static_cast<double>(inverse), n, sums);
    const double count = static_cast<double>(n), shift = sums[2] / count;
    b.workspace(shifts)[r] = shift;
    if (!b.out[0]) continue;
    C* to = result_line<T>(b.output<T>(0) + r * n, b.workspace(stored));
    const double projection = (sums[1] - shift * sums[0]) / count, average = sums[0] / count - shift * projection;
    row_functions<C>().normalise_grad(g, line, scale, mean, inverse, static_cast<C>(average),
                                      static_cast<C>(projection), to, n);
    store_line<T>(to, b.output<T>(0) + r * n, 1, n);
  }
}

/// Converts channel sums from channel `begin` to the parameters' dtype. No-op if the output is not connected.
void give_channels(const double* from, DType dtype, std::byte* to, int64_t begin, int64_t end) {
  if (to)
    convert(DType::float64, reinterpret_cast<const std::byte*>(from), dtype,
            to + begin * static_cast<int64_t>(size_of(dtype)), end - begin);
}

/// Gradients of weight and bias for channels [begin, end). Each gradient is summed over the samples in order, so the
/// bits do not depend on the partition.
template <class T>
struct ChannelGradients {
  using C = compute_type<T>;
  Groups groups;
  DType weight;
  // The channels of a group are adjacent. They are processed together if each has one element per row.
  int64_t longest, size;
  PerCall<double> shifts, weight_sums, bias_sums;
  PerThread<C> first, second, all_ones;

  ChannelGradients(WorkspaceLayout& w, const Groups& g, DType d, PerCall<double> of_rows)
      : groups(g),
        weight(d),
        longest(g.spatial == 1 ? g.channels : 1),
        size(longest * g.spatial),
        shifts(of_rows),
        weight_sums(w.per_call<double>(g.all_channels())),
        bias_sums(w.per_call<double>(g.all_channels())),
        first(slice_buffer<T>(w, size)),
        second(slice_buffer<T>(w, size)),
        all_ones(w.per_thread<C>(size)) {}
  void operator()(const Buffers& b, int64_t begin, int64_t end) const;
};

template <class T>
void ChannelGradients<T>::operator()(const Buffers& b, int64_t begin, int64_t end) const {
  double *dw = b.workspace(weight_sums) + begin, *db = b.workspace(bias_sums) + begin;
  std::fill(dw, dw + (end - begin), 0.0);
  std::fill(db, db + (end - begin), 0.0);
  C *first_buffer = b.workspace(first), *second_buffer = b.workspace(second), *ones = b.workspace(all_ones);
  std::fill(ones, ones + size, C(1));
  for (int64_t c = begin; c < end;) {
    const int64_t group = c / groups.channels;
    const int64_t together = std::min({longest, end - c, (group + 1) * groups.channels - c});
    const int64_t n = together * groups.spatial;
    for (int64_t sample = 0; sample < groups.samples; ++sample) {
      const int64_t r = sample * groups.groups + group;
      const int64_t at = (sample * groups.all_channels() + c) * groups.spatial;
      const C* g = load_line(b.input<T>(0) + at, 1, n, first_buffer);
      const C* line = load_line(b.input<T>(1) + at, 1, n, second_buffer);
      const double mean = static_cast<double>(b.input<C>(3)[r]), inverse = static_cast<double>(b.input<C>(4)[r]);
      const double shift = b.workspace(shifts)[r];
      if (groups.spatial == 1) {
        row_functions<C>().normalise_columns(g, line, mean, inverse, shift, dw + (c - begin), db + (c - begin), n);
      } else {
        double sums[3];
        row_functions<C>().normalise_sums(g, line, ones, mean, inverse, n, sums);
        db[c - begin] += sums[0];
        dw[c - begin] += sums[1] - shift * sums[0];
      }
    }
    c += together;
  }
  give_channels(dw, weight, b.out[1], begin, end);
  give_channels(db, weight, b.out[2], begin, end);
}

/// One pass of sums per channel serves all three gradients of long channels. The data gradient follows while the row is
/// in cache, the parameters' gradients follow after all samples.
template <class T>
Kernel backward_by_channel(DType weight, Groups groups, double cost_ns) {
  using C = compute_type<T>;
  WorkspaceLayout workspace;
  // Sums of g and g xhat by sample and channel, and their totals over the samples.
  const auto kept = workspace.per_call<double>(2 * groups.samples * groups.all_channels());
  const auto weight_sums = workspace.per_call<double>(groups.all_channels());
  const auto bias_sums = workspace.per_call<double>(groups.all_channels());
  const Parameter<C> weights(workspace, groups, weight, false);
  const auto first = slice_buffer<T>(workspace, groups.row()), second = slice_buffer<T>(workspace, groups.row()),
             stored = slice_buffer<T>(workspace, groups.row());
  const auto rows = [=](const Buffers& b, int64_t begin, int64_t end) {
    const int64_t n = groups.row(), length = groups.spatial;
    const C* w = weights.read(b, 2);
    for (int64_t r = begin; r < end; ++r) {
      const C* g = load_line(b.input<T>(0) + r * n, 1, n, b.workspace(first));
      const C* x = load_line(b.input<T>(1) + r * n, 1, n, b.workspace(second));
      const C mean = b.input<C>(3)[r], inverse = b.input<C>(4)[r];
      const C* scale = w + r % groups.groups * groups.channels;
      double* sums = b.workspace(kept) + 2 * r * groups.channels;
      double plain = 0, projected = 0, hats = 0;
      for (int64_t c = 0; c < groups.channels; ++c) {
        double own[3];
        row_functions<C>().channel_sums(g + c * length, x + c * length, static_cast<double>(mean),
                                        static_cast<double>(inverse), length, own);
        plain += own[0] * static_cast<double>(scale[c]);
        projected += own[1] * static_cast<double>(scale[c]);
        hats += own[2];
        std::copy_n(own, 2, sums + 2 * c);
      }
      const double count = static_cast<double>(n), shift = hats / count;  // the rest that the mean's rounding leaves
      for (int64_t c = 0; c < groups.channels; ++c) sums[2 * c + 1] -= shift * sums[2 * c];
      if (!b.out[0]) continue;
      C* to = result_line<T>(b.output<T>(0) + r * n, b.workspace(stored));
      const double projection = (projected - shift * plain) / count, average = plain / count - shift * projection;
      for (int64_t c = 0; c < groups.channels; ++c)
        row_functions<C>().normalise_channel_grad(g + c * length, x + c * length, scale[c], mean, inverse,
                                                  static_cast<C>(average), static_cast<C>(projection), to + c * length,
                                                  length);
      store_line<T>(to, b.output<T>(0) + r * n, 1, n);
    }
  };
  const auto channels = [=](const Buffers& b, int64_t begin, int64_t end) {
    double *dw = b.workspace(weight_sums) + begin, *db = b.workspace(bias_sums) + begin;
    std::fill(dw, dw + (end - begin), 0.0);
    std::fill(db, db + (end - begin), 0.0);
    for (int64_t sample = 0; sample < groups.samples; ++sample) {
      const double* sums = b.workspace(kept) + 2 * sample * groups.all_channels();
      for (int64_t c = begin; c < end; ++c) db[c - begin] += sums[2 * c], dw[c - begin] += sums[2 * c + 1];
    }
    give_channels(dw, weight, b.out[1], begin, end);
    give_channels(db, weight, b.out[2], begin, end);
  };
  return Kernel::parallel({{groups.rows(), row_grain(groups), rows}, {groups.all_channels(), 16, channels}}, cost_ns)
      .with_workspace(workspace);
}

Kernel backward(std::string_view what, const TensorSpec& x, DType weight, Groups groups) {
  return with_floating(what, x.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    const double cost_ns = 5 * normalise_element_ns * static_cast<double>(groups.rows() * groups.row());
    if (groups.by_channel()) return backward_by_channel<T>(weight, groups, cost_ns);
    WorkspaceLayout workspace;
    const DataGradient<T> data(workspace, groups, weight);
    const ChannelGradients<T> channels(workspace, groups, weight, data.shifts);
    std::vector<Phase> phases;
    phases.push_back({groups.rows(), row_grain(groups), data});
    phases.push_back({groups.all_channels(), 16, [channels](const Buffers& b, int64_t begin, int64_t end) {
                        if (b.out[1] || b.out[2]) channels(b, begin, end);
                      }});
    return Kernel::parallel(std::move(phases), cost_ns).with_workspace(workspace);
  });
}

}  // namespace

Kernel group_norm_kernel(const TensorSpec& x, DType weight, int64_t groups, double eps) {
  return forward("group_norm", x, weight, group_norm_groups(x, groups), eps);
}
Kernel group_norm_grad_kernel(const TensorSpec& x, DType weight, int64_t groups) {
  return backward("group_norm_grad", x, weight, group_norm_groups(x, groups));
}
Kernel layer_norm_kernel(const TensorSpec& x, DType weight, double eps) {
  return forward("layer_norm", x, weight, layer_norm_groups(x), eps);
}
Kernel layer_norm_grad_kernel(const TensorSpec& x, DType weight) {
  return backward("layer_norm_grad", x, weight, layer_norm_groups(x));
}

}  // namespace pxl
