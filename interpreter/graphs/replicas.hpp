// Replicas of a program: groupings as values, `replicated(n)`, and what declarations take of them.
#pragma once

#include "interpreter/graphs/trees.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/op/replica_groups.hpp"

namespace pxl {

/// `ir.replica_grouping(stride, group_size)`, or by assignment.
struct ReplicaGroupingObject final : Object {
  ReplicaGroups groups;
  std::optional<int64_t> stride;  ///< none where the members of a group are not at equal distances
  std::string type_name() const override { return "replica grouping"; }
  std::string repr(Interpreter&) override;
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  bool equals(Interpreter&, const Value& other) override;
};

/// `ir.replica_grouping(...)`. Throws where the replicas of the program cannot be grouped so.
Value make_replica_grouping(Interpreter& in, const Ir& ir, const Arguments& args);
/// Sets ir.replication_factor. Throws if parts of the program depend on it already.
void set_replication_factor(Ir& ir, int64_t replicas);

/// `groups` as a value; none if they are empty.
Value replica_grouping_value(const ReplicaGroups& groups);

/// The groups of a variable from a grouping of its program, or none; empty for one group.
ReplicaGroups to_variable_groups(const Value& v, const Ir& ir);
/// The groups that share the parts of a variable, from a grouping of its program, or none; empty for none.
ReplicaGroups to_shard_groups(const Value& v, const Ir& ir);

/// How the replicas hold a variable.
struct VariablePlacement {
  ReplicaGroups groups;                    ///< with values of their own; empty: one value
  ReplicaGroups shards;                    ///< that share its parts; empty: each replica holds the whole
  std::optional<RemoteEntry> remote = {};  ///< the entry of a remote buffer that it is
};
/// The options `replica_grouping` and `shard_over` of a `variable`, `constant` or `param`, and `remote` and `entry` of
/// a variable; `what` names the declaration.
VariablePlacement declared_placement(Interpreter& in, const std::vector<ast::Argument>& options, Activation& a,
                                     const char* what);
/// The spec of what a replica holds of a variable that is declared with `spec`, which may be a shard's already. Throws
/// if it is a shard of other groups than `shards`.
TensorSpec placed_spec(const TensorSpec& spec, const ReplicaGroups& shards, const std::string& what);
/// The initial values of a grouped variable, one after the other: drawn for each group, or given as an array with a row
/// for each. They are whole: `spec` may be that of a shard.
Array initial_values(Interpreter& in, const Value& init, const TensorSpec& spec, const ReplicaGroups& groups,
                     const std::string& what);

}  // namespace pxl
