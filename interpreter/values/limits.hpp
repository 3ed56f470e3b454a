// The maximum size of what one operation makes: without it a mistake (`x + x` in a loop) would fill the memory of the
// machine. Not measured.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/base/codes.hpp"
#include "runtime/base/diagnostic.hpp"

namespace pxl {

constexpr size_t max_text = size_t{1} << 28;      ///< bytes
constexpr size_t max_elements = size_t{1} << 24;  ///< of a list

/// Throws if a text under construction exceeds max_text: shared parts of a value may occur exponentially often.
inline void check_text_size(const std::string& text) {
  if (text.size() > max_text) [[unlikely]]
    throw run_error("the text of the value is too long").as(codes::memory);
}

}  // namespace pxl
