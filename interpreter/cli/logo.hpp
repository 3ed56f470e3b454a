// The mark of pxl, for those who show one.
#pragma once

#include <string>

namespace pxl::cli {

/// A square PNG with `size` pixels a side: three tensors and the arrows between them.
std::string logo_png(int size);

}  // namespace pxl::cli
