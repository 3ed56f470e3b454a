// The suffix of a file states its contents: a built-in that writes one format refuses the suffix of any other.
#pragma once

#include <string>
#include <string_view>

namespace pxl {

/// Throws, naming `function` and a path that would do, unless `path` ends in `suffix` (".npy"; any case). `what` is
/// what the function writes: "arrays".
void require_suffix(std::string_view function, const std::string& path, std::string_view suffix, std::string_view what);

}  // namespace pxl
