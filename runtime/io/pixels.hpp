// Normalisation of grey values for networks.
#pragma once

#include "runtime/tensor/array.hpp"

namespace pxl {

/// Converts uint8 of any shape to float32: (pixel / 255 - 0.1307) / 0.3081, mean and standard deviation of MNIST's
/// training set.
Array normalised_pixels(const Array& pixels);

}  // namespace pxl
