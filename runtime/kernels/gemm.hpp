// Single-threaded GEMM. float32 on x86-64: oneDNN where the build found it, otherwise BLAS; elsewhere, or with
// PXL_GEMM=packed, the packed kernels (packed.hpp), and these too for products at which they are faster than oneDNN.
// oneDNN has twice the rate of OpenBLAS 0.3.21 on AVX-512 processors newer than that release. Bits of libraries differ
// between processors; those of the packed kernels do not where there is FMA.
#pragma once

#include <cstdint>
#include <string_view>

namespace pxl {

/// Whether libraries compute float32 products, or most of them: PXL_GEMM is library, or not packed on x86-64.
bool library_computes_products();

/// Whether the packed kernels of this instruction set compute op(a)[m, k] @ op(b)[k, n] faster than oneDNN, where row
/// i of the stored b begins at i * ldb.
bool packed_is_faster(std::string_view instruction_set, bool tb, int64_t m, int64_t k, int64_t ldb);

/// Whether gemm_one_thread computes this float32 product by the packed kernels.
bool packed_computes(bool tb, int64_t m, int64_t k, int64_t ldb);

/// Floats of working memory of the calling thread, aligned to 64 bytes, that a product of m rows needs; 0 where a
/// library computes all.
int64_t gemm_memory(int64_t m);

/// c[m, n] = op(a) @ op(b), row-major; `ld*` are leading dimensions, in elements.
void gemm_one_thread(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                     int64_t ldb, float* c, int64_t ldc, float* memory);
/// The same in float64, by BLAS if there is one, without working memory.
void gemm_one_thread(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const double* a, int64_t lda, const double* b,
                     int64_t ldb, double* c, int64_t ldc, float* memory);

/// op(a)[m, k] @ op(b)[k, n], row-major and dense.
template <class T>
struct GemmOperands {
  bool ta = false, tb = false;
  int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  int64_t lda = 0;
  const T* b = nullptr;
  int64_t ldb = 0;
};
/// Floats of working memory that gemm_scaled needs for m rows, aligned to 64 bytes.
int64_t gemm_scaled_memory(int64_t m);
/// Elements of working memory for the product that gemm_scaled needs.
template <class T>
int64_t gemm_product_memory(int64_t m, int64_t n);
template <>
int64_t gemm_product_memory<float>(int64_t m, int64_t n);
template <>
int64_t gemm_product_memory<double>(int64_t m, int64_t n);
/// c = alpha * product + beta * c, which is not read if beta is 0. float32 never by oneDNN.
void gemm_scaled(const GemmOperands<float>& p, float alpha, float beta, float* c, int64_t ldc, float* product,
                 float* memory);
void gemm_scaled(const GemmOperands<double>& p, double alpha, double beta, double* c, int64_t ldc, double* product,
                 float* memory);

}  // namespace pxl
