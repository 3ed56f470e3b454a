#include "runtime/base/files/source_folder.hpp"

#include <system_error>

namespace pxl {

std::filesystem::path folder_of_source(const std::string& name) {
  if (name.empty() || name[0] == '<' || name[0] == '[') return {};
  const std::filesystem::path file(name);
  std::error_code ignored;
  if (!std::filesystem::is_symlink(file, ignored)) return file.parent_path();
  const std::filesystem::path target = std::filesystem::canonical(file, ignored);
  return (target.empty() ? file : target).parent_path();
}

}  // namespace pxl
