#include "runtime/kernels/gemm/gemm.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "runtime/base/settings.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/gemm/packed.hpp"
#include "runtime/kernels/libraries.hpp"
#include "runtime/kernels/one_openmp_thread.hpp"

#if !defined(PXL_WITHOUT_BLAS)
#include <cblas.h>
#endif
#if defined(PXL_ONEDNN)
#include <oneapi/dnnl/dnnl.h>
#endif

namespace pxl {

namespace {

/// Runs the packed kernels.
void gemm_own(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
              int64_t ldb, float* c, int64_t ldc, float* memory) {
  packed().product({.a = {reinterpret_cast<const std::byte*>(a), lda},
                    .b = {reinterpret_cast<const std::byte*>(b), ldb},
                    .ta = ta,
                    .tb = tb,
                    .m = m,
                    .n = n,
                    .k = k,
                    .out = c,
                    .ldo = ldc,
                    .memory = memory});
}

/// Adds the terms in the order of k, one after another.
void gemm_plain(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const double* a, int64_t lda, const double* b,
                int64_t ldb, double* c, int64_t ldc) {
  for (int64_t i = 0; i < m; ++i, c += ldc) {
    std::fill_n(c, n, 0.0);
    for (int64_t l = 0; l < k; ++l) {
      const double factor = ta ? a[l * lda + i] : a[i * lda + l];
      if (tb)
        for (int64_t j = 0; j < n; ++j) c[j] += factor * b[j * ldb + l];
      else
        for (int64_t j = 0; j < n; ++j) c[j] += factor * b[l * ldb + j];
    }
  }
}

#if !defined(PXL_WITHOUT_BLAS)
int blas_int(int64_t x) { return static_cast<int>(x); }
CBLAS_TRANSPOSE transposition(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }

void gemm_library(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                  int64_t ldb, float* c, int64_t ldc) {
#if defined(PXL_ONEDNN)
  const OneOpenMpThread one_thread;
  if (dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, 1.0f, a, lda, b, ldb, 0.0f, c, ldc) == dnnl_success) return;
#endif
  use_one_blas_thread();
  cblas_sgemm(CblasRowMajor, transposition(ta), transposition(tb), blas_int(m), blas_int(n), blas_int(k), 1.0f, a,
              blas_int(lda), b, blas_int(ldb), 0.0f, c, blas_int(ldc));
}
#else
// way() is never `library`.
void gemm_library(bool, bool, int64_t, int64_t, int64_t, const float*, int64_t, const float*, int64_t, float*,
                  int64_t) {}
#endif

/// Whether BLAS computes float64 products, and float32 products if libraries compute them.
bool has_blas() {
#if defined(PXL_WITHOUT_BLAS)
  return false;
#else
  return is_blas_usable();
#endif
}

/// The means by which float32 products are computed: libraries, the packed kernels, or the fastest for the shape.
enum class Way : uint8_t { library, packed, faster };

Way way() {
  static const Way chosen = [] {
    if (!has_blas()) return Way::packed;
#if defined(PXL_ONEDNN)
    constexpr Way usual = Way::faster;
#elif defined(__x86_64__)
    constexpr Way usual = Way::library;
#else
    constexpr Way usual = Way::packed;
#endif
    const std::string asked = setting(Setting::gemm);
    return asked.empty() ? usual : asked == "packed" ? Way::packed : Way::library;
  }();
  return chosen;
}

/// Runs gemm_one_thread, then applies alpha and beta.
template <class T>
void scaled_in_steps(const GemmOperands<T>& p, T alpha, T beta, T* c, int64_t ldc, T* product, float* memory) {
  if (alpha == T(1) && beta == T(0))
    return gemm_one_thread(p.ta, p.tb, p.m, p.n, p.k, p.a, p.lda, p.b, p.ldb, c, ldc, memory);
  gemm_one_thread(p.ta, p.tb, p.m, p.n, p.k, p.a, p.lda, p.b, p.ldb, product, p.n, memory);
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      T& to = c[i * ldc + j];
      const T scaled = alpha * product[i * p.n + j];
      to = beta == T(0) ? scaled : scaled + beta * to;
    }
}

}  // namespace

bool library_computes_products() { return way() != Way::packed; }

// Measured on AMD EPYC with AVX-512, and on the same processor limited to AVX2 (PXL_ISA, ONEDNN_MAX_CPU_ISA): 8 to 512
// rows, 8 to 4,096 columns, 8 to 4,096 terms, with b's rows n (or k), 1,000, 2,048 and 4,096 floats apart. Transposed
// a: AMD EPYC (Zen 3) with AVX2, 32 to 256 rows, 64 to 512 columns, 64 to 1,024 terms, rows 64 to 4,096 floats apart.
ProductWay fastest_way(std::string_view instruction_set, bool ta, bool tb, int64_t m, int64_t n, int64_t k, int64_t lda,
                       int64_t ldb) {
  // A call of oneDNN costs 0.2 us, and it packs its operands.
  constexpr int64_t small_macs = 1 << 13;
  const bool small = m * n * k <= small_macs;
  if (instruction_set == "avx2") {
    if (small) return ProductWay::in_place;
    // oneDNN for AVX2 reads b and a transposed a in place, and rows at a multiple of 2 KiB compete for the same L1
    // lines. The packed kernels then have 1.4 to 2.2 times the rate. The ratio is 1.0 to 1.3 at multiples of 512 bytes
    // with a transposed, and 0.7 to 1.0 at other distances.
    const bool conflicts = (ta && lda % 512 == 0) || (!tb && ldb % 512 == 0);
    const bool near = ta && !tb && n >= 128 && (lda % 128 == 0 || ldb % 128 == 0);
    return conflicts || near ? ProductWay::packed : ProductWay::library;
  }
  if (instruction_set != "avx512") return small ? ProductWay::in_place : ProductWay::library;
  // Reading in place beats oneDNN for AVX-512 in the geometric mean over the shapes: 1.2 times the rate, and 1.7 times
  // with both operands transposed. oneDNN's rate falls if it reads many rows in a that are some KiB apart, and if it
  // packs a transposed b for few rows.
  const auto in_place = [&] {
    if (ta && tb) return true;
    if (ta) return k <= 512 || n <= 256 || m <= 16;
    if (!tb) return k <= 256 || m <= 48;
    return m > 16 ? n <= 96 || (ldb % 1024 == 0 && m <= 256) : k <= 16;
  };
  if (in_place()) return ProductWay::in_place;
  // oneDNN for AVX-512 takes longer to pack a transpose with long rows. The packed kernels have 1.1 to 1.5 times its
  // rate with 16 to 128 rows of a, otherwise 0.8 to 1.05 times.
  return tb && k >= 1024 && m >= 16 && m <= 128 ? ProductWay::packed : ProductWay::library;
}

ProductWay product_way(bool ta, bool tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb) {
  switch (way()) {
    case Way::library: return ProductWay::library;
    case Way::packed: return ProductWay::packed;
    case Way::faster: break;
  }
  return fastest_way(instruction_set(), ta, tb, m, n, k, lda, ldb);
}

int64_t gemm_memory(int64_t m) { return way() == Way::library ? 0 : packed().product_memory(m); }
int64_t gemm_scaled_memory(int64_t m) { return library_computes_products() ? 0 : packed().product_memory(m); }
template <>
int64_t gemm_product_memory<float>(int64_t m, int64_t n) {
  return library_computes_products() ? 0 : m * n;
}
template <>
int64_t gemm_product_memory<double>(int64_t m, int64_t n) {
  return has_blas() ? 0 : m * n;
}

void gemm_one_thread(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                     int64_t ldb, float* c, int64_t ldc, float* memory, const Finish& finish) {
  const ProductWay chosen = product_way(ta, tb, m, n, k, lda, ldb);
  if (chosen == ProductWay::in_place && k > 0)
    return packed().products_in_place({a, b, c, 1, 0, 0, 0, ta, tb, m, n, k, lda, ldb, ldc, memory, finish});
  if (k == 0)
    for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * ldc, n, 0.0F);
  else if (chosen == ProductWay::packed)
    gemm_own(ta, tb, m, n, k, a, lda, b, ldb, c, ldc, memory);
  else
    gemm_library(ta, tb, m, n, k, a, lda, b, ldb, c, ldc);
  if (is_needed(finish)) packed().finish(finish, m, n, c, ldc, c, ldc);
}

void gemm_one_thread(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const double* a, int64_t lda, const double* b,
                     int64_t ldb, double* c, int64_t ldc, float*) {
  if (!has_blas()) return gemm_plain(ta, tb, m, n, k, a, lda, b, ldb, c, ldc);
#if !defined(PXL_WITHOUT_BLAS)
  use_one_blas_thread();
  cblas_dgemm(CblasRowMajor, transposition(ta), transposition(tb), blas_int(m), blas_int(n), blas_int(k), 1.0, a,
              blas_int(lda), b, blas_int(ldb), 0.0, c, blas_int(ldc));
#endif
}

void gemm_scaled(const GemmOperands<float>& p, float alpha, float beta, float* c, int64_t ldc, float* product,
                 float* memory) {
#if !defined(PXL_WITHOUT_BLAS)
  if (library_computes_products()) {
    use_one_blas_thread();
    const int m = blas_int(p.m), n = blas_int(p.n), k = blas_int(p.k), lda = blas_int(p.lda), ldb = blas_int(p.ldb);
    if (n == 1 && ldc == 1) {
      cblas_sgemv(CblasRowMajor, transposition(p.ta), p.ta ? k : m, p.ta ? m : k, alpha, p.a, lda, p.b, 1, beta, c, 1);
    } else if (m == 1) {
      cblas_sgemv(CblasRowMajor, transposition(!p.tb), p.tb ? n : k, p.tb ? k : n, alpha, p.b, ldb, p.a, 1, beta, c, 1);
    } else {
      cblas_sgemm(CblasRowMajor, transposition(p.ta), transposition(p.tb), m, n, k, alpha, p.a, lda, p.b, ldb, beta, c,
                  blas_int(ldc));
    }
    return;
  }
#endif
  scaled_in_steps(p, alpha, beta, c, ldc, product, memory);
}

void gemm_scaled(const GemmOperands<double>& p, double alpha, double beta, double* c, int64_t ldc, double* product,
                 float* memory) {
  if (!has_blas()) return scaled_in_steps(p, alpha, beta, c, ldc, product, memory);
#if !defined(PXL_WITHOUT_BLAS)
  use_one_blas_thread();
  const int m = blas_int(p.m), n = blas_int(p.n), k = blas_int(p.k), lda = blas_int(p.lda), ldb = blas_int(p.ldb);
  // A product with a vector reads the matrix once, without packing.
  if (n == 1 && ldc == 1) {
    const int step = p.tb ? 1 : ldb;
    cblas_dgemv(CblasRowMajor, transposition(p.ta), p.ta ? k : m, p.ta ? m : k, alpha, p.a, lda, p.b, step, beta, c, 1);
  } else if (m == 1) {
    const int step = p.ta ? lda : 1;
    cblas_dgemv(CblasRowMajor, transposition(!p.tb), p.tb ? n : k, p.tb ? k : n, alpha, p.b, ldb, p.a, step, beta, c,
                1);
  } else {
    cblas_dgemm(CblasRowMajor, transposition(p.ta), transposition(p.tb), m, n, k, alpha, p.a, lda, p.b, ldb, beta, c,
                blas_int(ldc));
  }
#endif
}

}  // namespace pxl
