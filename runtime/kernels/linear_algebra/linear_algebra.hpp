// Factors and solutions of matrices, by LAPACK: float32 and float64, in batches that threads divide. A matrix is the
// work of one thread, so that its bits do not depend on their number.
//
// Matrices are the last two axes. A matrix with NaN or an infinity has NaN in all of its results; it is never given to
// LAPACK, whose iterations may not end for it. A function returns no kernel for other dtypes, without LAPACK, and where
// the limit on address space leaves it no memory: then the definition runs.
#pragma once

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// out: lower triangles L of the symmetric parts, L L^T = (t + t^T) / 2.
Kernel cholesky_kernel(const TensorSpec& t);
/// in: triangles t and right sides b; out: x with t x = b, or t^T x = b.
Kernel triangular_solve_kernel(const TensorSpec& t, const TensorSpec& b, bool lower, bool transpose);
/// in: t and b; out: x with t x = b, by LU factors.
Kernel solve_kernel(const TensorSpec& t, const TensorSpec& b);
/// out: determinants, computed in float64. NaN and infinities are numbers as others.
Kernel det_kernel(const TensorSpec& t);
/// out: signs of determinants, and logarithms of their sizes; 0 and -inf for singular matrices.
Kernel slogdet_kernel(const TensorSpec& t);
/// out: Q with orthonormal columns and triangles R, t = Q R, whose diagonals are not negative.
Kernel qr_kernel(const TensorSpec& t);
/// out: U, the singular values in descending order, and V^T. The largest element of each column of U is positive.
Kernel svd_kernel(const TensorSpec& t);
/// out: the eigenvalues of (t + t^T) / 2 in ascending order, and columns of eigenvectors, whose largest elements are
/// positive.
Kernel eigh_kernel(const TensorSpec& t);

}  // namespace pxl
