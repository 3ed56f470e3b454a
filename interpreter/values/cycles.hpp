// Frees values that refer to each other in a circle, as a function and the scope that binds it do: nothing else refers
// to them, but their counts of references never reach zero.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {

/// Takes what an object refers to, one by one (Object::references). What an object leaves out counts as a reference
/// from elsewhere, so that its circle is kept.
class References {
 public:
  template <std::derived_from<Object> T>
  void add(const Ref<T>& object) {
    if (object) found(object.get(), {object.get(), nullptr, object.use_count()});
  }
  void add(const ScopePtr& scope) {
    if (!scope) return;
    const long count = scope.use_count();  // before a node holds it
    found(scope.get(), {nullptr, scope, count});
  }
  void add(const Value& v) {
    if (v.is_object()) add(v.object());
  }

 private:
  friend void free_circles(const std::vector<ScopePtr>& scopes, const std::vector<const Scope*>& roots);
  struct Node {
    const Object* object;
    ScopePtr scope;      ///< where it is no object
    long elsewhere;      ///< references that were not found; those of this class are not among them
    bool alive = false;  ///< reached from elsewhere
  };
  void found(const void* key, Node node);
  void follow();

  std::vector<Node> nodes_;
  std::unordered_map<const void*, size_t> known_;
  std::vector<size_t> todo_;
  bool counting_ = true;  ///< then what is alive is marked
};

/// Empties the scopes to which nothing else refers: of `scopes`, which the caller holds once each, and of those that
/// they reach. Does not follow `roots`, which are alive.
void free_circles(const std::vector<ScopePtr>& scopes, const std::vector<const Scope*>& roots);

}  // namespace pxl
