#include "interpreter/language/packages/packages.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "interpreter/language/open_texts.hpp"
#include "interpreter/language/stdlib.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/diagnostics/library_sources.hpp"
#include "runtime/base/diagnostics/source_registry.hpp"
#include "runtime/base/files/input_file.hpp"
#include "runtime/base/files/source_folder.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/text/suggest.hpp"

namespace pxl {

namespace fs = std::filesystem;

namespace {

constexpr const char* manifest = "pxl.toml";
constexpr size_t max_manifest = 1 << 20;

/// A text of which errors may name places: the one that was added last under this name, if it is the same.
const SourceFile& source_of(const fs::path& file, const std::string& text) {
  const SourceFile* known = find_source(file.string());
  return known && known->text() == text ? *known : add_source(file.string(), text);
}

/// The offset of a place in TOML, whose columns count code points.
uint32_t offset_of(const SourceFile& file, const toml::source_position& at) {
  if (static_cast<int>(at.line) > file.line_count()) return static_cast<uint32_t>(file.text().size());
  uint32_t offset = file.line_start(static_cast<int>(at.line));
  for (toml::source_index left = at.column; left > 1 && offset < file.text().size(); --left) {
    ++offset;
    while (offset < file.text().size() && (static_cast<unsigned char>(file.text()[offset]) & 0xc0) == 0x80) ++offset;
  }
  return offset;
}

[[noreturn]] void refuse(const SourceFile& file, const toml::source_region& at, const std::string& why,
                         std::vector<std::string> notes = {}) {
  if (why.find("could not determine value type") != why.npos)
    notes.emplace_back("a text is in quotes: `name = \"gated\"`");
  if (why.find("while parsing string") != why.npos) notes.emplace_back("a text ends on its line, with its quote");
  Error e(why, std::move(notes));
  if (at.begin.line > 0) {
    const uint32_t begin = offset_of(file, at.begin);
    e.locate({&file, begin, at.end.line > 0 ? std::max(begin, offset_of(file, at.end)) : begin}, nullptr);
  } else {
    e.locate({&file, 0, 0}, nullptr);
  }
  throw std::move(e).as(codes::import);
}

std::string text_in(const SourceFile& file, const toml::node& node, std::string_view what) {
  const auto text = node.value<std::string>();
  if (!text || !node.is_string()) refuse(file, node.source(), fmt::format("{} is a text", what));
  return *text;
}

/// Throws for a key that is none of `known`.
void check_keys(const SourceFile& file, const toml::table& table, const std::vector<std::string>& known) {
  for (const auto& [key, node] : table) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    const std::string hint = did_you_mean(std::string(key.str()), known);
    refuse(file, key.source(), fmt::format("unknown key `{}`", key.str()),
           hint.empty() ? std::vector<std::string>() : std::vector<std::string>{hint});
  }
}

Project read_project(const fs::path& path) {
  std::string why;
  const std::optional<std::string> text = read_file(path.string(), max_manifest, why);
  if (!text) throw Error("cannot read " + path.string() + ": " + why, {}, Fault::unreadable);
  const SourceFile& file = source_of(path, *text);
  toml::table table;
  try {
    table = toml::parse(*text, path.string());
  } catch (const toml::parse_error& e) {
    refuse(file, e.source(), std::string(e.description()));
  }
  check_keys(file, table, {"name", "version", "description", "dependencies"});
  Project project{path.parent_path(), {}, {}};
  if (const toml::node* name = table.get("name")) project.name = text_in(file, *name, "`name`");
  const toml::node* dependencies = table.get("dependencies");
  if (!dependencies) return project;
  if (!dependencies->is_table())
    refuse(file, dependencies->source(), "`dependencies` is a table",
           {"[dependencies]\nrings = { path = \"../rings\" }"});
  for (const auto& [key, node] : *dependencies->as_table()) {
    const toml::table* one = node.as_table();
    const toml::node* where = one ? one->get("path") : nullptr;
    if (!where)
      refuse(file, key.source(), fmt::format("the dependency `{}` has no path", key.str()),
             {fmt::format("{} = {{ path = \"../{}\" }}", key.str(), key.str())});
    check_keys(file, *one, {"path"});
    const fs::path folder = project.root / text_in(file, *where, "`path`");
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored))
      refuse(file, where->source(),
             fmt::format("the dependency `{}`: there is no folder {}", key.str(), folder.string()));
    project.dependencies.emplace_back(key.str(), folder.lexically_normal());
  }
  return project;
}

/// Projects by their pxl.toml, with the time at which it was written.
Project known_project(const fs::path& file) {
  struct Known {
    fs::file_time_type written;
    uintmax_t size;
    Project project;
  };
  static auto& known = never_destroyed(std::map<std::string, Known>());
  static std::mutex mutex;
  std::error_code failed;
  const auto written = fs::last_write_time(file, failed);
  const uintmax_t size = fs::file_size(file, failed);
  const std::lock_guard lock(mutex);
  const auto found = known.find(file.string());
  if (found != known.end() && found->second.written == written && found->second.size == size)
    return found->second.project;
  return known.insert_or_assign(file.string(), Known{written, size, read_project(file)}).first->second.project;
}

std::vector<fs::path>& further_folders() {
  static auto& folders = never_destroyed(std::vector<fs::path>());
  return folders;
}

const StdlibFile* library_module(std::string_view name) {
  for (const StdlibFile& f : stdlib_files())
    if (f.module == name) return &f;
  return nullptr;
}

/// The name by which a dependency is imported: its own, or else the key.
std::string own_name(const std::string& key, const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_regular_file(folder / manifest, ignored)) return key;
  const std::string name = known_project(folder / manifest).name;
  return name.empty() ? key : name;
}

fs::path file_in(const fs::path& folder, const std::vector<std::string>& path, size_t from) {
  fs::path file = folder;
  for (size_t i = from; i < path.size(); ++i) file /= path[i];
  file += ".pxl";
  return file;
}

}  // namespace

std::optional<Project> project_around(const fs::path& folder) {
  std::error_code failed;
  fs::path at = fs::absolute(folder.empty() ? fs::path(".") : folder, failed).lexically_normal();
  if (at.filename().empty()) at = at.parent_path();
  for (; !failed; at = at.parent_path()) {
    if (std::error_code ignored; fs::is_regular_file(at / manifest, ignored)) return known_project(at / manifest);
    if (at == at.parent_path()) break;
  }
  return std::nullopt;
}

std::string text_of_import(const std::vector<std::string>& path) {
  std::string text;
  for (size_t i = 0; i < path.size(); ++i) {
    if (i > 0 && path[i - 1] != ".") text += '.';
    text += path[i];
  }
  return text;
}

void add_import_folder(const std::string& folder) { further_folders().emplace_back(folder); }

FoundImport find_import(const std::string& importer, const std::vector<std::string>& path,
                        const std::function<bool(const fs::path&)>& exists) {
  FoundImport out;
  const auto library = [&](const std::string& name) {
    if (library_module(name)) out.library = name;
    return out;
  };
  if (path.front() == "std" && path.size() > 1) return library(text_of_import({path.begin() + 1, path.end()}));
  if (is_library(importer)) return library(text_of_import(path));
  const fs::path folder = folder_of_source(importer);
  const auto take = [&](const fs::path& file) {
    if (exists(file)) return true;
    out.looked.push_back(file);
    return false;
  };
  if (path.front() == ".") {
    fs::path from = folder.empty() ? fs::path(".") : folder;
    size_t dots = 1;
    for (; path[dots] == "."; ++dots) from /= "..";
    if (const fs::path file = file_in(from, path, dots).lexically_normal(); take(file)) out.file = file;
    return out;
  }
  // A file that imports its own name means the module that it hides.
  const std::optional<Project> project = project_around(folder);
  // Files keep the form of the importing file's name in messages.
  const auto shown = [&](const fs::path& root) {
    std::error_code failed;
    const fs::path relative = folder.is_relative() ? fs::proximate(root, failed) : root;
    return failed ? root : relative == "." ? fs::path() : relative;
  };
  const fs::path own = file_in(project ? shown(project->root) : folder, path, 0);
  const bool itself = real_path(own) == real_path(importer);
  if (!itself && take(own)) {
    out.file = own;
    out.hides = library_module(text_of_import(path)) != nullptr;
    return out;
  }
  std::vector<fs::path> hits;
  const auto look = [&](const fs::path& file) {
    const auto same = [&](const fs::path& hit) { return real_path(hit) == real_path(file); };
    if (take(file) && std::none_of(hits.begin(), hits.end(), same)) hits.push_back(file);
  };
  if (project)
    for (const auto& [key, root] : project->dependencies)
      if (own_name(key, root) == path.front()) look(file_in(shown(root), path, path.size() > 1 ? 1 : 0));
  for (const fs::path& root : further_folders()) look(file_in(root, path, 0));
  if (hits.size() > 1)
    throw Error(fmt::format("two projects have a module `{}`: {} and {}", text_of_import(path), hits[0].string(),
                            hits[1].string()),
                {"rename one of them, or take one dependency out of pxl.toml"})
        .as(codes::import);
  if (!hits.empty()) {
    out.file = hits.front();
    return out;
  }
  if (library_module(text_of_import(path))) return library(text_of_import(path));
  if (itself && exists(own)) out.file = own;
  return out;
}

}  // namespace pxl
