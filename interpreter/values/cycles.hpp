// Frees values that refer to each other in a circle, such as a function and the scope that binds it. Nothing else
// refers to them, but their reference counts never reach zero.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {

/// Receives the references of an object, one by one (Object::references). A reference that the object omits is treated
/// as coming from elsewhere, so that the circle is kept.
class References {
 public:
  template <std::derived_from<Object> T>
  void add(const Ref<T>& object) {
    if (object) found(object.get(), {object.get(), nullptr, object.use_count()});
  }
  void add(const ScopePtr& scope) {
    if (!scope) return;
    const long count = scope.use_count();  // read before a node holds the scope
    found(scope.get(), {nullptr, scope, count});
  }
  void add(const Value& v) {
    if (v.is_object()) add(v.object());
  }

 private:
  friend void free_circles(const std::vector<ScopePtr>& scopes, const std::vector<const Scope*>& roots);
  struct Node {
    const Object* object;
    ScopePtr scope;      ///< set if it is not an object
    long elsewhere;      ///< number of references not found; those that this class holds are excluded
    bool alive = false;  ///< reached from elsewhere
  };
  void found(const void* key, Node node);
  void follow();

  std::vector<Node> nodes_;
  std::unordered_map<const void*, size_t> known_;
  std::vector<size_t> todo_;
  bool counting_ = true;  ///< false in the second phase, which marks live objects
};

/// Empties scopes to which nothing else refers: the given `scopes`, of which the caller holds one reference each, and
/// the scopes that they reach. Does not follow `roots`, which are alive.
void free_circles(const std::vector<ScopePtr>& scopes, const std::vector<const Scope*>& roots);

}  // namespace pxl
