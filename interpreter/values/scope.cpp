// Scopes, and freeing values without recursion.

#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {

namespace {

// Values whose destruction is deferred while another value is being destroyed; one per thread.
struct Graveyard {
  std::vector<ObjectPtr> waiting;
  bool digging = false;
};
Graveyard& graveyard() {
  // Never destroyed: static objects may free values after this thread's other statics have been destroyed.
  static thread_local Graveyard* g = new Graveyard;
  return *g;
}

}  // namespace

void bury(Value& v) {
  if (!v.is_object()) return;
  if (v.object().use_count() > 1) {  // shared: nothing is destroyed here
    v = Value();
    return;
  }
  Graveyard& g = graveyard();
  g.waiting.push_back(v.object());
  v = Value();
  if (g.digging) return;
  g.digging = true;
  while (!g.waiting.empty()) {
    const ObjectPtr last = std::move(g.waiting.back());
    g.waiting.pop_back();
  }
  g.digging = false;
}

Scope::~Scope() {
  for (Entry& e : entries_) bury(e.value);
}

namespace {
constexpr size_t few = 8;  // maximum number of names without a hash table; not measured
}

inline size_t Scope::where(Name name) const {
  if (table_.empty()) {
    const size_t count = entries_.size();
    size_t i = 0;
    while (i < count && !(entries_[i].name == name)) ++i;
    return i;
  }
  for (size_t at = name.hash(bits_);; at = (at + 1) & (table_.size() - 1)) {
    const uint32_t entry = table_[at];
    if (entry == 0) return entries_.size();
    if (entries_[entry - 1].name == name) return entry - 1;
  }
}

void Scope::enter(size_t entry) {
  size_t at = entries_[entry].name.hash(bits_);
  while (table_[at] != 0) at = (at + 1) & (table_.size() - 1);
  table_[at] = static_cast<uint32_t>(entry + 1);
}

// Maximum load factor 1/2, so that probe sequences are short.
void Scope::make_table() {
  table_.clear();
  if (entries_.size() <= few) return;
  for (bits_ = 5; (size_t{1} << bits_) < 4 * entries_.size();) ++bits_;
  table_.assign(size_t{1} << bits_, 0);
  for (size_t i = 0; i < entries_.size(); ++i) enter(i);
}

const Value* Scope::find_here(Name name) const {
  const size_t at = where(name);
  return at == entries_.size() ? nullptr : &entries_[at].value;
}

const Value* Scope::find(Name name) const {
  for (const Scope* s = this; s; s = s->outer.get()) {
    const size_t at = s->where(name);
    if (at < s->entries_.size()) return &s->entries_[at].value;
  }
  return nullptr;
}

const Value* Scope::find_bound(Name name, const Scope*& missing) const {
  for (const Scope* s = this; s; s = s->outer.get()) {
    if (const Value* v = s->find_here(name)) return v;
    if (s->own && contains(s->own->locals, name)) {
      missing = s;
      return nullptr;
    }
  }
  return nullptr;
}

void Scope::bind(Name name, Value value) {
  const size_t at = where(name);
  if (at < entries_.size()) {
    // The old value is destroyed after the new one is in place: its destructor may read this scope.
    std::swap(entries_[at].value, value);
    return;
  }
  entries_.push_back({name, std::move(value)});
  if (table_.empty() ? entries_.size() > few : 2 * entries_.size() > table_.size())
    make_table();
  else if (!table_.empty())
    enter(entries_.size() - 1);
}

void Scope::erase(Name name) {
  const size_t at = where(name);
  if (at == entries_.size()) return;
  const Value old = std::move(entries_[at].value);  // destroyed at the end
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at));
  make_table();
}

void Scope::restore(std::vector<Entry> entries) {
  entries_.swap(entries);
  make_table();
  for (Entry& e : entries) bury(e.value);
}

std::vector<std::string> Scope::names() const {
  std::vector<std::string> all;
  all.reserve(entries_.size());
  for (const Entry& e : entries_) all.push_back(e.name.text());
  return all;
}

std::vector<std::string> Scope::visible_names() const {
  std::vector<std::string> all;
  for (const Scope* s = this; s; s = s->outer.get()) {
    for (const Entry& e : s->entries_) {
      const std::string& text = e.name.text();
      if (!text.empty() && text != "_") all.push_back(text);
    }
  }
  return all;
}

std::optional<Value> NamespaceObject::member(Interpreter&, std::string_view member_name) {
  const Value* v = scope->find_here(member_name);
  return v ? std::optional<Value>(*v) : std::nullopt;
}
std::vector<std::string> NamespaceObject::member_names() const { return scope->names(); }

}  // namespace pxl
