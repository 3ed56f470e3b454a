#include "runtime/kernels/linear_algebra/problems.hpp"

#include <fmt/format.h>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl {

namespace {

std::string subject(const MatrixProblem& p) {
  return p.matrices == 1 ? fmt::format("{}: the matrix", p.op)
                         : fmt::format("{}: matrix {} of {}", p.op, p.matrix, p.matrices);
}

}  // namespace

void throw_not_positive_definite(const MatrixProblem& problem, int64_t order) {
  throw run_error(
      fmt::format("{} is not positive definite: elimination of row {} leaves no positive number on the diagonal",
                  subject(problem), order - 1),
      {"add a small number to the diagonal: a + 1e-6 * eye(n)"})
      .as(codes::arithmetic);
}

void throw_singular(const MatrixProblem& problem, int64_t column) {
  throw run_error(fmt::format("{} is singular: elimination finds no pivot in column {}", subject(problem), column),
                  {"columns that depend on others have no unique solution; a small number on the diagonal makes one: "
                   "a + 1e-6 * eye(n)"})
      .as(codes::arithmetic);
}

void throw_not_converged(const MatrixProblem& problem) {
  throw run_error(fmt::format("{} has no result: the iteration does not converge", subject(problem)),
                  {"scale its elements to about 1"})
      .as(codes::arithmetic);
}

}  // namespace pxl
