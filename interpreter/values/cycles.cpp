#include "interpreter/values/cycles.hpp"

#include <utility>

#include "interpreter/values/containers.hpp"

namespace pxl {
namespace {

constexpr auto root = static_cast<size_t>(-1);

}  // namespace

void References::found(const void* key, Node fresh_node) {
  const auto [at, fresh] = known_.try_emplace(key, nodes_.size());
  if (at->second == root) return;
  if (fresh) nodes_.push_back(std::move(fresh_node));
  Node& node = nodes_[at->second];
  if (counting_) --node.elsewhere;
  if (counting_ ? fresh : !std::exchange(node.alive, true)) todo_.push_back(at->second);
}

void References::follow() {
  while (!todo_.empty()) {
    const Node node = nodes_[todo_.back()];
    todo_.pop_back();
    if (node.object) {
      node.object->references(*this);
    } else {
      node.scope->each([this](Name, const Value& value) { add(value); });
      add(node.scope->outer);
    }
  }
}

void free_circles(const std::vector<ScopePtr>& scopes, const std::vector<const Scope*>& roots) {
  References all;
  for (const Scope* scope : roots) all.known_.emplace(scope, root);
  for (const ScopePtr& scope : scopes) all.add(scope);  // the count includes the caller's reference
  all.follow();
  all.counting_ = false;
  for (size_t i = 0; i < all.nodes_.size(); ++i)
    if (all.nodes_[i].elsewhere > 0 && !std::exchange(all.nodes_[i].alive, true)) all.todo_.push_back(i);
  all.follow();
  for (const References::Node& node : all.nodes_)
    if (node.scope && !node.alive) node.scope->restore({});
}

void SequenceObject::references(References& to) const {
  for (const Value& item : items) to.add(item);
}

// Keys cannot contain scopes.
void DictObject::references(References& to) const {
  for (const auto& [key, value] : items) to.add(value);
}

void NamespaceObject::references(References& to) const { to.add(scope); }

}  // namespace pxl
