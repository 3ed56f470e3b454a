#include "runtime/base/files/installation.hpp"

#include <filesystem>

namespace pxl {

namespace fs = std::filesystem;

std::string own_program() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).string();
}

std::string companion_file(std::string_view name) {
  const fs::path folder = fs::path(own_program()).parent_path();
  std::error_code ignored;
  const fs::path installed = (folder / PXL_LIBRARY_FOLDER / name).lexically_normal();
  if (!fs::exists(folder / name, ignored) && fs::exists(installed, ignored)) return installed.string();
  return (folder / name).string();
}

}  // namespace pxl
