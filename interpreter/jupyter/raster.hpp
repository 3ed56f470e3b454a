// Pictures in SVG drawn as pixels, by librsvg in this process.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pxl::jupyter {

struct Raster {
  std::string png;    ///< bytes of a PNG file, of twice the picture's size in each direction
  int width, height;  ///< of the picture, in pixels of CSS
};

/// nullopt without librsvg, and for a text that it cannot draw.
std::optional<Raster> png_of_svg(std::string_view svg);

}  // namespace pxl::jupyter
