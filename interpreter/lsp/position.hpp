// Converts positions in a text. Offsets are bytes internally; the protocol has lines and characters. A character is a
// UTF-16 code unit, unless the client supports bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "interpreter/lsp/messages.hpp"
#include "runtime/base/diagnostics/source.hpp"

namespace pxl::lsp {

enum class Encoding : uint8_t { utf16, utf8 };

/// The lines of a text. A line ends with "\n", "\r\n" or "\r", as the protocol specifies.
class Lines {
 public:
  Lines(std::string_view text, Encoding encoding);
  /// Offsets past the end are clamped.
  Place place(size_t offset) const;
  Json position(size_t offset) const;
  /// The offset is clamped to the line and the text. A position inside a character moves to the character's beginning.
  size_t offset(Place place) const;
  Json range(size_t begin, size_t end) const { return {{"start", position(begin)}, {"end", position(end)}}; }
  Json range(Span span) const { return range(span.begin, span.end); }

 private:
  std::string_view text_;
  Encoding encoding_;
  std::vector<size_t> starts_;
};

}  // namespace pxl::lsp
