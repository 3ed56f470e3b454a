// How the texts of the standard library are called in diagnostics.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace pxl {

inline constexpr std::string_view library_folder = "<std>/";

/// "<std>/nn.pxl" of module `nn`, "<std>/onnx/shapes.pxl" of `onnx.shapes`.
inline std::string library_source(std::string_view module) {
  std::string path(module);
  std::replace(path.begin(), path.end(), '.', '/');
  return std::string(library_folder).append(path).append(".pxl");
}
inline bool is_library(std::string_view source) { return source.starts_with(library_folder); }

}  // namespace pxl
