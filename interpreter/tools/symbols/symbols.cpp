#include "interpreter/tools/symbols/symbols.hpp"

#include <algorithm>
#include <set>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/tools/symbols/collect_symbols.hpp"

namespace pxl {

std::string_view text(Symbol::Kind kind) {
  using enum Symbol::Kind;
  switch (kind) {
    case variable: return "name";
    case function: return "def";
    case method: return "method";
    case build: return "build";
    case module: return "module";
    case program: return "program";
    case test: return "test";
    case parameter: return "parameter";
    case field: return "field";
    case param: return "param";
    case stream_in: return "stream in";
    case stream_out: return "stream out";
    case state: return "variable";
    case constant: return "constant";
    case option: return "option";
    case import: return "import";
  }
  return "";
}

SymbolTable::SymbolTable(const ast::Tree& tree) { collect_symbols(tree, symbols_, occurrences_, mentions_); }

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

const Mention* SymbolTable::mention_at(uint32_t offset) const {
  const auto found = std::find_if(mentions_.begin(), mentions_.end(),
                                  [&](const Mention& m) { return m.span.begin <= offset && offset <= m.span.end; });
  return found == mentions_.end() ? nullptr : &*found;
}

int SymbolTable::find(int container, std::string_view name) const {
  for (size_t i = 0; i < symbols_.size(); ++i)
    if (symbols_[i].container == container && !symbols_[i].inner && symbols_[i].name == name)
      return static_cast<int>(i);
  return -1;
}

const Symbol* SymbolTable::top(std::string_view name) const {
  const int found = find(-1, name);
  return found < 0 ? nullptr : &symbols_[static_cast<size_t>(found)];
}

std::vector<const Symbol*> SymbolTable::visible(uint32_t offset) const {
  // The symbols whose bodies contain the offset, innermost first.
  std::vector<int> around;
  for (int i = static_cast<int>(symbols_.size()) - 1; i >= 0; --i) {
    const Span& s = symbols_[i].span;
    const Symbol::Kind k = symbols_[i].kind;
    const bool body = k == Symbol::Kind::function || k == Symbol::Kind::method || k == Symbol::Kind::build ||
                      k == Symbol::Kind::module || k == Symbol::Kind::program || k == Symbol::Kind::test;
    if (body && s.begin <= offset && offset <= s.end) around.push_back(i);
  }
  std::stable_sort(around.begin(), around.end(),
                   [&](int a, int b) { return symbols_[a].span.begin > symbols_[b].span.begin; });
  around.push_back(-1);
  std::vector<const Symbol*> found;
  std::set<std::string_view> seen;
  for (int container : around)
    for (const Symbol& s : symbols_)
      if (s.container == container && s.kind != Symbol::Kind::test && s.kind != Symbol::Kind::build &&
          seen.insert(s.name).second)
        found.push_back(&s);
  return found;
}

}  // namespace pxl
