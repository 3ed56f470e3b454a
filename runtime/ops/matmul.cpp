// The matrix product, as numpy.matmul, and its gradients by transposition.
#include <algorithm>
#include <limits>
#include <numeric>

#include "runtime/kernels/gemm/matmul.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

int64_t matmul_flops(const OpContext& s) {
  int64_t flops = 0;  // operands near the memory limit can have a product that overflows int64
  return __builtin_mul_overflow(2 * s.out[0].size(), s.input(0).shape.back(), &flops)
             ? std::numeric_limits<int64_t>::max()
             : flops;
}

Expr swap_last_axes(const Expr& e) {
  std::vector<int64_t> permutation(static_cast<size_t>(e.rank()));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return transpose(e, permutation);
}

namespace {

constexpr Param matmul_params[] = {
    {"lhs", ParamKind::tensor},
    {"rhs", ParamKind::tensor},
    {"available_memory_proportion", ParamKind::number, none_default, "not used"},
    {"output_type", ParamKind::dtype, none_default, "dtype of the result; none means that of lhs"},
    {"partials_type", ParamKind::string, none_default, "not used"}};

Expr product(const Expr& a, const Expr& b) { return a.builder().one("matmul", {a, b}); }

// y = A B: dA = dy B^T and dB = A^T dy. A vector is treated as a matrix of one row (lhs) or one column (rhs); broadcast
// batch axes are summed.
void matmul_gradient(GradContext& c) {
  const Shape a = c.in_spec(0).shape, b = c.in_spec(1).shape;
  const bool a_vector = a.size() == 1, b_vector = b.size() == 1;
  Shape dy_shape = c.out_spec().shape;
  if (b_vector) dy_shape.push_back(1);
  if (a_vector) dy_shape.insert(dy_shape.end() - 1, 1);
  const Shape a_matrix = a_vector ? Shape{1, a[0]} : a, b_matrix = b_vector ? Shape{b[0], 1} : b;
  const Expr dy = reshape(cast(c.dy(), c.in_spec(0).dtype), dy_shape);
  if (c.wants(0)) c.set(0, reshape(sum_to(product(dy, swap_last_axes(reshape(c.in(1), b_matrix))), a_matrix), a));
  if (c.wants(1)) {
    const Expr lhs = reshape(c.in(0), a_matrix);
    // One matrix for a whole batch: the batch is folded into the rows, so that one product also sums over it.
    if (b_matrix.size() == 2 && a_matrix.size() > 2) {
      const Expr rows = reshape(lhs, {element_count(Shape(a.begin(), a.end() - 1)), a.back()});
      const Expr gradients = reshape(dy, {rows.shape()[0], dy_shape.back()});
      c.set(1, reshape(product(swap_last_axes(rows), gradients), b));
    } else {
      c.set(1, reshape(sum_to(product(swap_last_axes(lhs), dy), b_matrix), b));
    }
  }
}

constexpr OpRow matmul_table[] = {
    {.name = "matmul",
     .path = "ops.matmul",
     .schedule = "MatMul",
     .output = "matmul_out",
     .doc = "The matrix product, over any batch axes. A vector is treated as a row on the left and as a column on the "
            "right.",
     .formula = "lhs @ rhs",
     .example = "matmul(array([[1.0, 2.0], [3.0, 4.0]]), array([[1.0, -1.0], [2.0, 0.0]]))",
     .params = matmul_params,
     .infer = infer_matmul,
     .definition = reference::matmul,
     .kernel = [](const OpContext& s) { return matmul_kernel(s.input(0), false, s.input(1), false, s.out[0]); },
     .gradient = matmul_gradient,
     .flops = matmul_flops,
     .product = [](const OpContext& s) { return gemm_shape(s.input(0).shape, false, s.input(1).shape, false); },
     .pattern = Pattern::product,
     .batch = Batch::product,
     .onnx = "MatMul",
     .tiles = tile_product},
};
static_assert(all_complete(matmul_table));

}  // namespace

std::span<const OpRow> matmul_rows() { return matmul_table; }

}  // namespace pxl
