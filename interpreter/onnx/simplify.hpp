// Rewrites parts of a model that ops of pxl compute at once, before the model is imported.
#pragma once

#include "runtime/onnx/model.hpp"

namespace pxl::onnx {

/// Zeros that a Pad node adds become padding of the convolution or average pool that alone reads them. Products and
/// convolutions of dequantised operands of 8 bits become products and convolutions of whole numbers, times the scales.
void simplify(Model& model);

}  // namespace pxl::onnx
