// Code points in UTF-8 text, and text search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "interpreter/values/value.hpp"

namespace pxl {

/// The number of code points, and the byte offset of code point `n`.
int64_t code_points(std::string_view utf8);
size_t code_point_offset(std::string_view utf8, int64_t n);
/// The first occurrence of `part` from byte `at` on, found in linear time; npos if there is none.
size_t find_text(std::string_view text, std::string_view part, size_t at);
/// A str. An ASCII character needs no new memory.
Value text_value(std::string_view text);
/// Charges one pass over a text that examines each byte: about 1 ns per byte.
void charge_text(size_t bytes);

}  // namespace pxl
