// Cursor positions: code points in the Jupyter protocol, bytes in the engine.
#pragma once

#include <cstddef>
#include <string_view>

namespace pxl::jupyter {

/// The byte offset after `points` code points, clamped to the text.
inline size_t bytes_of(std::string_view text, long points) {
  size_t at = 0;
  for (; at < text.size() && points > 0; --points) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  }
  return at;
}
inline int points_of(std::string_view text, size_t bytes) {
  int points = 0;
  for (size_t i = 0; i < bytes && i < text.size(); ++i) points += (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
  return points;
}

}  // namespace pxl::jupyter
