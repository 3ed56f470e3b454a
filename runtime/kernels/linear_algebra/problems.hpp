// Errors of matrices whose factors or solutions do not exist, for kernels and definitions alike.
#pragma once

#include <cstdint>
#include <string_view>

namespace pxl {

/// An op on matrices, and the matrix at which it fails.
struct MatrixProblem {
  std::string_view op;
  int64_t matrix = 0;    ///< the number of the matrix in its batch
  int64_t matrices = 1;  ///< how many the batch has
};

/// The leading block of `order` rows is not positive definite.
[[noreturn]] void throw_not_positive_definite(const MatrixProblem& problem, int64_t order);
/// Elimination finds no pivot in column `column`, which counts from 0.
[[noreturn]] void throw_singular(const MatrixProblem& problem, int64_t column);
/// The iteration for eigenvalues or singular values does not end.
[[noreturn]] void throw_not_converged(const MatrixProblem& problem);

}  // namespace pxl
