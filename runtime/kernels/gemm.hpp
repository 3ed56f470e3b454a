// Single-threaded GEMM of a library: oneDNN where the build found it, otherwise BLAS. oneDNN has twice the rate of
// OpenBLAS 0.3.21 on AVX-512 processors newer than that release.
#pragma once

#include <cstdint>

namespace pxl {

/// c[m, n] = op(a) @ op(b), row-major; `ld*` are leading dimensions, in elements.
void gemm_one_thread(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                     int64_t ldb, float* c, int64_t ldc);
/// The same in float64, always by BLAS.
void gemm_one_thread(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const double* a, int64_t lda, const double* b,
                     int64_t ldb, double* c, int64_t ldc);

}  // namespace pxl
