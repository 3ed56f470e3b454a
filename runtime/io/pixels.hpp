// The one place that turns grey values into what networks are fed.
#pragma once

#include "runtime/tensor/array.hpp"

namespace pxl {

/// uint8 of any shape to float32: (pixel / 255 - 0.1307) / 0.3081, the mean and deviation of MNIST's training set.
Array normalised_pixels(const Array& pixels);

}  // namespace pxl
