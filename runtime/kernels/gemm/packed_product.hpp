// Products whose right operand is packed (packed.hpp) once, for any number of products. The layout depends on the
// instruction set in use: it never leaves the process.
#pragma once

#include "runtime/kernels/gemm/product.hpp"

namespace pxl {

/// Whether the call may read a packed right operand with the same bits, and gains by it. The call is one float32
/// product with at most 256 rows, no transposed operand, its right operand in memory, and no matrix that it is added
/// to.
bool gains_by_packing(const GemmCall& call);

/// Floats in the packed right operand.
int64_t packed_right_size(const GemmShape& p);
/// in: b, with the shape that a call that gains by packing describes; out: packed_right_size floats. Parallel.
Kernel pack_right_kernel(const GemmShape& p);
/// product_kernel for a call that gains by packing, with its input `options.b` packed. Sums are in the order of the
/// terms, with one fused multiply-add per term (packed.hpp). Parallel.
Kernel packed_product_kernel(const GemmCall& call);

}  // namespace pxl
