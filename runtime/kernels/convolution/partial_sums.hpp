// Sums of partial results that earlier phases have stored, in the order of the parts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "runtime/kernels/gemm/packed.hpp"
#include "runtime/kernels/kernel.hpp"

namespace pxl {

/// Maximum number of partial results with `size` elements: as many as fit 4 M elements, from 8 to 32. More cores than
/// that get no part.
inline int64_t max_partial_results(int64_t size) {
  return std::clamp<int64_t>((int64_t{1} << 22) / std::max<int64_t>(size, 1), 8, 32);
}

/// Time to store and to sum one number of a partial result, in single-core ns. Measured with weight gradients of 64 to
/// 512 channels on AMD EPYC.
inline constexpr double ns_per_partial_number = 1;

/// to[i] += from[i] for i < n.
template <class T>
void add_numbers(const T* from, int64_t n, T* to) {
  if constexpr (std::is_same_v<T, float>)
    packed().finish({{}, nullptr, from}, 1, n, to, n, to, n);
  else
    for (int64_t i = 0; i < n; ++i) to[i] += from[i];
}

/// A phase that sums `parts` partial results with `size` elements each into output 0.
template <class T>
Phase partial_sums_phase(PerCall<T> partial, int64_t parts, int64_t size) {
  return {size, 1024, [=](const Buffers& b, int64_t begin, int64_t end) {
            constexpr int64_t block = 4096;  // per sum, so that blocks stay in L1
            for (int64_t i = begin; i < end; i += block) {
              const int64_t n = std::min(block, end - i);
              const T* from = b.workspace(partial) + i;
              T* const to = b.output<T>(0) + i;
              std::copy_n(from, n, to);
              for (int64_t p = 1; p < parts; ++p) add_numbers(from + p * size, n, to);
            }
          }};
}

}  // namespace pxl
