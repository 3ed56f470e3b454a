// Matrix products, and casts of float8.
#include <algorithm>
#include <cmath>

#include <xtensor-blas/xlinalg.hpp>

#include "runtime/kernels/elementwise/float8.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

namespace {

// The matrices of a batch: a vector is treated as one row on the left and one column on the right.
template <class T>
xt::xarray<T> as_matrices(const xt::xarray<T>& x, bool left) {
  if (x.dimension() > 1) return x;
  const size_t n = x.size();
  return xt::reshape_view(x, left ? Extents{1, n} : Extents{n, 1});
}

// Product number `batch` of matrices whose leading axes broadcast.
template <class T, class Dot>
xt::xarray<T> product(const xt::xarray<T>& lhs, const xt::xarray<T>& rhs, const Shape& out, Dot dot) {
  const xt::xarray<T> a = as_matrices(lhs, true), b = as_matrices(rhs, false);
  const Shape a_shape = shape_of(a), b_shape = shape_of(b);
  const Shape batch = broadcast(Shape(a_shape.begin(), a_shape.end() - 2), Shape(b_shape.begin(), b_shape.end() - 2));
  const int64_t m = a_shape.end()[-2], k = a_shape.back(), n = b_shape.back();
  const auto with_batch = [&](int64_t rows, int64_t columns) {
    Shape shape = batch;
    shape.insert(shape.end(), {rows, columns});
    return extents(shape);
  };
  const xt::xarray<T> all_a = xt::broadcast(a, with_batch(m, k)), all_b = xt::broadcast(b, with_batch(k, n));
  xt::xarray<T> y = xt::zeros<T>(with_batch(m, n));
  for (int64_t i = 0; i < element_count(batch) && m * k * n > 0; ++i)
    dot(all_a.data() + i * m * k, all_b.data() + i * k * n, y.data() + i * m * n, m, k, n);
  return xt::reshape_view(y, extents(out));
}

Reals real_product(const Reals& lhs, const Reals& rhs, const Shape& out) {
  return product(lhs, rhs, out, [](const double* a, const double* b, double* y, int64_t m, int64_t k, int64_t n) {
    const Shape of_a{m, k}, of_b{k, n}, of_y{m, n};
    as_xtensor(y, of_y) = xt::linalg::dot(as_xtensor(a, of_a), as_xtensor(b, of_b));
  });
}

Wholes whole_product(const Wholes& lhs, const Wholes& rhs, const Shape& out) {
  return product(lhs, rhs, out, [](const int64_t* a, const int64_t* b, int64_t* y, int64_t m, int64_t k, int64_t n) {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t l = 0; l < k; ++l) y[i * n + j] += a[i * k + l] * b[l * n + j];
  });
}

/// The weights [k, n] that t encodes, as dequantise decodes it.
Reals widened(const ReferenceContext& c, const Wholes& t, const Reals& scale, const Shape& shape) {
  const int64_t group = c.site().integer("group_size");
  const bool packed = c.site().integer("bits") == 4;
  Reals out = xt::zeros<double>(extents(shape));
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t j = 0; j < shape[1]; ++j) {
      const int64_t q = packed ? (t(i / 2, j) >> (4 * (i % 2)) & 15) - 8 : t(i, j);
      out(i, j) = static_cast<double>(q) * scale(i / group, j);
    }
  return out;
}

double scale_of(const ReferenceContext& c, size_t slot) {
  const int64_t log2_scale = c.whole(slot).data()[0];
  check_log2_scale(log2_scale);
  return std::ldexp(1.0, static_cast<int>(log2_scale));
}

}  // namespace

void matmul(ReferenceContext& c) {
  if (is_floating(c.dtype(0)))
    c.out(0, real_product(c.real(0), c.real(1), c.out_shape()));
  else
    c.out(0, whole_product(c.whole(0), c.whole(1), c.out_shape()));
}

void matmul_integer(ReferenceContext& c) {
  Wholes lhs = c.whole(0), rhs = c.whole(1);
  const auto without_zero = [&](Wholes& t, size_t slot, int64_t inner) {
    if (!c.has(slot)) return;
    const Wholes zero = c.whole(slot);
    for (size_t i = 0; i < t.size(); ++i) t.data()[i] -= zero.data()[i / static_cast<size_t>(inner) % zero.size()];
  };
  without_zero(lhs, 2, c.shape(0).back());
  without_zero(rhs, 3, 1);
  c.out(0, whole_product(lhs, rhs, c.out_shape()));
}

void matmul_pow2scaled(ReferenceContext& c) {
  c.out(0, real_product(c.real(0), c.real(1), c.out_shape()) * scale_of(c, 2));
}

void dequantise(ReferenceContext& c) { c.out(0, widened(c, c.whole(0), c.real(1), c.out_shape())); }

void quantised_matmul(ReferenceContext& c) {
  const Wholes x = c.whole(0);
  const Reals scale = c.real(2);
  const Shape of_x = c.shape(0), weights{of_x.back(), c.out_shape().back()};
  const int64_t rows = element_count(Shape(of_x.begin(), of_x.end() - 1)), group = c.site().integer("group_size");
  const int64_t k = of_x.back(), groups = scale.size() == 0 ? 0 : static_cast<int64_t>(scale.shape().back());
  Reals left = xt::zeros<double>(extents(of_x));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t l = 0; l < k; ++l)
      left.data()[i * k + l] = static_cast<double>(x.data()[i * k + l]) * scale.data()[i * groups + l / group];
  c.out(0, real_product(left, widened(c, c.whole(1), c.real(3), weights), c.out_shape()));
}

void pow2scale_cast_to_fp8(ReferenceContext& c) {
  const double most = static_cast<double>(float8_max(c.out_dtype()));
  Reals x = c.real(0) * scale_of(c, 1);
  // A value that rounds to more than the largest number becomes NaN; without `nan_on_overflow` it is clamped first.
  if (!c.boolean("nan_on_overflow"))
    x = each([=](double v) { return v != v ? v : std::clamp(v, -most, most); }, Reals(x));
  c.out(0, x);
}
void pow2scale_cast_from_fp8(ReferenceContext& c) { c.out(0, c.real(0) * scale_of(c, 1)); }

void fp8_amax_scale(ReferenceContext& c) {
  const double largest = largest_of(Reals(xt::abs(c.real(0))), c.all_axes(0))();
  double scale = 0;
  if (largest > 0 && std::isfinite(largest)) {
    const double most = static_cast<double>(float8_max(c.site().dtype("dtype")));
    for (scale = 31; scale > -32 && std::ldexp(largest, static_cast<int>(scale)) > most;) --scale;
  }
  c.out(0, Reals(scale));
}

}  // namespace pxl::reference
