#include "interpreter/lsp/uses.hpp"

#include <algorithm>

#include "runtime/base/diagnostics/library_sources.hpp"
#include "runtime/base/limits/budget.hpp"

namespace pxl::lsp {

namespace {

using Kind = Symbol::Kind;

bool is_visible_outside(Declared t) {
  switch (t->kind) {
    case Kind::method:
    case Kind::field:
    case Kind::param:
    case Kind::stream_in:
    case Kind::stream_out:
    case Kind::state:
    case Kind::constant: return true;
    case Kind::variable:
    case Kind::function:
    case Kind::parameter: break;
    default: return false;
  }
  // A program's names are members of its IR. A module's configuration has names that are members of its instances.
  if (t->container < 0 || t->inner) return false;
  const Kind owner = t.table().symbols()[static_cast<size_t>(t->container)].kind;
  return owner == Kind::program || (owner == Kind::module && t->kind == Kind::parameter);
}

bool is_component(std::string_view text, std::string_view name) {
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('.', at), text.size());
    if (text.substr(at, end - at) == name) return true;
    at = end + 1;
  }
  return false;
}

class Finder {
 public:
  Finder(Meanings& meanings, Declared target)
      : meanings_(meanings),
        files_(meanings.files()),
        target_(target),
        name_(target->name),
        visible_(is_visible_outside(target)),
        top_(target->container < 0 && !target->inner),
        keyword_(target->kind == Kind::parameter || target->kind == Kind::stream_in || target->kind == Kind::param) {}

  Uses run(const Document* only) {
    add_occurrences(target_);
    if (top_ || visible_ || keyword_) {
      only ? component_.push_back(only) : gather(target_.file);
      for (size_t i = 0; i < component_.size(); ++i) {
        imports(*component_[i]);
        namesakes(*component_[i]);
        mentions(*component_[i]);
      }
    }
    uses_.all = !files_.full();
    for (auto& [file, places] : uses_.places) {
      const auto before = [](const Uses::Place& a, const Uses::Place& b) { return a.span.begin < b.span.begin; };
      std::stable_sort(places.begin(), places.end(), before);
      const auto same = [](const Uses::Place& a, const Uses::Place& b) { return a.span.begin == b.span.begin; };
      places.erase(std::unique(places.begin(), places.end(), same), places.end());
    }
    return std::move(uses_);
  }

 private:
  /// Collects the files between which values can pass: a file's importers, and the files that it imports.
  void gather(const Document* d) {
    if (!seen_.insert(d).second) return;
    if (!d->is_sound()) {
      uses_.broken.push_back(d);
      return;
    }
    component_.push_back(d);
    for (const Symbol& s : d->sound()->symbols->symbols())
      for (const Symbol::Import& i : s.imports)
        // A library module sees values, but no names of the top level.
        if (const Document* file = files_.imported(*d, i.path);
            file && (visible_ || keyword_ || !is_library(file->path())))
          gather(file);
    if (is_library(d->path())) return;
    for (const Document* file : files_.importers(*d))
      if (!file->is_sound() || imports_file(*file, *d)) gather(file);
  }

  bool imports_file(const Document& from, const Document& to) {
    for (const Symbol& s : from.sound()->symbols->symbols())
      for (const Symbol::Import& i : s.imports)
        if (files_.imported(from, i.path) == &to) return true;
    return false;
  }

  void add(const Document& d, Span span, bool binding, bool import = false) {
    uses_.places[&d].push_back({span, binding, import});
  }

  void add_occurrences(Declared s) {
    const bool renames = s == target_ && s->kind == Kind::import && !s->imports.front().aliased;
    for (const Occurrence& o : s.table().places(s.symbol)) {
      const bool binding = o.use == Occurrence::Use::binding;
      add(*s.file, o.span, binding, renames && binding);
    }
  }

  bool leads_to_target(Declared s) { return meanings_.declaration(s, false, target_) == target_; }

  /// Collects a document's imports that bind the target.
  void imports(const Document& d) {
    if (!top_) return;
    const std::vector<Symbol>& symbols = d.sound()->symbols->symbols();
    for (size_t n = 0; n < symbols.size(); ++n) {
      const Declared s{&d, static_cast<int>(n)};
      if (s == target_) continue;
      for (const Symbol::Import& i : symbols[n].imports) {
        if (i.name != name_) continue;
        const Document* file = files_.imported(d, i.path);
        if (!file || !file->is_sound()) continue;
        const int there = file->sound()->symbols->find(-1, i.name);
        if (there < 0 || !leads_to_target({file, there})) continue;
        if (symbols[n].values.size() > 1)
          uses_.doubts.push_back({&d, i.place});
        else if (i.aliased)
          add(d, i.place, false);
        else
          add_occurrences(s);
      }
    }
  }

  /// Collects other params and fields with the name, since they name a tree's tensors and trees of several modules are
  /// matched by name.
  void namesakes(const Document& d) {
    if (!is_tree_name(target_) || is_library(d.path())) return;
    const std::vector<Symbol>& symbols = d.sound()->symbols->symbols();
    for (size_t n = 0; n < symbols.size(); ++n) {
      const Declared s{&d, static_cast<int>(n)};
      if (!(s == target_) && s->name == name_ && is_tree_name(s)) uses_.doubts.push_back({&d, s->name_span});
    }
  }
  bool is_tree_name(Declared s) { return s->kind == Kind::param || (s->kind == Kind::field && !meanings_.is_plain(s)); }

  void mentions(const Document& d) {
    for (const Mention& m : d.sound()->symbols->mentions()) {
      if (m.kind == Mention::Kind::text) {
        // The library uses only keys that it has made itself.
        if (visible_ && !is_library(d.path()) && is_component(m.name, name_)) uses_.doubts.push_back({&d, m.span});
      } else if (m.kind == Mention::Kind::spread || m.name == name_) {
        const Named named = meanings_.of(d, m);
        const bool is_known = named.is == Named::Is::symbol;
        if (is_known && m.kind == Mention::Kind::spread ? keyword_ && named.symbol == owner()
                                                        : named.is == Named::Is::unknown && may_mean(m))
          uses_.doubts.push_back({&d, m.span});
        else if (is_known && m.kind != Mention::Kind::spread && leads_to_target(named.symbol))
          add(d, m.span, false);
      }
    }
  }

  Declared owner() const { return {target_.file, target_->container}; }

  /// Whether a mention whose value is unknown may mean the target.
  bool may_mean(const Mention& m) {
    if (m.kind == Mention::Kind::member) return visible_ || (top_ && is_passed_on({target_.file, -1}));
    if (!keyword_ || target_->kind != Kind::parameter) return keyword_;
    if (target_->inner || target_->container < 0) return true;  // a name inside a lambda
    if (owner()->kind == Kind::build) return true;              // graphs are values
    const bool by_member = m.of->kind == ast::ExprKind::member;
    if (by_member && static_cast<const ast::MemberExpr&>(*m.of).name == owner()->name) return true;
    return is_passed_on(owner());
  }

  /// Whether a declaration is used as a value. If so, a value anywhere may be this declaration. The symbol -1 is the
  /// namespace of a file.
  bool is_passed_on(Declared s) {
    const auto [known, fresh] = passed_on_.try_emplace(s.symbol, false);
    if (!fresh) return known->second;
    for (const Document* d : component_)
      if (is_value_in(*d, s)) return passed_on_[s.symbol] = true;
    return false;
  }
  bool is_value_in(const Document& d, Declared s) {
    const SymbolTable& table = *d.sound()->symbols;
    charge_steps(static_cast<int64_t>(table.occurrences().size()), 20);
    for (const Occurrence& o : table.occurrences()) {
      if (o.use != Occurrence::Use::value) continue;
      const Declared one{&d, o.symbol};
      if (s.symbol >= 0 && meanings_.declaration(one, true) == s) return true;
      if (s.symbol < 0)
        for (const Symbol::Import& i : one->imports)
          if (i.name.empty() && files_.imported(d, i.path) == s.file) return true;
    }
    if (s.symbol < 0) return false;
    return std::any_of(table.mentions().begin(), table.mentions().end(), [&](const Mention& m) {
      if (m.kind != Mention::Kind::member || m.called || m.name != s->name) return false;
      const Named named = meanings_.of(d, m);
      return named.is == Named::Is::unknown || (named.is == Named::Is::symbol && named.symbol == s);
    });
  }

  Meanings& meanings_;
  Files& files_;
  const Declared target_;
  const std::string name_;
  const bool visible_, top_, keyword_;
  std::set<const Document*, DocumentOrder> seen_;
  std::vector<const Document*> component_;
  std::map<int, bool> passed_on_;
  Uses uses_;
};

}  // namespace

std::optional<Target> target_at(Meanings& meanings, const Document& d, size_t cursor) {
  // Searches the current text only: locations in an older text would be wrong.
  if (!d.is_sound()) return std::nullopt;
  const SymbolTable& table = *d.sound()->symbols;
  const auto at = static_cast<uint32_t>(cursor);
  const auto own = [&](Declared s) {
    const Declared root = meanings.declaration(s, false);
    // A name of the library is renamed by `as` only.
    return is_library(root.file->path()) && !is_library(d.path()) ? std::optional<Declared>() : root;
  };
  if (const Occurrence* o = table.at(at)) {
    const Declared here{&d, o->symbol};
    return Target{own(here).value_or(here), o->span};
  }
  const Mention* m = table.mention_at(at);
  if (!m) return std::nullopt;
  const Named named = meanings.of(d, *m);
  if (named.is != Named::Is::symbol) return std::nullopt;
  const auto root = own(named.symbol);
  return root ? std::optional(Target{*root, m->span}) : std::nullopt;
}

Uses uses_of(Meanings& meanings, Declared target, const Document* only) { return Finder(meanings, target).run(only); }

}  // namespace pxl::lsp
