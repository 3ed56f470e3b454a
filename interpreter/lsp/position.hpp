// Positions in a text: byte offsets internally, lines and characters in the protocol, where a character is a UTF-16
// code unit unless the client supports bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "interpreter/lsp/transport.hpp"
#include "runtime/base/source.hpp"

namespace pxl::lsp {

enum class Encoding : uint8_t { utf16, utf8 };

/// The lines of a text, which end with "\n", "\r\n" or "\r" (as the protocol specifies).
class Lines {
 public:
  Lines(std::string_view text, Encoding encoding);
  /// {"line": 0-based, "character": 0-based}; offsets past the end are clamped.
  Json position(size_t offset) const;
  /// Clamped to the line and the text; a position inside a character is moved to its beginning.
  size_t offset(const Json& position) const;
  Json range(size_t begin, size_t end) const { return {{"start", position(begin)}, {"end", position(end)}}; }
  Json range(Span span) const { return range(span.begin, span.end); }

 private:
  std::string_view text_;
  Encoding encoding_;
  std::vector<size_t> starts_;
};

/// A numeric member: 0 if it is missing, negative or not a number.
size_t number_at(const Json& object, const char* name);

/// "file:///a%20b.pxl" to "/a b.pxl", empty for other schemes; and the inverse.
std::string path_of_uri(std::string_view uri);
std::string uri_of_path(std::string_view path);

}  // namespace pxl::lsp
