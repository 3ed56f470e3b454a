// Code points of UTF-8 text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pxl {

/// The number of code points; the byte offset of code point `n`.
int64_t code_points(std::string_view utf8);
size_t code_point_offset(std::string_view utf8, int64_t n);

}  // namespace pxl
