// Code that the product algorithms share: epilogues on chunks of the result, and right operands in blocks.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "runtime/kernels/gemm/product.hpp"

namespace pxl {

/// Elements of the right operand per block: 64 KiB of float32, which stay in L2 beside the sums.
inline constexpr int64_t right_block = 1 << 14;

/// Estimated single-core time, in ns, at 100 GF/s.
inline double product_ns(const GemmShape& p) {
  return static_cast<double>(2 * p.m * p.n) * static_cast<double>(p.k) / 100.0;
}

/// Runs the epilogue on elements [begin, end) of the result, which `values` holds, block by block.
inline void run_epilogue(const Epilogue& epilogue, const Buffers& b, float* values, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i += epilogue_block)
    epilogue(b, reinterpret_cast<std::byte*>(values + (i - begin)), i, std::min(i + epilogue_block, end));
}

/// Runs the epilogue on columns [begin, end) of values[m, n].
inline void run_epilogue_on_columns(const Epilogue& epilogue, const Buffers& b, float* values, int64_t m, int64_t n,
                                    int64_t begin, int64_t end) {
  if (end - begin == n) return run_epilogue(epilogue, b, values, 0, m * n);
  for (int64_t i = 0; i < m; ++i) run_epilogue(epilogue, b, values + i * n + begin, i * n + begin, i * n + end);
}

/// The left operand, dense.
inline const float* left_of(const ProductOptions& o, const Buffers& b) {
  return o.left ? b.workspace(*o.left) : b.input<float>(o.a);
}

/// Rows of w: in place, or computed block by block.
class RightRows {
 public:
  /// w has `columns` columns.
  RightRows(const ProductOptions& o, int64_t columns, WorkspaceLayout& workspace)
      : slot_(o.b), columns_(columns), right_(o.right) {
    if (!right_.compute) return;
    rows_ = std::max<int64_t>(1, right_block / std::max<int64_t>(columns, 1));
    block_ = workspace.per_thread<float>(rows_ * columns);
    memory_ = workspace.per_thread<std::byte>(static_cast<int64_t>(right_.per_thread));
  }

  /// Calls f(w, ldw, begin, end) for rows [k0, k1) in order, in one call or in blocks. Row k of columns [n0, n1) is at
  /// w + k * ldw.
  template <class F>
  void each(const Buffers& b, int64_t k0, int64_t k1, int64_t n0, int64_t n1, F&& f) const {
    if (!right_.compute || k0 == k1) {
      f(b.input<float>(slot_) + n0, columns_, k0, k1);
      return;
    }
    const int64_t width = n1 - n0;
    float* to = b.workspace(block_);
    std::byte* memory = b.workspace(memory_);
    for (int64_t k = k0; k < k1; k += rows_) {
      const int64_t end = std::min(k + rows_, k1);
      if (width == columns_)
        right_.compute(b, to, k * columns_, end * columns_, memory);
      else
        for (int64_t r = k; r < end; ++r)
          right_.compute(b, to + (r - k) * width, r * columns_ + n0, r * columns_ + n1, memory);
      f(to - k * width, width, k, end);
    }
  }

 private:
  size_t slot_;
  int64_t columns_, rows_ = 0;
  RightOperand right_;
  PerThread<float> block_;
  PerThread<std::byte> memory_;
};

/// Calls f(slice, first, last) for units [begin, end). A slice has `blocks` units; a call covers its blocks [first,
/// last).
template <class F>
void each_slice(int64_t begin, int64_t end, int64_t blocks, F&& f) {
  for (int64_t u = begin; u < end;) {
    const int64_t first = u % blocks, last = std::min(blocks, first + (end - u));
    f(u / blocks, first, last);
    u += last - first;
  }
}

/// Offsets of the matrices in a batch, and of their results, in elements.
struct MatrixOffsets {
  std::vector<int64_t> a, b, c;
};
MatrixOffsets matrix_offsets(const GemmShape& p);

/// Number of parts in which few_rows_product sums k terms. The parts' sums are added at the end.
int64_t few_rows_slices(int64_t k);
/// x[m, k] @ w[k, n] with m <= max_skinny_dim (skinny.hpp).
Kernel few_rows_product(const GemmShape& p, const ProductOptions& o);

/// The product as a product of one row, if its result is a column: [m, k] @ [k, 1] has the elements of [1, k] @ [m,
/// k]^T. The matrix that it adds to becomes an epilogue.
std::optional<GemmCall> as_row_product(const GemmShape& p, const ProductOptions& o);
/// Whether batch_of_rows computes this product.
bool is_batch_of_rows(const GemmShape& p, const ProductOptions& o);
/// A batch of products with few rows. Matrices are read in place, in chunks that threads share.
Kernel batch_of_rows(const GemmShape& p, const ProductOptions& o);
/// c += alpha * values for `n` elements of the result, beginning at `first`. Changes `values`.
void add_scaled(const ProductOptions& o, const Buffers& b, float* values, int64_t first, int64_t n);

}  // namespace pxl
