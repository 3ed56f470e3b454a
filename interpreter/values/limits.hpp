// The maximum size of an operation's result. Without it, a mistake (`x + x` in a loop) would fill the machine's
// memory.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl {

constexpr size_t max_text = size_t{1} << 28;      ///< bytes
constexpr size_t max_elements = size_t{1} << 24;  ///< maximum elements of a list

/// Throws if an unfinished text exceeds max_text, since the shared parts of a value may occur exponentially often.
inline void check_text_size(const std::string& text) {
  if (text.size() > max_text) [[unlikely]]
    throw run_error("the text of the value is too long").as(codes::memory);
}

}  // namespace pxl
