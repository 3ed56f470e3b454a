// The documents that one request reads: open ones, files on disk, and modules of the library.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter/lsp/server.hpp"

namespace pxl::lsp {

/// Documents live as long as this object, and as long as no message changes them.
class Files {
 public:
  explicit Files(Server& server) : server_(server) {}
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  /// The document at a path, open or read from disk; null if no file exists, or if it does not contain `word`.
  const Document* at(const std::filesystem::path& path, std::string_view word = {});
  /// The file or library module that an import refers to; null if it does not exist.
  const Document* imported(const Document& from, const std::vector<std::string>& path);
  /// The files that may import this one: those in its folder, in the folders above, and in its project. The list
  /// includes the open documents. Files that do not contain this file's name are left out.
  std::vector<const Document*> importers(const Document& d);
  /// The open documents and the .pxl files below the folders of the workspace.
  std::vector<const Document*> workspace();

  /// Maximum number of files that a request parses.
  static constexpr size_t max_files = 2000;
  /// Whether files were left out because there are too many.
  bool full() const { return full_; }

 private:
  const Document* library(const std::string& module);
  std::vector<std::string> project_programs(const Document& d);
  static void add_programs(const std::filesystem::path& root, std::vector<std::string>& to);
  const std::vector<std::string>& programs_in(const std::string& folder);
  Server& server_;
  std::map<std::string, std::optional<std::string>> texts_;  ///< texts of files; nullopt if the file does not exist
  std::map<std::string, std::unique_ptr<Document>> read_;
  std::map<std::string, std::vector<std::string>> listed_;
  std::map<std::pair<const Document*, std::string>, const Document*> imported_;
  bool full_ = false;
};

}  // namespace pxl::lsp
