// JSON of files that may be anybody's: what is checked before a parser makes values of it.
#pragma once

#include <cstddef>
#include <string_view>

#include "runtime/base/budget.hpp"

namespace pxl {

/// Whether lists and objects are nested at most `most` deep: values take many times the memory of their brackets.
inline bool is_nested_at_most(std::string_view json, size_t most) {
  size_t depth = 0;
  bool in_text = false;
  charge(static_cast<int64_t>(json.size()));
  for (size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (c == '"') in_text = !in_text;
    if (in_text) {
      at += c == '\\';
    } else if (c == '[' || c == '{') {
      if (++depth > most) return false;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return true;
}

}  // namespace pxl
