// Scopes, and freeing values without recursion.
#include "interpreter/elaborate/internal.hpp"

namespace pxl {

namespace {

// Values whose destruction was put off while another one is being destroyed. A thread has one.
struct Graveyard {
  std::vector<ObjectPtr> waiting;
  bool digging = false;
};
Graveyard& graveyard() {
  // Never destroyed: static objects may still free values after this thread's other statics are gone.
  static thread_local Graveyard* g = new Graveyard;
  return *g;
}

}  // namespace

void bury(Value& v) {
  if (!v.is_object()) return;
  if (v.object().use_count() > 1) {  // others hold it: nothing dies here
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
  for (auto& [name, value] : names) bury(value);
}

const Value* Scope::find_here(const std::string& name) const {
  auto it = names.find(name);
  return it == names.end() ? nullptr : &it->second;
}

const Value* Scope::find(const std::string& name) const {
  for (const Scope* s = this; s; s = s->outer.get()) {
    if (const Value* v = s->find_here(name)) return v;
  }
  return nullptr;
}

void Scope::bind(const std::string& name, Value value) {
  auto [it, fresh] = names.try_emplace(name);
  if (fresh) order.push_back(name);
  // The old value dies after the new one is in place: its destructor may look at this scope.
  std::swap(it->second, value);
}

std::vector<std::string> Scope::visible_names() const {
  std::vector<std::string> all;
  for (const Scope* s = this; s; s = s->outer.get()) {
    for (const std::string& n : s->order) {
      if (!n.empty()) all.push_back(n);
    }
  }
  return all;
}

std::optional<Value> NamespaceObject::member(Interpreter&, std::string_view member_name) {
  const Value* v = scope->find_here(std::string(member_name));
  return v ? std::optional<Value>(*v) : std::nullopt;
}
std::vector<std::string> NamespaceObject::member_names() const { return scope->order; }

void Interpreter::remember(const ScopePtr& scope) {
  if (scope == file_scope_ || scope == prelude_) return;
  if (captured_.size() >= captured_limit_) {
    std::erase_if(captured_, [](const std::weak_ptr<Scope>& w) { return w.expired(); });
    captured_limit_ = std::max<size_t>(1024, captured_.size() * 2);
  }
  if (captured_.empty() || captured_.back().lock() != scope) captured_.push_back(scope);
}

}  // namespace pxl
