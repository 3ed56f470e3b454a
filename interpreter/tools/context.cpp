#include "interpreter/tools/context.hpp"

#include <algorithm>

namespace pxl {
namespace {

std::string_view word(const SourceFile& source, const ClassifiedToken& t) {
  return source.text().substr(t.begin, t.end - t.begin);
}

// A keyword after a dot is a name.
bool may_name(const ClassifiedToken& t) {
  return t.kind == TokenClass::name || t.kind == TokenClass::keyword || t.kind == TokenClass::declarer ||
         t.kind == TokenClass::constant || t.kind == TokenClass::argument;
}

}  // namespace

bool chain_start(const SourceFile& source, const std::vector<ClassifiedToken>& tokens, size_t end, size_t& first) {
  size_t i = end;
  while (i > 0) {
    const ClassifiedToken& last = tokens[i - 1];
    if (word(source, last) == "]") {
      // The brackets contain one literal.
      if (i < 4 || word(source, tokens[i - 3]) != "[") return false;
      i -= 3;
      continue;
    }
    if (!may_name(last)) return false;
    if (i >= 2 && tokens[i - 2].kind == TokenClass::dot) {
      i -= 2;
      if (i == 0) return false;
      continue;
    }
    if (last.kind != TokenClass::name && last.kind != TokenClass::declarer && last.kind != TokenClass::argument)
      return false;
    first = i - 1;
    return true;
  }
  return false;
}

CallContext enclosing_call(const SourceFile& source, const std::vector<ClassifiedToken>& tokens, size_t cursor) {
  CallContext c;
  std::vector<size_t> open;
  size_t before = 0;  // tokens that end before the word under the cursor
  while (before < tokens.size() && tokens[before].end <= cursor) ++before;
  if (before > 0 && tokens[before - 1].end == cursor && may_name(tokens[before - 1])) --before;
  for (size_t i = 0; i < before; ++i) {
    if (tokens[i].kind != TokenClass::bracket) continue;
    const char b = word(source, tokens[i]).back();
    if (b == '(' || b == '[' || b == '{')
      open.push_back(i);
    else if (!open.empty())
      open.pop_back();
  }
  if (open.empty() || word(source, tokens[open.back()]) != "(") return c;
  const size_t at = open.back();
  if (at == 0 || tokens[at - 1].end != tokens[at].begin) return c;
  const bool callee =
      may_name(tokens[at - 1]) || word(source, tokens[at - 1]) == "]" || word(source, tokens[at - 1]) == ")";
  if (!callee || tokens[at - 1].kind == TokenClass::keyword) return c;
  c.found = true;
  c.callee_end = tokens[at - 1].end;
  c.at_argument_start = before == at + 1 || tokens[before - 1].kind == TokenClass::comma;
  int depth = 0;
  for (size_t i = at + 1; i < tokens.size(); ++i) {
    if (tokens[i].kind == TokenClass::bracket) {
      const char b = word(source, tokens[i]).back();
      depth += b == '(' || b == '[' || b == '{' ? 1 : -1;
      if (depth < 0) break;
    }
    if (depth > 0) continue;
    if (tokens[i].kind == TokenClass::comma && i < before) ++c.position;
    if (tokens[i].kind == TokenClass::argument) c.named.emplace_back(word(source, tokens[i]));
  }
  return c;
}

}  // namespace pxl
