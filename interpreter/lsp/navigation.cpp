// From a name to where it is declared, to all its places, and to another name.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "interpreter/lsp/server.hpp"

namespace pxl::lsp {

namespace {

struct Found {
  const SymbolTable* table;
  const Symbol* symbol;
  int index;
  Span place;
};

// The name under the cursor, in the text as it is now: places in an older text would be wrong.
std::optional<Found> find(const Document& d, size_t cursor) {
  if (!d.is_sound() || !d.sound()) return std::nullopt;
  const SymbolTable& table = *d.sound()->symbols;
  const Occurrence* o = table.at(static_cast<uint32_t>(cursor));
  if (!o) return std::nullopt;
  return Found{&table, &table.symbols()[static_cast<size_t>(o->symbol)], o->symbol, o->span};
}

Json location(const Document& d, Span span) { return {{"uri", d.uri()}, {"range", d.lines().range(span)}}; }

std::optional<std::string> read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// What an import means: a file beside the importing one, open or not; or a declaration in it.
Json imported(Server& server, const Document& from, const Symbol& symbol) {
  std::filesystem::path path = std::filesystem::path(from.path()).parent_path();
  for (const std::string& part : symbol.import_path) path /= part;
  path += ".pxl";
  const std::string uri = uri_of_path(path.string());
  std::unique_ptr<Document> loaded;
  const Document* d = nullptr;
  if (const auto it = server.documents().find(uri); it != server.documents().end()) {
    d = it->second.get();
  } else {
    const std::optional<std::string> text = read(path);
    if (!text) return nullptr;
    loaded = std::make_unique<Document>(uri, *text, 0, server.encoding());
    d = loaded.get();
  }
  if (symbol.imported.empty()) return location(*d, Span{nullptr, 0, 0});
  const Symbol* s = d->sound() ? d->sound()->symbols->top(symbol.imported) : nullptr;
  return s ? location(*d, s->name_span) : location(*d, Span{nullptr, 0, 0});
}

}  // namespace

Json definition(Server& server, const Json& params) {
  const Document& d = server.document(params);
  const auto found = find(d, Server::cursor(d, params));
  if (!found) return nullptr;
  if (found->symbol->kind == Symbol::Kind::import) {
    Json there = imported(server, d, *found->symbol);
    if (!there.is_null()) return there;
  }
  return location(d, found->symbol->name_span);
}

Json references(Server& server, const Json& params) {
  const Document& d = server.document(params);
  Json list = Json::array();
  const auto found = find(d, Server::cursor(d, params));
  if (!found) return list;
  const bool with_declaration = params.value("/context/includeDeclaration"_json_pointer, true);
  for (const Occurrence& o : found->table->places(found->index)) {
    if (with_declaration || o.span.begin != found->symbol->name_span.begin) list.push_back(location(d, o.span));
  }
  return list;
}

Json highlights(Server& server, const Json& params) {
  const Document& d = server.document(params);
  Json list = Json::array();
  if (const auto found = find(d, Server::cursor(d, params))) {
    for (const Occurrence& o : found->table->places(found->index))
      list.push_back({{"range", d.lines().range(o.span)}, {"kind", o.write ? 3 : 2}});
  }
  return list;
}

Json prepare_rename(Server& server, const Json& params) {
  const Document& d = server.document(params);
  const auto found = find(d, Server::cursor(d, params));
  if (!found || found->symbol->kind == Symbol::Kind::build || found->symbol->kind == Symbol::Kind::test) return nullptr;
  return {{"range", d.lines().range(found->place)}, {"placeholder", found->symbol->name}};
}

Json rename(Server& server, const Json& params) {
  const Document& d = server.document(params);
  const auto found = find(d, Server::cursor(d, params));
  if (!found) throw Refusal{request_failed, "no name here, or the text has errors"};
  const auto name = params.at("newName").get<std::string>();
  const SourceFile probe("", name);
  const std::vector<ClassifiedToken> tokens = classify_tokens(probe);
  if (tokens.size() != 1 || tokens[0].kind != TokenClass::name || tokens[0].end - tokens[0].begin != name.size())
    throw Refusal{request_failed, "`" + name + "` is not a name"};
  if (found->symbol->kind == Symbol::Kind::import && found->symbol->imported == found->symbol->name)
    throw Refusal{request_failed,
                  "`" + found->symbol->name + "` is named in another file; import it `as` another name"};
  Json edits = Json::array();
  for (const Occurrence& o : found->table->places(found->index))
    edits.push_back({{"range", d.lines().range(o.span)}, {"newText", name}});
  return {{"changes", {{d.uri(), edits}}}};
}

}  // namespace pxl::lsp
