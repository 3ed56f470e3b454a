// Products of quantised rows and quantised weights. Integers are multiplied and summed exactly; only the sums of a few
// weight rows become float32. Compiled per instruction set and selected at start-up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// Maximum weight rows whose products are summed as integers. A group of rows with one scale is divided into as many
/// blocks as it needs, from its beginning. Sums of this many int4 rows fit 16 bits.
constexpr int64_t quantised_block_rows(bool packed) { return packed ? 16 : 8; }

/// Adds x[m, k0:k1] @ w[k0:k1, n] to `out`, as panels (skinny.hpp: SkinnyForward), block by block. A block adds the
/// exact sum of its products, as float32, times the product of the two scales. k0 is at the beginning of a group.
struct QuantisedProduct {
  const int8_t* x = nullptr;
  int64_t ldx = 0;
  const float* x_scales = nullptr;  ///< element (i, k) has x_scales[i * x_groups + k / group]
  int64_t x_groups = 0;
  bool packed = false;            ///< two rows of weights in a line of bytes, as NarrowFormat::int4; otherwise int8
  const std::byte* w = nullptr;   ///< at column 0 of row 0
  int64_t ldw = 0;                ///< bytes between lines, elements between rows of `scales`
  const float* scales = nullptr;  ///< at column 0; element (k, j) has scales[k / group * ldw + j]
  int64_t group = 1;              ///< even with `packed`
  int64_t m = 0, n = 0, k0 = 0, k1 = 0;
  float* out = nullptr;
};

struct QuantisedProductFunctions {
  void (*add)(const QuantisedProduct&);
};

const QuantisedProductFunctions& quantised_product();

/// in: x int8 [.., k]; weights as for dequantise_kernel (quantise.hpp); scales of x, float32 [.., ceil(k / group)];
/// scales of the weights, float32 [ceil(k / group), n]. out: float32 [.., n].
Kernel quantised_matmul_kernel(const TensorSpec& x, const TensorSpec& weights, bool packed, int64_t group);

}  // namespace pxl
