// Gradients of gathers as rows: the gradient of a table without its zeros.
#pragma once

#include "runtime/graph/ir.hpp"

namespace pxl {

/// The rows of a table that have a gradient.
struct SparseGradient {
  Tensor* indices = nullptr;  ///< int32[n]: rows of the table, each once and ascending, then -1
  Tensor* rows = nullptr;     ///< [n, gradient.shape[1:]]: the gradients of these rows; 0 where the index is -1
};

/// The rows of `gradient`, and their n indices. It must be the gradient of a gather along axis 0, or a sum of such
/// gradients, in its graph or in graphs that it calls. All gathers together have n indices. The tensors are in the
/// gradient's graph, and the gradient itself is left for other uses. Called graphs get further outputs. Throws Error,
/// with the location of the op that makes another gradient, if it may have other rows.
SparseGradient sparse_gradient(Tensor& gradient);

}  // namespace pxl
