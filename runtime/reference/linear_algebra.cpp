// Factors and solutions of matrices, by textbook algorithms. Source: G. Golub, C. Van Loan, "Matrix computations",
// 2013.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/kernels/linear_algebra/problems.hpp"
#include "runtime/op/algebra_definitions.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

namespace {

/// A matrix, row-major.
struct Matrix {
  int64_t m = 0, n = 0;
  std::vector<double> a;

  Matrix(int64_t rows, int64_t columns) : m(rows), n(columns), a(static_cast<size_t>(rows * columns)) {}
  double& operator()(int64_t i, int64_t j) { return a[static_cast<size_t>(i * n + j)]; }
  double operator()(int64_t i, int64_t j) const { return a[static_cast<size_t>(i * n + j)]; }
  static Matrix identity(int64_t n) {
    Matrix one(n, n);
    for (int64_t i = 0; i < n; ++i) one(i, i) = 1;
    return one;
  }
  Matrix transposed() const {
    Matrix t(n, m);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) t(j, i) = (*this)(i, j);
    return t;
  }
  Matrix symmetric_part() const {
    Matrix s(n, n);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) s(i, j) = ((*this)(i, j) + (*this)(j, i)) / 2;
    return s;
  }
  bool is_finite() const {
    return std::all_of(a.begin(), a.end(), [](double v) { return std::isfinite(v); });
  }
};

/// An operand's matrices, and results that are given one matrix after the other.
class Batch {
 public:
  Batch(ReferenceContext& c, std::string_view op) : c_(c), op_(op) {
    const Shape& shape = c.shape(0);
    count_ = element_count(Shape(shape.begin(), shape.end() - 2));
    for (size_t slot = 0; slot < c.operands(); ++slot) in_.push_back(c.real(slot));
    for (size_t i = 0; i < c.site().out.size(); ++i) out_.push_back(Reals::from_shape(extents(c.out_shape(i))));
  }

  /// f(i) for each matrix i; a matrix with NaN or infinities has NaN in its results.
  template <class F>
  void each(F f) {
    for (int64_t i = 0; i < count_; ++i) {
      if (!matrix(0, i).is_finite())
        for (size_t k = 0; k < out_.size(); ++k)
          std::fill_n(out_[k].data() + i * size_of(k), size_of(k), std::numeric_limits<double>::quiet_NaN());
      else
        f(i);
    }
    finish();
  }
  template <class F>
  void each_of_any_numbers(F f) {
    for (int64_t i = 0; i < count_; ++i) f(i);
    finish();
  }
  Matrix matrix(size_t slot, int64_t i) const {
    const Shape& shape = c_.shape(slot);
    Matrix x(shape.end()[-2], shape.end()[-1]);
    std::copy_n(in_[slot].data() + i * x.m * x.n, x.a.size(), x.a.begin());
    return x;
  }
  void give(size_t result, int64_t i, const std::vector<double>& values) {
    std::copy(values.begin(), values.end(), out_[result].data() + i * size_of(result));
  }
  MatrixProblem problem(int64_t i) const { return {op_, i, count_}; }

 private:
  int64_t size_of(size_t result) const { return static_cast<int64_t>(out_[result].size()) / count_; }
  void finish() {
    for (size_t k = 0; k < out_.size(); ++k) c_.out(k, out_[k]);
  }

  ReferenceContext& c_;
  std::string_view op_;
  int64_t count_ = 0;
  std::vector<Reals> in_, out_;
};

/// Gaussian elimination with the largest pivot, in a and in right sides b. Returns the sign of the row exchanges, or 0
/// where column `column` has no pivot.
double eliminate(Matrix& a, Matrix& b, int64_t& column) {
  double sign = 1;
  for (int64_t k = 0; k < a.n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < a.n; ++i)
      if (std::abs(a(i, k)) > std::abs(a(pivot, k))) pivot = i;
    column = k;
    if (a(pivot, k) == 0) return 0;
    if (pivot != k) {
      for (int64_t j = 0; j < a.n; ++j) std::swap(a(k, j), a(pivot, j));
      for (int64_t j = 0; j < b.n; ++j) std::swap(b(k, j), b(pivot, j));
      sign = -sign;
    }
    for (int64_t i = k + 1; i < a.n; ++i) {
      const double factor = a(i, k) / a(k, k);
      for (int64_t j = k; j < a.n; ++j) a(i, j) -= factor * a(k, j);
      for (int64_t j = 0; j < b.n; ++j) b(i, j) -= factor * b(k, j);
    }
  }
  return sign;
}

/// b becomes x with t x = b, for a triangle t.
void substitute(const Matrix& t, Matrix& b, bool lower) {
  for (int64_t step = 0; step < t.n; ++step) {
    const int64_t i = lower ? step : t.n - 1 - step;
    for (int64_t c = 0; c < b.n; ++c) {
      for (int64_t j = lower ? 0 : i + 1; j < (lower ? i : t.n); ++j) b(i, c) -= t(i, j) * b(j, c);
      b(i, c) /= t(i, i);
    }
  }
}

/// Turns column j so that its largest element is positive, and row j of `with`.
void point_up(Matrix& x, int64_t j, Matrix* with = nullptr) {
  double most = 0;
  for (int64_t i = 0; i < x.m; ++i)
    if (std::abs(x(i, j)) > std::abs(most)) most = x(i, j);
  if (most >= 0) return;
  for (int64_t i = 0; i < x.m; ++i) x(i, j) = -x(i, j);
  for (int64_t i = 0; with && i < with->n; ++i) (*with)(j, i) = -(*with)(j, i);
}

/// The cosine and sine of the rotation that makes p and q independent: Jacobi's, where `between` is their product.
std::pair<double, double> rotation(double p, double q, double between) {
  const double ratio = (q - p) / (2 * between);
  const double tangent = (ratio >= 0 ? 1 : -1) / (std::abs(ratio) + std::hypot(1.0, ratio));
  const double cosine = 1 / std::hypot(1.0, tangent);
  return {cosine, cosine * tangent};
}
void rotate_columns(Matrix& x, int64_t p, int64_t q, double cosine, double sine) {
  for (int64_t i = 0; i < x.m; ++i) {
    const double a = x(i, p), b = x(i, q);
    x(i, p) = cosine * a - sine * b;
    x(i, q) = sine * a + cosine * b;
  }
}

constexpr int max_turns = 60;

/// Eigenvalues on the diagonal of a, eigenvectors in the columns of v.
void jacobi(Matrix& a, Matrix& v) {
  for (int turn = 0; turn < max_turns; ++turn) {
    bool changed = false;
    for (int64_t p = 0; p < a.n; ++p)
      for (int64_t q = p + 1; q < a.n; ++q) {
        if (std::abs(a(p, q)) <= 1e-18 * std::sqrt(std::abs(a(p, p) * a(q, q))) || std::abs(a(p, q)) < 1e-300) continue;
        changed = true;
        const auto [cosine, sine] = rotation(a(p, p), a(q, q), a(p, q));
        rotate_columns(a, p, q, cosine, sine);
        Matrix t = a.transposed();
        rotate_columns(t, p, q, cosine, sine);
        a = t.transposed();
        a(p, q) = a(q, p) = 0;
        rotate_columns(v, p, q, cosine, sine);
      }
    if (!changed) return;
  }
}

double column_product(const Matrix& x, int64_t p, int64_t q) {
  double sum = 0;
  for (int64_t i = 0; i < x.m; ++i) sum += x(i, p) * x(i, q);
  return sum;
}

/// The columns of x become orthogonal (M. Hestenes, 1958); v collects the rotations.
void make_orthogonal(Matrix& x, Matrix& v) {
  for (int turn = 0; turn < max_turns; ++turn) {
    bool changed = false;
    for (int64_t p = 0; p < x.n; ++p)
      for (int64_t q = p + 1; q < x.n; ++q) {
        const double pp = column_product(x, p, p), qq = column_product(x, q, q), pq = column_product(x, p, q);
        if (std::abs(pq) <= 1e-16 * std::sqrt(pp * qq) || pq == 0) continue;
        changed = true;
        const auto [cosine, sine] = rotation(pp, qq, pq);
        rotate_columns(x, p, q, cosine, sine);
        rotate_columns(v, p, q, cosine, sine);
      }
    if (!changed) return;
  }
}

/// A column of x that is none becomes a unit vector orthogonal to the columns before it.
void complete(Matrix& x, int64_t column) {
  for (int64_t unit = 0; unit < x.m; ++unit) {
    for (int64_t i = 0; i < x.m; ++i) x(i, column) = i == unit;
    for (int again = 0; again < 2; ++again)
      for (int64_t p = 0; p < column; ++p) {
        const double share = column_product(x, p, column);
        for (int64_t i = 0; i < x.m; ++i) x(i, column) -= share * x(i, p);
      }
    const double length = std::sqrt(column_product(x, column, column));
    if (length < 0.5 / std::sqrt(static_cast<double>(x.m))) continue;
    for (int64_t i = 0; i < x.m; ++i) x(i, column) /= length;
    return;
  }
}

std::vector<int64_t> sorted_by(const std::vector<double>& values, bool descending) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    const double a = values[static_cast<size_t>(i)], b = values[static_cast<size_t>(j)];
    return descending ? a > b : a < b;
  });
  return order;
}

/// The singular value decomposition of a matrix with at least as many rows as columns.
struct Svd {
  Matrix u, vt;
  std::vector<double> s;
};
Svd tall_svd(Matrix x) {
  Matrix v = Matrix::identity(x.n);
  make_orthogonal(x, v);
  std::vector<double> lengths;
  for (int64_t j = 0; j < x.n; ++j) lengths.push_back(std::sqrt(column_product(x, j, j)));
  const std::vector<int64_t> order = sorted_by(lengths, true);
  Svd all{Matrix(x.m, x.n), Matrix(x.n, x.n), {}};
  for (int64_t j = 0; j < x.n; ++j) {
    const int64_t from = order[static_cast<size_t>(j)];
    const double length = lengths[static_cast<size_t>(from)];
    all.s.push_back(length);
    for (int64_t i = 0; i < x.m; ++i) all.u(i, j) = x(i, from) / length;
    if (!(length > 0)) complete(all.u, j);
    for (int64_t i = 0; i < x.n; ++i) all.vt(j, i) = v(i, from);
  }
  return all;
}

}  // namespace

void det(ReferenceContext& c) {
  Batch batch(c, "det");
  batch.each_of_any_numbers([&](int64_t i) {
    Matrix a = batch.matrix(0, i), none(a.n, 0);
    int64_t column = 0;
    double product = eliminate(a, none, column);
    for (int64_t k = 0; k < a.n && product != 0; ++k) product *= a(k, k);
    batch.give(0, i, {product});
  });
}

void slogdet(ReferenceContext& c) {
  Batch batch(c, "slogdet");
  batch.each([&](int64_t i) {
    Matrix a = batch.matrix(0, i), none(a.n, 0);
    int64_t column = 0;
    double sign = eliminate(a, none, column), size = sign == 0 ? -std::numeric_limits<double>::infinity() : 0;
    for (int64_t k = 0; k < a.n && sign != 0; ++k) {
      if (a(k, k) < 0) sign = -sign;
      size += std::log(std::abs(a(k, k)));
    }
    batch.give(0, i, {sign});
    batch.give(1, i, {size});
  });
}

void cholesky(ReferenceContext& c) {
  Batch batch(c, "cholesky");
  batch.each([&](int64_t index) {
    const Matrix a = batch.matrix(0, index).symmetric_part();
    Matrix l(a.n, a.n);
    for (int64_t i = 0; i < a.n; ++i)
      for (int64_t j = 0; j <= i; ++j) {
        double rest = a(i, j);
        for (int64_t k = 0; k < j; ++k) rest -= l(i, k) * l(j, k);
        if (i == j && !(rest > 0)) throw_not_positive_definite(batch.problem(index), i + 1);
        l(i, j) = i == j ? std::sqrt(rest) : rest / l(j, j);
      }
    batch.give(0, index, l.a);
  });
}

void triangular_solve(ReferenceContext& c) {
  const bool transposed = c.boolean("transpose"), lower = c.boolean("lower") != transposed;
  Batch batch(c, "triangular_solve");
  batch.each_of_any_numbers([&](int64_t i) {
    const Matrix t = transposed ? batch.matrix(0, i).transposed() : batch.matrix(0, i);
    Matrix b = batch.matrix(1, i);
    if (b.n > 0)
      for (int64_t k = 0; k < t.n; ++k)
        if (t(k, k) == 0) throw_singular(batch.problem(i), k);
    substitute(t, b, lower);
    batch.give(0, i, b.a);
  });
}

void solve(ReferenceContext& c) {
  Batch batch(c, "solve");
  batch.each([&](int64_t i) {
    Matrix a = batch.matrix(0, i), b = batch.matrix(1, i);
    int64_t column = 0;
    if (b.n > 0 && eliminate(a, b, column) == 0) throw_singular(batch.problem(i), column);
    substitute(a, b, false);
    batch.give(0, i, b.a);
  });
}

// Householder's reflections.
void qr(ReferenceContext& c) {
  Batch batch(c, "qr");
  batch.each([&](int64_t index) {
    Matrix r = batch.matrix(0, index), q = Matrix::identity(r.m);
    const int64_t least = std::min(r.m, r.n);
    for (int64_t k = 0; k < least; ++k) {
      std::vector<double> v(static_cast<size_t>(r.m), 0.0);
      double squares = 0;
      for (int64_t i = k; i < r.m; ++i) squares += r(i, k) * r(i, k);
      for (int64_t i = k; i < r.m; ++i) v[static_cast<size_t>(i)] = r(i, k);
      v[static_cast<size_t>(k)] += r(k, k) < 0 ? -std::sqrt(squares) : std::sqrt(squares);
      const double length = std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
      if (length == 0) continue;
      const auto reflect = [&](Matrix& x) {
        for (int64_t j = 0; j < x.n; ++j) {
          double share = 0;
          for (int64_t i = k; i < x.m; ++i) share += v[static_cast<size_t>(i)] * x(i, j);
          for (int64_t i = k; i < x.m; ++i) x(i, j) -= 2 * share / length * v[static_cast<size_t>(i)];
        }
      };
      reflect(r);
      reflect(q);  // the transpose of Q, from the left
    }
    Matrix columns(r.m, least), rows(least, r.n);
    for (int64_t k = 0; k < least; ++k) {
      const double sign = r(k, k) < 0 ? -1 : 1;
      for (int64_t i = 0; i < r.m; ++i) columns(i, k) = sign * q(k, i);
      for (int64_t j = k; j < r.n; ++j) rows(k, j) = sign * r(k, j);
    }
    batch.give(0, index, columns.a);
    batch.give(1, index, rows.a);
  });
}

void svd(ReferenceContext& c) {
  Batch batch(c, "svd");
  batch.each([&](int64_t i) {
    const Matrix x = batch.matrix(0, i);
    Svd all = tall_svd(x.m >= x.n ? x : x.transposed());
    if (x.m < x.n) {
      const Matrix u = all.vt.transposed();
      all.vt = all.u.transposed();
      all.u = u;
    }
    for (int64_t j = 0; j < all.u.n; ++j) point_up(all.u, j, &all.vt);
    batch.give(0, i, all.u.a);
    batch.give(1, i, all.s);
    batch.give(2, i, all.vt.a);
  });
}

void eigh(ReferenceContext& c) {
  Batch batch(c, "eigh");
  batch.each([&](int64_t index) {
    Matrix a = batch.matrix(0, index).symmetric_part(), v = Matrix::identity(a.n), ordered(a.n, a.n);
    jacobi(a, v);
    std::vector<double> values, sorted;
    for (int64_t j = 0; j < a.n; ++j) values.push_back(a(j, j));
    const std::vector<int64_t> order = sorted_by(values, false);
    for (int64_t j = 0; j < a.n; ++j) {
      const int64_t from = order[static_cast<size_t>(j)];
      sorted.push_back(values[static_cast<size_t>(from)]);
      for (int64_t i = 0; i < a.n; ++i) ordered(i, j) = v(i, from);
      point_up(ordered, j);
    }
    batch.give(0, index, sorted);
    batch.give(1, index, ordered.a);
  });
}

}  // namespace pxl::reference
