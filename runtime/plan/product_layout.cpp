#include "runtime/plan/product_layout.hpp"

#include <utility>

namespace pxl {

namespace {

/// Strides of an operand's matrices.
struct Stored {
  bool transposed = false;
  int64_t ld = 0, offset = 0;
  Shape batch;  ///< strides
};

std::optional<Stored> stored(const StridedLayout& at, bool transposed, const Shape& batch) {
  const size_t rank = at.shape.size();
  if (rank < 2) return std::nullopt;
  Stored s{transposed, 0, at.offset, Shape(batch.size(), 0)};
  const int64_t rows = at.shape[rank - 2], columns = at.shape[rank - 1];
  const int64_t row = at.strides[rank - 2], column = at.strides[rank - 1];
  const bool by_rows = column == 1 || columns == 1;
  if (!by_rows && row != 1 && rows != 1) return std::nullopt;
  const int64_t inner = by_rows ? columns : rows;
  s.transposed = transposed != !by_rows;
  s.ld = by_rows ? row : column;
  if ((by_rows ? rows : columns) == 1) s.ld = inner;
  if (s.ld < inner) return std::nullopt;
  for (size_t i = 0; i + 2 < rank; ++i)
    if (at.shape[i] != 1) s.batch[batch.size() - (rank - 2) + i] = at.strides[i];
  return s;
}

}  // namespace

std::optional<GemmShape> with_operands(const GemmShape& plan, const StridedLayout& a, const StridedLayout& b) {
  if (plan.batch.empty()) return std::nullopt;
  const std::optional<Stored> left = stored(a, plan.ta, plan.batch), right = stored(b, plan.tb, plan.batch);
  if (!left || !right) return std::nullopt;
  GemmShape p = plan;
  p.ta = left->transposed;
  p.tb = right->transposed;
  p.lda = left->ld;
  p.ldb = right->ld;
  p.a_offset = left->offset;
  p.b_offset = right->offset;
  p.a_strides = left->batch;
  p.b_strides = right->batch;
  return p;
}

std::optional<StridedOutputGemm> with_result(const GemmShape& plan, const StridedLayout& result) {
  const size_t rank = result.shape.size();
  if (plan.batch.empty() || rank != plan.batch.size() + 2 || result.offset != 0) return std::nullopt;
  const int64_t row = result.strides[rank - 2], column = result.strides[rank - 1];
  StridedOutputGemm r{plan, column != 1};
  if (column != 1 && row != 1) return std::nullopt;
  GemmShape& p = r.plan;
  if (r.swapped) {
    std::swap(p.m, p.n);
    std::swap(p.ta, p.tb);
    p.ta = !p.ta;
    p.tb = !p.tb;
    std::swap(p.lda, p.ldb);
    std::swap(p.a_offset, p.b_offset);
    std::swap(p.a_strides, p.b_strides);
  }
  p.ldc = r.swapped ? column : row;
  p.c_strides.assign(result.strides.begin(), result.strides.end() - 2);
  return r;
}

}  // namespace pxl
