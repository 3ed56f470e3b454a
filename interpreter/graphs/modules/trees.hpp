// Named trees: nested collections of tensors or variable factories under dotted names (PopXL's DotTree, NamedTensors
// and NamedVariableFactories). One class implements all of them. Its kind decides which leaves it accepts.
#pragma once

#include <unordered_map>

#include "interpreter/graphs/tensor_objects.hpp"
#include "interpreter/values/cycles.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {

class Scope;
struct VariablePlacement;

enum class TreeKind : uint8_t { plain, tensors, factories };

struct TreeObject final : Object {
  TreeKind kind;
  int level = 0;  ///< level below its root; bounded, so that walks may recurse
  /// Children in order of insertion: leaves, or further TreeObjects. Children are added in several places, but only
  /// erase_items erases them.
  std::vector<std::pair<std::string, Value>> items;

  explicit TreeObject(TreeKind k) : kind(k) {}
  std::string type_name() const override;
  std::string repr(Interpreter& in) override;  ///< printed as a dict from dotted names to leaves
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  void set_member(Interpreter& in, std::string_view name, Value value) override;
  Value index(Interpreter& in, const Value& key) override;
  void set_index(Interpreter& in, const Value& key, Value value) override;
  std::optional<int64_t> length(Interpreter&) override { return static_cast<int64_t>(items.size()); }
  std::optional<Iterator> iterate(Interpreter& in) override;  ///< iterates over the keys of the top level
  bool contains(Interpreter& in, const Value& item) override;
  bool truth(Interpreter&) override { return !items.empty(); }
  std::function<void()> state() override;
  void references(References& to) const override {
    for (const auto& [key, value] : items) to.add(value);
  }

  /// The leaf or subtree under a dotted name, or null.
  const Value* find(std::string_view dotted) const;
  /// Adds a value under a dotted name, and creates the levels in between. Throws if a part is neither an identifier nor
  /// a number, or if the name exists and `overwrite` is not set. If `overwrite` is set, a tree is merged into an
  /// existing tree.
  void insert(std::string_view dotted, Value value, bool overwrite = false);
  /// Adds an empty subtree under a dotted name unless one exists, which fixes the position of its keys.
  void reserve(std::string_view dotted);
  /// Removes subtrees without leaves.
  void prune();
  bool erase(std::string_view dotted);
  /// Removes the children for which `drop` returns true, and returns their number.
  size_t erase_items(const std::function<bool(const std::pair<std::string, Value>&)>& drop);
  /// All leaves with their dotted names, in order.
  std::vector<std::pair<std::string, Value>> leaves() const;
  Ref<TreeObject> copy() const;  ///< copies nodes and shares leaves
  /// Leaves sorted by their tensors' names.
  std::vector<Value> sorted_tensors() const;

 private:
  /// The position of a child; items.size() if there is none.
  size_t place(std::string_view key) const;
  /// Positions of the first children, up to a limit, since a list of modules may have thousands.
  mutable std::unordered_map<std::string, size_t> places_;
};
using TreePtr = Ref<TreeObject>;

TreePtr make_tree(TreeKind kind);

/// The result of a `param` with an initial value: makes variables in the main graph.
struct VariableFactoryObject final : Object {
  std::string name;
  TensorSpec spec;
  Value init;  ///< of a state perhaps the factory of the param whose initial value it has
  bool by_ref = false, is_state = false;
  std::vector<int64_t> groups;  ///< of replicas, with a variable's value each; empty: one value (replica_groups.hpp)
  std::string type_name() const override { return "VariableFactory"; }
  std::string repr(Interpreter& in) override;
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
};

/// The array that an initial value represents: a number fills, an array must fit, an initialiser or a function is
/// drawn. `what` names the variable in messages.
Array initial_value(Interpreter& in, const Value& init, const TensorSpec& spec, const std::string& what);

/// Variables for all factories of a tree, drawn in alphabetical order of dotted names; the result is in that order too.
/// `placement` is for factories that have no groups of their own. Throws outside a main graph. If `copies` is set, each
/// variable gets a further first axis with one row per copy, as if each row were drawn by its own call.
TreePtr init_factories(Interpreter& in, const TreeObject& factories, const std::string& prefix,
                       const VariablePlacement& placement, bool zero, std::optional<int64_t> copies = {});

/// Makes memory for all factories of a tree, in the graph that is being built.
TreePtr init_undefined(Interpreter& in, const TreeObject& factories);

/// DotTree, NamedTensors, NamedVariableFactories: called, `from_dict`, `pack`.
void bind_tree_builtins(Scope& prelude);
void bind_initialiser_builtins(Scope& prelude);
void bind_factory_builtins(Scope& prelude);

}  // namespace pxl
