// The library behind large float32 products: oneDNN where the build found it (twice the speed of OpenBLAS 0.3.21 on
// AVX-512 machines that came after it), else BLAS. On the calling thread only.
#pragma once

#include <cstdint>

namespace pxl {

/// c[m, n] = op(a) @ op(b), row-major; `ld*` are the distances of rows of the stored matrices.
void gemm_one_thread(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                     int64_t ldb, float* c, int64_t ldc);
/// float64, by BLAS.
void gemm_one_thread(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const double* a, int64_t lda, const double* b,
                     int64_t ldb, double* c, int64_t ldc);

}  // namespace pxl
