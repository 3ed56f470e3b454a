// Matrix products with the semantics of numpy.matmul (1-D operands, batch broadcasting), and optional transposition of
// the last two axes.
#pragma once

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// Extents, strides and leading dimensions of a batched GEMM. Batches that share B are merged into rows where possible.
struct GemmShape {
  int64_t m = 1, n = 1, k = 1;  ///< one product is [m, k] @ [k, n]
  bool ta = false, tb = false;  ///< the stored matrix is [k, m], [n, k]
  Shape batch;                  ///< batch extents of the result
  Shape a_strides, b_strides;   ///< per batch axis, in elements; 0 where the operand broadcasts
  Shape out;                    ///< shape of the result
  // Leading dimensions, and offsets of the first matrices, in elements. product_layout.hpp sets them for operands that
  // are not contiguous.
  int64_t lda = 0, ldb = 0, ldc = 0;
  int64_t a_offset = 0, b_offset = 0;
  Shape c_strides;  ///< the result's strides, per batch axis; empty if it is contiguous
};

/// `ta`, `tb` swap the last two axes of an operand with rank 2 or more (no effect on rank 1). Throws Error for scalars,
/// unequal inner extents, and batches that do not broadcast.
GemmShape gemm_shape(const Shape& a, bool ta, const Shape& b, bool tb);
inline Shape matmul_shape(const Shape& a, bool ta, const Shape& b, bool tb) { return gemm_shape(a, ta, b, tb).out; }

/// in: a, b, and unless beta is 0, C (slot 2, with out's spec; may be the output's memory); out = alpha a@b + beta C.
/// Operands and `out` are floating or integer; operands with different dtypes are converted to the widest floating one.
/// float32 and float64 run in BLAS on one thread; float16 accumulates in float32 and is rounded once; integers wrap.
Kernel matmul_kernel(const TensorSpec& a, bool ta, const TensorSpec& b, bool tb, const TensorSpec& out,
                     double alpha = 1.0, double beta = 0.0);

/// in: a, b (float8 dtypes), log2_scale (int32 scalar); out: a@b 2^log2_scale in float16. Sums are float32 and rounded
/// once. Throws a run-time Error unless log2_scale is in [-32, 32).
Kernel matmul_float8_kernel(const TensorSpec& a, const TensorSpec& b, const TensorSpec& out);

}  // namespace pxl
