// How a tensor's elements lie in memory: what a transposition, a reshape or a part of another tensor is before anything
// is copied.
#pragma once

#include <optional>

#include "runtime/kernels/matmul.hpp"

namespace pxl {

/// Element (i, j, ...) is at offset + i strides[0] + j strides[1] + ..., in elements.
struct Layout {
  Shape shape, strides;
  int64_t offset = 0;
};

Layout contiguous(const Shape& shape);
/// Axis i of the result is axis axes[i].
Layout permuted(const Layout& from, const std::vector<int64_t>& axes);
/// The extents [start, start + size) of an axis.
Layout narrowed(Layout from, size_t axis, int64_t start, int64_t size);
/// The same elements in the same order; nothing where no strides express that.
std::optional<Layout> reshaped(const Layout& from, const Shape& to);

/// A plan for operands that lie so: where they are the stored matrices of `plan`, a batch of products, and each matrix
/// has an axis whose elements lie side by side. Nothing for others.
std::optional<MatmulPlan> with_operands(const MatmulPlan& plan, const Layout& a, const Layout& b);
/// A plan whose results lie so, `result` being of the shape of the plan's; the operands may change places, see
/// `swapped`.
struct ResultPlan {
  MatmulPlan plan;
  bool swapped = false;  ///< the plan's a is the product's b
};
std::optional<ResultPlan> with_result(const MatmulPlan& plan, const Layout& result);

}  // namespace pxl
