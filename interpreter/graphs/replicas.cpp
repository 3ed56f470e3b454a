#include "interpreter/graphs/replicas.hpp"

#include <fmt/format.h>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/graphs/remote.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/subscripts.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/graph/transaction.hpp"
#include "runtime/op/shards.hpp"

namespace pxl {

namespace {

/// The stride between the members of a group, if the groups are strided.
std::optional<int64_t> stride_of(const ReplicaGroups& groups) {
  const int64_t size = group_size(groups);
  if (size == 1) return 1;
  const std::vector<int64_t> first = group_members(groups)[0];
  const int64_t stride = first[1] - first[0], replicas = static_cast<int64_t>(groups.size());
  if (replicas % (stride * size) != 0 || strided_groups(replicas, stride, size) != groups) return std::nullopt;
  return stride;
}

Value grouping_value(ReplicaGroups groups) {
  auto g = make_ref<ReplicaGroupingObject>();
  g->stride = stride_of(groups);
  g->groups = std::move(groups);
  return g;
}

/// Groups of replicas that have equal positions in their old groups.
ReplicaGroups transposed(const ReplicaGroups& groups) {
  ReplicaGroups numbers(groups.size(), -1), out;
  int64_t next = 0;
  for (int64_t position : positions_in_group(groups)) {
    int64_t& number = numbers[static_cast<size_t>(position)];
    if (number < 0) number = next++;
    out.push_back(number);
  }
  return out;
}

/// `with replicated(n)` at the beginning of a program.
struct ReplicatedObject final : Object {
  int64_t replicas;
  explicit ReplicatedObject(int64_t n) : replicas(n) {}
  std::string type_name() const override { return "replicated"; }
  bool is_context() const override { return true; }
  Value enter(Interpreter& in) override {
    const BuildTarget target = graphs_of(in).target();
    if (!graphs_of(in).in_program() || !target.graph->is_main() || !target.ir->main().tensors().empty() ||
        target.ir->graphs().size() > 1)
      throw Error("replicated(n) belongs in the head of a program",
                  {"write `program train with replicated(4) { ... }`"})
          .as(codes::replicas);
    set_replication_factor(*target.ir, replicas);
    return {};
  }
};

}  // namespace

std::string ReplicaGroupingObject::repr(Interpreter&) {
  if (!stride)
    return fmt::format("ReplicaGrouping(num_replicas={}, assignment=[{}])", groups.size(), join_texts(groups, ", "));
  return fmt::format("ReplicaGrouping(num_replicas={}, stride={}, group_size={}, num_groups={})", groups.size(),
                     *stride, group_size(groups), group_count(groups));
}

namespace {

using GroupingRef = ReplicaGroupingObject&;
using Got = std::optional<Value>;
constexpr Member<ReplicaGroupingObject> grouping_rows[] = {
    {"num_replicas", "The number of replicas.", "",
     [](Interpreter&, GroupingRef r) -> Got { return Value(static_cast<int64_t>(r.groups.size())); }},
    {"stride", "The distance between the members of a group; an error if the distances differ.", "",
     [](Interpreter&, GroupingRef r) -> Got {
       if (r.stride) return Value(*r.stride);
       throw Error("this replica grouping has no stride: the members of its groups are not at equal distances",
                   {"`assignment` has the group of each replica"})
           .as(codes::replicas);
     }},
    {"group_size", "The number of replicas in a group.", "",
     [](Interpreter&, GroupingRef r) -> Got { return Value(group_size(r.groups)); }},
    {"num_groups", "The number of groups.", "",
     [](Interpreter&, GroupingRef r) -> Got { return Value(group_count(r.groups)); }},
    {"assignment", "The group of each replica, as a list.", "",
     [](Interpreter&, GroupingRef r) -> Got {
       return make_list(std::vector<Value>(r.groups.begin(), r.groups.end()));
     }},
    {"transpose", "()", "The grouping whose groups have one member of each group.", "",
     [](Interpreter&, GroupingRef r, const Arguments& args) -> Value {
       ArgReader a(args);
       return grouping_value(transposed(r.groups));
     }},
};
constexpr std::span<const Member<ReplicaGroupingObject>> grouping_table(grouping_rows);

}  // namespace

MemberTable replica_grouping_members() {
  return member_table("replica grouping",
                      "Replicas in groups, as `ir.replica_grouping` returns them, for variables and collectives.", "",
                      grouping_table);
}

std::optional<Value> ReplicaGroupingObject::member(Interpreter& in, std::string_view name) {
  return member_of_table(in, grouping_table, *this, name);
}

std::vector<std::string> ReplicaGroupingObject::member_names() const {
  std::vector<std::string> names;
  append_names(names, grouping_table);
  return names;
}

bool ReplicaGroupingObject::equals(Interpreter&, const Value& other) {
  const auto* o = other.as<ReplicaGroupingObject>();
  return o && o->groups == groups;
}

Value make_replica_grouping(Interpreter& in, const Ir& ir, const Arguments& args) {
  ArgReader a(args);
  const int64_t replicas = ir.replication_factor;
  if (a.has("assignment")) {
    if (a.has("stride") || a.has("group_size"))
      throw Error("replica_grouping takes an assignment, or a stride and a group size").as(codes::arguments);
    ReplicaGroups groups;
    for (const Value& v : elements_of(in, a.value("assignment")))
      groups.push_back(to_index(v, "replica_grouping: a group"));
    check_groups(groups, replicas);
    return grouping_value(std::move(groups));
  }
  int64_t stride = a.integer("stride");
  if (!a.has("group_size") && (stride < 1 || replicas % stride != 0))
    throw Error(fmt::format("{} replicas cannot be grouped with stride {}", replicas, stride),
                {"the stride must divide the number of replicas"})
        .as(codes::replicas);
  const int64_t size = a.integer_or("group_size", std::max<int64_t>(1, replicas / std::max<int64_t>(1, stride)));
  if (size == 1) stride = 1;
  return grouping_value(strided_groups(replicas, stride, size));
}

void set_replication_factor(Ir& ir, int64_t replicas) {
  if (replicas < 1 || replicas > 4096)
    throw Error("replication_factor must be between 1 and 4096, got " + std::to_string(replicas)).as(codes::value);
  if (replicas == ir.replication_factor) return;
  if (!ir.variables().empty() || !ir.streams().empty())
    throw Error("replication_factor must be set before the first variable or stream of the program").as(codes::program);
  for (const auto& graph : ir.graphs())
    for (const auto& op : graph->ops())
      if (op->row->exchange == Exchange::members || !op->row->params.empty())
        for (const Param& p : op->row->params)
          if (p.kind == ParamKind::group)
            throw Error(
                fmt::format("replication_factor must be set before the first collective, {}", op->row->schedule))
                .as(codes::program);
  GraphTransaction::changing(ir);
  ir.replication_factor = static_cast<int>(replicas);
}

ReplicaGroups to_variable_groups(const Value& v, const Ir& ir) {
  if (v.is_none()) return {};
  const auto* g = v.as<ReplicaGroupingObject>();
  if (!g) type_error("replica_grouping takes a replica grouping, got " + with_article(v.type_name()));
  check_groups(g->groups, ir.replication_factor);
  return group_count(g->groups) == 1 ? ReplicaGroups{} : g->groups;
}

ReplicaGroups to_shard_groups(const Value& v, const Ir& ir) {
  if (v.is_none()) return {};
  const auto* g = v.as<ReplicaGroupingObject>();
  if (!g) type_error("shard_over takes a replica grouping, got " + with_article(v.type_name()));
  check_groups(g->groups, ir.replication_factor);
  return g->groups;
}

Value replica_grouping_value(const ReplicaGroups& groups) {
  if (groups.empty()) return {};
  return grouping_value(groups);
}

namespace {

/// The options `remote` and `entry`.
std::optional<RemoteEntry> remote_entry(Interpreter& in, const Value& buffer, const Value& entry) {
  if (buffer.is_none() && entry.is_none()) return std::nullopt;
  if (buffer.is_none())
    throw Error("the option `entry` of a variable needs `remote`, a remote buffer").as(codes::arguments);
  return RemoteEntry{to_remote_buffer(buffer, graphs_of(in).target().ir, "remote").index,
                     entry.is_none() ? 0 : to_index(entry, "the entry of a remote buffer")};
}

}  // namespace

VariablePlacement declared_placement(Interpreter& in, const std::vector<ast::Argument>& options, Activation& a,
                                     const char* what) {
  VariablePlacement placement;
  Value buffer, entry;
  for (const ast::Argument& option : options) {
    const bool named = option.kind == ast::Argument::named;
    const Ir& ir = *graphs_of(in).target().ir;
    if (named && option.name == "replica_grouping") {
      placement.groups = to_variable_groups(evaluate(in, *option.value, a), ir);
    } else if (named && option.name == "shard_over") {
      placement.shards = to_shard_groups(evaluate(in, *option.value, a), ir);
    } else if (named && option.name == "remote" && what == std::string_view("variable")) {
      buffer = evaluate(in, *option.value, a);
    } else if (named && option.name == "entry" && what == std::string_view("variable")) {
      entry = evaluate(in, *option.value, a);
    } else {
      std::string hint = did_you_mean(option.name, {"replica_grouping", "shard_over", "remote", "entry"});
      throw Error(std::string(what) + " has no option `" + option.name + "`" + (hint.empty() ? "" : "; " + hint))
          .as(codes::arguments);
    }
  }
  placement.remote = remote_entry(in, buffer, entry);
  return placement;
}

TensorSpec placed_spec(const TensorSpec& spec, const ReplicaGroups& shards, const std::string& what) {
  if (!spec.is_shard()) return shard_spec(spec, shards);
  if (shards.empty() || shards == spec.shard_groups) return spec;
  throw Error(fmt::format("{} is declared as a shard of the groups {}, and sharded over {}", what,
                          bracket_text(spec.shard_groups), bracket_text(shards)),
              {"the spec of a shard has its groups: leave out `shard_over`"})
      .as(codes::replicas);
}

Array initial_values(Interpreter& in, const Value& init, const TensorSpec& given, const ReplicaGroups& groups,
                     const std::string& what) {
  const TensorSpec spec = whole_spec(given);
  if (groups.empty()) return initial_value(in, init, spec, what);
  TensorSpec all = spec;
  all.shape.insert(all.shape.begin(), group_count(groups));
  if (init.as_array() || init.as<SequenceObject>()) {
    const Array values = to_array(in, init);
    if (values.rank() == static_cast<int64_t>(all.shape.size()) || values.shape() != spec.shape)
      return initial_value(in, init, all,
                           fmt::format("{}, with a row for each of {} groups,", what, group_count(groups)));
  }
  Array values(all.dtype, all.shape);
  for (int64_t g = 0; g < group_count(groups); ++g) {
    const Array value = initial_value(in, init, spec, what);
    if (!value.has_elements()) return Array::unevaluated(all.dtype, all.shape);
    std::copy_n(value.raw(), spec.bytes(), values.mutable_raw() + g * spec.bytes());
  }
  return values;
}

void bind_replica_builtins(Scope& p) {
  define(
      p, no_effects,
      {"replicated(n)",
       "Context for the head of a program: n replicas of it run side by side, on samples and with variables of their "
       "own.",
       R"(program p with replicated(2) {
  stream in x: float32[1]
  stream out y = host_load(x) * 2
}
Session(p()).run(x = [[1], [5]]))"},
      [](Interpreter&, Arguments args) -> Value {
        ArgReader a(args);
        return make_ref<ReplicatedObject>(a.integer("n"));
      });
  define(p, no_effects,
         {"replica_sharded_spec(spec, shard_over)",
          "The spec of a shard: the part of a tensor that each replica in a group has.",
          R"(program p with replicated(4) {
  group = ir.replica_grouping(stride = 1, group_size = 4)
  print(replica_sharded_spec(float32[10], group))
}
p())"},
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a(args);
           const TensorSpec whole = to_spec(in, a.value("spec"), "replica_sharded_spec");
           return Value(shard_spec(whole, to_shard_groups(a.value("shard_over"), *graphs_of(in).target().ir)));
         });
}

}  // namespace pxl
