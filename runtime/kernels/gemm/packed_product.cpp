#include "runtime/kernels/gemm/packed_product.hpp"

#include <algorithm>

#include "runtime/base/div_up.hpp"
#include "runtime/kernels/gemm/gemm.hpp"
#include "runtime/kernels/gemm/packed.hpp"
#include "runtime/kernels/gemm/product_parts.hpp"
#include "runtime/kernels/gemm/skinny.hpp"

namespace pxl {
namespace {

// Maximum rows for which packing once pays off; with more rows, each product repays its own packing. Measured with 1 to
// 256 rows, 64 to 4,096 columns and 64 to 1,024 terms on AMD EPYC with AVX-512 and with AVX2: 0.9 to 2.7 times the rate
// of product_kernel, except for the case in gains_by_packing with 0.6 to 1.2.
constexpr int64_t max_packed_rows = 256;
// Columns and rows per chunk of the result. A chunk packs its rows of the left operand: it copies one element for 128
// multiply-accumulates.
constexpr int64_t part_columns = 128, part_rows = 128;

MatrixView matrix(const std::byte* data, int64_t offset, int64_t stride) {
  return MatrixView{data, stride}.at(0, offset);
}

}  // namespace

bool gains_by_packing(const GemmCall& call) {
  const GemmShape& p = call.plan;
  const ProductOptions& o = call.options;
  // The terms of a sum are added one by one, as product_kernel does for few terms and few rows, and for products by the
  // packed kernels.
  const bool in_order = is_skinny_product(p)
                            ? few_rows_slices(p.k) == 1
                            : product_way(false, false, p.m, p.n, p.k, p.lda, p.ldb) == ProductWay::packed;
  if (p.ta || p.tb || !in_order) return false;
  // The rows of such a weight are read in place, into registers.
  if (p.m <= max_streamed_rows && p.n <= skinny_panel) return false;
  return p.batch.empty() && p.m > 0 && p.m <= max_packed_rows && p.n > 1 && p.k > 0 && p.ldc == p.n &&
         o.dtype == DType::float32 && o.add_to < 0 && !o.left && !o.right.compute && !o.right.narrow;
}

int64_t packed_right_size(const GemmShape& p) { return packed().packed_size(p.n, p.k); }

Kernel pack_right_kernel(const GemmShape& p) {
  const double bytes = static_cast<double>(p.n) * static_cast<double>(p.k) * sizeof(float);
  return Kernel::parallel(
      packed().strips(p.n), 1, bytes / 8,  // at 8 GB/s
      [k = p.k, n = p.n, ld = p.ldb, offset = p.b_offset](const Buffers& b, int64_t begin, int64_t end) {
        packed().pack({matrix(b.in[0], offset, ld), false, k, n, begin, end, b.output<float>(0)});
      });
}

Kernel packed_product_kernel(const GemmCall& call) {
  const GemmShape& p = call.plan;
  const ProductOptions& o = call.options;
  const int64_t m = p.m, n = p.n, k = p.k, nr = packed().nr;
  const int64_t strips = packed().strips(n), down = div_up(m, part_rows);
  WorkspaceLayout workspace(o.epilogue_workspace);
  const auto result = workspace.per_call<float>(o.out >= 0 ? 0 : m * n);
  const auto left = workspace.per_thread<float>(packed().packed_a_size);
  const auto part = [=, lda = p.lda, offset = p.a_offset](const Buffers& b, int64_t row, int64_t first, int64_t last) {
    const int64_t r0 = m * row / down, rows = m * (row + 1) / down - r0;
    const int64_t c0 = first * nr, columns = std::min(n, last * nr) - c0;
    float* const to = (o.out >= 0 ? b.output<float>(static_cast<size_t>(o.out)) : b.workspace(result)) + r0 * n;
    const MatrixView a = matrix(b.in[o.a], offset, lda);
    packed().multiply({.a = a.at(r0, 0),
                       .transposed = false,
                       .m = rows,
                       .n = columns,
                       .k = k,
                       .b = b.input<float>(o.b) + c0 * k,
                       .out = to + c0,
                       .ldo = n,
                       .packed_a = b.workspace(left)});
    if (!o.epilogue) return;
    if (columns == n) return run_epilogue(o.epilogue, b, to, r0 * n, (r0 + rows) * n);
    for (int64_t i = 0; i < rows; ++i)
      run_epilogue(o.epilogue, b, to + i * n + c0, (r0 + i) * n + c0, (r0 + i) * n + c0 + columns);
  };
  return Kernel::parallel(down * strips, std::max<int64_t>(1, part_columns / nr), product_ns(p),
                          [=](const Buffers& b, int64_t begin, int64_t end) {
                            for (int64_t u = begin; u < end;) {
                              const int64_t first = u % strips, last = std::min(strips, first + (end - u));
                              part(b, u / strips, first, last);
                              u += last - first;
                            }
                          })
      .with_workspace(workspace);
}

}  // namespace pxl
