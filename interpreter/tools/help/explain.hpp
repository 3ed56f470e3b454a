// The pages of docs/errors.md, which the binary embeds: each explains a kind of error, with an example and a remedy.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pxl {

struct ErrorPages {
  std::string_view name;
  std::string_view text;
};
std::span<const ErrorPages> error_pages();

/// The kinds of errors (runtime/base/diagnostics/codes.hpp) and of warnings (lints.hpp).
std::vector<std::string> explained_kinds();
/// The section of a kind in Markdown, without its heading; nullopt for unknown kinds.
std::optional<std::string_view> explanation(std::string_view code);
/// The section as text for a terminal with `width` columns: paragraphs are filled, programs are indented by four. Ends
/// with a newline.
std::string explanation_text(std::string_view code, int width);
/// "; did you mean `shape`?" for an unknown kind; empty if none is similar.
std::string explanation_hint(std::string_view code);

}  // namespace pxl
