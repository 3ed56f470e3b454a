// Matrix-vector products, and batches of products with few rows. A library would pack their operands, or take longer to
// start than to compute.
#include <algorithm>

#include "runtime/base/div_up.hpp"
#include "runtime/kernels/gemm/product_parts.hpp"
#include "runtime/kernels/gemm/skinny.hpp"

namespace pxl {
namespace {

// Multiply-accumulates per chunk of a matrix: about 1 us at 100 GF/s.
constexpr int64_t part_macs = 1 << 16;

/// Whether skinny_k computes the product: few terms, and many rows of the result.
bool has_few_terms(const GemmShape& p) {
  return p.batch.empty() && p.ta && !p.tb && p.k <= max_skinny_dim && p.m > max_skinny_dim;
}

/// Columns of the result per chunk.
int64_t columns_of_part(const GemmShape& p) {
  const int64_t columns = part_macs / (p.m * p.k) / skinny_panel * skinny_panel;
  return std::clamp<int64_t>(columns, std::min(p.n, skinny_panel), p.n);
}

/// Columns [n0, n1) of x[m, k] @ w; column j of row i is to[i * ldo + j].
void part_of_product(const GemmShape& p, const float* x, const float* w, int64_t n0, int64_t n1, float* to, int64_t ldo,
                     float* panels) {
  if (p.tb) {
    SkinnyBackward f;
    f.dy = x;
    f.lddy = p.lda;
    f.w = w;
    f.ldw = p.ldb;
    f.m = p.m;
    f.n = p.k;
    f.k0 = n0;
    f.k1 = n1;
    f.dx = to;
    f.lddx = ldo;
    skinny().backward(f);
    return;
  }
  SkinnyForward f;
  f.x = x;
  f.ldx = p.lda;
  f.w = w + n0;
  f.ldw = p.ldb;
  f.m = p.m;
  f.n = n1 - n0;
  f.k1 = p.k;
  f.out = panels;
  skinny().forward(f);
  skinny().join({panels, 1, 0, p.m, ldo, 0, n1 - n0, to + n0});
}

}  // namespace

std::optional<GemmCall> as_row_product(const GemmShape& p, const ProductOptions& o) {
  if (p.n != 1 || p.m <= 1 || p.k <= 0 || p.ldc != 1 || (!p.tb && p.ldb != 1) || o.left || o.right.compute ||
      has_few_terms(p) || (is_narrow(o.dtype) && !p.batch.empty()))
    return std::nullopt;
  GemmCall call{p, o};
  GemmShape& q = call.plan;
  std::swap(q.m, q.n);
  q.ta = false;
  q.tb = !p.ta;
  q.lda = p.k;
  q.ldb = p.lda;
  q.ldc = q.n;
  std::swap(q.a_strides, q.b_strides);
  std::swap(q.a_offset, q.b_offset);
  std::swap(call.options.a, call.options.b);
  if (o.add_to >= 0) {
    call.options.epilogue = [target = o](const Buffers& b, std::byte* values, int64_t begin, int64_t end) {
      add_scaled(target, b, reinterpret_cast<float*>(values), begin, end - begin);
    };
    call.options.add_to = -1;
    call.options.out = -1;
  }
  return call;
}

bool is_batch_of_rows(const GemmShape& p, const ProductOptions& o) {
  return !p.batch.empty() && !p.ta && p.m > 0 && p.m <= max_streamed_rows && p.n > 0 && p.k > 0 && o.add_to < 0 &&
         !o.left && !o.right.compute;
}

Kernel batch_of_rows(const GemmShape& p, const ProductOptions& o) {
  const MatrixOffsets at = matrix_offsets(p);
  const auto matrices = std::ssize(at.a);
  const int64_t columns = columns_of_part(p), parts = div_up(p.n, columns);
  const bool stored = o.out >= 0;
  WorkspaceLayout workspace(o.epilogue_workspace);
  const auto values = workspace.per_thread<float>(stored ? 0 : p.m * columns);
  const auto panels = workspace.per_thread<float>(p.tb ? 0 : skinny_panels_size(p.m, columns));
  const auto part = [=](const Buffers& b, size_t matrix, int64_t index) {
    const int64_t n0 = index * columns, n1 = std::min(n0 + columns, p.n), first = at.c[matrix];
    const int64_t ldo = stored ? p.ldc : n1 - n0;
    float* to = stored ? b.output<float>(static_cast<size_t>(o.out)) + first : b.workspace(values) - n0;
    part_of_product(p, b.input<float>(o.a) + at.a[matrix], b.input<float>(o.b) + at.b[matrix], n0, n1, to, ldo,
                    b.workspace(panels));
    if (!o.epilogue) return;
    for (int64_t i = 0; i < p.m; ++i)
      run_epilogue(o.epilogue, b, to + i * ldo + n0, first + i * p.ldc + n0, first + i * p.ldc + n1);
  };
  return Kernel::parallel(matrices * parts, 1, product_ns(p) * static_cast<double>(matrices),
                          [=](const Buffers& b, int64_t begin, int64_t end) {
                            for (int64_t u = begin; u < end; ++u) part(b, static_cast<size_t>(u / parts), u % parts);
                          })
      .with_workspace(workspace);
}

}  // namespace pxl
