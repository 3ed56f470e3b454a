// The names that code sees.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/name.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {

/// Names of one body, file, instance or the prelude; looked up outward through `outer`. Small scopes are searched
/// linearly, which is cheaper than a hash table; larger ones have a hash table.
class Scope {
 public:
  struct Entry {
    Name name;
    Value value;
  };
  std::shared_ptr<Scope> outer;
  const ast::OwnNames* own = nullptr;        ///< of a running body
  const std::vector<Name>* round = nullptr;  ///< of one round of a loop or comprehension: the names that it owns
  bool running = false;                      ///< a round that has not ended: its names are the body's as well
  bool instance = false;                     ///< configuration, fields and methods of a module

  explicit Scope(std::shared_ptr<Scope> o = nullptr) : outer(std::move(o)) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope();

  /// The value of a name, or null; valid until a name is bound for the first time or erased.
  const Value* find_here(Name name) const;
  const Value* find(Name name) const;
  /// As find, but stops at the first body that binds the name and has not done so yet: returns null and sets `missing`.
  const Value* find_bound(Name name, const Scope*& missing) const;
  void bind(Name name, Value value);
  void erase(Name name);
  /// In order of first binding.
  const std::vector<Entry>& entries() const { return entries_; }
  /// A copy of the names: names may be bound while iterating over it.
  std::vector<std::string> names() const;
  /// Replaces all entries.
  void restore(std::vector<Entry> entries);
  /// Reserves memory for `more` names.
  void reserve(size_t more) { entries_.reserve(entries_.size() + more); }
  std::vector<std::string> visible_names() const;

 private:
  size_t where(Name name) const;  ///< index into entries_; entries_.size() if not found
  void make_table();
  void enter(size_t entry);

  std::vector<Entry> entries_;
  std::vector<uint32_t> table_;  ///< open addressing: index into entries_ plus one, 0 if free; empty for few entries
  unsigned bits_ = 0;            ///< the table has 2^bits_ slots
};
using ScopePtr = std::shared_ptr<Scope>;

/// `ops`, `ops.var_updates`, an imported file: names after a dot.
struct NamespaceObject final : Object {
  std::string name;
  ScopePtr scope;
  NamespaceObject(std::string n, ScopePtr s) : name(std::move(n)), scope(std::move(s)) {}
  std::string type_name() const override { return "namespace"; }
  std::string repr(Interpreter&) override { return "<namespace " + name + ">"; }
  void references(References& to) const override;
  std::optional<Value> member(Interpreter&, std::string_view member_name) override;
  std::vector<std::string> member_names() const override;
};

inline bool contains(const std::vector<Name>& names, Name name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace pxl
