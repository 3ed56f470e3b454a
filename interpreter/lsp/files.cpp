#include "interpreter/lsp/files.hpp"

#include <algorithm>
#include <set>

#include "interpreter/language/open_texts.hpp"
#include "interpreter/language/packages/packages.hpp"
#include "interpreter/language/stdlib.hpp"
#include "runtime/base/diagnostics/library_sources.hpp"
#include "runtime/base/files/input_file.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/text/join_texts.hpp"

namespace pxl::lsp {

namespace fs = std::filesystem;

const Document* Files::at(const fs::path& path, std::string_view word) {
  const auto with_word = [&](const Document* d) {
    return d->text().find(word) == std::string_view::npos ? nullptr : d;
  };
  const std::string name = path.lexically_normal().string();
  if (const Document* open = server_.open_document(name)) return with_word(open);
  if (const auto found = read_.find(name); found != read_.end()) return with_word(found->second.get());
  const auto [text, fresh] = texts_.try_emplace(name);
  if (fresh) {
    const std::string real = real_path(path);
    for (const auto& [open_path, d] : server_.documents())
      if (d->real_path() == real) return texts_.erase(text), with_word(d.get());
    std::string why;
    text->second = read_file(name, max_program_bytes, why);
  }
  if (!text->second || text->second->find(word) == std::string::npos) return nullptr;
  if (read_.size() >= max_files) {
    full_ = true;
    return nullptr;
  }
  return (read_[name] = std::make_unique<Document>(DocumentUri::of_path(name), *text->second, 0, server_.encoding()))
      .get();
}

const Document* Files::library(const std::string& module) {
  const std::string name = library_source(module);
  if (const auto found = read_.find(name); found != read_.end()) return found->second.get();
  for (const StdlibFile& f : stdlib_files())
    if (f.module == module)
      return (read_[name] =
                  std::make_unique<Document>(DocumentUri{name, name}, std::string(f.text), 0, server_.encoding()))
          .get();
  return nullptr;
}

const Document* Files::imported(const Document& from, const std::vector<std::string>& path) {
  const auto [known, fresh] = imported_.try_emplace({&from, join_texts(path, ".")}, nullptr);
  if (!fresh) return known->second;
  const Document* file = nullptr;
  std::string module = join_texts(path, ".");
  try {
    const FoundImport found = find_import(from.path(), path, [&](const fs::path& p) { return at(p) != nullptr; });
    module = found.library;
    if (!found.file.empty()) file = at(found.file);
  } catch (const Error&) {
    // A pxl.toml with an error: its imports lead nowhere.
  }
  return known->second = file && file != &from ? file : library(module);
}

/// Appends the programs below a folder, without those in hidden folders.
void Files::add_programs(const fs::path& root, std::vector<std::string>& to) {
  std::error_code failed;
  fs::recursive_directory_iterator at(root, fs::directory_options::skip_permission_denied, failed), end;
  for (; !failed && at != end && to.size() < max_files; at.increment(failed)) {
    check_interrupt();
    std::error_code ignored;
    if (at->path().filename().string().starts_with('.') && at->is_directory(ignored))
      at.disable_recursion_pending();
    else if (at->path().extension() == ".pxl")
      to.push_back(at->path().lexically_normal().string());
  }
}

const std::vector<std::string>& Files::programs_in(const std::string& folder) {
  const auto [found, fresh] = listed_.try_emplace(folder);
  if (fresh) {
    std::error_code failed;
    fs::directory_iterator at(folder, fs::directory_options::skip_permission_denied, failed), end;
    for (; !failed && at != end; at.increment(failed)) {
      check_interrupt();
      if (at->path().extension() == ".pxl") found->second.push_back(at->path().string());
    }
    std::sort(found->second.begin(), found->second.end());
  }
  return found->second;
}

std::vector<std::string> Files::project_programs(const Document& d) {
  std::vector<std::string> out;
  try {
    const std::optional<Project> project = project_around(fs::path(d.path()).parent_path());
    if (project) add_programs(project->root, out);
  } catch (const Error&) {
    // A pxl.toml with an error.
  }
  return out;
}

std::vector<const Document*> Files::importers(const Document& d) {
  std::set<std::string> paths;
  for (const auto& [path, open] : server_.documents()) paths.insert(path);
  for (const std::string& target : {d.path(), d.real_path()})
    for (fs::path folder = fs::path(target).parent_path(); !folder.empty(); folder = folder.parent_path()) {
      const std::vector<std::string>& here = programs_in(folder.string());
      paths.insert(here.begin(), here.end());
      if (folder == folder.root_path()) break;
    }
  for (const std::string& path : project_programs(d)) paths.insert(path);
  std::vector<const Document*> out;
  const std::string stem = fs::path(d.path()).stem().string();
  for (const std::string& path : paths)
    if (const Document* file = at(path, stem); file && file != &d) out.push_back(file);
  return out;
}

std::vector<const Document*> Files::workspace() {
  std::set<std::string> paths;
  for (const auto& [path, open] : server_.documents()) paths.insert(path);
  for (const std::string& root : server_.roots()) {
    std::vector<std::string> below;
    add_programs(root, below);
    paths.insert(below.begin(), below.end());
  }
  std::vector<const Document*> out;
  for (const std::string& path : paths)
    if (const Document* d = at(path)) out.push_back(d);
  return out;
}

}  // namespace pxl::lsp
