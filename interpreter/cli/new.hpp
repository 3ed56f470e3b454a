// The files of a new project, embedded in the binary.
#pragma once

#include <span>
#include <string_view>

namespace pxl::cli {

struct ProjectFile {
  std::string_view name;  ///< "train.pxl"
  std::string_view text;  ///< `@@name@@` is the project's name
};
std::span<const ProjectFile> project_files();

}  // namespace pxl::cli
