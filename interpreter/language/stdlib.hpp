// The standard library's texts, embedded in the binary.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pxl {

struct StdlibFile {
  std::string_view module;  ///< "nn"
  std::string_view text;
};
std::span<const StdlibFile> stdlib_files();

/// The import that makes a name known: "from nn import Linear", "import nn"; nothing where the library has none.
std::optional<std::string> library_import(std::string_view name);
/// What an error about an unknown name says of it: the import, or the nearest of the names that are known, or nothing.
std::vector<std::string> unknown_name_notes(std::string_view name, const std::vector<std::string>& known);

}  // namespace pxl
