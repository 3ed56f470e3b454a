// textDocument/completion.
#include "interpreter/tools/completion.hpp"

#include <set>

#include "interpreter/lsp/server.hpp"

namespace pxl::lsp {

namespace {

// Codes of CompletionItemKind.
int item_kind(Completion::Kind kind) {
  switch (kind) {
    case Completion::Kind::name: return 6;
    case Completion::Kind::function:
    case Completion::Kind::op: return 3;
    case Completion::Kind::module: return 7;
    case Completion::Kind::member: return 5;
    case Completion::Kind::argument: return 10;
    case Completion::Kind::stream: return 23;
    case Completion::Kind::keyword: return 14;
    case Completion::Kind::library: return 9;
    case Completion::Kind::file: return 17;
    case Completion::Kind::command: return 3;
  }
  return 1;
}
int item_kind(Symbol::Kind kind) {
  switch (kind) {
    case Symbol::Kind::function:
    case Symbol::Kind::method:
    case Symbol::Kind::build: return 3;
    case Symbol::Kind::module:
    case Symbol::Kind::program: return 7;
    case Symbol::Kind::field:
    case Symbol::Kind::param: return 5;
    case Symbol::Kind::stream_in:
    case Symbol::Kind::stream_out: return 23;
    case Symbol::Kind::constant: return 21;
    default: return 6;
  }
}

// The word before the dot at `at`, if it is a plain name.
std::string_view base_before(std::string_view text, size_t at) {
  if (at == 0 || text[at - 1] != '.') return {};
  size_t begin = --at;
  while (begin > 0 && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '_' ||
                       static_cast<unsigned char>(text[begin - 1]) >= 0x80))
    --begin;
  if (begin > 0 && text[begin - 1] == '.') return {};
  return text.substr(begin, at - begin);
}

}  // namespace

Json completion(Server& server, const PositionParams& params) {
  const Document& d = server.document(params);
  const size_t cursor = d.lines().offset(params.position);
  const Completions found = complete(server.interpreter_of(d), d.text(), cursor);
  Json items = Json::array();
  std::set<std::string> seen;
  const Json range = d.lines().range(found.begin, found.end);
  const auto add = [&](const std::string& text, int kind, const std::string& detail, const char* rank) {
    if (!seen.insert(text).second) return;
    Json item = {{"label", text},
                 {"kind", kind},
                 {"sortText", rank + text},
                 {"textEdit", {{"range", range}, {"newText", text}}}};
    if (!detail.empty()) item["detail"] = detail;
    items.push_back(std::move(item));
  };
  const std::string_view prefix = d.text().substr(found.begin, found.end - found.begin);
  const std::string_view base = base_before(d.text(), found.begin);
  if (!base.empty() && d.analysis) {
    // The analysis knows the value of a name inside a body.
    if (const BoundName* bound = d.analysis->before(base, static_cast<uint32_t>(cursor)))
      for (const std::string& m : bound->members)
        if (m.starts_with(prefix)) add(m, item_kind(Completion::Kind::member), "", "0");
  }
  const bool plain = found.begin == 0 || d.text()[found.begin - 1] != '.';
  if (plain && d.sound() && !prefix.empty()) {
    for (const Symbol* s : d.sound()->symbols->visible(static_cast<uint32_t>(cursor)))
      if (s->name.starts_with(prefix)) add(s->name, item_kind(s->kind), s->detail, "1");
  }
  for (const Completion& c : found.items)
    add(c.text, item_kind(c.kind), c.detail, c.kind == Completion::Kind::argument ? "0" : "2");
  return {{"isIncomplete", false}, {"items", items}};
}

}  // namespace pxl::lsp
