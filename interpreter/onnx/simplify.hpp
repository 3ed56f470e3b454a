// Rewrites a model before it is imported: one op of pxl computes what several nodes do.
#pragma once

#include "runtime/onnx/model.hpp"

namespace pxl::onnx {

/// Zeros that a Pad node adds become padding of the convolution or average pool that alone reads them. A product or
/// convolution of two dequantised operands computes whole numbers, which the scales then multiply.
void simplify(Model& model);

}  // namespace pxl::onnx
