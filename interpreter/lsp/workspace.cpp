#include "interpreter/lsp/workspace.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "runtime/base/input_file.hpp"
#include "runtime/base/interrupt.hpp"

namespace pxl::lsp {

namespace {

namespace fs = std::filesystem;

std::optional<std::string> read(const fs::path& path) {
  std::string why;
  return read_file(path.string(), max_program_bytes, why);
}

fs::path path_of_import(const Document& from, const Symbol& symbol) {
  return file_of_import(from.path(), symbol.import_path).lexically_normal();
}

std::optional<Opened> open(Server& server, const fs::path& path) {
  if (const Document* d = server.open_document(path.string())) return Opened{d, {}};
  const std::optional<std::string> text = read(path);
  if (!text) return std::nullopt;
  Opened out;
  out.own = std::make_unique<Document>(DocumentUri::of_path(path.string()), *text, 0, server.encoding());
  out.document = out.own.get();
  return out;
}

// The files of the workspace and the open ones, without folders whose names begin with a dot.
std::set<fs::path> files_below(Server& server, const std::set<fs::path>& roots) {
  std::set<fs::path> out;
  for (const fs::path& root : roots) {
    std::error_code failed;
    fs::recursive_directory_iterator at(root, fs::directory_options::skip_permission_denied, failed), end;
    for (; !failed && at != end && out.size() < max_files; at.increment(failed)) {
      check_interrupt();
      std::error_code ignored;
      if (at->path().filename().string().starts_with('.') && at->is_directory(ignored))
        at.disable_recursion_pending();
      else if (at->path().extension() == ".pxl")
        out.insert(at->path().lexically_normal());
    }
  }
  for (const auto& [path, document] : server.documents()) out.insert(path);
  return out;
}

// The files that may import it.
std::set<fs::path> candidates(Server& server, const Document& asking, const Document& declaring) {
  if (server.roots().empty())
    return files_below(server, {fs::path(declaring.path()).parent_path(), fs::path(asking.path()).parent_path()});
  return files_below(server, {server.roots().begin(), server.roots().end()});
}

// Names among the tokens of a range, with the token before and after each.
struct Words {
  const SourceFile& source;
  std::vector<ClassifiedToken> tokens;
  std::string_view text(size_t i) const {
    return source.text().substr(tokens[i].begin, tokens[i].end - tokens[i].begin);
  }
  Span span(size_t i) const { return {&source, tokens[i].begin, tokens[i].end}; }
};

// `from m import x as y`: location of x. `m.x`: location of x after an occurrence of m.
std::optional<Span> original(const Words& words, const Symbol& symbol, const std::string& name) {
  for (size_t i = 1; i < words.tokens.size(); ++i) {
    if (words.tokens[i].begin < symbol.span.begin || words.tokens[i].end > symbol.span.end) continue;
    const bool listed = words.text(i - 1) == "import" || words.text(i - 1) == "," || words.text(i - 1) == "(";
    if (listed && words.text(i) == name) return words.span(i);
  }
  return std::nullopt;
}
std::optional<Span> member_behind(const Words& words, Span module, const std::string& name) {
  for (size_t i = 0; i + 2 < words.tokens.size(); ++i)
    if (words.tokens[i].begin == module.begin)
      return words.text(i + 1) == "." && words.text(i + 2) == name ? std::optional(words.span(i + 2)) : std::nullopt;
  return std::nullopt;
}

std::vector<Span> places_in(const Document& d, const fs::path& target, const std::string& name) {
  std::vector<Span> out;
  if (!d.is_sound() || !d.sound()) return out;
  const SymbolTable& table = *d.sound()->symbols;
  std::optional<Words> words;
  for (size_t i = 0; i < table.symbols().size(); ++i) {
    const Symbol& s = table.symbols()[i];
    if (s.kind != Symbol::Kind::import || path_of_import(d, s) != target) continue;
    if (!s.imported.empty() && s.imported != name) continue;
    if (!words) words.emplace(Words{*d.sound()->source, classify_tokens(*d.sound()->source)});
    if (s.imported.empty()) {
      for (const Occurrence& o : table.places(static_cast<int>(i)))
        if (const auto member = member_behind(*words, o.span, name)) out.push_back(*member);
    } else if (s.name == name) {
      for (const Occurrence& o : table.places(static_cast<int>(i))) out.push_back(o.span);
    } else if (const auto word = original(*words, s, name)) {
      out.push_back(*word);
    }
  }
  return out;
}

}  // namespace

std::optional<Opened> imported_file(Server& server, const Document& from, const Symbol& symbol) {
  return open(server, path_of_import(from, symbol));
}

std::vector<Opened> workspace_files(Server& server) {
  std::vector<Opened> out;
  for (const fs::path& path : files_below(server, {server.roots().begin(), server.roots().end()}))
    if (std::optional<Opened> file = open(server, path)) out.push_back(std::move(*file));
  return out;
}

std::vector<Elsewhere> places_elsewhere(Server& server, const Document& asking, const Document& declaring,
                                        const std::string& name) {
  const fs::path target = fs::path(declaring.path()).lexically_normal();
  std::vector<Elsewhere> out;
  const std::string stem = target.stem().string();
  for (const fs::path& path : candidates(server, asking, declaring)) {
    if (path == target) continue;
    std::optional<Opened> file = open(server, path);
    // Skip files that never mention this one: few files import it.
    if (!file || file->document->text().find(stem) == std::string::npos) continue;
    std::vector<Span> places = places_in(*file->document, target, name);
    if (!places.empty()) out.push_back({std::move(*file), std::move(places)});
  }
  return out;
}

}  // namespace pxl::lsp
