#include "runtime/kernels/gemm.hpp"

#include <cblas.h>

#if defined(PXL_ONEDNN)
#include <oneapi/dnnl/dnnl.h>
#endif

#include "runtime/kernels/one_openmp_thread.hpp"

#pragma weak openblas_set_num_threads
namespace pxl {

namespace {

void use_one_blas_thread() {
  static const bool one = [] {
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    return true;
  }();
  static_cast<void>(one);
}

int blas_int(int64_t x) { return static_cast<int>(x); }

}  // namespace

void gemm_one_thread(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                     int64_t ldb, float* c, int64_t ldc) {
#if defined(PXL_ONEDNN)
  const OneOpenMpThread one_thread;
  if (dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, 1.0f, a, lda, b, ldb, 0.0f, c, ldc) == dnnl_success) {
    return;
  }
#endif
  use_one_blas_thread();
  cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, blas_int(m), blas_int(n),
              blas_int(k), 1.0f, a, blas_int(lda), b, blas_int(ldb), 0.0f, c, blas_int(ldc));
}

void gemm_one_thread(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const double* a, int64_t lda, const double* b,
                     int64_t ldb, double* c, int64_t ldc) {
  use_one_blas_thread();
  cblas_dgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, blas_int(m), blas_int(n),
              blas_int(k), 1.0, a, blas_int(lda), b, blas_int(ldb), 0.0, c, blas_int(ldc));
}

}  // namespace pxl
