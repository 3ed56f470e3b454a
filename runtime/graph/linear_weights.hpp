// Which variables are weights of dense layers.
#pragma once

#include "runtime/graph/ir.hpp"

namespace pxl {

/// Whether a matrix is the right operand of a matrix product, in its graph or in graphs that it is passed to. Tables
/// that are gathered from and multiplied transposed (tied embeddings) are not.
bool is_linear_weight(const Tensor& tensor);

}  // namespace pxl
