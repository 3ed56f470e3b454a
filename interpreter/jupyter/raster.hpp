// Draws SVG pictures as pixels, with librsvg in this process.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pxl::jupyter {

struct Raster {
  std::string png;    ///< bytes of a PNG file with twice the picture's size in each direction
  int width, height;  ///< size of the picture, in CSS pixels
};

/// Returns nullopt without librsvg, and for a text that librsvg cannot draw.
std::optional<Raster> png_of_svg(std::string_view svg);

}  // namespace pxl::jupyter
