// Hardmax and local response normalisation.
#include <algorithm>

#include "runtime/kernels/reduction/axis_lines.hpp"
#include "runtime/kernels/reduction/axis_slices.hpp"
#include "runtime/kernels/reduction/normalise.hpp"

namespace pxl {

namespace {

/// Number of adjacent slices that are processed together.
constexpr int64_t slices_at_once = 64;

/// A kernel that calls f(buffers, first element, adjacent slices) for groups of at most `slices_at_once` adjacent
/// slices. Element i of slice c is at first + i * inner + c. `element_ns` is the time per element.
template <class F>
Kernel adjacent_slices(const AxisLines& lines, double element_ns, F f) {
  const int64_t groups = (lines.inner + slices_at_once - 1) / slices_at_once;
  const double elements = static_cast<double>(lines.outer * lines.extent) * static_cast<double>(lines.inner);
  constexpr int64_t min_elements = 1024;  // per chunk
  const int64_t in_group = std::max<int64_t>(1, lines.extent * std::min(lines.inner, slices_at_once));
  return Kernel::parallel(lines.extent == 0 ? 0 : lines.outer * groups, 1 + min_elements / in_group,
                          element_ns * elements, [=](const Buffers& b, int64_t begin, int64_t end) {
                            for (int64_t u = begin; u < end; ++u) {
                              const int64_t c = u % groups * slices_at_once;
                              f(b, u / groups * lines.extent * lines.inner + c,
                                std::min(slices_at_once, lines.inner - c));
                            }
                          });
}

}  // namespace

Kernel hardmax_kernel(const TensorSpec& x, int64_t axis) {
  const AxisLines lines(x.shape, axis);
  return with_floating("hardmax", x.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    return adjacent_slices(lines, 1.5, [lines](const Buffers& b, int64_t first, int64_t width) {
      const T* in = b.input<T>(0) + first;
      T* out = b.output<T>(0) + first;
      int64_t best[slices_at_once] = {};
      C largest[slices_at_once];
      for (int64_t c = 0; c < width; ++c) largest[c] = static_cast<C>(in[c]);
      for (int64_t i = 1; i < lines.extent; ++i) {
        for (int64_t c = 0; c < width; ++c) {
          const C v = static_cast<C>(in[i * lines.inner + c]);
          const bool better = largest[c] == largest[c] && (v > largest[c] || v != v);
          best[c] = better ? i : best[c];
          largest[c] = better ? v : largest[c];
        }
      }
      const T zero = static_cast<T>(C(0)), one = static_cast<T>(C(1));
      for (int64_t i = 0; i < lines.extent; ++i)
        for (int64_t c = 0; c < width; ++c) out[i * lines.inner + c] = best[c] == i ? one : zero;
    });
  });
}

Kernel lrn_kernel(const TensorSpec& x, int64_t size, double alpha, double beta, double bias) {
  const AxisLines lines(x.shape, 1);
  const int64_t before = (size - 1) / 2, after = size - 1 - before;
  return with_floating("lrn", x.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    const C scale = static_cast<C>(alpha / static_cast<double>(size)), offset = static_cast<C>(bias);
    const C exponent = static_cast<C>(beta);
    const BinaryFn power = binary_block(Binary::pow, dtype_of<C>()).vs;
    // A power takes 3 ns (`bench_runtime`, pow).
    const double element_ns = 4 + 0.2 * static_cast<double>(std::min(size, lines.extent));
    return adjacent_slices(lines, element_ns, [=](const Buffers& b, int64_t first, int64_t width) {
      const T* in = b.input<T>(0) + first;
      T* out = b.output<T>(0) + first;
      C sums[slices_at_once];
      for (int64_t i = 0; i < lines.extent; ++i) {
        std::fill(sums, sums + width, C(0));
        const int64_t last = std::min(lines.extent - 1, i + after);
        for (int64_t j = std::max<int64_t>(0, i - before); j <= last; ++j) {
          for (int64_t c = 0; c < width; ++c) {
            const C v = static_cast<C>(in[j * lines.inner + c]);
            sums[c] += v * v;
          }
        }
        for (int64_t c = 0; c < width; ++c) sums[c] = offset + scale * sums[c];
        power(sums, &exponent, sums, width);
        for (int64_t c = 0; c < width; ++c)
          out[i * lines.inner + c] = static_cast<T>(static_cast<C>(in[i * lines.inner + c]) / sums[c]);
      }
    });
  });
}

}  // namespace pxl
