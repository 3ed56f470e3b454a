// Definition, references, highlights and rename.
#include "interpreter/lsp/workspace.hpp"

namespace pxl::lsp {

namespace {

struct Found {
  const SymbolTable* table;
  const Symbol* symbol;
  int index;
  Span place;
};

// The name under the cursor, in the current text: locations in an older text would be wrong.
std::optional<Found> find(const Document& d, size_t cursor) {
  if (!d.is_sound() || !d.sound()) return std::nullopt;
  const SymbolTable& table = *d.sound()->symbols;
  const Occurrence* o = table.at(static_cast<uint32_t>(cursor));
  if (!o) return std::nullopt;
  return Found{&table, &table.symbols()[static_cast<size_t>(o->symbol)], o->symbol, o->span};
}

Json location(const Document& d, Span span) { return {{"uri", d.uri()}, {"range", d.lines().range(span)}}; }

// The target of an import: a file in the folder of the importing one, open or not, or a declaration in it.
Json imported(Server& server, const Document& from, const Symbol& symbol) {
  const std::optional<Opened> file = imported_file(server, from, symbol);
  if (!file) return nullptr;
  const Document& d = *file->document;
  const Symbol* s = symbol.imported.empty() || !d.sound() ? nullptr : d.sound()->symbols->top(symbol.imported);
  return location(d, s ? s->name_span : Span{nullptr, 0, 0});
}

/// All occurrences of a name: in the file that declares it, and in those that import it.
struct Everywhere {
  Opened declaring;
  std::string name;
  Span declared;
  std::vector<Occurrence> places;  ///< in the declaring file
  std::vector<Elsewhere> others;
};

// A name that is declared at the top of this file, or imported from another file under its own name: other files may
// import it.
std::optional<Everywhere> everywhere(Server& server, const Document& d, const Found& found) {
  Everywhere out;
  out.name = found.symbol->name;
  if (found.symbol->kind == Symbol::Kind::import) {
    if (found.symbol->imported != found.symbol->name) return std::nullopt;
    std::optional<Opened> file = imported_file(server, d, *found.symbol);
    if (!file || !file->document->is_sound() || !file->document->sound()) return std::nullopt;
    out.declaring = std::move(*file);
  } else {
    if (found.symbol->container >= 0) return std::nullopt;
    out.declaring.document = &d;
  }
  const SymbolTable& table = *out.declaring.document->sound()->symbols;
  const Symbol* top = table.top(out.name);
  if (!top || (out.declaring.document == &d && top != found.symbol)) return std::nullopt;
  out.declared = top->name_span;
  out.places = table.places(static_cast<int>(top - table.symbols().data()));
  out.others = places_elsewhere(server, d, *out.declaring.document, out.name);
  return out;
}

}  // namespace

Json definition(Server& server, const PositionParams& params) {
  const Document& d = server.document(params);
  const auto found = find(d, d.lines().offset(params.position));
  if (!found) return nullptr;
  if (found->symbol->kind == Symbol::Kind::import) {
    Json there = imported(server, d, *found->symbol);
    if (!there.is_null()) return there;
  }
  return location(d, found->symbol->name_span);
}

Json references(Server& server, const ReferenceParams& params) {
  const Document& d = server.document(params);
  Json list = Json::array();
  const auto found = find(d, d.lines().offset(params.position));
  if (!found) return list;
  const bool with_declaration = params.with_declaration.value_or(true);
  const auto all = everywhere(server, d, *found);
  const Document& home = all ? *all->declaring.document : d;
  const std::vector<Occurrence> places = all ? all->places : found->table->places(found->index);
  const Span declared = all ? all->declared : found->symbol->name_span;
  for (const Occurrence& o : places)
    if (with_declaration || o.span.begin != declared.begin) list.push_back(location(home, o.span));
  if (all)
    for (const Elsewhere& other : all->others)
      for (const Span& place : other.places) list.push_back(location(*other.file.document, place));
  return list;
}

Json highlights(Server& server, const PositionParams& params) {
  const Document& d = server.document(params);
  Json list = Json::array();
  if (const auto found = find(d, d.lines().offset(params.position))) {
    for (const Occurrence& o : found->table->places(found->index))
      list.push_back({{"range", d.lines().range(o.span)}, {"kind", o.write ? 3 : 2}});
  }
  return list;
}

Json prepare_rename(Server& server, const PositionParams& params) {
  const Document& d = server.document(params);
  const auto found = find(d, d.lines().offset(params.position));
  if (!found || found->symbol->kind == Symbol::Kind::build || found->symbol->kind == Symbol::Kind::test) return nullptr;
  return {{"range", d.lines().range(found->place)}, {"placeholder", found->symbol->name}};
}

Json rename(Server& server, const RenameParams& params) {
  const Document& d = server.document(params);
  const auto found = find(d, d.lines().offset(params.position));
  if (!found) throw Refusal{request_failed, "no name here, or the text has errors"};
  const std::string& name = params.name;
  const SourceFile probe("", name);
  const std::vector<ClassifiedToken> tokens = classify_tokens(probe);
  if (tokens.size() != 1 || tokens[0].kind != TokenClass::name || tokens[0].end - tokens[0].begin != name.size())
    throw Refusal{request_failed, "`" + name + "` is not a name"};
  const auto all = everywhere(server, d, *found);
  if (!all && found->symbol->kind == Symbol::Kind::import && found->symbol->imported == found->symbol->name)
    throw Refusal{request_failed,
                  "`" + found->symbol->name + "` is named in another file; import it `as` another name"};
  const auto edits = [&](const Document& where, const auto& places, auto&& span_of) {
    Json list = Json::array();
    for (const auto& place : places)
      list.push_back({{"range", where.lines().range(span_of(place))}, {"newText", name}});
    return list;
  };
  const auto of_occurrence = [](const Occurrence& o) { return o.span; };
  if (!all) return {{"changes", {{d.uri(), edits(d, found->table->places(found->index), of_occurrence)}}}};
  Json changes = {{all->declaring.document->uri(), edits(*all->declaring.document, all->places, of_occurrence)}};
  for (const Elsewhere& other : all->others)
    changes[other.file.document->uri()] = edits(*other.file.document, other.places, [](const Span& s) { return s; });
  return {{"changes", changes}};
}

}  // namespace pxl::lsp
