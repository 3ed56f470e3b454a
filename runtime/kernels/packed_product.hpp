// Products whose right operand is packed (packed.hpp) once, for any number of products. The layout is that of the
// instruction set in use: it never leaves the process.
#pragma once

#include "runtime/kernels/product.hpp"

namespace pxl {

/// Whether the call may read its right operand packed, has the same bits then, and gains by it: one float32 product of
/// at most 256 rows, nothing transposed, with its right operand in memory, that is not added to a matrix.
bool gains_by_packing(const GemmCall& call);

/// Floats of the packed right operand.
int64_t packed_right_size(const GemmShape& p);
/// in: b, as the shape of a call that gains by packing describes; out: packed_right_size floats. Parallel.
Kernel pack_right_kernel(const GemmShape& p);
/// product_kernel of a call that gains by packing, with its input `options.b` packed. Sums are in the order of the
/// terms, with one fused multiply-add each (packed.hpp). Parallel.
Kernel packed_product_kernel(const GemmCall& call);

}  // namespace pxl
