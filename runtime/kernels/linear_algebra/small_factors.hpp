// Factors of small matrices, for which a library's blocks and calls cost more than the arithmetic. Matrices are
// column-major, and the results are in LAPACK's form.
#pragma once

#include <cstdint>

namespace pxl {

/// Up to this many columns these functions take at most 1.01 times as long as OpenBLAS 0.3.21. Cholesky's take at most
/// 0.85 times as long. Measured with 4 to 128 columns on Sapphire Rapids.
template <class T>
inline constexpr int small_factor_columns = sizeof(T) == 4 ? 96 : 48;

/// Whether all of n numbers are finite.
template <class T>
bool are_finite(const T* x, int64_t n);

/// The upper triangle of a symmetric matrix becomes its Cholesky factor. Returns as lapack::potrf.
template <class T>
int small_cholesky(int n, T* a);

/// a becomes its LU factors. Returns as lapack::getrf.
template <class T>
int small_lu(int n, T* a, int* pivots);

/// By rows: the upper triangle of a [m, n] becomes R, and q [m, k] the k columns of Q. `work` has k (m + 1) + max(k, n)
/// numbers. k is the lesser of m and n. Its loops go along rows: tall matrices of few columns take longer.
template <class T>
void small_qr(int m, int n, T* a, T* q, T* work);

}  // namespace pxl
