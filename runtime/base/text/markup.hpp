// Text within HTML, SVG and XML.
#pragma once

#include <string>
#include <string_view>

namespace pxl {

/// The text as an element's content or a quoted attribute: & < > " are written as entities; control characters, which
/// these formats exclude, become spaces.
std::string escape_markup(std::string_view text);

/// Bytes in base64 (RFC 4648), for `data:` URIs and MIME bundles.
std::string base64(std::string_view bytes);

}  // namespace pxl
