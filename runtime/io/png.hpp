// PNG encoder.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace pxl {

/// The bytes of a PNG (ISO/IEC 15948): 8 bits a channel, red green blue alpha, rows from the top. `rgba` has
/// 4 * width * height bytes; width and height are at least 1. Throws std::logic_error otherwise.
std::string encode_png(int width, int height, std::span<const uint8_t> rgba);

}  // namespace pxl
