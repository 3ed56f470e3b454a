// Semantic tokens from the language's lexer, for words that a grammar of regular expressions cannot distinguish.
#include "interpreter/lsp/server.hpp"

namespace pxl::lsp {

namespace {

// An index in this list is the protocol's code.
constexpr const char* types[] = {"keyword", "variable", "parameter", "number", "string", "comment", "operator"};

int token_type(TokenClass kind) {
  switch (kind) {
    case TokenClass::keyword:
    case TokenClass::declarer:
    case TokenClass::constant: return 0;
    case TokenClass::name: return 1;
    case TokenClass::argument: return 2;
    case TokenClass::number: return 3;
    case TokenClass::string: return 4;
    case TokenClass::comment:
    case TokenClass::documentation: return 5;
    case TokenClass::operation: return 6;
    case TokenClass::bracket:
    case TokenClass::dot:
    case TokenClass::comma:
    case TokenClass::unknown: return -1;
  }
  return -1;
}

}  // namespace

Json semantic_legend() {
  Json list = Json::array();
  for (const char* t : types) list.push_back(t);
  return {{"tokenTypes", list}, {"tokenModifiers", Json::array()}};
}

Json semantic_tokens(Server& server, const DocumentParams& params) {
  const Document& d = server.document(params);
  Json data = Json::array();
  size_t line = 0, character = 0;
  for (const ClassifiedToken& t : classify_tokens(*d.parsed().source)) {
    const int type = token_type(t.kind);
    if (type < 0) continue;
    // A semantic token must not span lines.
    for (size_t from = t.begin; from < t.end;) {
      size_t to = d.text().find('\n', from);
      to = std::min<size_t>(to == std::string::npos ? t.end : to, t.end);
      const auto [at_line, at] = d.lines().place(from);
      const Place end = d.lines().place(to);
      const size_t length = end.line == at_line ? end.character - at : 0;
      if (length > 0) {
        data.insert(data.end(), {at_line - line, at_line == line ? at - character : at, length,
                                 static_cast<size_t>(type), size_t{0}});
        line = at_line;
        character = at;
      }
      from = to + 1;
    }
  }
  return {{"data", data}};
}

}  // namespace pxl::lsp
