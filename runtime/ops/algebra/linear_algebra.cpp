// Factors and solutions of square and other matrices, the last two axes of a batch. The gradients are matrix products
// and solutions, so that they have gradients too.
#include "runtime/kernels/linear_algebra/linear_algebra.hpp"

#include <fmt/format.h>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/op/algebra_definitions.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param square_matrix_params[] = {{"t", ParamKind::tensor, no_default, "[..., n, n]"}};
constexpr Param matrix_params[] = {{"t", ParamKind::tensor, no_default, "[..., m, n]"}};
constexpr Param right_param{"b", ParamKind::tensor, no_default,
                            "[..., n, k], or [..., n], one vector for each matrix of t"};
constexpr Param lower_param{"lower", ParamKind::boolean, of(true), "whether t's lower triangle is read"};
constexpr Param transpose_param{"transpose", ParamKind::boolean, of(false), "solves with the transpose of t"};
constexpr Param solve_params[] = {{"t", ParamKind::tensor, no_default, "[..., n, n]"}, right_param};
constexpr Param triangular_params[] = {
    {"t", ParamKind::tensor, no_default, "[..., n, n]"}, right_param, lower_param, transpose_param};

/// Of matrices that are well conditioned.
constexpr Tolerance factors_tolerance{64, 256};

// ---- inference

Shape leading_of(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }
Shape with_matrix(Shape batch, int64_t rows, int64_t columns) {
  batch.insert(batch.end(), {rows, columns});
  return batch;
}

void check_matrices(const OpContext& s, bool square) {
  check_floating(s, 0);
  check_one_dtype(s);
  const Shape& shape = s.input(0).shape;
  if (shape.size() < 2 || (square && shape.end()[-1] != shape.end()[-2]))
    refuse(s,
           fmt::format("expected {}matrices in the last two axes, not the shape {}", square ? "square " : "",
                       bracket_text(shape)),
           codes::shape);
}
std::vector<TensorSpec> infer_square(const OpContext& s) {
  check_matrices(s, true);
  return {s.input(0)};
}
std::vector<TensorSpec> infer_det(const OpContext& s) {
  check_matrices(s, true);
  return {{leading_of(s.input(0).shape), s.input(0).dtype, {}}};
}
std::vector<TensorSpec> infer_slogdet(const OpContext& s) {
  const TensorSpec one = infer_det(s)[0];
  return {one, one};
}
std::vector<TensorSpec> infer_right(const OpContext& s) {
  check_matrices(s, true);
  const Shape &t = s.input(0).shape, &b = s.input(1).shape;
  if (b.size() != t.size() || leading_of(b) != leading_of(t) || b.end()[-2] != t.back())
    refuse(s, fmt::format("{} must have {} rows, in the batch of {}", s.label(1), t.back(), s.label(0)), codes::shape);
  return {s.input(1)};
}
/// The specs of t = A B with A [m, k] and B [k, n], and of what is between them.
std::vector<TensorSpec> infer_factors(const OpContext& s, bool singular_values) {
  check_matrices(s, false);
  const Shape& t = s.input(0).shape;
  const DType dtype = s.input(0).dtype;
  const int64_t m = t.end()[-2], n = t.end()[-1], k = std::min(m, n);
  Shape values = leading_of(t);
  values.push_back(k);
  std::vector<TensorSpec> out{{with_matrix(leading_of(t), m, k), dtype, {}}};
  if (singular_values) out.push_back({values, dtype, {}});
  out.push_back({with_matrix(leading_of(t), k, n), dtype, {}});
  return out;
}
std::vector<TensorSpec> infer_eigh(const OpContext& s) {
  check_matrices(s, true);
  const Shape& t = s.input(0).shape;
  return {{Shape(t.begin(), t.end() - 1), s.input(0).dtype, {}}, s.input(0)};
}

// ---- expressions

Expr matmul(const Expr& a, const Expr& b) { return a.builder().one("matmul", {a, b}); }
Expr symmetric(const Expr& e) { return (e + swap_last_axes(e)) * 0.5; }
Expr triangle(const Expr& e, bool lower, int64_t diagonal = 0) {
  return e.builder().one(lower ? "tril" : "triu", {e}, {{"diagonal", diagonal}});
}
/// t^-1 b, or t^-T b.
Expr solved(const Expr& t, const Expr& b, bool transposed) {
  return t.builder().one("solve_matrices", {transposed ? swap_last_axes(t) : t, b});
}
Expr solved(const Expr& t, const Expr& b, bool lower, bool transposed) {
  return t.builder().one("triangular_solve_matrices", {t, b}, {{"lower", lower}, {"transpose", transposed}});
}
/// b t^-1 of a triangle t.
Expr divided(const Expr& b, const Expr& t, bool lower) {
  return swap_last_axes(solved(t, swap_last_axes(b), lower, true));
}
Expr identity_matrix(OpBuilder& at, int64_t n, DType dtype) {
  Array ones = Array::full(DType::float32, {n, n}, 0);
  for (int64_t i = 0; i < n; ++i) ones.mutable_data<float>()[i * n + i] = 1;
  return at.constant(ones.cast(dtype));
}
/// Elements [.., n] as diagonal matrices.
Expr diagonal(const Expr& e) {
  const int64_t n = e.shape().back();
  Shape rows = e.shape();
  rows.insert(rows.end() - 1, 1);
  return reshape(e, rows) * identity_matrix(e.builder(), n, e.dtype());
}
/// a with column j multiplied by e[.., j].
Expr scaled_columns(const Expr& a, const Expr& e) {
  Shape row = e.shape();
  row.insert(row.end() - 1, 1);
  return a * reshape(e, row);
}
/// 1 / (e[j] - e[i]) at row i, column j, and 0 on the diagonal.
Expr inverse_gaps(const Expr& e) {
  const int64_t n = e.shape().back();
  Shape row = e.shape(), column = e.shape();
  row.insert(row.end() - 1, 1);
  column.push_back(1);
  const Expr one = identity_matrix(e.builder(), n, e.dtype());
  return (1.0 - one) / (reshape(e, row) - reshape(e, column) + one);
}
Expr narrow_columns(const Expr& e, int64_t begin, int64_t size) {
  return narrow(e, static_cast<size_t>(e.rank()) - 1, begin, size);
}

// ---- gradients

// I. Murray, "Differentiation of the Cholesky decomposition", 2016.
void cholesky_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  const Expr l = c.out();
  const Expr p = matmul(swap_last_axes(l), triangle(c.dy(), true));
  const Expr halved = triangle(p, true, -1) + p * (identity_matrix(c.builder(), l.shape().back(), l.dtype()) * 0.5);
  const Expr left = solved(l, halved, true, true);
  c.set(0, symmetric(divided(left, l, true)));
}

void triangular_solve_gradient(GradContext& c) {
  const bool lower = c.site().boolean("lower"), transposed = c.site().boolean("transpose");
  const Expr db = solved(c.in(0), c.dy(), lower, !transposed);
  if (c.wants(0)) {
    const Expr x = c.out();
    c.set(0, -triangle(transposed ? matmul(x, swap_last_axes(db)) : matmul(db, swap_last_axes(x)), lower));
  }
  if (c.wants(1)) c.set(1, db);
}

void solve_gradient(GradContext& c) {
  const Expr db = solved(c.in(0), c.dy(), true);
  if (c.wants(0)) c.set(0, -matmul(db, swap_last_axes(c.out())));
  if (c.wants(1)) c.set(1, db);
}

/// The gradient of ln |det t|, times `factor`.
Expr log_det_gradient(const Expr& t, const Expr& factor) {
  const Expr one = identity_matrix(t.builder(), t.shape().back(), t.dtype());
  Shape scalar = factor.shape();
  scalar.insert(scalar.end(), {1, 1});
  return solved(t, broadcast_to(one, t.shape()), true) * reshape(factor, scalar);
}

// M. Seeger et al., "Auto-differentiating linear algebra", 2017, for both factorisations: QR of tall matrices.
Expr tall_qr_gradient(const Expr& q, const Expr& r, const Expr& dq, const Expr& dr) {
  Expr m = dr ? matmul(r, swap_last_axes(triangle(dr, false))) : Expr();
  if (dq) m = m ? m - matmul(swap_last_axes(dq), q) : -matmul(swap_last_axes(dq), q);
  const Expr copied = triangle(m, true) + swap_last_axes(triangle(m, true, -1));
  const Expr left = dq ? dq + matmul(q, copied) : matmul(q, copied);
  return swap_last_axes(solved(r, swap_last_axes(left), false, false));
}

// A wide matrix [X, Y] is Q [U, V]: X has the factors Q and U, and V is Q^T Y.
void qr_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  const int64_t m = c.in_spec(0).shape.end()[-2], n = c.in_spec(0).shape.end()[-1];
  const Expr q = c.out(0), r = c.out(1), dq = c.dy(0), dr = c.dy(1);
  if (m >= n) return c.set(0, tall_qr_gradient(q, r, dq, dr));
  const Expr u = narrow_columns(r, 0, m);
  if (!dr) {
    const Expr dx = tall_qr_gradient(q, u, dq, dr);
    const Expr zeros = zeros_of(c.builder(), {with_matrix(leading_of(c.in_spec(0).shape), m, n - m), dx.dtype(), {}});
    return c.set(0, c.builder().one("concat", {std::vector<Expr>{dx, zeros}}, {{"axis", int64_t{-1}}}));
  }
  const Expr dv = narrow_columns(dr, m, n - m), y = narrow_columns(c.in(0), m, n - m);
  const Expr of_v = matmul(y, swap_last_axes(dv));
  const Expr dx = tall_qr_gradient(q, u, dq ? dq + of_v : of_v, narrow_columns(dr, 0, m));
  c.set(0, c.builder().one("concat", {std::vector<Expr>{dx, matmul(q, dv)}}, {{"axis", int64_t{-1}}}));
}

// J. Townsend, "Differentiating the singular value decomposition", 2016.
void svd_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  const Expr u = c.out(0), s = c.out(1), vt = c.out(2), du = c.dy(0), ds = c.dy(1), dvt = c.dy(2);
  const int64_t m = u.shape().end()[-2], n = vt.shape().end()[-1], k = s.shape().back();
  const auto antisymmetric = [&](const Expr& e) { return inverse_gaps(s * s) * (e - swap_last_axes(e)); };
  const auto over_values = [&](const Expr& e) { return scaled_columns(e, 1.0 / s); };
  Expr inner = ds ? diagonal(ds) : Expr();
  const auto add = [](Expr& to, const Expr& e) { to = to ? to + e : e; };
  if (du) add(inner, scaled_columns(antisymmetric(matmul(swap_last_axes(u), du)), s));
  if (dvt)
    add(inner, swap_last_axes(scaled_columns(swap_last_axes(antisymmetric(matmul(vt, swap_last_axes(dvt)))), s)));
  Expr sum = matmul(matmul(u, inner), vt);
  // A matrix that is not square has parts outside the spaces of its vectors.
  if (du && m > k) add(sum, matmul(over_values(du - matmul(u, matmul(swap_last_axes(u), du))), vt));
  if (dvt && n > k)
    add(sum, matmul(u, swap_last_axes(over_values(swap_last_axes(dvt - matmul(matmul(dvt, swap_last_axes(vt)), vt))))));
  c.set(0, sum);
}

void eigh_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  const Expr w = c.out(0), v = c.out(1), dw = c.dy(0), dv = c.dy(1);
  Expr inner = dw ? diagonal(dw) : Expr();
  if (dv) {
    const Expr turn = inverse_gaps(w) * matmul(swap_last_axes(v), dv);
    inner = inner ? inner + turn : turn;
  }
  c.set(0, symmetric(matmul(matmul(v, inner), swap_last_axes(v))));
}

// ---- right sides

/// Emits an op on matrices and right sides with equal batches; a vector becomes a column.
std::vector<Expr> with_right_side(std::string_view op, const Expr& t, const Expr& b,
                                  std::initializer_list<std::pair<std::string_view, Attr>> attrs = {}) {
  const auto refuse_shapes = [&] {
    throw Error(fmt::format("{}: {} and {} are no square matrices and right sides: their shapes are {} and {}",
                            op.substr(0, op.rfind('_')), t.label(), b.label(), bracket_text(t.shape()),
                            bracket_text(b.shape())))
        .as(codes::shape);
  };
  if (t.rank() < 2 || b.rank() == 0 || t.shape().end()[-1] != t.shape().end()[-2]) refuse_shapes();
  const int64_t n = t.shape().back();
  const bool is_vector =
      b.rank() == 1 || (b.rank() == t.rank() - 1 && b.shape() == Shape(t.shape().begin(), t.shape().end() - 1));
  Shape right = b.shape();
  if (is_vector) right.push_back(1);
  if (right.end()[-2] != n) refuse_shapes();
  Shape batch;
  try {
    batch = broadcast(leading_of(t.shape()), leading_of(right));
  } catch (const Error&) {
    refuse_shapes();
  }
  const Expr x = t.builder().one(
      op,
      {broadcast_to(t, with_matrix(batch, n, n)), broadcast_to(reshape(b, right), with_matrix(batch, n, right.back()))},
      attrs);
  if (!is_vector) return {x};
  return {reshape(x, Shape(x.shape().begin(), x.shape().end() - 1))};
}

Kernel or_definition(Kernel kernel, const OpContext& s) { return kernel ? std::move(kernel) : definition_kernel(s); }

/// A row on batches of matrices.
constexpr OpRow on_matrices(const RowText& text, std::span<const Param> params, InferFn infer, DefinitionFn definition,
                            KernelFn kernel, GradFn gradient, bool may_fail) {
  OpRow row = described(text, params, infer, definition, kernel, gradient, Pattern::other, tile_reduction);
  row.batch = Batch::axis;
  row.flops = [](const OpContext& s) { return s.input(0).size() * s.input(0).shape.back(); };
  if (may_fail) row.checks_indices = checks_values;
  return within(factors_tolerance, row);
}

constexpr OpRow linear_algebra_table[] = {
    {.name = "det",
     .path = "ops.det",
     .schedule = "Det",
     .output = "det_out",
     .doc = "The determinants of square matrices, the last two axes. The gradient of a singular matrix is an error.",
     .formula = "det t",
     .example = "det(array([[1.0, 2.0], [3.0, 4.0]]))",
     .params = unary_params,
     .infer = infer_det,
     .definition = reference::det,
     .tolerance = &tolerance::sum,
     .kernel = [](const OpContext& s) { return or_definition(det_kernel(s.input(0)), s); },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0)) c.set(0, log_det_gradient(c.in(0), c.dy() * c.out()));
         },
     .batch = Batch::axis,
     .onnx = "Det",
     .tiles = tile_reduction},
    on_matrices(
        {"cholesky", "ops.cholesky", "Cholesky", "cholesky_out",
         "The lower triangles whose products with their transposes are the symmetric parts of t. A matrix that "
         "is not positive definite is an error in the run; one with NaN or infinities has NaN.",
         "L with L L^T = (t + t^T) / 2", "cholesky(array([[4.0, 2.0], [2.0, 5.0]]))"},
        square_matrix_params, infer_square, reference::cholesky,
        [](const OpContext& s) { return or_definition(cholesky_kernel(s.input(0)), s); }, cholesky_gradient, true),
    on_matrices(
        {"triangular_solve_matrices",
         {},
         "TriangularSolve",
         "triangular_solve_out",
         "The solutions of triangular systems with equal batches.",
         "t^-1 b",
         {}},
        triangular_params, infer_right, reference::triangular_solve,
        [](const OpContext& s) {
          return or_definition(
              triangular_solve_kernel(s.input(0), s.input(1), s.boolean("lower"), s.boolean("transpose")), s);
        },
        triangular_solve_gradient, true),
    {.name = "triangular_solve",
     .path = "ops.triangular_solve",
     .doc =
         "The solutions x of t x = b, or of t^T x = b, for triangles t, with broadcast batches. The other triangle of "
         "t is not read. A zero on the diagonal is an error in the run.",
     .formula = "t^-1 b",
     .example = "triangular_solve(array([[2.0, 0.0], [1.0, 4.0]]), array([2.0, 9.0]))",
     .params = triangular_params,
     .expand =
         [](OpBuilder&, const OpArgs& args) {
           return with_right_side("triangular_solve_matrices", args.expr(0), args.expr(1),
                                  {{"lower", *args.attr(2)}, {"transpose", *args.attr(3)}});
         },
     .role = Role::composite},
    on_matrices(
        {"solve_matrices", {}, "Solve", "solve_out", "The solutions of systems with equal batches.", "t^-1 b", {}},
        solve_params, infer_right, reference::solve,
        [](const OpContext& s) { return or_definition(solve_kernel(s.input(0), s.input(1)), s); }, solve_gradient,
        true),
    {.name = "solve",
     .path = "ops.solve",
     .doc =
         "The solutions x of t x = b, with broadcast batches. A singular matrix is an error in the run; one with NaN "
         "or infinities has NaN.",
     .formula = "t^-1 b",
     .example = "solve(array([[2.0, 1.0], [1.0, 3.0]]), array([3.0, 5.0]))",
     .params = solve_params,
     .expand = [](OpBuilder&,
                  const OpArgs& args) { return with_right_side("solve_matrices", args.expr(0), args.expr(1)); },
     .role = Role::composite},
    {.name = "inverse",
     .path = "ops.inverse",
     .doc = "The inverses of square matrices. A singular matrix is an error in the run. `solve` is faster and more "
            "accurate where the inverse is multiplied.",
     .formula = "t^-1",
     .example = "inverse(array([[2.0, 0.0], [0.0, 4.0]]))",
     .params = square_matrix_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           const Expr& t = args.expr(0);
           const int64_t n = t.rank() < 2 ? 0 : t.shape().back();
           const DType dtype = is_floating(t.dtype()) ? t.dtype() : DType::float32;
           // As many axes as t: of one axis less it could be vectors, one for each matrix.
           Shape one(t.shape().size() < 2 ? 2 : t.shape().size(), 1);
           one.end()[-2] = one.end()[-1] = n;
           return with_right_side("solve_matrices", t, reshape(identity_matrix(at, n, dtype), one));
         },
     .role = Role::composite},
    on_matrices(
        {"slogdet", "ops.slogdet", "SLogDet", "sign_out,logdet_out",
         "The signs of determinants and the logarithms of their sizes; 0 and -inf for singular matrices, whose "
         "gradient is an error.",
         "sign det t, ln |det t|", "slogdet(array([[1.0, 2.0], [3.0, 4.0]]))"},
        square_matrix_params, infer_slogdet, reference::slogdet,
        [](const OpContext& s) { return or_definition(slogdet_kernel(s.input(0)), s); },
        [](GradContext& c) {
          if (!c.wants(0)) return;
          const Expr dy = c.dy(1);
          dy ? c.set(0, log_det_gradient(c.in(0), dy)) : set_zero(c, 0);
        },
        false),
    on_matrices(
        {"qr", "ops.qr", "QR", "q_out,r_out",
         "Matrices Q [..., m, k] with orthonormal columns, and upper triangles R [..., k, n], k the smaller of m "
         "and n. R's diagonal is not negative. Columns must be independent for the gradient.",
         "t = Q R", "qr(array([[3.0, 1.0], [4.0, 2.0]]))"},
        matrix_params, [](const OpContext& s) { return infer_factors(s, false); }, reference::qr,
        [](const OpContext& s) { return or_definition(qr_kernel(s.input(0)), s); }, qr_gradient, false),
    on_matrices(
        {"svd", "ops.svd", "SVD", "u_out,s_out,vt_out",
         "U [..., m, k], the singular values in descending order [..., k], and V^T [..., k, n], k the smaller of "
         "m and n. The largest element of each column of U is positive. The gradients of U and V are infinite "
         "where two values are equal; that of the values is not.",
         "t = U diag(s) V^T", "svd(array([[2.0, 0.0], [0.0, 3.0]]))"},
        matrix_params, [](const OpContext& s) { return infer_factors(s, true); }, reference::svd,
        [](const OpContext& s) { return or_definition(svd_kernel(s.input(0)), s); }, svd_gradient, false),
    on_matrices(
        {"eigh", "ops.eigh", "Eigh", "w_out,v_out",
         "The eigenvalues of the symmetric parts of t in ascending order [..., n], and columns of orthonormal "
         "eigenvectors [..., n, n]. The largest element of each column is positive. The gradient of the vectors "
         "is infinite where two values are equal; that of the values is not.",
         "(t + t^T) / 2 = V diag(w) V^T", "eigh(array([[2.0, 1.0], [1.0, 2.0]]))"},
        square_matrix_params, infer_eigh, reference::eigh,
        [](const OpContext& s) { return or_definition(eigh_kernel(s.input(0)), s); }, eigh_gradient, false),
};
static_assert(all_complete(linear_algebra_table));

}  // namespace

std::span<const OpRow> linear_algebra_rows() { return linear_algebra_table; }

}  // namespace pxl
