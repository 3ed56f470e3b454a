// The standard library's texts, which the binary embeds.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pxl {

struct StdlibFile {
  std::string_view module;  ///< "nn", "onnx.shapes"
  std::string_view text;
};
std::span<const StdlibFile> stdlib_files();

/// The import that defines a name: "from nn import Linear", "import nn". Returns nullopt if the library lacks the name.
std::optional<std::string> library_import(std::string_view name);
/// The notes of an error about an unknown name: the import, or the nearest known name, or none.
std::vector<std::string> unknown_name_notes(std::string_view name, const std::vector<std::string>& known);

}  // namespace pxl
