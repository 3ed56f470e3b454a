// Finds imports in the project of the importing file, in the projects on which it depends, and in the library. A
// project is a folder with a pxl.toml.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pxl {

/// The contents of a pxl.toml.
struct Project {
  std::filesystem::path root;
  std::string name;                                                         ///< empty if it has none
  std::vector<std::pair<std::string, std::filesystem::path>> dependencies;  ///< keys, and the folders
};

/// The project of a file in a folder: that of the nearest pxl.toml at or above it. Throws Error for a pxl.toml that
/// cannot be read.
std::optional<Project> project_around(const std::filesystem::path& folder);

/// The module that an import means: a file, or a module of the library.
struct FoundImport {
  std::filesystem::path file;  ///< empty: `library` names the module
  std::string library;
  bool hides = false;                         ///< the library has a module of this name, too
  std::vector<std::filesystem::path> looked;  ///< files that do not exist, if neither was found
  bool found() const { return !file.empty() || !library.empty(); }
};

/// Finds what `import a.b` in the importing file means. Leading "." elements of the path are the dots of a relative
/// import. `exists` says whether there is a file. Throws Error if two dependencies have the module.
FoundImport find_import(const std::string& importer, const std::vector<std::string>& path,
                        const std::function<bool(const std::filesystem::path&)>& exists);

/// "a.b", ".b", "..a.b".
std::string text_of_import(const std::vector<std::string>& path);

/// Adds a folder in which modules are looked for, like a dependency: `--path`.
void add_import_folder(const std::string& folder);

}  // namespace pxl
