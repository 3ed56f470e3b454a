#include "interpreter/tools/symbols/symbol_scopes.hpp"

#include <algorithm>

namespace pxl {

namespace {

bool has(const std::vector<Name>& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(), [&](Name n) { return n.text() == name; });
}

}  // namespace

int SymbolScopes::open(int outer, int owner, const ast::OwnNames* own) {
  scopes_.push_back({outer, owner, {}, own});
  return static_cast<int>(scopes_.size()) - 1;
}

int SymbolScopes::find(int scope, std::string_view name) const {
  for (int s = scope; s >= 0; s = scopes_[s].outer) {
    if (auto it = scopes_[s].names.find(name); it != scopes_[s].names.end()) return it->second;
    // A name that the body binds later is local, not the outer name.
    if (scopes_[s].own && has(scopes_[s].own->locals, name)) return -1;
  }
  return -1;
}

int SymbolScopes::declare(int scope, Symbol::Kind kind, const std::string& name, Span name_span, Span span,
                          std::string detail, std::string doc, const ast::Expr* value) {
  if (scopes_[scope].own && has(scopes_[scope].own->nonlocals, name)) {
    if (const int s = find(scopes_[scope].outer, name); s >= 0) {
      symbols_[s].values.push_back(value);
      occurrences_.push_back({name_span, s, Occurrence::Use::binding});
      return s;
    }
  }
  auto [it, fresh] = scopes_[scope].names.try_emplace(name, static_cast<int>(symbols_.size()));
  if (fresh) {
    Symbol s;
    s.kind = kind;
    s.name = name;
    s.name_span = name_span;
    s.span = span;
    s.detail = std::move(detail);
    s.doc = std::move(doc);
    s.container = scopes_[scope].owner;
    s.inner = scopes_[scope].outer >= 0 && scopes_[scopes_[scope].outer].owner == s.container;
    symbols_.push_back(std::move(s));
  }
  symbols_[it->second].values.push_back(value);
  occurrences_.push_back({name_span, it->second, Occurrence::Use::binding});
  return it->second;
}

int SymbolScopes::add(int scope, Symbol::Kind kind, const std::string& name, Span span) {
  Symbol s;
  s.kind = kind;
  s.name = name;
  s.name_span = s.span = span;
  s.container = scopes_[scope].owner;
  symbols_.push_back(std::move(s));
  return static_cast<int>(symbols_.size()) - 1;
}

void SymbolScopes::read(int scope, std::string_view name, Span span, Occurrence::Use use) {
  if (int s = find(scope, name); s >= 0)
    occurrences_.push_back({span, s, use});
  else
    unresolved_.push_back({scope, std::string(name), span, use});
}

bool SymbolScopes::read_field(int scope, std::string_view name, Span span, Occurrence::Use use) {
  for (int s = scope; s >= 0; s = scopes_[s].outer) {
    const int owner = scopes_[s].owner;
    const bool instance = owner >= 0 && symbols_[owner].kind == Symbol::Kind::module;
    if (!instance) continue;
    if (auto it = scopes_[s].names.find(name); it != scopes_[s].names.end()) {
      occurrences_.push_back({span, it->second, use});
      if (use == Occurrence::Use::binding) symbols_[it->second].values.push_back(nullptr);
      return true;
    }
  }
  return false;
}

void SymbolScopes::settle(size_t from) {
  std::vector<Unresolved> open;
  for (size_t i = from; i < unresolved_.size(); ++i) {
    Unresolved& u = unresolved_[i];
    if (int s = find(u.scope, u.name); s >= 0)
      occurrences_.push_back({u.span, s, u.use});
    else
      open.push_back(u);
  }
  unresolved_.resize(from);
  unresolved_.insert(unresolved_.end(), open.begin(), open.end());
}

void SymbolScopes::finish() {
  std::stable_sort(occurrences_.begin(), occurrences_.end(), [](const Occurrence& a, const Occurrence& b) {
    return std::pair(a.span.begin, a.span.end) < std::pair(b.span.begin, b.span.end);
  });
  // A declaration and its first occurrence have one location.
  occurrences_.erase(std::unique(occurrences_.begin(), occurrences_.end(),
                                 [](const Occurrence& a, const Occurrence& b) {
                                   return a.span.begin == b.span.begin && a.span.end == b.span.end;
                                 }),
                     occurrences_.end());
}

}  // namespace pxl
