#include "runtime/kernels/linear_algebra/linear_algebra.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/libraries.hpp"
#include "runtime/kernels/linear_algebra/lapack.hpp"
#include "runtime/kernels/linear_algebra/problems.hpp"
#include "runtime/kernels/linear_algebra/small_factors.hpp"

namespace pxl {

#if defined(PXL_WITHOUT_BLAS)

Kernel cholesky_kernel(const TensorSpec&) { return {}; }
Kernel triangular_solve_kernel(const TensorSpec&, const TensorSpec&, bool, bool) { return {}; }
Kernel solve_kernel(const TensorSpec&, const TensorSpec&) { return {}; }
Kernel det_kernel(const TensorSpec&) { return {}; }
Kernel slogdet_kernel(const TensorSpec&) { return {}; }
Kernel qr_kernel(const TensorSpec&) { return {}; }
Kernel svd_kernel(const TensorSpec&) { return {}; }
Kernel eigh_kernel(const TensorSpec&) { return {}; }

#else

namespace {

/// The matrices of an operand: `count` of m rows and n columns.
struct Matrices {
  int m = 0, n = 0;
  int64_t count = 0;

  int64_t size() const { return int64_t{m} * n; }
  int k() const { return std::min(m, n); }
  bool empty() const { return m == 0 || n == 0; }
};

Matrices matrices_of(const TensorSpec& t) {
  const size_t rank = t.shape.size();
  const Shape batch(t.shape.begin(), t.shape.end() - 2);
  return {static_cast<int>(t.shape[rank - 2]), static_cast<int>(t.shape[rank - 1]), element_count(batch)};
}

/// Whether LAPACK can be used; it counts rows and elements in 32 bits.
bool is_usable(const TensorSpec& t) {
  constexpr int64_t most = 1 << 15;
  const size_t rank = t.shape.size();
  if (t.dtype != DType::float32 && t.dtype != DType::float64) return false;
  if (t.shape[rank - 2] > most || t.shape[rank - 1] > most || !is_blas_usable()) return false;
  use_one_blas_thread();
  return true;
}

/// f(T{}) with the type of the elements.
template <class F>
Kernel by_type(const TensorSpec& t, F f) {
  if (!is_usable(t)) return {};
  return t.dtype == DType::float64 ? f(double{}) : f(float{});
}

template <class T>
void fill_with_nan(T* x, int64_t n) {
  std::fill_n(x, n, std::numeric_limits<T>::quiet_NaN());
}
/// to [n, m] is the transpose of x [m, n].
template <class T, class To>
void transpose(const T* x, int64_t m, int64_t n, To* to) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) to[j * m + i] = x[i * n + j];
}
/// The symmetric part of x [n, n], by squares whose lines stay in the first cache.
template <class T>
void symmetric_part(const T* x, int64_t n, T* to) {
  constexpr int64_t side = 16;
  for (int64_t top = 0; top < n; top += side)
    for (int64_t left = top; left < n; left += side)
      for (int64_t i = top; i < std::min(top + side, n); ++i)
        for (int64_t j = std::max(left, i); j < std::min(left + side, n); ++j)
          to[i * n + j] = to[j * n + i] = (x[i * n + j] + x[j * n + i]) / 2;
}
template <class T>
int cholesky_factor(int n, T* a) {
  return n <= small_factor_columns<T> ? small_cholesky(n, a) : lapack::potrf('U', n, a);
}
template <class T>
int lu_factors(int n, T* a, int* pivots) {
  return n <= small_factor_columns<T> ? small_lu(n, a, pivots) : lapack::getrf(n, a, pivots);
}
/// Whether the largest of n elements, `step` apart, is negative.
template <class T>
bool points_down(const T* x, int64_t n, int64_t step) {
  T most = 0;
  for (int64_t i = 0; i < n; ++i)
    if (std::abs(x[i * step]) > std::abs(most)) most = x[i * step];
  return most < 0;
}
template <class T>
void negate(T* x, int64_t n, int64_t step) {
  for (int64_t i = 0; i < n; ++i) x[i * step] = -x[i * step];
}

/// A kernel with one iteration a matrix. `body(buffers, i)` returns 0, or a number that `fail(i, number)` reports after
/// all of them: a phase of several iterations throws nothing.
template <class Body, class Fail>
Kernel each_matrix(int64_t count, double cost_ns, WorkspaceLayout layout, Body body, Fail fail) {
  const PerCall<int> failures = layout.per_call<int>(count);
  Phase compute{count, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) b.workspace(failures)[i] = body(b, i);
                }};
  Phase report{1, 1, [=](const Buffers& b, int64_t, int64_t) {
                 for (int64_t i = 0; i < count; ++i)
                   if (const int failure = b.workspace(failures)[i]) fail(i, failure);
               }};
  return Kernel::parallel({compute, report}, cost_ns * static_cast<double>(count)).with_workspace(layout);
}

/// Time of an algorithm with this many multiplications, in single-core ns, for the parallel threshold alone.
double time_of(double multiplications) { return 500 + 0.3 * multiplications; }
double cube(double n) { return n * n * n; }

void ignore(int64_t, int) {}

}  // namespace

Kernel cholesky_kernel(const TensorSpec& t) {
  return by_type(t, [&]<class T>(T) {
    const Matrices x = matrices_of(t);
    const auto body = [x](const Buffers& b, int64_t i) {
      const T* from = b.input<T>(0) + i * x.size();
      T* to = b.output<T>(0) + i * x.size();
      if (x.empty()) return 0;
      if (!are_finite(from, x.size())) return fill_with_nan(to, x.size()), 0;
      symmetric_part(from, x.n, to);
      // The upper triangle of columns is the lower one of rows.
      const int failure = cholesky_factor(x.n, to);
      for (int64_t row = 0; row < x.n; ++row) std::fill(to + row * x.n + row + 1, to + (row + 1) * x.n, T(0));
      return failure;
    };
    return each_matrix(x.count, time_of(cube(x.n) / 6), {}, body, [x](int64_t i, int order) {
      throw_not_positive_definite({"cholesky", i, x.count}, order);
    });
  });
}

Kernel triangular_solve_kernel(const TensorSpec& t, const TensorSpec& rhs, bool lower, bool transposed) {
  return by_type(t, [&]<class T>(T) {
    const Matrices x = matrices_of(t), y = matrices_of(rhs);
    const auto body = [=](const Buffers& b, int64_t i) {
      const T *from = b.input<T>(0) + i * x.size(), *right = b.input<T>(1) + i * y.size();
      T* to = b.output<T>(0) + i * y.size();
      if (y.empty()) return 0;
      for (int64_t row = 0; row < x.n; ++row)
        if (from[row * x.n + row] == 0) return static_cast<int>(row) + 1;
      std::copy_n(right, y.size(), to);
      lapack::trsm(lower ? 'U' : 'L', transposed ? 'T' : 'N', y.n, x.n, from, to);
      return 0;
    };
    return each_matrix(x.count, time_of(static_cast<double>(y.size()) * x.n / 2), {}, body, [x](int64_t i, int column) {
      throw_singular({"triangular_solve", i, x.count}, column - 1);
    });
  });
}

Kernel solve_kernel(const TensorSpec& t, const TensorSpec& rhs) {
  return by_type(t, [&]<class T>(T) {
    const Matrices x = matrices_of(t), y = matrices_of(rhs);
    WorkspaceLayout layout;
    const auto factors = layout.per_thread<T>(x.size());
    const auto columns = layout.per_thread<T>(y.size());
    const auto pivots = layout.per_thread<int>(x.n);
    const auto body = [=](const Buffers& b, int64_t i) {
      const T *from = b.input<T>(0) + i * x.size(), *right = b.input<T>(1) + i * y.size();
      T *to = b.output<T>(0) + i * y.size(), *lu = b.workspace(factors), *solution = b.workspace(columns);
      if (y.empty()) return 0;
      if (!are_finite(from, x.size())) return fill_with_nan(to, y.size()), 0;
      std::copy_n(from, x.size(), lu);
      if (const int failure = lu_factors(x.n, lu, b.workspace(pivots))) return failure;
      transpose(right, y.m, y.n, solution);
      lapack::getrs_transposed(x.n, y.n, lu, b.workspace(pivots), solution);
      transpose(solution, y.n, y.m, to);
      return 0;
    };
    return each_matrix(x.count, time_of(cube(x.n) / 3 + static_cast<double>(y.size()) * x.n), layout, body,
                       [x](int64_t i, int column) {
                         throw_singular({"solve", i, x.count}, column - 1);
                       });
  });
}

Kernel det_kernel(const TensorSpec& t) {
  return by_type(t, [&]<class T>(T) {
    const Matrices x = matrices_of(t);
    WorkspaceLayout layout;
    const auto factors = layout.per_thread<double>(x.size());
    const auto pivots = layout.per_thread<int>(x.n);
    const auto body = [=](const Buffers& b, int64_t i) {
      const T* from = b.input<T>(0) + i * x.size();
      double *lu = b.workspace(factors), product = 1;
      int* swaps = b.workspace(pivots);
      transpose(from, x.n, x.n, lu);
      // LAPACK must not be given NaN.
      if (are_finite(lu, x.size()) ? lu_factors(x.n, lu, swaps) : small_lu(x.n, lu, swaps)) product = 0;
      for (int64_t row = 0; row < x.n; ++row)
        if (swaps[row] != row + 1) product = -product;
      for (int64_t row = 0; row < x.n && product != 0; ++row) product *= lu[row * x.n + row];
      b.output<T>(0)[i] = static_cast<T>(product + 0.0);
      return 0;
    };
    return each_matrix(x.count, time_of(cube(x.n) / 3), layout, body, ignore);
  });
}

Kernel slogdet_kernel(const TensorSpec& t) {
  return by_type(t, [&]<class T>(T) {
    const Matrices x = matrices_of(t);
    WorkspaceLayout layout;
    const auto factors = layout.per_thread<T>(x.size());
    const auto pivots = layout.per_thread<int>(x.n);
    const auto body = [=](const Buffers& b, int64_t i) {
      const T* from = b.input<T>(0) + i * x.size();
      T *sign = b.output<T>(0) + i, *size = b.output<T>(1) + i, *lu = b.workspace(factors);
      int* swaps = b.workspace(pivots);
      if (!are_finite(from, x.size())) return fill_with_nan(sign, 1), fill_with_nan(size, 1), 0;
      std::copy_n(from, x.size(), lu);
      *sign = 1, *size = 0;
      if (x.empty()) return 0;
      if (lu_factors(x.n, lu, swaps)) return *sign = 0, *size = -std::numeric_limits<T>::infinity(), 0;
      double sum = 0;
      for (int64_t row = 0; row < x.n; ++row) {
        const T pivot = lu[row * x.n + row];
        sum += std::log(std::abs(static_cast<double>(pivot)));
        if ((pivot < 0) != (swaps[row] != row + 1)) *sign = -*sign;
      }
      *size = static_cast<T>(sum);
      return 0;
    };
    return each_matrix(x.count, time_of(cube(x.n) / 3), layout, body, ignore);
  });
}

Kernel qr_kernel(const TensorSpec& t) {
  return by_type(t, [&]<class T>(T) {
    const Matrices x = matrices_of(t);
    const bool small = std::max(x.m, x.n) <= small_factor_columns<T> && (x.m <= 16 || x.m <= 6 * x.n);
    int size = x.k() * (x.m + 1) + x.n + x.k();
    if (!x.empty() && !small) {
      T best[2] = {}, unused[1] = {};
      lapack::geqrf(x.m, x.n, unused, unused, best, -1);
      lapack::orgqr(x.m, x.k(), unused, unused, best + 1, -1);
      size = static_cast<int>(std::max(best[0], best[1]));
    }
    WorkspaceLayout layout;
    const auto columns = layout.per_thread<T>(x.size());
    const auto reflectors = layout.per_thread<T>(x.k());
    const auto work = layout.per_thread<T>(size);
    const auto body = [=](const Buffers& b, int64_t i) {
      const int k = x.k();
      const T* from = b.input<T>(0) + i * x.size();
      T *q = b.output<T>(0) + i * x.m * k, *r = b.output<T>(1) + i * k * x.n;
      T *a = b.workspace(columns), *tau = b.workspace(reflectors);
      if (x.empty()) return 0;
      if (!are_finite(from, x.size())) return fill_with_nan(q, int64_t{x.m} * k), fill_with_nan(r, int64_t{k} * x.n), 0;
      if (small) {
        std::copy_n(from, x.size(), a);
        small_qr(x.m, x.n, a, q, b.workspace(work));
      } else {
        transpose(from, x.m, x.n, a);
        lapack::geqrf(x.m, x.n, a, tau, b.workspace(work), size);
      }
      const int64_t down = small ? x.n : 1, right = small ? 1 : x.m;
      for (int64_t row = 0; row < k; ++row)
        for (int64_t j = 0; j < x.n; ++j) r[row * x.n + j] = j < row ? T(0) : a[row * down + j * right];
      if (!small) {
        lapack::orgqr(x.m, k, a, tau, b.workspace(work), size);
        transpose(a, k, x.m, q);
      }
      for (int64_t row = 0; row < k; ++row)
        if (r[row * x.n + row] < 0) negate(r + row * x.n + row, x.n - row, 1), negate(q + row, x.m, k);
      return 0;
    };
    return each_matrix(x.count, time_of(2.0 * static_cast<double>(x.size()) * x.k()), layout, body, ignore);
  });
}

Kernel svd_kernel(const TensorSpec& t) {
  return by_type(t, [&]<class T>(T) {
    const Matrices x = matrices_of(t);
    // LAPACK reads the transpose, V S U^T, by columns. V by columns is V^T by rows. A tall matrix is transposed before
    // and after, since its reflections then go along columns.
    const bool tall = x.m > x.n + x.n / 2;
    const int rows = tall ? x.m : x.n, columns = tall ? x.n : x.m;
    int size = 1;
    if (!x.empty()) {
      T best = 0, unused[1] = {};
      int whole[1] = {};
      lapack::gesdd(rows, columns, unused, unused, unused, unused, &best, -1, whole);
      size = static_cast<int>(best);
    }
    WorkspaceLayout layout;
    const auto copy = layout.per_thread<T>(x.size());
    const auto left = layout.per_thread<T>(tall ? x.size() : 0);
    const auto right = layout.per_thread<T>(tall ? int64_t{x.n} * x.n : 0);
    const auto work = layout.per_thread<T>(size);
    const auto whole = layout.per_thread<int>(int64_t{8} * x.k());
    const auto body = [=](const Buffers& b, int64_t i) {
      const int k = x.k();
      const T* from = b.input<T>(0) + i * x.size();
      T *u = b.output<T>(0) + i * x.m * k, *s = b.output<T>(1) + i * k, *vt = b.output<T>(2) + i * k * x.n;
      if (x.empty()) return 0;
      if (!are_finite(from, x.size()))
        return fill_with_nan(u, int64_t{x.m} * k), fill_with_nan(s, k), fill_with_nan(vt, int64_t{k} * x.n), 0;
      T *const a = b.workspace(copy), *first = vt, *second = u;
      if (tall)
        transpose(from, x.m, x.n, a), first = b.workspace(left), second = b.workspace(right);
      else
        std::copy_n(from, x.size(), a);
      if (lapack::gesdd(rows, columns, a, s, first, second, b.workspace(work), size, b.workspace(whole))) return 1;
      // Column j of U, and row j of V^T, where LAPACK wrote them.
      T *of_u = tall ? first : u, *of_v = tall ? second : vt;
      const int64_t u_step = tall ? 1 : k, v_step = tall ? k : 1;
      for (int64_t j = 0; j < k; ++j, of_u += tall ? x.m : 1, of_v += tall ? 1 : x.n)
        if (points_down(of_u, x.m, u_step)) negate(of_u, x.m, u_step), negate(of_v, x.n, v_step);
      if (tall) transpose(first, k, x.m, u), transpose(second, x.n, k, vt);
      return 0;
    };
    return each_matrix(x.count, time_of(10.0 * static_cast<double>(x.size()) * x.k()), layout, body,
                       [x](int64_t i, int) {
                         throw_not_converged({"svd", i, x.count});
                       });
  });
}

Kernel eigh_kernel(const TensorSpec& t) {
  return by_type(t, [&]<class T>(T) {
    const Matrices x = matrices_of(t);
    int size = 1, whole_size = 1;
    if (!x.empty()) {
      T best = 0, unused[1] = {};
      lapack::syevd(x.n, unused, unused, &best, -1, &whole_size, -1);
      size = static_cast<int>(best);
    }
    WorkspaceLayout layout;
    const auto columns = layout.per_thread<T>(x.size());
    const auto work = layout.per_thread<T>(size);
    const auto whole = layout.per_thread<int>(whole_size);
    const auto body = [=](const Buffers& b, int64_t i) {
      const T* from = b.input<T>(0) + i * x.size();
      T *w = b.output<T>(0) + i * x.n, *v = b.output<T>(1) + i * x.size(), *a = b.workspace(columns);
      if (x.empty()) return 0;
      if (!are_finite(from, x.size())) return fill_with_nan(w, x.n), fill_with_nan(v, x.size()), 0;
      symmetric_part(from, x.n, a);
      if (lapack::syevd(x.n, a, w, b.workspace(work), size, b.workspace(whole), whole_size)) return 1;
      for (int64_t j = 0; j < x.n; ++j)
        if (points_down(a + j * x.n, x.n, 1)) negate(a + j * x.n, x.n, 1);
      transpose(a, x.n, x.n, v);
      return 0;
    };
    return each_matrix(x.count, time_of(5 * cube(x.n)), layout, body, [x](int64_t i, int) {
      throw_not_converged({"eigh", i, x.count});
    });
  });
}

#endif

}  // namespace pxl
