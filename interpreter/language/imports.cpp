// Runs texts and imports.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <unordered_map>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/errors/errors.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/names/foreign_names.hpp"
#include "interpreter/language/open_texts.hpp"
#include "interpreter/language/packages/packages.hpp"
#include "interpreter/language/stdlib.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/cycles.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/library_sources.hpp"
#include "runtime/base/files/input_file.hpp"
#include "runtime/base/files/source_folder.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/text/suggest.hpp"

namespace pxl {

namespace fs = std::filesystem;

Evaluator::Evaluator(Interpreter& in) : in_(in), prelude_(make_ref<Scope>()), file_scope_(make_ref<Scope>(prelude_)) {
  kinds_[nullptr] = std::make_unique<OwnKinds>();
}
Evaluator::~Evaluator() = default;

void Evaluator::release_scopes() {
  auto empty = [](const ScopePtr& scope) {
    if (scope) scope->restore({});
  };
  for (auto& weak : captured_) empty(weak.lock());
  for (auto& [key, scope] : imported_) empty(scope);
  empty(file_scope_);
  empty(prelude_);
}

// Drops scopes that have been destroyed, and duplicates.
void Evaluator::drop_captured() {
  std::erase_if(captured_, [](const WeakRef<Scope>& w) { return w.expired(); });
  const auto before = [](const WeakRef<Scope>& a, const WeakRef<Scope>& b) {
    return std::less<>()(a.identity(), b.identity());
  };
  std::sort(captured_.begin(), captured_.end(), before);
  const auto same = [](const WeakRef<Scope>& a, const WeakRef<Scope>& b) { return a.identity() == b.identity(); };
  captured_.erase(std::unique(captured_.begin(), captured_.end(), same), captured_.end());
}

void Evaluator::remember(const ScopePtr& scope) {
  if (scope == file_scope_ || scope == prelude_) return;
  if (captured_.size() >= captured_limit_) {
    drop_captured();
    captured_limit_ = std::max<size_t>(1024, captured_.size() * 2);
  }
  if (captured_.empty() || captured_.back().lock() != scope) captured_.push_back(scope);
  if (scope->round && scope->outer) remember(scope->outer);
}

// Examines all captured scopes if their number has grown: by one if there are few, otherwise by an eighth.
void Evaluator::free_captured() {
  constexpr size_t few = 4096;
  // Drops the facts, including code, about graphs that have been destroyed.
  std::erase_if(graphs_of(in_).world().irs, [](const auto& known) { return known.second.ir.expired(); });
  if (captured_.size() <= captured_alive_ + (captured_alive_ > few ? captured_alive_ / 8 : 0)) return;
  drop_captured();
  std::vector<ScopePtr> alive;
  for (const WeakRef<Scope>& weak : captured_)
    if (ScopePtr scope = weak.lock()) alive.push_back(std::move(scope));
  std::vector<const Scope*> roots{file_scope_.get(), prelude_.get()};
  for (const auto& [key, scope] : imported_) roots.push_back(scope.get());
  free_circles(alive, roots);
  alive.clear();
  drop_captured();
  captured_alive_ = captured_.size();
}

OwnKinds& Evaluator::kinds_of(const SourceFile* file) const {
  const auto found = kinds_.find(file);
  return *(found == kinds_.end() ? kinds_.at(nullptr) : found->second);
}
const OwnKinds& Evaluator::own_kinds(const SourceFile* file) const { return kinds_of(file); }
void Evaluator::note_kinds(const ast::Tree& tree) { add_own_kinds(tree, kinds_of(tree.source)); }

void Evaluator::begin_file() { file_scope_ = make_ref<Scope>(prelude_); }

void Evaluator::run_file(const ast::TreePtr& tree) {
  begin_file();
  run_more(tree);
}

Value Evaluator::run_more(const ast::TreePtr& tree) {
  note_kinds(*tree);
  Activation a;
  a.scope = file_scope_;
  a.kind = Activation::Kind::file;
  const auto& statements = tree->body->statements;
  for (size_t i = 0; i < statements.size(); ++i) {
    check_interrupt();
    if (i + 1 == statements.size() && statements[i]->kind == ast::StmtKind::expression) {
      const auto& last = static_cast<const ast::ExprStmt&>(*statements[i]);
      position_of(in_).here = last.span;
      Value v = evaluate(in_, *last.value, a);
      return last.hidden ? Value() : v;
    }
    execute(in_, *statements[i], a);
  }
  return {};
}

namespace {

struct ModuleText {
  std::string key;    ///< key of the module, which is loaded once
  std::string shown;  ///< name of the source in messages
  std::string text;
  bool hides = false;  ///< the library has a module of this name, too
};

std::optional<std::string> read_text(OpenTexts* open, const fs::path& path) {
  if (const SourceFile* text = open ? open->find(path) : nullptr) return std::string(text->text());
  std::error_code ec;
  if (!fs::is_regular_file(path, ec)) return std::nullopt;
  std::string why;
  std::optional<std::string> text = read_file(path, max_program_bytes, why);
  if (!text) throw Error("cannot read " + path.string() + ": " + why, {}, Fault::unreadable);
  return text;
}

std::string name_of(const Span& at) { return at.file ? at.file->name() : ""; }

ModuleText find_module(OpenTexts* open, const std::vector<std::string>& path, const Span& at) {
  const auto exists = [&](const fs::path& file) {
    std::error_code ignored;
    return (open && open->find(file)) || fs::is_regular_file(file, ignored);
  };
  const FoundImport found = find_import(name_of(at), path, exists);
  const std::string dotted = text_of_import(path);
  std::vector<std::string> names, notes;
  for (const StdlibFile& f : stdlib_files()) {
    if (f.module == found.library)
      return {library_source(f.module), library_source(f.module), std::string(f.text), false};
    names.emplace_back(f.module);
  }
  if (!found.file.empty())
    if (std::optional<std::string> text = read_text(open, found.file))
      return {real_path(found.file), found.file.string(), *std::move(text), found.hides};
  if (!found.looked.empty()) {
    const fs::path folder = found.looked.front().parent_path();
    std::error_code ignored;
    for (fs::directory_iterator it(folder.empty() ? "." : folder, ignored), end; !ignored && it != end;
         it.increment(ignored))
      if (it->path().extension() == ".pxl")
        names.push_back(dotted.substr(0, dotted.size() - path.back().size()) + it->path().stem().string());
  }
  if (std::string hint = did_you_mean(dotted, names); !hint.empty()) notes.push_back(hint);
  if (notes.empty() && is_framework(path.front()))
    notes.emplace_back("functions and ops are visible without an import: `zeros([2, 3])`, `relu(x)`");
  if (const ForeignName* row = notes.empty() && path.size() == 1 ? foreign_name(path.front()) : nullptr)
    notes.emplace_back(row->way_out);
  std::string looked;
  for (const fs::path& file : found.looked) looked += (looked.empty() ? "" : ", ") + file.string();
  if (path.front() != ".") looked += looked.empty() ? "in the standard library" : " and in the standard library";
  notes.push_back("looked for " + looked);
  throw Error("there is no module `" + dotted + "`", notes).as(codes::import);
}

/// An error in pxl.toml has its own place; the import is a second one.
ModuleText find_module_from(OpenTexts* open, const std::vector<std::string>& path, const Span& at) {
  try {
    return find_module(open, path, at);
  } catch (Error& e) {
    if (e.first().span) e.relate(at, "the import that needs it");
    throw;
  }
}

/// The import for each public name of the library. If files share a name, the first file has precedence. Within a file
/// the order is modules, functions and programs, then the file itself.
std::unordered_map<std::string_view, std::string> library_imports() {
  std::unordered_map<std::string_view, std::string> out;
  for (const StdlibFile& f : stdlib_files()) {
    const std::string_view text = f.text;
    for (const std::string_view kind : {"\nmodule ", "\ndef ", "\nprogram "})
      for (size_t at = text.find(kind); at != text.npos; at = text.find(kind, at + 1)) {
        const size_t begin = at + kind.size(), end = text.find_first_of("( \n", begin);
        if (end == text.npos || text[end] == '\n' || text[begin] == '_') continue;
        const std::string_view name = text.substr(begin, end - begin);
        out.try_emplace(name, fmt::format("from {} import {}", f.module, name));
      }
    out.try_emplace(f.module, "import " + std::string(f.module));
  }
  return out;
}

}  // namespace

std::optional<std::string> library_import(std::string_view name, bool has_member) {
  static const auto& imports = never_destroyed(library_imports());
  if (has_member && std::ranges::any_of(stdlib_files(), [&](const StdlibFile& f) { return f.module == name; }))
    return "import " + std::string(name);
  const auto found = imports.find(name);
  return found == imports.end() ? std::nullopt : std::optional(found->second);
}

ScopePtr Evaluator::import_module(const std::vector<std::string>& path, const Span& at) {
  try {
    ModuleText found = find_module_from(open_texts.get(), path, at);
    if (auto it = imported_.find(found.key); it != imported_.end()) {
      kinds_of(at.file).imported.insert(kinds_of_module_.at(found.key));
      return it->second;
    }
    if (auto it = std::find(importing_.begin(), importing_.end(), found.key); it != importing_.end()) {
      std::string chain;
      for (; it != importing_.end(); ++it) chain += fs::path(*it).filename().string() + " -> ";
      throw Error("modules import each other in a circle: " + chain + fs::path(found.key).filename().string())
          .as(codes::import);
    }
    if (found.hides)
      host_of(in_).notice(fmt::format("{} is the project's module `{}`; `std.{}` is the library's\n", found.shown,
                                      text_of_import(path), text_of_import(path)));
    if (importing_.size() >= 100) throw Error("imports are nested too deeply").as(codes::import);
    const ast::TreePtr tree = parse_or_throw(add_source(found.shown, std::move(found.text)));
    auto kinds = std::make_unique<OwnKinds>();
    add_own_kinds(*tree, *kinds);
    kinds_of(at.file).imported.insert(kinds.get());
    kinds_of_module_[found.key] = kinds.get();
    kinds_[tree->source] = std::move(kinds);
    auto scope = make_ref<Scope>(prelude_);
    Activation a;
    a.scope = scope;
    a.kind = Activation::Kind::file;
    // An import is a call of the file, so it counts for the depth guard and the call chain.
    const CallFrame frame(in_, "import " + found.shown, at);
    struct Importing {
      std::vector<std::string>& stack;
      Importing(std::vector<std::string>& s, std::string key) : stack(s) { stack.push_back(std::move(key)); }
      ~Importing() { stack.pop_back(); }
    } importing(importing_, found.key);
    const DepthGuard guard(in_);
    execute(in_, *tree->body, a);
    remember(scope);
    imported_[found.key] = scope;
    return scope;
  } catch (Error& e) {
    e.locate(at, position_of(in_).frames);
    throw;
  }
}

ScopePtr Evaluator::import_file(const std::string& file, const Span& at) {
  try {
    const fs::path path = folder_of_source(name_of(at)) / file;
    const auto importer = importers.find(path.extension().string());
    if (importer == importers.end()) {
      std::string known;
      for (const auto& [suffix, read] : importers) known += (known.empty() ? "" : ", ") + suffix;
      throw Error("cannot import `" + file + "`: files that can be imported end in " + known,
                  {"a program is imported by its name: `from layers import Block` reads layers.pxl"})
          .as(codes::import);
    }
    const std::string key = real_path(path);
    if (auto it = imported_.find(key); it != imported_.end()) return it->second;
    const CallFrame frame(in_, "import " + path.string(), at);
    const DepthGuard guard(in_);
    return imported_[key] = importer->second(in_, path.string());
  } catch (Error& e) {
    e.locate(at, position_of(in_).frames);
    throw;
  }
}

}  // namespace pxl
