// Scopes, and the destruction of values without recursion.

#include "interpreter/values/scope.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "interpreter/values/value.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/threads/fork.hpp"

namespace pxl {

namespace {

// Values whose destruction is deferred while another value is being destroyed. One per thread.
struct Graveyard {
  std::vector<ObjectPtr> waiting;
  int depth = 0;  ///< number of objects whose destructors are nested at present
};

}  // namespace

void Value::bury_object() noexcept {
  ObjectPtr object = std::move(object_);
  if (!object->has_parts() || object.use_count() > 1) return;  // shared objects are not destroyed here
  constexpr int max_depth = 32;                                // maximum nested destructors
  Graveyard& g = of_thread<Graveyard>();
  if (g.depth == max_depth) {
    g.waiting.push_back(std::move(object));
    return;
  }
  ++g.depth;
  object.reset();
  while (g.depth == 1 && !g.waiting.empty()) {
    const ObjectPtr last = std::move(g.waiting.back());
    g.waiting.pop_back();
  }
  --g.depth;
}

// Instances of one module add the same names in the same order, so they get the same versions.
uint64_t Scope::version_with(uint64_t version, Name name) {
  struct Known {
    std::mutex mutex;
    std::map<std::pair<uint64_t, const std::string*>, uint64_t> next;
  };
  static Known& known = []() -> Known& {
    auto* made = new Known;  // never destroyed
    hold_during_fork(made->mutex);
    return *made;
  }();
  // A request that this thread made last. The hash of a name selects its place.
  struct Asked {
    uint64_t version = 0, next = 0;
    const std::string* name = nullptr;
  };
  static constexpr unsigned bits = 8;
  // Allocated on the heap, since a library that is loaded later has little memory for each thread.
  struct Latest {
    std::vector<Asked> asked = std::vector<Asked>(size_t{1} << bits);
  };
  std::vector<Asked>& latest = of_thread<Latest>().asked;
  Asked& asked = latest[(name.hash(bits) + version) % latest.size()];
  if (asked.version == version && asked.name == &name.text()) return asked.next;
  const std::lock_guard<std::mutex> lock(known.mutex);
  uint64_t& next = known.next[{version, &name.text()}];
  if (next == 0) next = next_version();
  asked = {version, next, &name.text()};
  return next;
}

Value* Scope::more_slots(size_t count) { return static_cast<Value*>(::operator new(count * sizeof(Value))); }
void Scope::free_more() {
  if (count_ > inline_slots) ::operator delete(slots_);
  if (names_)
    for (Entry& e : names_->entries) e.value.bury();
}

namespace {
constexpr size_t few = 8;  // maximum number of names without a hash table
}

Value* Scope::slot_of(Name name) const {
  for (size_t i = 0; i < count_; ++i)
    if ((*layout_)[i] == name) return &slots_[i];
  return nullptr;
}

inline size_t Scope::Names::where(Name name) const {
  if (table.empty()) {
    const size_t count = entries.size();
    size_t i = 0;
    while (i < count && !(entries[i].name == name)) ++i;
    return i;
  }
  for (size_t at = name.hash(bits);; at = (at + 1) & (table.size() - 1)) {
    const uint32_t entry = table[at];
    if (entry == 0) return entries.size();
    if (entries[entry - 1].name == name) return entry - 1;
  }
}

void Scope::Names::enter(size_t entry) {
  size_t at = entries[entry].name.hash(bits);
  while (table[at] != 0) at = (at + 1) & (table.size() - 1);
  table[at] = static_cast<uint32_t>(entry + 1);
}

// Maximum load factor 1/2, so that probe sequences are short.
void Scope::Names::make_table() {
  table.clear();
  if (entries.size() <= few) return;
  for (bits = 5; (size_t{1} << bits) < 4 * entries.size();) ++bits;
  table.assign(size_t{1} << bits, 0);
  for (size_t i = 0; i < entries.size(); ++i) enter(i);
}

std::vector<Scope::Entry>& Scope::no_entries() {
  struct None {
    std::vector<Entry> entries;
  };
  return of_thread<None>().entries;
}

const Value* Scope::find_here(Name name) const {
  if (const Value* slot = slot_of(name)) return slot->is_unset() ? nullptr : slot;
  if (!names_) return nullptr;
  const size_t at = names_->where(name);
  return at == names_->entries.size() ? nullptr : &names_->entries[at].value;
}

const Value* Scope::find(Name name) const {
  for (const Scope* s = this; s; s = s->outer.get())
    if (const Value* v = s->find_here(name)) return v;
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
  // The old value is destroyed after the new one is in place: its destructor may read this scope.
  if (Value* slot = slot_of(name)) return std::swap(*slot, value);
  if (!names_) names_ = std::make_unique<Names>();
  std::vector<Entry>& entries = names_->entries;
  const size_t at = names_->where(name);
  if (at < entries.size()) return std::swap(entries[at].value, value);
  entries.push_back({name, std::move(value)});
  version_ = instance ? version_with(version_, name) : next_version();
  if (names_->table.empty() ? entries.size() > few : 2 * entries.size() > names_->table.size())
    names_->make_table();
  else if (!names_->table.empty())
    names_->enter(entries.size() - 1);
}

void Scope::reserve(size_t names) {
  if (!names_) names_ = std::make_unique<Names>();
  names_->entries.reserve(names);
}

void Scope::erase(Name name) {
  Value old = Value::unset();  // destroyed when the function ends
  if (Value* slot = slot_of(name)) return std::swap(*slot, old);
  if (!names_) return;
  std::vector<Entry>& entries = names_->entries;
  const size_t at = names_->where(name);
  if (at == entries.size()) return;
  old = std::move(entries[at].value);
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(at));
  version_ = next_version();
  names_->make_table();
}

void Scope::restore(const std::vector<Entry>& entries) {
  std::vector<Value> old;
  for (size_t i = 0; i < count_; ++i) old.push_back(std::exchange(slots_[i], Value::unset()));
  for (Entry& e : added()) old.push_back(std::move(e.value));
  names_.reset();
  version_ = next_version();
  for (const Entry& e : entries) bind(e.name, e.value);
  for (Value& v : old) v.bury();
}

std::vector<Scope::Entry> Scope::entries() const {
  std::vector<Entry> all;
  all.reserve(added().size());
  each([&](Name name, const Value& value) { all.push_back({name, value}); });
  return all;
}

std::vector<std::string> Scope::names() const {
  std::vector<std::string> all;
  each([&](Name name, const Value&) { all.push_back(name.text()); });
  return all;
}

std::vector<std::string> Scope::visible_names() const {
  std::vector<std::string> all;
  for (const Scope* s = this; s; s = s->outer.get()) {
    s->each([&](Name name, const Value&) {
      const std::string& text = name.text();
      if (!text.empty() && text != "_") all.push_back(text);
    });
  }
  return all;
}

std::optional<Value> NamespaceObject::member(Interpreter&, std::string_view member_name) {
  const Value* v = scope->find_here(member_name);
  return v ? std::optional<Value>(*v) : std::nullopt;
}
std::vector<std::string> NamespaceObject::member_names() const { return scope->names(); }

}  // namespace pxl
