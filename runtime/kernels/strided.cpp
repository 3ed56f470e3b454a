#include "runtime/kernels/strided.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace pxl {
namespace {

template <class T>
void copy_run(const T* in, int64_t si, T* out, int64_t so, int64_t n) {
  if (si == 1 && so == 1) {
    std::memcpy(out, in, static_cast<size_t>(n) * sizeof(T));
  } else if (so == 1 && si == 0) {
    std::fill(out, out + n, *in);
  } else if (so == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = in[i * si];
  } else {
    for (int64_t i = 0; i < n; ++i) out[i * so] = in[i * si];
  }
}

/// out[j * so + i] = in[i * si + j] for i < n, j < m, in tiles that stay in L1.
template <class T>
void copy_block(const T* in, int64_t si, T* out, int64_t so, int64_t n, int64_t m) {
  constexpr int64_t tile = 32;
  for (int64_t i0 = 0; i0 < n; i0 += tile) {
    const int64_t i1 = std::min(n, i0 + tile);
    for (int64_t j0 = 0; j0 < m; j0 += tile) {
      const int64_t j1 = std::min(m, j0 + tile);
      for (int64_t j = j0; j < j1; ++j) {
        for (int64_t i = i0; i < i1; ++i) out[j * so + i] = in[i * si + j];
      }
    }
  }
}

template <class T>
void copy_all(const LoopNest& nest, int64_t begin, int64_t end, bool blocked, int64_t along, int64_t step,
              const std::byte* in, std::byte* out) {
  const T* x = reinterpret_cast<const T*>(in);
  T* y = reinterpret_cast<T*>(out);
  const int64_t si = nest.inner_stride(0), so = nest.inner_stride(1);
  for_each_run<2>(nest, begin, end, [&](const auto& at, int64_t n) {
    if (blocked)
      copy_block(x + at[0], si, y + at[1], step, n, along);
    else
      copy_run(x + at[0], si, y + at[1], so, n);
  });
}

template <class T>
void copy_part(const LoopNest& nest, int64_t begin, int64_t end, bool blocked, int64_t along, int64_t step,
               const std::byte* in, std::byte* out) {
  if (!blocked || nest.extents.size() > 1) return copy_all<T>(nest, begin, end, blocked, along, step, in, out);
  // One block: a part of the extent that was split off.
  const auto width = static_cast<int64_t>(sizeof(T));
  copy_all<T>(nest, 0, nest.extents[0], true, end - begin, step, in + begin * width, out + begin * step * width);
}

}  // namespace

StridedCopy::StridedCopy(size_t width, const Shape& extents, const Shape& in_strides, const Shape& out_strides)
    : nest_(make_loop_nest(extents, {in_strides, out_strides})), width_(width) {
  if (nest_.inner_stride(1) != 1 || nest_.inner_stride(0) == 1 || nest_.inner_stride(0) == 0) return;
  for (size_t d = 0; d + 1 < nest_.extents.size(); ++d) {
    if (nest_.strides[0][d] != 1) continue;
    const auto at = static_cast<std::ptrdiff_t>(d);
    blocked_ = true;
    along_ = nest_.extents[d];
    step_ = nest_.strides[1][d];
    nest_.extents.erase(nest_.extents.begin() + at);
    for (Shape& s : nest_.strides) s.erase(s.begin() + at);
    if (along_ == 0) nest_.extents.assign(1, 0), nest_.strides.assign(2, Shape{0});
    return;
  }
}

void StridedCopy::part(const std::byte* in, std::byte* out, int64_t begin, int64_t end) const {
  switch (width_) {
    case 1: return copy_part<uint8_t>(nest_, begin, end, blocked_, along_, step_, in, out);
    case 2: return copy_part<uint16_t>(nest_, begin, end, blocked_, along_, step_, in, out);
    case 4: return copy_part<uint32_t>(nest_, begin, end, blocked_, along_, step_, in, out);
    default: return copy_part<uint64_t>(nest_, begin, end, blocked_, along_, step_, in, out);
  }
}

double StridedCopy::cost_ns() const {
  const double elements = static_cast<double>(nest_.size()) * static_cast<double>(blocked_ ? along_ : 1);
  const bool rows = nest_.inner_stride(1) == 1 && nest_.inner_stride(0) == 1;
  return elements * (rows ? 0.1 * static_cast<double>(width_) : 1.0);
}

}  // namespace pxl
