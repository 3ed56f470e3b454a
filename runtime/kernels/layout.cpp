// See layout.hpp.
#include "runtime/kernels/layout.hpp"

#include <utility>

namespace pxl {

Layout contiguous(const Shape& shape) { return {shape, strides_of(shape), 0}; }

Layout permuted(const Layout& from, const std::vector<int64_t>& axes) {
  Layout to{{}, {}, from.offset};
  for (int64_t axis : axes) {
    const auto i = static_cast<size_t>(normalise_axis(axis, std::ssize(from.shape)));
    to.shape.push_back(from.shape[i]);
    to.strides.push_back(from.strides[i]);
  }
  return to;
}

Layout narrowed(Layout from, size_t axis, int64_t start, int64_t size) {
  from.offset += start * from.strides[axis];
  from.shape[axis] = size;
  return from;
}

std::optional<Layout> reshaped(const Layout& from, const Shape& to) {
  if (element_count(from.shape) == 0 || element_count(from.shape) != element_count(to)) return std::nullopt;
  Layout old{{}, {}, from.offset};  // without extents of 1, whose strides say nothing
  for (size_t i = 0; i < from.shape.size(); ++i) {
    if (from.shape[i] == 1) continue;
    old.shape.push_back(from.shape[i]);
    old.strides.push_back(from.strides[i]);
  }
  Layout result{to, Shape(to.size(), 1), from.offset};
  // As few old axes as make up whole new ones, again and again: those must lie one in the other.
  for (size_t o = 0, n = 0; o < old.shape.size();) {
    size_t old_end = o + 1, new_end = n + 1;
    for (int64_t have = old.shape[o], want = to[n]; have != want;) {
      if (want < have)
        want *= to[new_end++];
      else
        have *= old.shape[old_end++];
    }
    for (size_t k = o; k + 1 < old_end; ++k)
      if (old.strides[k] != old.shape[k + 1] * old.strides[k + 1]) return std::nullopt;
    int64_t stride = old.strides[old_end - 1];
    for (size_t k = new_end; k-- > n; stride *= to[k]) result.strides[k] = stride;
    o = old_end;
    n = new_end;
  }
  return result;
}

namespace {

/// Where the matrices of an operand are.
struct Stored {
  bool transposed = false;
  int64_t ld = 0, offset = 0;
  Shape batch;  ///< strides
};

std::optional<Stored> stored(const Layout& at, bool transposed, const Shape& batch) {
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

std::optional<MatmulPlan> with_operands(const MatmulPlan& plan, const Layout& a, const Layout& b) {
  if (plan.batch.empty()) return std::nullopt;
  const std::optional<Stored> left = stored(a, plan.ta, plan.batch), right = stored(b, plan.tb, plan.batch);
  if (!left || !right) return std::nullopt;
  MatmulPlan p = plan;
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

std::optional<ResultPlan> with_result(const MatmulPlan& plan, const Layout& result) {
  const size_t rank = result.shape.size();
  if (plan.batch.empty() || rank != plan.batch.size() + 2 || result.offset != 0) return std::nullopt;
  const int64_t row = result.strides[rank - 2], column = result.strides[rank - 1];
  ResultPlan r{plan, column != 1};
  if (column != 1 && row != 1) return std::nullopt;
  MatmulPlan& p = r.plan;
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
