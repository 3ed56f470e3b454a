#include "runtime/kernels/elementwise/float8.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/reduction/axis_slices.hpp"

namespace pxl {
namespace {

constexpr int64_t piece = 16384;  ///< elements per iteration of the maximum

/// The log2_scale for a tensor whose largest absolute value is `largest`.
int32_t amax_scale(double largest, DType to) {
  if (largest == 0 || !std::isfinite(largest)) return 0;
  int have = 0, may = 0;
  const double fraction = std::frexp(largest, &have), most = std::frexp(static_cast<double>(float8_max(to)), &may);
  const int scale = may - have - (fraction > most ? 1 : 0);
  return std::clamp<int32_t>(scale, static_cast<int32_t>(min_log2_scale), static_cast<int32_t>(log2_scale_end) - 1);
}

/// The largest absolute value. Propagates NaN.
template <class T>
double largest(const T* x, int64_t n) {
  T most = 0;
  bool nan = false;
  for (int64_t i = 0; i < n; ++i) {
    most = std::max(most, std::abs(x[i]));
    nan |= x[i] != x[i];
  }
  return nan ? std::nan("") : static_cast<double>(most);
}

/// The largest absolute value of n elements. `wide` holds n elements if the operand is narrow.
double largest(DType dtype, const std::byte* data, int64_t n, float* wide) {
  if (dtype == DType::float64) return largest(reinterpret_cast<const double*>(data), n);
  if (dtype == DType::float32) return largest(reinterpret_cast<const float*>(data), n);
  convert(dtype, data, DType::float32, reinterpret_cast<std::byte*>(wide), n);
  return largest(wide, n);
}

}  // namespace

int64_t read_log2_scale(const Buffers& b, size_t slot) {
  const int64_t log2_scale = *b.input<int32_t>(slot);
  check_log2_scale(log2_scale);
  return log2_scale;
}

Kernel cast_to_float8_kernel(DType from, DType to, int64_t n, Float8Overflow overflow) {
  return with_floating("pow2scale_cast_to_fp8", from, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Phase check{1, 1, [](const Buffers& b, int64_t, int64_t) { read_log2_scale(b, 1); }};
    const Phase cast{n, 1024, [=](const Buffers& b, int64_t begin, int64_t end) {
                       to_float8(to, b.input<T>(0) + begin, b.output<uint8_t>(0) + begin, end - begin,
                                 *b.input<int32_t>(1), overflow);
                     }};
    return Kernel::parallel({check, cast}, static_cast<double>(n));
  });
}

Kernel cast_from_float8_kernel(DType from, DType to, int64_t n) {
  return with_floating("pow2scale_cast_from_fp8", to, [&](auto tag) {
    using T = typename decltype(tag)::type;
    WorkspaceLayout workspace;
    const auto scaled = workspace.per_call<T>(256);
    const Phase look_up{1, 1, [=](const Buffers& b, int64_t, int64_t) {
                          const std::array<float, 256> values = float8_table(from, read_log2_scale(b, 1));
                          std::ranges::transform(values, b.workspace(scaled),
                                                 [](float value) { return static_cast<T>(value); });
                        }};
    const Phase cast{n, 1024, [=](const Buffers& b, int64_t begin, int64_t end) {
                       const uint8_t* x = b.input<uint8_t>(0);
                       const T* table = b.workspace(scaled);
                       T* y = b.output<T>(0);
                       for (int64_t i = begin; i < end; ++i) y[i] = table[x[i]];
                     }};
    return Kernel::parallel({look_up, cast}, static_cast<double>(n)).with_workspace(workspace);
  });
}

Kernel amax_scale_kernel(DType dtype, DType to, int64_t n) {
  const int64_t parts = (n + piece - 1) / piece, width = static_cast<int64_t>(size_of(dtype));
  WorkspaceLayout workspace;
  const auto most = workspace.per_call<double>(parts);
  const auto wide = workspace.per_thread<float>(is_narrow(dtype) ? std::min(piece, n) : 0);
  const Phase find{parts, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i)
                       b.workspace(most)[i] = largest(dtype, b.in[0] + i * piece * width,
                                                      std::min(piece, n - i * piece), b.workspace(wide));
                   }};
  const Phase join{1, 1, [=](const Buffers& b, int64_t, int64_t) {
                     *b.output<int32_t>(0) = amax_scale(largest(b.workspace(most), parts), to);
                   }};
  return Kernel::parallel({find, join}, static_cast<double>(n) * 0.3).with_workspace(workspace);
}

}  // namespace pxl
