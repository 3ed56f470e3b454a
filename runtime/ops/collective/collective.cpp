// Collectives: ops whose results depend on the operands of other replicas, and ops that know their replica. Those
// between a whole and its parts are in collective_parts.cpp.
#include <fmt/format.h>

#include <optional>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/kernels/movement/shape.hpp"
#include "runtime/op/replica_groups.hpp"
#include "runtime/op/shards.hpp"
#include "runtime/ops/collective/collective_row.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

ReplicaReduction replica_reduction_of(const OpContext& s) {
  const ReplicaReduction reduction = prefixed(s, [&] { return replica_reduction(s.string("op")); });
  const DType dtype = s.input(0).dtype;
  check_no_float8(s, 0);
  switch (reduction) {
    case ReplicaReduction::mean: check_floating(s, 0); break;
    case ReplicaReduction::and_:
    case ReplicaReduction::or_:
      if (is_floating(dtype))
        refuse(s, fmt::format("{} takes bools and integers, not {}", s.string("op"), name(dtype)), codes::dtype);
      break;
    case ReplicaReduction::min:
    case ReplicaReduction::max: break;
    case ReplicaReduction::add:
    case ReplicaReduction::mul:
    case ReplicaReduction::square_add: check_numbers(s, 0); break;
  }
  return reduction;
}

void check_linear(const OpContext& s) {
  if (s.string("op") == "add" || s.string("op") == "mean") return;
  throw Error(fmt::format("{}: the reduction {} has no gradient", s.row.name, s.string("op")),
              {"add and mean have one; detach the operand if none is needed"})
      .as(codes::gradient);
}

GroupReduction reduced_to_shards(const OpContext& s) {
  return {replica_reduction(s.string("op")), {ReductionResult::To::shards, s.out[0].size()}};
}

namespace {

constexpr Param all_reduce_params[] = {{"t", ParamKind::tensor}, reduction_param, group_param};
constexpr Param root_params[] = {
    {"t", ParamKind::tensor}, {"root", ParamKind::integer, of(0), "position of a member in its group"}, group_param};

void check_root(const OpContext& s) {
  const int64_t root = s.integer("root"), members = members_of(s);
  if (root < 0 || root >= members)
    refuse(s, fmt::format("root {} is not a member of a group of {}", root, members), codes::replicas);
}

/// Specs of a collective that combines the members' operands element by element.
std::vector<TensorSpec> infer_by_element(const OpContext& s) {
  check_same_part(s);
  return {s.input(0)};
}

std::vector<TensorSpec> infer_all_reduce(const OpContext& s) {
  replica_reduction_of(s);
  check_same_part(s);
  return {s.input(0)};
}

GroupReduction reduced_to_all(const OpContext& s) { return {replica_reduction(s.string("op"))}; }
GroupReduction summed_to_all(const OpContext&) { return {}; }
GroupReduction summed_to_root(const OpContext& s) {
  return {ReplicaReduction::add, {ReductionResult::To::one, 0, s.integer("root")}};
}

template <GroupReduction (*form)(const OpContext&)>
std::optional<GroupReduction> form_of(const OpContext& s) {
  if (s.row.kernel != reduction_kernel<form>) return std::nullopt;
  return form(s);
}

Kernel broadcast_kernel(const OpContext& s) {
  return replica_broadcast_kernel(s.input(0).bytes(), members_of(s), s.integer("root"));
}
Kernel all_to_all_kernel(const OpContext& s) { return replica_exchange_kernel(s.input(0).bytes(), members_of(s)); }

void all_reduce_gradient(GradContext& c) {
  const OpContext s = c.site();
  if (!c.wants(0)) return;
  check_linear(s);
  c.set(0, c.builder().one("replicated_all_reduce", {c.dy()}, {{"op", s.string("op")}, {"group", groups_attr(c)}}));
}

constexpr OpRow all_reduce_row = {
    .name = "replicated_all_reduce",
    .path = "ops.collectives.replicated_all_reduce",
    .schedule = "ReplicatedAllReduce",
    .output = "{0}_all_reduce",
    .doc =
        "Reduces t over the replicas of a group; each gets the result. Sums are made in a fixed order, a "
        "tree over the numbers of the replicas, and mean divides the sum once.",
    .formula = "y = op of x[r], r in the group",
    .example = "replicated_all_reduce(array([1.0, 2.0]), \"mean\")",
    .params = all_reduce_params,
    .infer = infer_all_reduce,
    .definition = reference::replicated_all_reduce,
    .kernel = reduction_kernel<reduced_to_all>,
    .gradient = all_reduce_gradient,
    .inplace_ok = true,
    .side_effect = true,
    .exchange = Exchange::members,
    .alike = true,
    .shards = true,
    .inplace = "replicated_all_reduce_",
    .tiles = tile_copy};

constexpr OpRow identical_inputs_row = {
    .name = "replicated_all_reduce_identical_inputs",
    .path = "ops.collectives.replicated_all_reduce_identical_inputs",
    .schedule = "Identity",
    .output = "identity_{0}",
    .doc =
        "t itself, which the members of a group hold equal; its gradient is reduced over them. Begins what the members "
        "of a group compute in parts.",
    .example = "replicated_all_reduce_identical_inputs(array([1.0, 2.0]))",
    .params = member_params,
    .infer = infer_by_element,
    .definition = reference::identity,
    .kernel = [](const OpContext& s) { return copy_kernel(s.input(0)); },
    .gradient =
        [](GradContext& c) {
          if (c.wants(0)) c.set(0, c.builder().one("replicated_all_reduce", {c.dy()}, {{"group", groups_attr(c)}}));
        },
    .inplace_ok = true,
    .view = true,
    .shards = true,
    .tiles = tile_copy};

/// The row of all_reduce whose gradient is dy.
constexpr OpRow identical_grad_inputs_row() {
  OpRow row = all_reduce_row;
  row.name = "replicated_all_reduce_identical_grad_inputs";
  row.path = "ops.collectives.replicated_all_reduce_identical_grad_inputs";
  row.doc =
      "The sum of t over a group of replicas, whose members get equal gradients for it. The gradient of t is the sum's "
      "gradient. The op ends a computation that the members do in parts.";
  row.example = "replicated_all_reduce_identical_grad_inputs(array([1.0, 2.0]))";
  row.formula = {};
  row.params = member_params;
  row.infer = [](const OpContext& s) {
    check_numbers(s, 0);
    return infer_by_element(s);
  };
  row.definition = reference::replicated_sum;
  row.kernel = reduction_kernel<summed_to_all>;
  row.gradient = [](GradContext& c) {
    if (c.wants(0)) c.set(0, c.dy());
  };
  row.inplace = {};
  return row;
}

constexpr OpRow collective_table[] = {
    all_reduce_row,
    in_place_form(all_reduce_row, {"replicated_all_reduce_", "ops.collectives.replicated_all_reduce_",
                                   "ReplicatedAllReduceInplace", "{0}_all_reduce"}),
    identical_inputs_row,
    identical_grad_inputs_row(),
    {.name = "replicated_broadcast",
     .path = "ops.collectives.replicated_broadcast",
     .schedule = "ReplicatedBroadcast",
     .output = "{0}_broadcast",
     .doc = "Sends the tensor of one member to all members of its group.",
     .example = "replicated_broadcast(array([1.0, 2.0]))",
     .params = root_params,
     .infer =
         [](const OpContext& s) {
           check_root(s);
           return infer_by_element(s);
         },
     .definition = reference::replicated_broadcast,
     .kernel = broadcast_kernel,
     .gradient =
         [](GradContext& c) {
           if (c.wants(0))
             c.set(0, c.builder().one("replicated_reduce", {c.dy()},
                                      {{"root", c.site().integer("root")}, {"group", groups_attr(c)}}));
         },
     .inplace_ok = true,
     .side_effect = true,
     .exchange = Exchange::members,
     .alike = true,
     .shards = true,
     .tiles = tile_copy},
    {.name = "replicated_reduce",
     .schedule = "ReplicatedReduce",
     .output = "{0}_reduced",
     .doc = "The gradient of replicated_broadcast: the sum over a group to one member, zeros to the others.",
     .params = root_params,
     .infer =
         [](const OpContext& s) {
           check_numbers(s, 0);
           check_root(s);
           return infer_by_element(s);
         },
     .definition = reference::replicated_reduce,
     .kernel = reduction_kernel<summed_to_root>,
     .gradient =
         [](GradContext& c) {
           if (c.wants(0))
             c.set(0, c.builder().one("replicated_broadcast", {c.dy()},
                                      {{"root", c.site().integer("root")}, {"group", groups_attr(c)}}));
         },
     .side_effect = true,
     .exchange = Exchange::members,
     .shards = true,
     .tiles = tile_copy},
    {.name = "replicated_all_to_all",
     .path = "ops.collectives.replicated_all_to_all",
     .schedule = "ReplicatedAllToAll",
     .output = "{0}_all_to_all",
     .doc =
         "Block i of t along its first axis goes to member i of the group; each has the blocks in the order of their "
         "senders.",
     .example = "replicated_all_to_all(array([1.0, 2.0]))",
     .params = member_params,
     .infer =
         [](const OpContext& s) {
           const Shape& shape = s.input(0).shape;
           if (shape.empty() || shape[0] % members_of(s) != 0)
             refuse(s,
                    fmt::format("the first axis of {} must be a multiple of the group size, {}", bracket_text(shape),
                                members_of(s)),
                    codes::replicas);
           return infer_same(s);
         },
     .definition = reference::replicated_all_to_all,
     .kernel = all_to_all_kernel,
     .gradient =
         [](GradContext& c) {
           if (c.wants(0)) c.set(0, c.builder().one("replicated_all_to_all", {c.dy()}, {{"group", groups_attr(c)}}));
         },
     .side_effect = true,
     .exchange = Exchange::members,
     .tiles = tile_copy},
    {.name = "replica_index",
     .path = "ops.collectives.replica_index",
     .schedule = "ReplicaIndex",
     .output = "replica_index",
     .doc = "The number of the replica that runs, from 0: an int32 scalar.",
     .example = "replica_index()",
     .infer =
         [](const OpContext&) {
           return std::vector<TensorSpec>{TensorSpec{{}, DType::int32, {}}};
         },
     .definition = reference::replica_index,
     .kernel =
         [](const OpContext&) {
           return Kernel([](const Buffers& b) { *b.output<int32_t>(0) = b.input<int32_t>(0)[0]; });
         },
     .pattern = Pattern::movement,
     .exchange = Exchange::replica,
     .tiles = tile_fill},
};
static_assert(all_complete(collective_table));

}  // namespace

std::span<const OpRow> collective_rows() {
  static const auto& all = never_destroyed([] {
    std::vector<OpRow> rows(std::begin(collective_table), std::end(collective_table));
    rows.insert(rows.end(), collective_part_rows().begin(), collective_part_rows().end());
    return rows;
  }());
  return all;
}

std::optional<GroupReduction> group_reduction(const OpContext& s) {
  for (const auto form :
       {form_of<reduced_to_all>, form_of<summed_to_all>, form_of<reduced_to_shards>, form_of<summed_to_root>})
    if (const std::optional<GroupReduction> found = form(s)) return found;
  return std::nullopt;
}

ByteRange needed_bytes(const OpContext& s, int64_t from, int64_t first, int64_t last) {
  const int64_t bytes = s.input(0).bytes();
  if (s.row.kernel == broadcast_kernel) return {0, from == s.integer("root") ? bytes : 0};
  if (s.row.kernel != all_to_all_kernel) return {0, bytes};
  const int64_t block = bytes / members_of(s);
  return {first * block, last * block};
}

}  // namespace pxl
