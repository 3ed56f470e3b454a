// Rewrites a model before it is imported: one op of pxl computes what several nodes do.
#pragma once

#include "runtime/onnx/model.hpp"

namespace pxl::onnx {

/// Zeros that a Pad node adds become padding of the convolution or average pool that alone reads them. Where a product
/// or a convolution reads two dequantised operands, it computes whole numbers, which the scales then multiply.
void simplify(Model& model);

}  // namespace pxl::onnx
