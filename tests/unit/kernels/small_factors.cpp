// Factors of small matrices: their products are the matrices.
#include "runtime/kernels/linear_algebra/small_factors.hpp"

#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

template <class T>
std::vector<T> matrix(int n) {
  std::vector<T> a;
  for (int i = 0; i < n * n; ++i) a.push_back(static_cast<T>((i * i * 37 + 11 * i + 5) % 79 - 39) / 16);
  return a;
}
size_t at(int row, int column, int n) {
  return static_cast<size_t>(column) * static_cast<size_t>(n) + static_cast<size_t>(row);
}

template <class T>
void check_factors(double bound) {
  for (const int n : {1, 2, 3, 4, 5, 8, 13, 32, 47, 48}) {
    CAPTURE(n);
    const std::vector<T> a = matrix<T>(n);
    std::vector<T> lu = a, whole = a;
    std::vector<int> pivots(static_cast<size_t>(n));
    CHECK(small_lu(n, lu.data(), pivots.data()) == 0);
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j) std::swap(whole[at(k, j, n)], whole[at(pivots[static_cast<size_t>(k)] - 1, j, n)]);
    std::vector<T> square(a.size());
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        double product = 0, gram = i == j ? 1 : 0;
        for (int k = 0; k <= std::min(i, j); ++k)
          product += (k == i ? 1.0 : static_cast<double>(lu[at(i, k, n)])) * static_cast<double>(lu[at(k, j, n)]);
        for (int k = 0; k < n; ++k) gram += static_cast<double>(a[at(k, i, n)]) * static_cast<double>(a[at(k, j, n)]);
        CHECK(std::fabs(product - static_cast<double>(whole[at(i, j, n)])) <= bound * n);
        square[at(i, j, n)] = static_cast<T>(gram);
      }
    std::vector<T> u = square;
    CHECK(small_cholesky(n, u.data()) == 0);
    for (int i = 0; i < n; ++i)
      for (int j = i; j < n; ++j) {
        double product = 0;
        for (int k = 0; k <= i; ++k)
          product += static_cast<double>(u[at(k, i, n)]) * static_cast<double>(u[at(k, j, n)]);
        CHECK(std::fabs(product - static_cast<double>(square[at(i, j, n)])) <= bound * 40 * n);
      }
    square[at(n - 1, n - 1, n)] = -1;
    CHECK(small_cholesky(n, square.data()) == n);
  }
}

/// Q [m, k] has orthogonal columns of length 1, and Q R is the matrix, whatever its size.
template <class T>
void check_qr(int m, int n, T scale, double bound) {
  CAPTURE(m);
  CAPTURE(n);
  const int k = std::min(m, n);
  const std::vector<T> square = matrix<T>(std::max(m, n));
  std::vector<T> a, r, q(static_cast<size_t>(m * k)), work(static_cast<size_t>(k * (m + 1) + n + k));
  for (int i = 0; i < m * n; ++i) a.push_back(square[static_cast<size_t>(i)] * scale);
  r = a;
  small_qr(m, n, r.data(), q.data(), work.data());
  const auto number = [](const std::vector<T>& x, int i) { return static_cast<double>(x[static_cast<size_t>(i)]); };
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double product = 0;
      for (int c = 0; c <= std::min(j, k - 1); ++c) product += number(q, i * k + c) * number(r, c * n + j) / scale;
      CHECK(std::fabs(product - number(square, i * n + j)) <= bound * std::max(m, n));
    }
  for (int i = 0; i < k; ++i)
    for (int j = 0; j < k; ++j) {
      double product = i == j ? -1 : 0;
      for (int row = 0; row < m; ++row) product += number(q, row * k + i) * number(q, row * k + j);
      CHECK(std::fabs(product) <= bound);
    }
}

}  // namespace

TEST_CASE("Q and R of small matrices have the matrix as product") {
  for (const auto& [m, n] : {std::pair(1, 1), {2, 2}, {3, 3}, {5, 2}, {2, 5}, {32, 32}, {48, 47}, {48, 3}, {4, 48}}) {
    check_qr<float>(m, n, 1, 1e-5), check_qr<float>(m, n, 0x1p100F, 1e-5), check_qr<float>(m, n, 0x1p-100F, 1e-5);
    check_qr<double>(m, n, 1, 1e-14), check_qr<double>(m, n, 0x1p900, 1e-14), check_qr<double>(m, n, 0x1p-900, 1e-14);
  }
}

TEST_CASE("the factors of small matrices have the matrix as product") {
  check_factors<float>(1e-5);
  check_factors<double>(1e-14);
  double singular[] = {1, 2, 3, 2, 4, 6, 1, 0, 1};
  int pivots[3];
  CHECK(small_lu(3, singular, pivots) == 2);
}
