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
/// `has_member`: a member follows the name, so that a module is meant, if it is one.
std::optional<std::string> library_import(std::string_view name, bool has_member = false);

}  // namespace pxl
