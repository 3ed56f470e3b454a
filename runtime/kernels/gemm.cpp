#include "runtime/kernels/gemm.hpp"

#include <cblas.h>

#if defined(PXL_ONEDNN)
#include <oneapi/dnnl/dnnl.h>
#endif

#pragma weak openblas_set_num_threads
// From the OpenMP runtime that oneDNN depends on. They apply to the calling thread.
extern "C" void omp_set_num_threads(int) __attribute__((weak));
extern "C" int omp_get_max_threads() __attribute__((weak));

namespace pxl {

namespace {

void use_one_blas_thread() {
  static const bool one = [] {
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    return true;
  }();
  static_cast<void>(one);
}

/// One thread for OpenMP regions of this thread. Restored at the end: other users of OpenMP in the process may have
/// this thread as their caller.
class OneOpenMpThread {
 public:
  OneOpenMpThread() : before_(omp_get_max_threads ? omp_get_max_threads() : 1) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneOpenMpThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneOpenMpThread(const OneOpenMpThread&) = delete;
  OneOpenMpThread& operator=(const OneOpenMpThread&) = delete;

 private:
  const int before_;
};

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
