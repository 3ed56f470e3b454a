// Definition, references, highlights and rename.
#include <fmt/format.h>

#include "interpreter/lsp/uses.hpp"
#include "runtime/base/diagnostics/library_sources.hpp"
#include "runtime/base/limits/budget.hpp"

namespace pxl::lsp {

namespace {

Json location(const Document& d, Span span) { return {{"uri", d.uri()}, {"range", d.lines().range(span)}}; }

bool is_named_by_language(Declared t) {
  return is_implicit(t->name) || t->kind == Symbol::Kind::build || t->kind == Symbol::Kind::test ||
         t->name == "build_grad" || t->name == "build_jvp" || t->name == "build_batch" ||
         (t->kind == Symbol::Kind::parameter && t->name == "cache");
}

/// "`m.k` in line 7 of main.pxl".
std::string place_text(const Document& d, Span span) {
  const SourceFile& source = *d.parsed().source;
  const int line = source.position(span.begin).line;
  std::string text(source.line(line));
  text.erase(0, text.find_first_not_of(" \t"));
  return fmt::format("`{}` in line {} of {}", text, line, std::filesystem::path(d.path()).filename().string());
}

/// Why the name cannot be changed at all uses.
std::optional<std::string> obstacle(const Uses& uses, const std::string& name) {
  if (!uses.all) return fmt::format("`{}` may be used in more than {} files", name, Files::max_files);
  if (!uses.broken.empty())
    return fmt::format("{} may use `{}` and has syntax errors", uses.broken.front()->path(), name);
  if (!uses.doubts.empty())
    return fmt::format("{} may use `{}`: the text does not determine what has this name there",
                       place_text(*uses.doubts.front().file, uses.doubts.front().span), name);
  for (const auto& [file, places] : uses.places)
    if (is_library(file->path())) return fmt::format("`{}` is a name of the standard library", name);
  return std::nullopt;
}

/// The text of a place with the new name.
std::string renamed(const Uses::Place& place, const std::string& name) {
  return place.import ? fmt::format("{} as {}", place.span.text(), name) : name;
}

/// Whether a text with the new name means what the old text means: names, occurrences and mentions are the same.
bool is_same(const SymbolTable& before, const SymbolTable& after) {
  const auto same_symbol = [](const Symbol& a, const Symbol& b) {
    return a.kind == b.kind && a.container == b.container && a.inner == b.inner && a.imports.size() == b.imports.size();
  };
  const auto same_place = [](const Occurrence& a, const Occurrence& b) {
    return a.symbol == b.symbol && a.use == b.use;
  };
  const auto same_mention = [](const Mention& a, const Mention& b) { return a.kind == b.kind && a.called == b.called; };
  const auto equal = [](const auto& a, const auto& b, auto same) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
  };
  return equal(before.symbols(), after.symbols(), same_symbol) &&
         equal(before.occurrences(), after.occurrences(), same_place) &&
         equal(before.mentions(), after.mentions(), same_mention);
}

/// The files' texts with the new name. Throws Refusal if a word would mean something else in one of them.
std::map<const Document*, std::shared_ptr<const SourceFile>, DocumentOrder> renamed_texts(const Uses& uses,
                                                                                          const std::string& name) {
  std::map<const Document*, std::shared_ptr<const SourceFile>, DocumentOrder> out;
  for (const auto& [d, places] : uses.places) {
    std::string text(d->text());
    for (auto p = places.rbegin(); p != places.rend(); ++p)
      text.replace(p->span.begin, p->span.end - p->span.begin, renamed(*p, name));
    const Parsed after(d->path(), std::move(text), Encoding::utf8);
    if (!after.symbols || !is_same(*d->sound()->symbols, *after.symbols))
      throw Refusal{request_failed, fmt::format("`{}` has another meaning in {}", name, d->path())};
    out[d] = after.source;
  }
  return out;
}

/// Throws Refusal if the new name causes an error in a file, for example because a program's IR has that name itself.
/// Checks a few files only.
void check_renamed(Server& server, const Uses& uses, const std::string& name) {
  constexpr size_t max_checked = 4;
  const auto texts = renamed_texts(uses, name);
  const auto check = [](const Document& d, std::string_view text, std::shared_ptr<OpenTexts> open) {
    return analyse(d.path(), std::string(text), nullptr, std::move(open))->diagnostics;
  };
  size_t checked = 0;
  for (const auto& [d, text] : texts) {
    if (++checked > max_checked) return;
    const std::shared_ptr<OpenTexts> open = server.open_texts();
    for (const auto& [file, source] : texts) open->add(file->path(), file->real_path(), source);
    const std::vector<Diagnostic> after = check(*d, text->text(), open);
    if (after.empty() || after.size() <= check(*d, d->text(), server.open_texts()).size()) continue;
    throw Refusal{request_failed,
                  fmt::format("with the name `{}` {} would have an error: {}", name, d->path(), after.front().message)};
  }
}

}  // namespace

Json definition(Server& server, const PositionParams& params) {
  const Document& d = server.document(params);
  Files files(server);
  Meanings meanings(files);
  const auto target = target_at(meanings, d, d.lines().offset(params.position));
  if (!target) return nullptr;
  const Declared found = meanings.declaration(target->declared, true);
  if (is_library(found.file->path())) return location(*target->declared.file, target->declared->name_span);
  // `import m` leads to the file, and so does a name that the file does not define.
  if (found->kind == Symbol::Kind::import)
    if (const Document* file = files.imported(*found.file, found->imports.back().path);
        file && !is_library(file->path()))
      return location(*file, Span{nullptr, 0, 0});
  return location(*found.file, found->name_span);
}

Json references(Server& server, const ReferenceParams& params) {
  const Document& d = server.document(params);
  Json list = Json::array();
  Files files(server);
  Meanings meanings(files);
  const auto target = target_at(meanings, d, d.lines().offset(params.position));
  if (!target) return list;
  const Declared declared = target->declared;
  const auto add = [&](const Document& file, const std::vector<Uses::Place>& places) {
    for (const Uses::Place& p : places)
      if (params.with_declaration.value_or(true) || &file != declared.file || p.span.begin != declared->name_span.begin)
        list.push_back(location(file, p.span));
  };
  Uses uses = uses_of(meanings, declared);
  add(*declared.file, uses.places[declared.file]);
  for (const auto& [file, places] : uses.places)
    if (file != declared.file && !is_library(file->path())) add(*file, places);
  return list;
}

Json highlights(Server& server, const PositionParams& params) {
  const Document& d = server.document(params);
  Json list = Json::array();
  Files files(server);
  Meanings meanings(files);
  const auto target = target_at(meanings, d, d.lines().offset(params.position));
  if (!target) return list;
  Uses uses = uses_of(meanings, target->declared, &d);
  for (const Uses::Place& p : uses.places[&d])
    list.push_back({{"range", d.lines().range(p.span)}, {"kind", p.binding ? 3 : 2}});
  return list;
}

Json prepare_rename(Server& server, const PositionParams& params) {
  const Document& d = server.document(params);
  Files files(server);
  Meanings meanings(files);
  const auto target = target_at(meanings, d, d.lines().offset(params.position));
  if (!target || is_named_by_language(target->declared)) return nullptr;
  return {{"range", d.lines().range(target->word)}, {"placeholder", target->word.text()}};
}

namespace {

Json rename_everywhere(Server& server, const RenameParams& params) {
  const Document& d = server.document(params);
  Files files(server);
  Meanings meanings(files);
  const size_t cursor = d.lines().offset(params.position);
  const auto target = target_at(meanings, d, cursor);
  if (!target && d.is_sound())
    if (const Mention* m = d.sound()->symbols->mention_at(static_cast<uint32_t>(cursor)))
      throw Refusal{request_failed, fmt::format("the text does not determine what `{}` names here", m->span.text())};
  if (!target) throw Refusal{request_failed, "no name here, or the text has errors"};
  const std::string& name = params.name;
  const SourceFile probe("", name);
  const std::vector<ClassifiedToken> tokens = classify_tokens(probe);
  if (is_implicit(name) || tokens.size() != 1 || tokens[0].kind != TokenClass::name ||
      tokens[0].end - tokens[0].begin != name.size())
    throw Refusal{request_failed, "`" + name + "` cannot be a name"};
  const Declared declared = target->declared;
  if (is_named_by_language(declared))
    throw Refusal{request_failed, fmt::format("the language has given the name `{}`", declared->name)};
  if (name == declared->name) return nullptr;
  if (declared->kind == Symbol::Kind::import && !declared->imports.front().aliased &&
      declared->imports.front().path.size() > 1 && declared->imports.front().name.empty())
    throw Refusal{request_failed, fmt::format("`{}` is a folder: import the file `as` another name", declared->name)};
  const Uses uses = uses_of(meanings, declared);
  if (const auto why = obstacle(uses, declared->name)) throw Refusal{request_failed, *why};
  Json changes = Json::object();
  check_renamed(server, uses, name);
  for (const auto& [file, places] : uses.places) {
    Json edits = Json::array();
    for (const Uses::Place& p : places)
      edits.push_back({{"range", file->lines().range(p.span)}, {"newText", renamed(p, name)}});
    changes[file->uri()] = std::move(edits);
  }
  return {{"changes", std::move(changes)}};
}

}  // namespace

Json rename(Server& server, const RenameParams& params) {
  try {
    return rename_everywhere(server, params);
  } catch (const OverBudget&) {
    throw Refusal{request_failed, "the files that may use the name take too long to read"};
  }
}

}  // namespace pxl::lsp
