// Document symbols, workspace symbols and folding ranges.
#include <algorithm>
#include <map>

#include "interpreter/lsp/files.hpp"

namespace pxl::lsp {

namespace {

// Codes of SymbolKind.
int symbol_kind(Symbol::Kind kind) {
  switch (kind) {
    case Symbol::Kind::variable: return 13;
    case Symbol::Kind::function: return 12;
    case Symbol::Kind::method: return 6;
    case Symbol::Kind::build: return 9;
    case Symbol::Kind::module:
    case Symbol::Kind::program: return 5;
    case Symbol::Kind::test: return 24;
    case Symbol::Kind::parameter: return 13;
    case Symbol::Kind::field:
    case Symbol::Kind::param: return 8;
    case Symbol::Kind::stream_in:
    case Symbol::Kind::stream_out: return 11;
    case Symbol::Kind::state: return 8;
    case Symbol::Kind::constant: return 14;
    case Symbol::Kind::option: return 7;
    case Symbol::Kind::import: return 2;
  }
  return 13;
}

bool shown(const Symbol& s, bool at_top) {
  if (s.inner) return false;
  switch (s.kind) {
    case Symbol::Kind::parameter:
    case Symbol::Kind::import: return false;
    case Symbol::Kind::variable: return at_top;
    default: return true;
  }
}

Json entry(const Document& d, const Symbol& s) {
  // The protocol requires the range of the name to be inside the whole range.
  const Span whole = join(s.span, s.name_span);
  return {{"name", s.name.empty() ? std::string("?") : s.name},
          {"kind", symbol_kind(s.kind)},
          {"detail", s.detail},
          {"range", d.lines().range(whole)},
          {"selectionRange", d.lines().range(s.name_span)}};
}

Json children(const Document& d, const std::multimap<int, size_t>& by_container, int container) {
  const std::vector<Symbol>& symbols = d.sound()->symbols->symbols();
  Json list = Json::array();
  const auto [first, last] = by_container.equal_range(container);
  for (auto it = first; it != last; ++it) {
    const Symbol& s = symbols[it->second];
    if (!shown(s, container < 0)) continue;
    Json one = entry(d, s);
    if (Json inner = children(d, by_container, static_cast<int>(it->second)); !inner.empty())
      one["children"] = std::move(inner);
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace

Json document_symbols(Server& server, const DocumentParams& params) {
  const Document& d = server.document(params);
  if (!d.is_sound()) return Json::array();
  std::multimap<int, size_t> by_container;
  const std::vector<Symbol>& symbols = d.sound()->symbols->symbols();
  for (size_t i = 0; i < symbols.size(); ++i) by_container.emplace(symbols[i].container, i);
  return children(d, by_container, -1);
}

Json workspace_symbols(Server& server, const QueryParams& params) {
  constexpr size_t most = 1000;
  const auto lower = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
    return text;
  };
  const std::string wanted = lower(params.query.value_or(""));
  // Fuzzy match, as in editors: the letters of the query as a subsequence.
  const auto matches = [&](const std::string& name) {
    size_t next = 0;
    for (const char c : name) next += next < wanted.size() && c == wanted[next];
    return next == wanted.size();
  };
  Json list = Json::array();
  Files files(server);
  for (const Document* file : files.workspace()) {
    const Document& d = *file;
    if (!d.is_sound()) continue;
    const std::vector<Symbol>& symbols = d.sound()->symbols->symbols();
    for (const Symbol& s : symbols) {
      if (!shown(s, s.container < 0) || s.name.empty() || !matches(lower(s.name)) || list.size() == most) continue;
      Json one = {{"name", s.name},
                  {"kind", symbol_kind(s.kind)},
                  {"location", {{"uri", d.uri()}, {"range", d.lines().range(s.name_span)}}}};
      if (s.container >= 0) one["containerName"] = symbols[static_cast<size_t>(s.container)].name;
      list.push_back(std::move(one));
    }
  }
  return list;
}

Json folding_ranges(Server& server, const DocumentParams& params) {
  const Document& d = server.document(params);
  Json list = Json::array();
  std::vector<uint32_t> open;
  for (const ClassifiedToken& t : classify_tokens(*d.parsed().source)) {
    if (t.kind != TokenClass::bracket) continue;
    const char c = d.text()[t.begin];
    if (c == '{' || c == '[' || c == '(') {
      open.push_back(t.begin);
    } else if (!open.empty()) {
      const size_t first = d.lines().place(open.back()).line, last = d.lines().place(t.begin).line;
      if (last > first + 1) list.push_back({{"startLine", first}, {"endLine", last - 1}});
      open.pop_back();
    }
  }
  return list;
}

}  // namespace pxl::lsp
