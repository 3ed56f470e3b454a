// The stages of parsing in order: bytes, tokens, roles, tree, AST, checks. It also decides for the REPL whether a text
// is complete, from the location of the first error.
#include "interpreter/syntax/parse.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "interpreter/syntax/checks.hpp"
#include "interpreter/syntax/messages.hpp"
#include "interpreter/syntax/nodes/builder.hpp"
#include "interpreter/syntax/resolve.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/never_destroyed.hpp"

namespace pxl {
namespace {

using namespace syntax;

constexpr size_t max_diagnostics = 20;
constexpr size_t max_problems = 200;  ///< limit before sorting: noise produces thousands

// Whether an error follows an unclosed bracket, of which it is a consequence.
bool within_unclosed(const TokenList& list, uint32_t token) {
  for (uint32_t around = list.tokens[token].enclosing; around != no_token; around = list.tokens[around].enclosing) {
    const Token& t = list.tokens[around];
    if (t.unclosed && t.type != ids::BLOCK_OPEN) return true;
  }
  return false;
}

// Whether an error has the cause of one already reported. A stray bracket is dropped, so a missing token in its line
// has the same cause. A block without a head has the cause of the line above, which lacks its `{`.
bool follows_from(const TokenList& list, const SyntaxError& error, const std::vector<Diagnostic>& problems,
                  const SyntaxError* before) {
  int line = list.source->position(list.tokens[error.token].begin).line;
  for (const Diagnostic& d : problems)
    if (list.source->position(d.span.begin).line == line) return true;
  return before && list.tokens[before->token].type == ids::NEWLINE && error.statement == before->token + 1 &&
         list.tokens[error.statement].type == ids::DICT_OPEN;
}

void sort_and_limit(std::vector<Diagnostic>& all) {
  std::stable_sort(all.begin(), all.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.span.begin < b.span.begin; });
  if (all.size() > max_diagnostics) {
    all.resize(max_diagnostics);
    all.back().notes.push_back(fmt::format("only the first {} errors are shown", max_diagnostics));
  }
}

}  // namespace

size_t invalid_utf8(std::string_view text) {
  auto continuation = [&](size_t i) { return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; };
  for (size_t i = 0; i < text.size();) {
    auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      ++i;
      continue;
    }
    size_t length = c >= 0xC2 && c <= 0xDF ? 2 : c >= 0xE0 && c <= 0xEF ? 3 : c >= 0xF0 && c <= 0xF4 ? 4 : 0;
    if (length == 0) return i;
    for (size_t k = 1; k < length; ++k)
      if (!continuation(i + k)) return i;
    auto second = static_cast<unsigned char>(text[i + 1]);
    bool bad = (c == 0xE0 && second < 0xA0) || (c == 0xED && second > 0x9F) || (c == 0xF0 && second < 0x90) ||
               (c == 0xF4 && second > 0x8F);
    if (bad) return i;
    i += length;
  }
  return std::string_view::npos;
}

ParseResult parse(const SourceFile& source) {
  ParseResult result;
  if (size_t at = invalid_utf8(source.text()); at != std::string_view::npos) {
    auto begin = static_cast<uint32_t>(at);
    auto byte = static_cast<unsigned>(static_cast<unsigned char>(source.text()[at]));
    result.diagnostics.push_back(Diagnostic{Severity::error,
                                            Fault::refused,
                                            fmt::format("byte 0x{:02x} is not valid UTF-8", byte),
                                            {&source, begin, begin + 1},
                                            {"programs must be UTF-8 text"},
                                            nullptr,
                                            codes::syntax});
    return result;
  }
  constexpr int64_t token_ns = 300;
  TokenList list = resolve_newlines(source, token_ns);
  assign_roles(list);
  ParseTree parsed = parse_tokens(list);
  result.diagnostics = list.problems;
  if (result.diagnostics.size() > max_problems) result.diagnostics.resize(max_problems);
  const std::vector<Diagnostic> lexical = result.diagnostics;
  const SyntaxError* before = nullptr;
  for (const SyntaxError& error : parsed.errors) {
    bool known = list.open_at_end && error.token >= list.end;
    if (!known && !list.tokens[error.token].synthetic && !within_unclosed(list, error.token) &&
        !follows_from(list, error, lexical, before))
      result.diagnostics.push_back(describe(list, error));
    before = &error;
    if (result.diagnostics.size() > max_problems) break;
  }
  if (result.diagnostics.empty() && parsed.errors.empty()) {
    auto tree = std::make_shared<ast::Tree>();
    tree->source = &source;
    AstBuilder builder(list, *tree);
    tree->body = builder.statements(parsed.root);
    result.diagnostics = std::move(builder.problems);
    check(*tree, result.diagnostics);
    if (result.diagnostics.empty()) resolve_names(*tree, result.diagnostics);
    if (result.diagnostics.empty()) result.tree = std::move(tree);
  } else if (result.diagnostics.empty()) {
    result.diagnostics.push_back(describe(list, parsed.errors.front()));
  }
  sort_and_limit(result.diagnostics);
  return result;
}

namespace {

bool ends_in_empty_line(const SourceFile& source) {
  const std::string_view text = source.text();
  const size_t end = text.find_last_not_of(" \t\r\n");
  const std::string_view rest = text.substr(end == std::string_view::npos ? 0 : end + 1);
  return std::count(rest.begin(), rest.end(), '\n') >= 2;
}

}  // namespace

Completeness completeness(const SourceFile& source) {
  if (invalid_utf8(source.text()) != std::string_view::npos) return Completeness::invalid;
  TokenList list = resolve_newlines(source);
  bool bad_tokens = list.problems_before_end > 0;
  assign_roles(list);
  ParseTree parsed = parse_tokens(list);
  bool error_before_end =
      std::any_of(parsed.errors.begin(), parsed.errors.end(), [&](const SyntaxError& e) { return e.token < list.end; });
  if (bad_tokens || error_before_end) return Completeness::invalid;
  int last = list.end == 0 ? ids::NEWLINE : list.tokens[list.end - 1].type;
  if (list.open_at_end) return Completeness::incomplete;
  if (continues_line(last)) {
    // An open bracket continues the input without limit. A trailing operator continues it only up to an empty line.
    return ends_in_empty_line(source) ? Completeness::invalid : Completeness::incomplete;
  }
  // The `catch` of a `try` may follow on the next line, up to an empty line.
  const auto wants_catch = [](const SyntaxError& e) {
    return std::count(e.expected.begin(), e.expected.end(), int{ids::CATCH}) > 0;
  };
  if (last == ids::BLOCK_CLOSE && !parsed.errors.empty() && wants_catch(parsed.errors.front()))
    return ends_in_empty_line(source) ? Completeness::invalid : Completeness::incomplete;
  if (!parsed.errors.empty()) return Completeness::invalid;
  if (list.doc_at_end) return Completeness::incomplete;
  return parse(source).tree ? Completeness::complete : Completeness::invalid;
}

ast::TreePtr parse_or_throw(const SourceFile& source) {
  ParseResult result = parse(source);
  if (!result.tree) throw Error(std::move(result.diagnostics));
  return result.tree;
}

const std::vector<std::string>& reserved_words() {
  static const auto& words = never_destroyed(std::vector<std::string>{
      "and",      "or",     "not",    "if",     "else",     "for",     "in",     "is",     "while",  "break",
      "continue", "return", "def",    "with",   "as",       "from",    "import", "assert", "pass",   "true",
      "false",    "none",   "module", "try",    "catch",    "finally", "except", "raise",  "lambda", "class",
      "let",      "yield",  "del",    "global", "nonlocal", "elif",    "async",  "await",  "match"});
  return words;
}

const std::vector<std::string>& declaring_words() {
  static const auto& words =
      never_destroyed(std::vector<std::string>{"param", "state", "next", "program", "record", "ref", "stream", "out",
                                               "variable", "constant", "option", "outlined", "test", "build"});
  return words;
}

}  // namespace pxl
