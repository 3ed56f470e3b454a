// The logo of pxl.
#pragma once

#include <string>

namespace pxl::cli {

/// A square PNG with sides of `size` pixels: it shows three tensors and the arrows between them.
std::string logo_png(int size);

}  // namespace pxl::cli
