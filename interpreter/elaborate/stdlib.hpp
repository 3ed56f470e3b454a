// The standard library's texts, embedded in the binary.
#pragma once

#include <span>
#include <string_view>

namespace pxl {

struct StdlibFile {
  std::string_view module;  ///< "nn"
  std::string_view text;
};
std::span<const StdlibFile> stdlib_files();

}  // namespace pxl
