// Images: PNG and JPEG in, PNG out, by libpng and libjpeg-turbo.
#pragma once

#include <string>

#include "runtime/tensor/array.hpp"

namespace pxl {

/// uint8 [height, width] of a grey image, [height, width, 3] of a coloured one, [height, width, 4] with transparency.
/// 16 bits a channel become 8. The kind of file is recognised by its content. Throws Error (Fault::unreadable) for a
/// damaged file, and for an image of more than `max_decoded_bytes`.
Array read_image(const std::string& path);

/// The spec of the array that read_image returns, from the first MiB of the file.
TensorSpec read_image_header(const std::string& path);

/// Writes uint8 [height, width], or [height, width, channels] with 1, 3 or 4 channels, as a PNG file.
void write_png(const std::string& path, const Array& image);

}  // namespace pxl
