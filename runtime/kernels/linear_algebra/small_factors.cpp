// Factors of small matrices (small_factors.hpp). Each inner loop goes along a column or a row that is contiguous.
#include "runtime/kernels/linear_algebra/small_factors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace pxl {

namespace {

/// to[i] -= factor from[i]
template <class T>
inline void subtract(T* __restrict to, const T* __restrict from, T factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] -= factor * from[i];
}

/// The same for four vectors that are `stride` apart, one after the other.
template <class T>
inline void subtract_four(T* __restrict to, const T* __restrict from, int64_t stride, const T (&f)[4], int64_t n) {
  const T a = f[0], b = f[1], c = f[2], d = f[3];
  for (int64_t i = 0; i < n; ++i)
    to[i] = to[i] - a * from[i] - b * from[stride + i] - c * from[2 * stride + i] - d * from[3 * stride + i];
}

/// Rows of a [m, n], n columns of rows that are `stride` apart, are reflected: a - factor v (v^T a).
template <class T>
void reflect(const T* v, T factor, int64_t m, T* a, int64_t stride, int64_t n, T* sums) {
  std::fill_n(sums, n, T(0));
  int64_t i = 0;
  for (; i + 4 <= m; i += 4) subtract_four(sums, a + i * stride, stride, {v[i], v[i + 1], v[i + 2], v[i + 3]}, n);
  for (; i < m; ++i) subtract(sums, a + i * stride, v[i], n);
  for (i = 0; i < m; ++i) subtract(a + i * stride, sums, -factor * v[i], n);
}

/// v, of n numbers, becomes 1 and the rest of the vector that reflects it to beta in place of its first number. Returns
/// the factor of the reflection, 0 if there is none. Powers of 2 keep the squares in range.
template <class T>
T reflector(T* v, int64_t n, T& beta) {
  T most = 0, squares = 0;
  for (int64_t i = 1; i < n; ++i) most = std::max(most, std::abs(v[i]));
  const T first = v[0];
  v[0] = 1, beta = first;
  if (most == 0) return 0;
  constexpr int least = std::numeric_limits<T>::min_exponent;
  const T scale = std::ldexp(T(1), -std::max(std::ilogb(std::max(most, std::abs(first))), least));
  for (int64_t i = 1; i < n; ++i) squares += (v[i] * scale) * (v[i] * scale);
  const T size = std::sqrt(first * scale * (first * scale) + squares);
  beta = (first > 0 ? -size : size) / scale;
  const T inverse = 1 / (first * scale + (first > 0 ? size : -size));
  for (int64_t i = 1; i < n; ++i) v[i] = v[i] * scale * inverse;
  return 1 + std::abs(first) * scale / size;
}

}  // namespace

template <class T>
bool are_finite(const T* x, int64_t n) {
  constexpr T most = std::numeric_limits<T>::max();
  int finite = 1;
  for (int64_t i = 0; i < n; ++i) finite &= std::abs(x[i]) <= most ? 1 : 0;
  return finite != 0;
}

// By rows: row i of the transposed factor is what the rows before it leave.
template <class T>
int small_cholesky(int n, T* a) {
  for (int64_t i = 0; i < n; ++i) {
    T* row = a + i * n + i;
    int64_t k = 0;
    for (; k + 4 <= i; k += 4) {
      const T* from = a + k * n + i;
      subtract_four(row, from, n, {from[0], from[n], from[2 * n], from[3 * n]}, n - i);
    }
    for (; k < i; ++k) subtract(row, a + k * n + i, a[k * n + i], n - i);
    if (!(row[0] > 0)) return static_cast<int>(i) + 1;
    const T size = std::sqrt(row[0]), inverse = 1 / size;
    row[0] = size;
    for (int64_t j = 1; j < n - i; ++j) row[j] *= inverse;
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j) a[j * n + i] = a[i * n + j];
  return 0;
}

template <class T>
int small_lu(int n, T* a, int* pivots) {
  int failure = 0;
  for (int64_t j = 0; j < n; ++j) {
    T* column = a + j * n;
    for (int64_t row = 0; row < j; ++row) std::swap(column[row], column[pivots[row] - 1]);
    int64_t k = 0;
    for (; k + 4 <= j; k += 4) {
      T* four = column + k;
      const T *first = a + k * n + k, *second = first + n, *third = second + n;
      four[1] -= first[1] * four[0];
      four[2] = four[2] - first[2] * four[0] - second[2] * four[1];
      four[3] = four[3] - first[3] * four[0] - second[3] * four[1] - third[3] * four[2];
      subtract_four(column + k + 4, a + k * n + k + 4, n, {four[0], four[1], four[2], four[3]}, n - k - 4);
    }
    for (; k < j; ++k) subtract(column + k + 1, a + k * n + k + 1, column[k], n - k - 1);
    int64_t best = j;
    for (int64_t i = j + 1; i < n; ++i)
      if (std::abs(column[i]) > std::abs(column[best])) best = i;
    pivots[j] = static_cast<int>(best) + 1;
    if (column[best] == 0) {
      failure = failure == 0 ? static_cast<int>(j) + 1 : failure;
      continue;
    }
    for (int64_t c = 0; c <= j && best != j; ++c) std::swap(a[c * n + j], a[c * n + best]);
    const T pivot = column[j];
    for (int64_t i = j + 1; i < n; ++i) column[i] /= pivot;
  }
  return failure;
}

// Source: A. Householder, "Unitary triangularization of a nonsymmetric matrix", 1958.
template <class T>
void small_qr(int m, int n, T* a, T* q, T* work) {
  const int k = std::min(m, n);
  T *const factors = work + int64_t{k} * m, *const sums = factors + k;
  for (int64_t j = 0; j < k; ++j) {
    T* v = work + j * m;
    for (int64_t i = j; i < m; ++i) v[i - j] = a[i * n + j];
    factors[j] = reflector(v, m - j, a[j * n + j]);
    reflect(v, factors[j], m - j, a + j * n + j + 1, n, n - j - 1, sums);
  }
  std::fill_n(q, int64_t{m} * k, T(0));
  for (int64_t j = k; j-- > 0;) {
    q[j * k + j] = 1;
    reflect(work + j * m, factors[j], m - j, q + j * k + j, k, k - j, sums);
  }
}

template bool are_finite(const float*, int64_t);
template bool are_finite(const double*, int64_t);
template int small_cholesky(int, float*);
template int small_cholesky(int, double*);
template int small_lu(int, float*, int*);
template int small_lu(int, double*, int*);
template void small_qr(int, int, float*, float*, float*);
template void small_qr(int, int, double*, double*, double*);

}  // namespace pxl
