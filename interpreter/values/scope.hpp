// Scopes: the names that code sees.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/name.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {

/// The names of a body that are known before it runs. Each name has a slot in the body's scope.
using Layout = std::vector<Name>;

/// The names of one body, file, instance or the prelude. A search continues outward through `outer`. The names in a
/// layout have slots, which compiled code reads by number. Other names are added when they are bound. A few of them are
/// searched linearly, which is cheaper than a hash table.
class Scope {
 public:
  struct Entry {
    Name name;
    Value value;
  };
  const Ref<Scope> outer;
  const ast::OwnNames* own = nullptr;        ///< names of the running body
  const std::vector<Name>* round = nullptr;  ///< of one round of a loop or comprehension: the names that it owns
  bool running = false;                      ///< the round has not ended, so its names are the body's too
  bool instance = false;                     ///< configuration, fields and methods of a module

  explicit Scope(Ref<Scope> o = nullptr) : outer(std::move(o)) {}
  /// `layout` must outlive the scope.
  PXL_INLINE Scope(Ref<Scope> o, const Layout& layout)
      : outer(std::move(o)), layout_(&layout), slots_(few_), count_(static_cast<uint32_t>(layout.size())) {
    if (count_ > inline_slots) [[unlikely]]
      slots_ = more_slots(count_);
    for (size_t i = 0; i < count_; ++i) new (&slots_[i]) Value(Value::unset());
  }
  /// The scope for a body with few names that is about to run.
  PXL_INLINE Scope(const Ref<Scope>& closure, const ast::OwnNames& names) noexcept
      : outer(closure),
        own(&names),
        layout_(&names.slots),
        slots_(few_),
        count_(static_cast<uint32_t>(names.slots.size())) {
    for (Value& slot : few_) new (&slot) Value(Value::unset());
  }
  static constexpr size_t inline_slots = 6;  ///< 77 % of the functions of stdlib, examples and tests/lang have no more
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  // Does not use the layout, since the code that owns it may have been destroyed.
  PXL_INLINE ~Scope() {
    for (size_t i = 0; i < count_; ++i) slots_[i].bury();
    if (names_ || count_ > inline_slots) [[unlikely]]
      free_more();
  }

  /// The value of a name, or null. It is valid until a name is bound for the first time or erased.
  const Value* find_here(Name name) const;
  const Value* find(Name name) const;
  /// Searches as `find` does, but stops at the first body that will bind the name and has not done so yet. It then
  /// returns null and sets `missing`.
  const Value* find_bound(Name name, const Scope*& missing) const;
  void bind(Name name, Value value);
  /// Allocates memory for the first names that are added.
  void reserve(size_t names);
  void erase(Name name);
  /// Calls `visit` with each bound name and its value: the names with slots, then other names in order of first
  /// binding.
  template <class F>
  void each(F&& visit) const {
    for (size_t i = 0; i < count_; ++i)
      if (!slots_[i].is_unset()) visit((*layout_)[i], slots_[i]);
    for (const Entry& e : added()) visit(e.name, e.value);
  }
  /// A copy of the names with their values, in the order of `each`.
  std::vector<Entry> entries() const;
  std::vector<std::string> names() const;
  /// Replaces all entries.
  void restore(const std::vector<Entry>& entries);
  std::vector<std::string> visible_names() const;

  // ---- for compiled code
  const Layout* layout() const { return layout_; }
  /// The slot of a name in the layout. It is unset before the name is bound.
  Value& slot(size_t i) { return slots_[i]; }
  const Value& slot(size_t i) const { return slots_[i]; }
  /// Gives an unset slot its first value.
  PXL_INLINE void fill(size_t i, Value value) { new (&slots_[i]) Value(std::move(value)); }
  /// Names that the layout lacks.
  std::vector<Entry>& added() { return names_ ? names_->entries : no_entries(); }
  const std::vector<Entry>& added() const { return names_ ? names_->entries : no_entries(); }
  /// If two scopes have one version, they have the same added names at the same places. The same holds for one scope at
  /// two times.
  uint64_t version() const { return version_; }
  /// A name that was added.
  Value& added_value(size_t i) const { return names_->entries[i].value; }
  /// While this number stays the same, no scope gets a new version.
  static uint64_t newest_version() { return newest_version_.load(std::memory_order_relaxed); }

 private:
  /// Names that were added.
  struct Names {
    std::vector<Entry> entries;
    std::vector<uint32_t> table;    ///< open addressing: index into entries plus one, 0 if free; empty for few entries
    unsigned bits = 0;              ///< the table has 2^bits slots
    size_t where(Name name) const;  ///< index into entries; entries.size() if not found
    void make_table();
    void enter(size_t entry);
  };
  static Value* more_slots(size_t count);
  void free_more();                 ///< frees added names and more_slots
  Value* slot_of(Name name) const;  ///< null if the layout lacks the name
  static uint64_t next_version() { return newest_version_.fetch_add(1, std::memory_order_relaxed) + 1; }
  static inline std::atomic<uint64_t> newest_version_ = 0;
  /// The version of an instance after it adds a name to `version`.
  static uint64_t version_with(uint64_t version, Name name);
  static std::vector<Entry>& no_entries();

  const Layout* layout_ = nullptr;
  Value* slots_ = nullptr;        ///< points into few_, or to the heap
  uint32_t count_ = 0;            ///< number of slots
  uint64_t version_ = 0;          ///< 0: no name was ever added
  std::unique_ptr<Names> names_;  ///< null before a name is added
  union {
    Value few_[inline_slots];
  };
};
using ScopePtr = Ref<Scope>;

/// Names after a dot: `ops`, `ops.var_updates`, an imported file.
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
