// Group, layer and batch normalisation.
#include "runtime/kernels/normalise.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/base/diagnostic.hpp"
#include "runtime/kernels/lines.hpp"
#include "runtime/kernels/scratch.hpp"

namespace pxl {
namespace {

/// x as [samples, groups, channels, spatial], channels per group.
struct Groups {
  int64_t samples = 1, groups = 1, channels = 1, spatial = 1;
  int64_t row() const { return channels * spatial; }
  int64_t rows() const { return samples * groups; }
  int64_t all_channels() const { return groups * channels; }
};

Groups group_norm_groups(const TensorSpec& x, int64_t groups) {
  if (x.shape.size() < 2) throw Error("group_norm needs a rank of at least 2, not shape " + bracket_text(x.shape));
  if (groups <= 0 || x.shape[1] % groups != 0) {
    throw Error("group_norm: " + std::to_string(groups) + " groups do not divide the " + std::to_string(x.shape[1]) +
                " channels of " + bracket_text(x.shape));
  }
  Groups g{x.shape[0], groups, x.shape[1] / groups, 1};
  for (size_t d = 2; d < x.shape.size(); ++d) g.spatial *= x.shape[d];
  return g;
}
Groups layer_norm_groups(const TensorSpec& x) {
  if (x.shape.empty()) throw Error("layer_norm needs at least one axis");
  Groups g;
  for (size_t d = 0; d + 1 < x.shape.size(); ++d) g.samples *= x.shape[d];
  g.channels = x.shape.back();
  return g;
}

/// The per-channel parameters in the type of the computation.
template <class C, int slot>
const C* parameters(const std::byte* data, DType dtype, int64_t n) {
  if (dtype == dtype_of<C>()) return reinterpret_cast<const C*>(data);
  C* buffer = scratch<C, slot>(static_cast<size_t>(n));
  convert(dtype, data, dtype_of<C>(), reinterpret_cast<std::byte*>(buffer), n);
  return buffer;
}

Kernel forward(std::string_view what, const TensorSpec& x, DType weight, Groups groups, double eps) {
  return with_floating(what, x.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    return [groups, weight, eps](const Buffers& b) {
      const int64_t n = groups.row();
      const C* w = parameters<C, 2>(b.in[1], weight, groups.all_channels());
      const C* bias = parameters<C, 3>(b.in[2], weight, groups.all_channels());
      C* from = scratch<C, 0>(static_cast<size_t>(n));
      C* to = scratch<C, 1>(static_cast<size_t>(n));
      for (int64_t r = 0; r < groups.rows(); ++r) {
        const C* line = load_line(b.input<T>(0) + r * n, 1, n, from);
        const double mean = n == 0 ? 0.0 : line_sum(line, n) / static_cast<double>(n);
        const double variance = n == 0 ? 0.0 : line_deviation(line, mean, n) / static_cast<double>(n);
        const double inverse = 1.0 / std::sqrt(variance + eps);
        if (b.out[1]) b.output<float>(1)[r] = static_cast<float>(mean);
        if (b.out[2]) b.output<float>(2)[r] = static_cast<float>(inverse);
        const C m = static_cast<C>(mean), s = static_cast<C>(inverse);
        const int64_t first = r % groups.groups * groups.channels;
        for (int64_t c = 0; c < groups.channels; ++c) {
          if (groups.spatial == 1) break;
          for (int64_t i = c * groups.spatial; i < (c + 1) * groups.spatial; ++i) {
            to[i] = (line[i] - m) * s * w[first + c] + bias[first + c];
          }
        }
        if (groups.spatial == 1) {
          for (int64_t i = 0; i < n; ++i) to[i] = (line[i] - m) * s * w[first + i] + bias[first + i];
        }
        store_line<T>(to, b.output<T>(0) + r * n, 1, n);
      }
    };
  });
}

Kernel backward(std::string_view what, const TensorSpec& x, DType weight, Groups groups) {
  return with_floating(what, x.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    return [groups, weight](const Buffers& b) {
      const int64_t n = groups.row(), channels = groups.all_channels();
      const C* w = parameters<C, 2>(b.in[2], weight, channels);
      C* first_buffer = scratch<C, 0>(static_cast<size_t>(n));
      C* second_buffer = scratch<C, 1>(static_cast<size_t>(n));
      C* to = scratch<C, 4>(static_cast<size_t>(n));
      double* dw = scratch<double, 5>(static_cast<size_t>(2 * channels));
      double* db = dw + channels;
      std::fill(dw, dw + 2 * channels, 0.0);
      for (int64_t r = 0; r < groups.rows(); ++r) {
        const C* g = load_line(b.input<T>(0) + r * n, 1, n, first_buffer);
        const C* line = load_line(b.input<T>(1) + r * n, 1, n, second_buffer);
        const double mean = static_cast<double>(b.input<float>(3)[r]),
                     inverse = static_cast<double>(b.input<float>(4)[r]);
        const int64_t first = r % groups.groups * groups.channels;
        double sum = 0, sum_product = 0;  // of dy w, and of dy w xhat
        for (int64_t c = 0; c < groups.channels; ++c) {
          double own = 0, own_product = 0;
          for (int64_t i = c * groups.spatial; i < (c + 1) * groups.spatial; ++i) {
            const double hat = (static_cast<double>(line[i]) - mean) * inverse, dy = static_cast<double>(g[i]);
            own += dy;
            own_product += dy * hat;
          }
          db[first + c] += own;
          dw[first + c] += own_product;
          sum += own * static_cast<double>(w[first + c]);
          sum_product += own_product * static_cast<double>(w[first + c]);
        }
        if (!b.out[0]) continue;
        const C m = static_cast<C>(mean), s = static_cast<C>(inverse);
        const C average = static_cast<C>(sum / static_cast<double>(n)),
                slope = static_cast<C>(sum_product / static_cast<double>(n));
        for (int64_t c = 0; c < groups.channels; ++c) {
          const C wc = w[first + c];
          for (int64_t i = c * groups.spatial; i < (c + 1) * groups.spatial; ++i) {
            to[i] = s * (g[i] * wc - average - (line[i] - m) * s * slope);
          }
        }
        store_line<T>(to, b.output<T>(0) + r * n, 1, n);
      }
      if (b.out[1]) convert(DType::float64, reinterpret_cast<const std::byte*>(dw), weight, b.out[1], channels);
      if (b.out[2]) convert(DType::float64, reinterpret_cast<const std::byte*>(db), weight, b.out[2], channels);
    };
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

Kernel batch_norm_kernel(const TensorSpec& x, DType parameter, double eps) {
  const Groups groups = group_norm_groups(x, 1);
  return with_floating("batch_norm", x.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    return [groups, parameter, eps](const Buffers& b) {
      const int64_t channels = groups.channels, n = groups.spatial;
      C* from = scratch<C, 0>(static_cast<size_t>(n));
      C* to = scratch<C, 1>(static_cast<size_t>(n));
      for (int64_t r = 0; r < groups.samples * channels; ++r) {
        const int64_t c = r % channels;
        const double inverse = 1.0 / std::sqrt(read_number(parameter, b.in[4], c) + eps);
        const C slope = static_cast<C>(inverse * read_number(parameter, b.in[1], c));
        const C mean = static_cast<C>(read_number(parameter, b.in[3], c)),
                bias = static_cast<C>(read_number(parameter, b.in[2], c));
        const C* line = load_line(b.input<T>(0) + r * n, 1, n, from);
        for (int64_t i = 0; i < n; ++i) to[i] = (line[i] - mean) * slope + bias;
        store_line<T>(to, b.output<T>(0) + r * n, 1, n);
      }
    };
  });
}

}  // namespace pxl
