// Selects the programs on which a command works.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "interpreter/cli/command.hpp"
#include "interpreter/language/packages/packages.hpp"
#include "runtime/base/limits/interrupt.hpp"

namespace pxl::cli {

namespace {

namespace fs = std::filesystem;

void add_folder(const fs::path& folder, std::vector<std::string>& files) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, fs::directory_options::skip_permission_denied)) {
    if (entry.path().filename().string().front() != '.' && !entry.is_symlink()) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  for (const fs::path& p : found) {
    check_interrupt();
    if (fs::is_directory(p)) {
      add_folder(p, files);
    } else if (p.extension() == ".pxl" && fs::is_regular_file(p)) {  // reading a pipe would block
      files.push_back(p.string());
    }
  }
}

}  // namespace

void add_import_folders(const Invocation& call) {
  const std::string given = call.value(path_flag.name);
  for (size_t at = 0; at < given.size();) {
    const size_t end = std::min(given.find(',', at), given.size());
    add_import_folder(given.substr(at, end - at));
    at = end + 1;
  }
}

std::vector<std::string> program_files(const Command& command, const std::vector<std::string>& operands) {
  std::vector<std::string> files;
  for (const std::string& operand : operands) {
    std::error_code ignored;
    if (operand == "-" || !fs::is_directory(operand, ignored)) {
      files.push_back(operand);
      continue;
    }
    const size_t before = files.size();
    add_folder(operand, files);
    if (files.size() == before)
      throw Error(fmt::format("{}: there is no .pxl file below `{}`", command.name, operand), {}, Fault::usage);
  }
  return files;
}

}  // namespace pxl::cli
