// Replicas of a program: groupings as values, `replicated(n)`, and the options of declarations for them.
#pragma once

#include "interpreter/graphs/modules/trees.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/op/replica_groups.hpp"

namespace pxl {

/// `ir.replica_grouping(stride, group_size)`, or a grouping by assignment.
struct ReplicaGroupingObject final : Object {
  ReplicaGroups groups;
  std::optional<int64_t> stride;  ///< empty if the distances between the members of a group differ
  std::string type_name() const override { return "replica grouping"; }
  std::string repr(Interpreter&) override;
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  bool equals(Interpreter&, const Value& other) override;
};

/// `ir.replica_grouping(...)`. Throws if the program's replicas cannot be grouped this way.
Value make_replica_grouping(Interpreter& in, const Ir& ir, const Arguments& args);
/// Sets ir.replication_factor. Throws if parts of the program already depend on it.
void set_replication_factor(Ir& ir, int64_t replicas);

/// The groups as a value; none if there are no groups.
Value replica_grouping_value(const ReplicaGroups& groups);

/// The groups of a variable: `v` is a grouping of its program, or none. Empty for one group.
ReplicaGroups to_variable_groups(const Value& v, const Ir& ir);
/// The groups that share the parts of a variable: `v` is a grouping of its program, or none. Empty for none.
ReplicaGroups to_shard_groups(const Value& v, const Ir& ir);

/// How replicas store a variable.
struct VariablePlacement {
  ReplicaGroups groups;  ///< groups with separate values; empty: one value
  ReplicaGroups shards;  ///< groups that share the variable's parts; empty: each replica has the whole
  std::optional<RemoteEntry> remote = {};  ///< the entry of a remote buffer that stores the variable
};
/// Reads the options of a declaration: `replica_grouping` and `shard_over` of a `variable`, `constant` or `param`, and
/// `remote` and `entry` of a variable. `what` names the declaration.
VariablePlacement declared_placement(Interpreter& in, const std::vector<ast::Argument>& options, Activation& a,
                                     const char* what);
/// The spec of the part that a replica stores of a variable declared with `spec`. `spec` may already be that of a
/// shard. Throws if the shard belongs to groups other than `shards`.
TensorSpec placed_spec(const TensorSpec& spec, const ReplicaGroups& shards, const std::string& what);
/// The initial values of a grouped variable, one after the other: drawn for each group, or given as an array with a row
/// per group. The values are whole, even if `spec` is that of a shard.
Array initial_values(Interpreter& in, const Value& init, const TensorSpec& spec, const ReplicaGroups& groups,
                     const std::string& what);

}  // namespace pxl
