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

/// The names of a body that are known before it runs; each has a slot in the body's scope.
using Layout = std::vector<Name>;

/// The names of one body, file, instance or the prelude; looked up outward through `outer`. The names of a layout have
/// slots, which compiled code reads by their number. Other names are added when they are bound: few are searched
/// linearly, which is cheaper than a hash table.
class Scope {
 public:
  struct Entry {
    Name name;
    Value value;
  };
  const Ref<Scope> outer;
  const ast::OwnNames* own = nullptr;        ///< of a running body
  const std::vector<Name>* round = nullptr;  ///< of one round of a loop or comprehension: the names that it owns
  bool running = false;                      ///< a round that has not ended: its names are the body's as well
  bool instance = false;                     ///< configuration, fields and methods of a module

  explicit Scope(Ref<Scope> o = nullptr) : outer(std::move(o)) {}
  /// `layout` must outlive the scope.
  PXL_INLINE Scope(Ref<Scope> o, const Layout& layout)
      : outer(std::move(o)), layout_(&layout), slots_(few_), count_(static_cast<uint32_t>(layout.size())) {
    if (count_ > inline_slots) [[unlikely]]
      slots_ = more_slots(count_);
    for (size_t i = 0; i < count_; ++i) new (&slots_[i]) Value(Value::unset());
  }
  /// Of a body that is about to run, with few names.
  PXL_INLINE Scope(const Ref<Scope>& closure, const ast::OwnNames& names) noexcept
      : outer(closure),
        own(&names),
        layout_(&names.slots),
        slots_(few_),
        count_(static_cast<uint32_t>(names.slots.size())) {
    for (size_t i = 0; i < count_; ++i) new (&few_[i]) Value(Value::unset());
  }
  static constexpr size_t inline_slots = 6;  ///< more than most bodies have; not measured
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  // The code that owns the layout may have ended.
  PXL_INLINE ~Scope() {
    for (size_t i = 0; i < count_; ++i) slots_[i].bury();
    if (names_ || count_ > inline_slots) [[unlikely]]
      free_more();
  }

  /// The value of a name, or null; valid until a name is bound for the first time or erased.
  const Value* find_here(Name name) const;
  const Value* find(Name name) const;
  /// As find, but stops at the first body that binds the name and has not done so yet: returns null and sets `missing`.
  const Value* find_bound(Name name, const Scope*& missing) const;
  void bind(Name name, Value value);
  /// Takes memory for the first names that are added.
  void reserve(size_t names);
  void erase(Name name);
  /// Calls back with each name that is bound and its value: those of slots, then others in order of first binding.
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
  /// Of a name of the layout; unset before the name is bound.
  Value& slot(size_t i) { return slots_[i]; }
  const Value& slot(size_t i) const { return slots_[i]; }
  /// Gives a slot that is unset its first value.
  PXL_INLINE void fill(size_t i, Value value) { new (&slots_[i]) Value(std::move(value)); }
  /// Names that the layout lacks.
  std::vector<Entry>& added() { return names_ ? names_->entries : no_entries(); }
  const std::vector<Entry>& added() const { return names_ ? names_->entries : no_entries(); }
  /// Two scopes of one version have the same added names at the same places. So does one scope at two times.
  uint64_t version() const { return version_; }

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
  static uint64_t next_version();
  /// Of an instance of this version that adds a name.
  static uint64_t version_with(uint64_t version, Name name);
  static std::vector<Entry>& no_entries();

  const Layout* layout_ = nullptr;
  Value* slots_ = nullptr;        ///< in few_, or of the heap
  uint32_t count_ = 0;            ///< of slots
  uint64_t version_ = 0;          ///< 0: nothing was ever added
  std::unique_ptr<Names> names_;  ///< null before a name is added
  union {
    Value few_[inline_slots];
  };
};
using ScopePtr = Ref<Scope>;

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
