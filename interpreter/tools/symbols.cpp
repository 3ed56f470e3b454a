#include "interpreter/tools/symbols.hpp"

#include <algorithm>
#include <set>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/tools/collect_symbols.hpp"

namespace pxl {

using Kind = Symbol::Kind;

std::string_view text(Kind kind) {
  switch (kind) {
    case Kind::variable: return "name";
    case Kind::function: return "def";
    case Kind::method: return "method";
    case Kind::build: return "build";
    case Kind::module: return "module";
    case Kind::program: return "program";
    case Kind::test: return "test";
    case Kind::parameter: return "parameter";
    case Kind::field: return "field";
    case Kind::param: return "param";
    case Kind::stream_in: return "stream in";
    case Kind::stream_out: return "stream out";
    case Kind::state: return "variable";
    case Kind::constant: return "constant";
    case Kind::option: return "option";
    case Kind::import: return "import";
  }
  return "";
}

SymbolTable::SymbolTable(const ast::Tree& tree) { collect_symbols(tree, symbols_, occurrences_); }

const Occurrence* SymbolTable::at(uint32_t offset) const {
  auto it = std::upper_bound(occurrences_.begin(), occurrences_.end(), offset,
                             [](uint32_t o, const Occurrence& x) { return o < x.span.begin; });
  if (it == occurrences_.begin()) return nullptr;
  const Occurrence& found = *std::prev(it);
  return offset <= found.span.end ? &found : nullptr;
}

std::vector<Occurrence> SymbolTable::places(int symbol) const {
  std::vector<Occurrence> found;
  for (const Occurrence& o : occurrences_)
    if (o.symbol == symbol) found.push_back(o);
  return found;
}

const Symbol* SymbolTable::top(std::string_view name) const {
  for (const Symbol& s : symbols_)
    if (s.container < 0 && s.name == name) return &s;
  return nullptr;
}

std::vector<const Symbol*> SymbolTable::visible(uint32_t offset) const {
  // The symbols whose bodies contain the offset, innermost first.
  std::vector<int> around;
  for (int i = static_cast<int>(symbols_.size()) - 1; i >= 0; --i) {
    const Span& s = symbols_[i].span;
    const Kind k = symbols_[i].kind;
    const bool body = k == Kind::function || k == Kind::method || k == Kind::build || k == Kind::module ||
                      k == Kind::program || k == Kind::test;
    if (body && s.begin <= offset && offset <= s.end) around.push_back(i);
  }
  std::stable_sort(around.begin(), around.end(),
                   [&](int a, int b) { return symbols_[a].span.begin > symbols_[b].span.begin; });
  around.push_back(-1);
  std::vector<const Symbol*> found;
  std::set<std::string_view> seen;
  for (int container : around)
    for (const Symbol& s : symbols_)
      if (s.container == container && s.kind != Kind::test && s.kind != Kind::build && seen.insert(s.name).second)
        found.push_back(&s);
  return found;
}

}  // namespace pxl
