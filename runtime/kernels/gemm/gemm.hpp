// Single-threaded GEMM. float32 uses the fastest for the shape: oneDNN (BLAS if the build found no oneDNN), the packed
// kernels, or those for operands in place (both packed.hpp). PXL_GEMM=packed excludes libraries, as does a build
// without oneDNN outside x86-64; PXL_GEMM=library always uses them. oneDNN has twice the rate of OpenBLAS 0.3.21 on
// AVX-512 processors newer than that release. The bits of libraries differ between processors. The bits of the other
// two are equal to each other, and the same on every processor with FMA.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/kernels/block/finish.hpp"

namespace pxl {

/// Whether libraries compute float32 products, or most of them: PXL_GEMM is library, or not packed on x86-64.
bool library_computes_products();

/// The code that computes a float32 product.
enum class ProductWay : uint8_t { library, packed, in_place };

/// The fastest way to compute op(a)[m, k] @ op(b)[k, n] if oneDNN is the library. The rows of the stored a and b are
/// lda and ldb elements apart.
ProductWay fastest_way(std::string_view instruction_set, bool ta, bool tb, int64_t m, int64_t n, int64_t k, int64_t lda,
                       int64_t ldb);
/// The way in which gemm_one_thread computes this product.
ProductWay product_way(bool ta, bool tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb);

/// Floats of working memory that a product of m rows needs, aligned to 64 bytes, owned by the calling thread. 0 if a
/// library computes all products.
int64_t gemm_memory(int64_t m);

/// c[m, n] = op(a) @ op(b), row-major; `ld*` are leading dimensions, in elements.
void gemm_one_thread(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                     int64_t ldb, float* c, int64_t ldc, float* memory, const Finish& finish = {});
/// The same in float64: BLAS if there is one, without working memory.
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
/// Elements of working memory that gemm_scaled needs for the product.
template <class T>
int64_t gemm_product_memory(int64_t m, int64_t n);
template <>
int64_t gemm_product_memory<float>(int64_t m, int64_t n);
template <>
int64_t gemm_product_memory<double>(int64_t m, int64_t n);
/// c = alpha * product + beta * c. c is not read if beta is 0. oneDNN computes no float32 product here.
void gemm_scaled(const GemmOperands<float>& p, float alpha, float beta, float* c, int64_t ldc, float* product,
                 float* memory);
void gemm_scaled(const GemmOperands<double>& p, double alpha, double beta, double* c, int64_t ldc, double* product,
                 float* memory);

}  // namespace pxl
