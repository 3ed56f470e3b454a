// Batch normalisation: statistics and gradient sums per channel, and the normalisation by given statistics. The latter
// fuses with the elementwise ops that follow.
#include <algorithm>
#include <cmath>

#include "runtime/kernels/elementwise/elementwise.hpp"
#include "runtime/kernels/reduction/axis_slices.hpp"
#include "runtime/kernels/reduction/normalise.hpp"

namespace pxl {
namespace {

// Elements of the planes that are copied side by side.
constexpr int64_t gathered_elements = 1024;

/// x [N, C, ...] seen as one plane for each sample and channel.
struct ChannelPlanes {
  int64_t samples, channels, plane = 1;

  explicit ChannelPlanes(const TensorSpec& x) : samples(x.shape[0]), channels(x.shape[1]) {
    for (size_t d = 2; d < x.shape.size(); ++d) plane *= x.shape[d];
  }
  int64_t size() const { return samples * channels * plane; }
  int64_t of_channel() const { return samples * plane; }
  int64_t at(int64_t sample, int64_t channel) const { return (sample * channels + channel) * plane; }
  /// Whether a plane is so long that an inner loop reads a channel's numbers as scalars.
  bool are_long() const { return plane >= 8; }
  /// Number of samples whose planes are copied side by side: a call per sample would take longer than the copy of short
  /// planes.
  int64_t together() const { return std::clamp<int64_t>(gathered_elements / std::max<int64_t>(1, plane), 1, samples); }
  int64_t gathered() const { return together() * plane; }
  /// Channels per iteration of the parallel loop. Short planes are taken in whole cache lines.
  int64_t grain() const {
    const int64_t enough = std::max<int64_t>(1, min_elements / std::max<int64_t>(1, of_channel()));
    return are_long() ? enough : (enough + 15) / 16 * 16;
  }

  /// Calls f(channel - begin, element) for the elements of channels [begin, end), sample by sample. For short planes.
  template <class F>
  void each_element(int64_t begin, int64_t end, F&& f) const {
    for (int64_t s = 0; s < samples; ++s) {
      int64_t i = at(s, begin);
      if (plane == 1) {
        for (int64_t c = 0; c < end - begin; ++c) f(c, i + c);
        continue;
      }
      for (int64_t c = 0; c < end - begin; ++c)
        for (int64_t p = 0; p < plane; ++p) f(c, i++);
    }
  }
};

// `bench_runtime` measures 0.4 (layer_norm) to 0.7 (group_norm) for both.
constexpr double ns_per_read_element = 0.3, ns_per_normalised_element = 0.5;
constexpr int64_t normalised_block = 1024;  ///< float16 elements per step

/// A buffer for the planes that are read together for one channel; empty if they are read in place.
template <class T>
PerThread<compute_type<T>> planes_buffer(WorkspaceLayout& w, const ChannelPlanes& p) {
  return p.together() == 1 ? slice_buffer<T>(w, p.plane) : w.per_thread<compute_type<T>>(p.gathered());
}
/// The planes of channel c in samples [s, s + count).
template <class T>
const compute_type<T>* planes_of(const T* x, const ChannelPlanes& p, int64_t s, int64_t count, int64_t c,
                                 compute_type<T>* buffer) {
  if (count == 1) return load_line(x + p.at(s, c), 1, p.plane, buffer);
  for (int64_t i = 0; i < count; ++i) {
    const T* from = x + p.at(s + i, c);
    if constexpr (std::is_same_v<T, compute_type<T>>)
      std::copy_n(from, p.plane, buffer + i * p.plane);
    else
      load_line(from, 1, p.plane, buffer + i * p.plane);
  }
  return buffer;
}

/// A sum, and the sum of squared deviations from the mean.
struct Spread {
  double sum = 0, squares = 0;
  int64_t count = 0;

  /// Adds elements with this sum. Their squared deviations are from their own mean.
  void add(double sum_of_more, double squares_of_more, int64_t more) {
    const auto before = static_cast<double>(count), added = static_cast<double>(more);
    squares += squares_of_more;
    if (count > 0) {
      const double apart = sum_of_more / added - sum / before;
      squares += apart * apart * (before * added / (before + added));
    }
    sum += sum_of_more;
    count += more;
  }
  double mean() const { return sum / static_cast<double>(std::max<int64_t>(1, count)); }
  double variance() const { return squares / static_cast<double>(std::max<int64_t>(1, count)); }
};

}  // namespace

Kernel batch_statistics_kernel(const TensorSpec& x) {
  const ChannelPlanes planes(x);
  return with_floating("batch_statistics", x.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    WorkspaceLayout workspace;
    const auto loaded = planes_buffer<T>(workspace, planes);
    const auto sums = workspace.per_call<double>(planes.are_long() ? 0 : 3 * planes.channels);
    const int64_t together = planes.together();
    const auto long_planes = [=](const Buffers& b, int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        Spread spread;
        for (int64_t s = 0; s < planes.samples; s += together) {
          const int64_t count = std::min(together, planes.samples - s), n = count * planes.plane;
          const C* line = planes_of(b.input<T>(0), planes, s, count, c, b.workspace(loaded));
          const double sum = line_sum(line, n), mean = sum / static_cast<double>(n);
          spread.add(sum, line_deviation(line, mean, n), n);
        }
        const C mean = static_cast<C>(spread.mean());
        b.output<C>(0)[c] = mean;
        b.output<C>(1)[c] = static_cast<C>(spread.variance());
        if (!b.out[2]) continue;
        double rest = spread.mean() - static_cast<double>(mean);
        if constexpr (std::is_same_v<C, double>) {
          rest = 0;
          for (int64_t s = 0; s < planes.samples; ++s) {
            const C* line = planes_of(b.input<T>(0), planes, s, 1, c, b.workspace(loaded));
            rest += line_rest(line, mean, planes.plane) / static_cast<double>(planes.samples);
          }
        }
        b.output<C>(2)[c] = static_cast<C>(rest);
      }
    };
    const auto short_planes = [=](const Buffers& b, int64_t begin, int64_t end) {
      double* const mean = b.workspace(sums) + begin;
      double* const squares = b.workspace(sums) + planes.channels + begin;
      std::fill(mean, mean + (end - begin), 0.0);
      std::fill(squares, squares + (end - begin), 0.0);
      const T* from = b.input<T>(0);
      const double count = static_cast<double>(std::max<int64_t>(1, planes.of_channel()));
      planes.each_element(begin, end, [&](int64_t c, int64_t i) { mean[c] += static_cast<double>(C(from[i])); });
      for (int64_t c = 0; c < end - begin; ++c) mean[c] /= count;
      double* const rests = b.workspace(sums) + 2 * planes.channels + begin;
      std::fill(rests, rests + (end - begin), 0.0);
      planes.each_element(begin, end, [&](int64_t c, int64_t i) {
        const double away = static_cast<double>(C(from[i])) - mean[c];
        squares[c] += away * away;
        rests[c] += away;
      });
      for (int64_t c = 0; c < end - begin; ++c) {
        const C rounded = static_cast<C>(mean[c]);
        b.output<C>(0)[begin + c] = rounded;
        b.output<C>(1)[begin + c] = static_cast<C>(squares[c] / count);
        if (b.out[2])
          b.output<C>(2)[begin + c] = static_cast<C>(mean[c] - static_cast<double>(rounded) + rests[c] / count);
      }
    };
    const double cost_ns = 2 * ns_per_read_element * static_cast<double>(planes.size());
    if (planes.are_long())
      return Kernel::parallel(planes.channels, planes.grain(), cost_ns, long_planes).with_workspace(workspace);
    return Kernel::parallel(planes.channels, planes.grain(), cost_ns, short_planes).with_workspace(workspace);
  });
}

Kernel batch_norm_grad_sums_kernel(const TensorSpec& x) {
  const ChannelPlanes planes(x);
  return with_floating("batch_norm_grad_sums", x.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    WorkspaceLayout workspace;
    const auto first = planes_buffer<T>(workspace, planes), second = planes_buffer<T>(workspace, planes);
    const int64_t together = planes.together();
    const auto sums = workspace.per_call<double>(planes.are_long() ? 0 : 2 * planes.channels);
    const auto long_planes = [=](const Buffers& b, int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        double plain = 0, centred = 0;
        for (int64_t s = 0; s < planes.samples; s += together) {
          const int64_t count = std::min(together, planes.samples - s);
          const C* g = planes_of(b.input<T>(0), planes, s, count, c, b.workspace(first));
          const C* line = planes_of(b.input<T>(1), planes, s, count, c, b.workspace(second));
          double own[3];
          row_functions<C>().channel_sums(g, line, static_cast<double>(b.input<C>(2)[c]), 1.0, count * planes.plane,
                                          own);
          plain += own[0];
          centred += own[1];
        }
        b.output<C>(0)[c] = static_cast<C>(plain);
        b.output<C>(1)[c] = static_cast<C>(centred);
      }
    };
    const auto short_planes = [=](const Buffers& b, int64_t begin, int64_t end) {
      double* const plain = b.workspace(sums) + begin;
      double* const centred = b.workspace(sums) + planes.channels + begin;
      std::fill(plain, plain + (end - begin), 0.0);
      std::fill(centred, centred + (end - begin), 0.0);
      const T *g = b.input<T>(0), *from = b.input<T>(1);
      const C* mean = b.input<C>(2) + begin;
      planes.each_element(begin, end, [&](int64_t c, int64_t i) {
        const double dy = static_cast<double>(C(g[i]));
        plain[c] += dy;
        centred[c] += dy * (static_cast<double>(C(from[i])) - static_cast<double>(mean[c]));
      });
      for (int64_t c = 0; c < end - begin; ++c) {
        b.output<C>(0)[begin + c] = static_cast<C>(plain[c]);
        b.output<C>(1)[begin + c] = static_cast<C>(centred[c]);
      }
    };
    const double cost_ns = 2 * ns_per_read_element * static_cast<double>(planes.size());
    if (planes.are_long())
      return Kernel::parallel(planes.channels, planes.grain(), cost_ns, long_planes).with_workspace(workspace);
    return Kernel::parallel(planes.channels, planes.grain(), cost_ns, short_planes).with_workspace(workspace);
  });
}

Kernel batch_norm_kernel(const TensorSpec& x, DType parameter, double eps) {
  const ChannelPlanes planes(x);
  return with_floating("batch_norm", x.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    WorkspaceLayout workspace;
    const auto loaded = slice_buffer<T>(workspace, normalised_block),
               computed = slice_buffer<T>(workspace, normalised_block);
    const auto means = workspace.per_call<C>(planes.channels), factors = workspace.per_call<C>(planes.channels),
               biases = workspace.per_call<C>(planes.channels);
    const auto prepare = [=](const Buffers& b, int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const double inverse = 1.0 / std::sqrt(read_number(parameter, b.in[4], c) + eps);
        b.workspace(factors)[c] = static_cast<C>(inverse * read_number(parameter, b.in[1], c));
        b.workspace(means)[c] = static_cast<C>(read_number(parameter, b.in[3], c));
        b.workspace(biases)[c] = static_cast<C>(read_number(parameter, b.in[2], c));
      }
    };
    const auto normalise = [=](const Buffers& b, int64_t begin, int64_t end) {
      const C *mean = b.workspace(means), *factor = b.workspace(factors), *bias = b.workspace(biases);
      // A piece is one plane, or one sample if planes are short.
      const int64_t length = planes.are_long() ? planes.plane : planes.channels * planes.plane;
      for (int64_t i = begin; i < end;) {
        const int64_t place = i % length, n = std::min({end - i, length - place, normalised_block});
        const C* line = load_line(b.input<T>(0) + i, 1, n, b.workspace(loaded));
        C* to = result_line<T>(b.output<T>(0) + i, b.workspace(computed));
        if (planes.are_long()) {
          const int64_t c = i / length % planes.channels;
          row_functions<C>().normalise_channel(line, mean[c], factor[c], C(1), bias[c], to, n);
        } else if (planes.plane == 1) {
          for (int64_t k = 0; k < n; ++k) to[k] = (line[k] - mean[place + k]) * factor[place + k] + bias[place + k];
        } else {
          for (int64_t k = 0; k < n; ++k) {
            const int64_t c = (place + k) / planes.plane;
            to[k] = (line[k] - mean[c]) * factor[c] + bias[c];
          }
        }
        store_line<T>(to, b.output<T>(0) + i, 1, n);
        i += n;
      }
    };
    const double cost_ns = ns_per_normalised_element * static_cast<double>(planes.size());
    return Kernel::elementwise(planes.size(), cost_ns, normalise, {{planes.channels, 4096, prepare}})
        .with_workspace(workspace);
  });
}

}  // namespace pxl
