// The texts that are open in an editor, by file. An analysis imports them in place of files on disk.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/diagnostics/source.hpp"

namespace pxl {

class OpenTexts {
 public:
  /// `path` is absolute and normal. `real_path` names the same file with links resolved.
  void add(const std::string& path, const std::string& real_path, std::shared_ptr<const SourceFile> text);
  /// The open text of a file, found by any of its paths. Null if the file is not open. Notes the paths.
  const SourceFile* find(const std::filesystem::path& path);
  /// The paths of the files that were looked for, with and without links. A change to another file changes no result.
  const std::set<std::string>& looked_for() const { return looked_for_; }

 private:
  std::map<std::string, std::shared_ptr<const SourceFile>> by_path_, by_real_path_;
  std::set<std::string> looked_for_;
};

/// The path with links resolved, as far as it exists.
std::string real_path(const std::filesystem::path& path);

}  // namespace pxl
