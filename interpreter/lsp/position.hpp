// Places in a text: byte offsets here, lines and characters in the protocol, where a character is a UTF-16 code unit
// unless the client agreed to bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "interpreter/lsp/transport.hpp"
#include "runtime/base/source.hpp"

namespace pxl::lsp {

enum class Encoding : uint8_t { utf16, utf8 };

/// The lines of a text. Lines end with "\n", "\r\n" or "\r", as the protocol says.
class Lines {
 public:
  Lines(std::string_view text, Encoding encoding);
  /// {"line": 0-based, "character": 0-based}; offsets past the end give the end.
  Json position(size_t offset) const;
  /// Clamped to the line and the text; a place inside a character is its beginning.
  size_t offset(const Json& position) const;
  Json range(size_t begin, size_t end) const { return {{"start", position(begin)}, {"end", position(end)}}; }
  Json range(Span span) const { return range(span.begin, span.end); }

 private:
  std::string_view text_;
  Encoding encoding_;
  std::vector<size_t> starts_;
};

/// A member that should be a number: 0 where it is missing, negative or something else.
size_t number_at(const Json& object, const char* name);

/// "file:///a%20b.pxl" to "/a b.pxl"; empty for other schemes. And back.
std::string path_of_uri(std::string_view uri);
std::string uri_of_path(std::string_view path);

}  // namespace pxl::lsp
