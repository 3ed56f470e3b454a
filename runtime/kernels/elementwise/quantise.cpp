#include "runtime/kernels/elementwise/quantise.hpp"

#include <algorithm>

#include "runtime/kernels/gemm/narrow.hpp"
#include "runtime/kernels/reduction/axis_slices.hpp"

namespace pxl {
namespace {

/// Row r of the weights, columns [begin, end), in the stored format.
struct QuantisedRows {
  bool packed;
  int64_t n;

  template <class C>
  void read(const Buffers& b, int64_t r, int64_t begin, int64_t end, C* to) const {
    if (packed) {
      const uint8_t* q = b.input<uint8_t>(0) + r / 2 * n;
      const int shift = r % 2 == 0 ? 0 : 4;
      for (int64_t j = begin; j < end; ++j) to[j - begin] = static_cast<C>((q[j] >> shift & 15) - 8);
    } else {
      const int8_t* q = b.input<int8_t>(0) + r * n;
      for (int64_t j = begin; j < end; ++j) to[j - begin] = static_cast<C>(q[j]);
    }
  }
};

}  // namespace

Kernel dequantise_kernel(const TensorSpec& weights, const TensorSpec& scales, bool packed, int64_t group) {
  const QuantisedRows rows{packed, weights.shape[1]};
  const int64_t n = rows.n, k = weights.shape[0] * (packed ? 2 : 1);
  if (k * n == 0) return [](const Buffers&) {};
  Kernel kernel = with_floating("dequantise", scales.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    return Kernel::elementwise(k * n, 0.5 * static_cast<double>(k * n),
                               [=](const Buffers& b, int64_t begin, int64_t end) {
                                 C values[block_size], factors[block_size];
                                 for (int64_t i = begin; i < end;) {
                                   const int64_t r = i / n, j = i % n, m = std::min({block_size, n - j, end - i});
                                   rows.read(b, r, j, j + m, values);
                                   const C* by = load_line(b.input<T>(1) + r / group * n + j, 1, m, factors);
                                   for (int64_t c = 0; c < m; ++c) values[c] *= by[c];
                                   store_line<T>(values, b.output<T>(0) + i, 1, m);
                                   i += m;
                                 }
                               });
  });
  if (scales.dtype == DType::float32)
    kernel.set_narrow_source({.format = packed ? NarrowFormat::int4 : NarrowFormat::int8,
                              .slot = 0,
                              .scales = 1,
                              .inner = n,
                              .outer_step = n,
                              .inner_step = 1,
                              .rows = group});
  return kernel;
}

}  // namespace pxl
