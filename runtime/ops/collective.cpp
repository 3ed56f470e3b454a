// Collectives: ops whose results depend on the operands of other replicas, and ops that know their replica.
#include "runtime/ops/collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/base/codes.hpp"
#include "runtime/base/diagnostic.hpp"
#include "runtime/kernels/collective.hpp"
#include "runtime/kernels/shape.hpp"
#include "runtime/op/replica_groups.hpp"
#include "runtime/op/shards.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param group_param{"group", ParamKind::group, none_default,
                            "a replica grouping; none: all replicas, of a shard its own groups"};
constexpr Param reduction_param{"op", ParamKind::string, of("add"), "add, mean, mul, min, max, and, or or square_add"};
constexpr Param all_reduce_params[] = {{"t", ParamKind::tensor}, reduction_param, group_param};
constexpr Param member_params[] = {{"t", ParamKind::tensor}, group_param};
constexpr Param root_params[] = {
    {"t", ParamKind::tensor}, {"root", ParamKind::integer, of(0), "position of a member in its group"}, group_param};
constexpr Param grad_op_param{
    "grad_op", ParamKind::string, of("local"),
    "of the gradient: local, the slice of this replica's own, or add or mean over the members"};
constexpr Param gather_params[] = {
    {"t", ParamKind::tensor},
    {"axis", ParamKind::integer, of(0)},
    group_param,
    {"output_shape", ParamKind::string, of("auto"), "concat, new_axis, meta_shape; auto: meta_shape of a shard"},
    grad_op_param};
constexpr Param flat_gather_params[] = {{"t", ParamKind::tensor},
                                        group_param,
                                        {"whole", ParamKind::boolean, of(false), "whether the result is unsharded"},
                                        grad_op_param};
constexpr Param scatter_params[] = {{"t", ParamKind::tensor},
                                    reduction_param,
                                    group_param,
                                    {"configure_output_for_replicated_tensor_sharding", ParamKind::boolean, of(false),
                                     "whether the result is a shard of t, with its meta_shape"}};
constexpr Param slice_params[] = {{"t", ParamKind::tensor}, {"axis", ParamKind::integer, of(0)}, group_param};

int64_t members_of(const OpContext& s) { return group_size(replica_groups_of(s)); }
Attr groups_attr(GradContext& c) { return replica_groups_of(c.site()); }

/// Whether the dtype has the reduction; throws otherwise.
ReplicaReduction reduction_of(const OpContext& s) {
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
  reduction_of(s);
  check_same_part(s);
  return {s.input(0)};
}

GroupReduction reduced_to_all(const OpContext& s) { return {replica_reduction(s.string("op"))}; }
GroupReduction summed_to_all(const OpContext&) { return {}; }
GroupReduction reduced_to_shards(const OpContext& s) {
  return {replica_reduction(s.string("op")), {ReductionResult::To::shards, s.out[0].size()}};
}
GroupReduction summed_to_root(const OpContext& s) {
  return {ReplicaReduction::add, {ReductionResult::To::one, 0, s.integer("root")}};
}

template <GroupReduction (*form)(const OpContext&)>
Kernel reduction_kernel(const OpContext& s) {
  const GroupReduction of = form(s);
  return replica_reduction_kernel(s.input(0).dtype, of.reduction, s.input(0).size(), members_of(s), of.result);
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

/// Throws unless the reduction has a gradient.
void check_linear(const OpContext& s) {
  if (s.string("op") == "add" || s.string("op") == "mean") return;
  throw Error(fmt::format("{}: the reduction {} has no gradient", s.row.name, s.string("op")),
              {"add and mean have one; detach the operand if none is needed"})
      .as(codes::gradient);
}

/// All elements of the members' parts, without their padding, in the shape of the whole.
Expr gathered(GradContext& c, const Expr& shard, const TensorSpec& whole) {
  if (shard.spec().is_shard())
    return c.builder().one("all_gather_flat", {shard}, {{"group", groups_attr(c)}, {"whole", true}});
  const Expr all = c.builder().one("all_gather_flat", {shard}, {{"group", groups_attr(c)}});
  return reshape(narrow(all, 0, 0, whole.size()), whole.shape);
}

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
        "Reduces t over the members of a group of replicas; each gets the result. Sums are made in a fixed order, a "
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
      "The sum of t over a group of replicas, whose members get equal gradients of it: the gradient of t is that of "
      "the "
      "sum. Ends what the members of a group compute in parts.";
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

std::vector<TensorSpec> infer_flat_gather(const OpContext& s) {
  const TensorSpec& t = s.input(0);
  const int64_t members = members_of(s);
  const std::string& op = s.string("grad_op");
  if (op != "local" && op != "add" && op != "mean")
    refuse(s, fmt::format("grad_op is local, add or mean, not {}", op), codes::value);
  if (!s.boolean("whole") && !t.is_shard())
    return {TensorSpec{{prefixed(s, [&] { return element_count({t.size(), members}); })}, t.dtype, {}}};
  if (!t.is_shard()) refuse(s, "output_shape meta_shape takes a shard, which a whole tensor is not", codes::replicas);
  if (!s.boolean("whole"))
    refuse(s, fmt::format("a shard, {}, is gathered to the whole: output_shape is meta_shape or auto", text(t)),
           codes::replicas);
  if (t.shard_groups != replica_groups_of(s))
    refuse(s,
           fmt::format("{} is a shard of the groups {}, not of {}", s.label(0), bracket_text(t.shard_groups),
                       bracket_text(replica_groups_of(s))),
           codes::replicas);
  return {whole_spec(t)};
}

/// A transposition that moves one axis; none if it is there already.
Expr moved_axis(const Expr& e, int64_t from, int64_t to) {
  if (from == to) return e;
  std::vector<int64_t> order(static_cast<size_t>(e.rank()));
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return e.builder().one("transpose", {e}, {{"permutation", order}});
}

std::vector<Expr> expand_all_gather(OpBuilder& at, const OpArgs& args) {
  const Expr& t = args.expr(0);
  std::string shape = std::get<std::string>(*args.attr(3));
  const auto& groups = std::get<ReplicaGroups>(*args.attr(2));
  const Attr grad_op = *args.attr(4);
  if (shape == "auto") shape = t.spec().is_shard() ? "meta_shape" : "concat";
  if (shape == "meta_shape" || (t.spec().is_shard() && (shape == "concat" || shape == "new_axis")))
    return at.emit("all_gather_flat", {t}, {{"group", groups}, {"whole", shape == "meta_shape"}, {"grad_op", grad_op}});
  if (shape != "concat" && shape != "new_axis")
    throw Error(fmt::format("output_shape is auto, concat, new_axis or meta_shape, not {}", shape)).as(codes::value);
  const bool concat = shape == "concat";
  if (concat && t.rank() == 0)
    throw Error("a scalar has no axis to join along", {"`output_shape = \"new_axis\"` makes one"}).as(codes::shape);
  const int64_t axis = normalise_axis(std::get<int64_t>(*args.attr(1)), concat ? t.rank() : t.rank() + 1);
  const Expr first = concat ? moved_axis(t, axis, 0) : t;
  Shape whole = first.shape();
  if (concat)
    whole[0] *= group_size(groups);
  else
    whole.insert(whole.begin(), group_size(groups));
  const Expr flat = at.one("reshape", {first}, {{"shape", Shape{t.spec().size()}}});
  const Expr all = at.one("all_gather_flat", {flat}, {{"group", groups}, {"grad_op", grad_op}});
  return {moved_axis(at.one("reshape", {all}, {{"shape", whole}}), 0, axis)};
}

void flat_gather_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  const OpContext s = c.site();
  const bool whole = s.boolean("whole");
  const Expr dx = s.string("grad_op") == "local"
                      ? c.builder().one(whole ? "replica_sharded_slice" : "replica_slice_flat", {c.dy()},
                                        {{"group", groups_attr(c)}})
                      : c.builder().one("replicated_reduce_scatter", {c.dy()},
                                        {{"op", s.string("grad_op")},
                                         {"group", groups_attr(c)},
                                         {"configure_output_for_replicated_tensor_sharding", whole}});
  c.set(0, whole ? dx : reshape(dx, c.in_spec(0).shape));
}

/// A part of t: a shard, or its elements alone.
TensorSpec part_of(const OpContext& s, bool shard) {
  const TensorSpec spec = shard_spec(s.input(0), replica_groups_of(s));
  return shard ? spec : TensorSpec{spec.shape, spec.dtype, {}};
}

void reduce_scatter_gradient(GradContext& c) {
  const OpContext s = c.site();
  if (!c.wants(0)) return;
  check_linear(s);
  const Expr whole = gathered(c, c.dy(), c.in_spec(0));
  c.set(0, s.string("op") == "add" ? whole : whole / static_cast<double>(group_size(replica_groups_of(s))));
}

Kernel shard_slice_kernel(const OpContext& s) {
  return replica_slice_kernel(s.input(0).bytes(), s.out[0].bytes(), positions_in_group(replica_groups_of(s)));
}

constexpr OpRow sharded_slice_row = {
    .name = "replica_sharded_slice",
    .path = "ops.collectives.replica_sharded_slice",
    .schedule = "ReplicatedReduceScatter",
    .output = "{0}_sharded_slice",
    .doc = "This replica's shard of t, which the members of its group hold equal. No communication.",
    .example = "replica_sharded_slice(array([1.0, 2.0]))",
    .params = member_params,
    .infer = [](const OpContext& s) { return std::vector<TensorSpec>{part_of(s, true)}; },
    .definition = reference::replica_slice,
    .kernel = shard_slice_kernel,
    .gradient =
        [](GradContext& c) {
          if (c.wants(0)) c.set(0, gathered(c, c.dy(), c.in_spec(0)));
        },
    .pattern = Pattern::movement,
    .exchange = Exchange::replica,
    .tiles = tile_movement};

/// The same as elements without a meta shape.
constexpr OpRow flat_slice_row() {
  OpRow row = sharded_slice_row;
  row.name = "replica_slice_flat";
  row.path = {};
  row.doc = "The op of replicated_slice, on elements in row-major order.";
  row.example = {};
  row.infer = [](const OpContext& s) { return std::vector<TensorSpec>{part_of(s, false)}; };
  return row;
}

std::vector<Expr> expand_replicated_slice(OpBuilder& at, const OpArgs& args) {
  const Expr& t = args.expr(0);
  const auto& groups = std::get<ReplicaGroups>(*args.attr(2));
  const int64_t members = group_size(groups);
  const int64_t axis = normalise_axis(std::get<int64_t>(*args.attr(1)), t.rank());
  const int64_t extent = t.shape()[static_cast<size_t>(axis)];
  if (extent % members != 0)
    throw Error(fmt::format("the replicas of a group must divide the axis equally: its extent is {}, the group size {}",
                            extent, members))
        .as(codes::replicas);
  const Expr first = moved_axis(t, axis, 0);
  Shape part = first.shape();
  part[0] /= members;
  // An axis of extent one is dropped, as in PopXL.
  const bool dropped = part[0] == 1;
  if (dropped) part.erase(part.begin());
  const Expr flat = at.one("reshape", {first}, {{"shape", Shape{t.spec().size()}}});
  const Expr slice = at.one("replica_slice_flat", {flat}, {{"group", groups}});
  const Expr result = at.one("reshape", {slice}, {{"shape", part}});
  return {dropped ? result : moved_axis(result, 0, axis)};
}

constexpr OpRow collective_table[] = {
    all_reduce_row,
    in_place_form(all_reduce_row, {"replicated_all_reduce_", "ops.collectives.replicated_all_reduce_",
                                   "ReplicatedAllReduceInplace", "{0}_all_reduce"}),
    identical_inputs_row,
    identical_grad_inputs_row(),
    {.name = "replicated_all_gather",
     .path = "ops.collectives.replicated_all_gather",
     .doc =
         "The tensors of the members of a group, joined along an axis, or along a new one, in ascending order of "
         "replicas; of shards the whole tensor. The gradient takes what follows to be the same on all members, unless "
         "grad_op is add or mean.",
     .example = "replicated_all_gather(array([1.0, 2.0]))",
     .params = gather_params,
     .expand = expand_all_gather,
     .role = Role::composite},
    {.name = "all_gather_flat",
     .schedule = "ReplicatedAllGather",
     .output = "{0}_all_gathered",
     .doc = "The op of replicated_all_gather, on elements in row-major order.",
     .params = flat_gather_params,
     .infer = infer_flat_gather,
     .definition = reference::replicated_gather,
     .kernel =
         [](const OpContext& s) { return replica_gather_kernel(s.input(0).bytes(), members_of(s), s.out[0].bytes()); },
     .gradient = flat_gather_gradient,
     .side_effect = true,
     .exchange = Exchange::members,
     .alike = true,
     .shards = true,
     .tiles = tile_copy},
    {.name = "replicated_reduce_scatter",
     .path = "ops.collectives.replicated_reduce_scatter",
     .schedule = "ReplicatedReduceScatter",
     .output = "{0}_reduce_scattered",
     .doc = "Reduces t over the members of a group and gives each one part of the result: its elements in row-major "
            "order, "
            "padded with zeros.",
     .example = "replicated_reduce_scatter(array([1.0, 2.0]))",
     .params = scatter_params,
     .infer =
         [](const OpContext& s) {
           reduction_of(s);
           return std::vector<TensorSpec>{part_of(s, s.boolean("configure_output_for_replicated_tensor_sharding"))};
         },
     .definition = reference::replicated_reduce_scatter,
     .kernel = reduction_kernel<reduced_to_shards>,
     .gradient = reduce_scatter_gradient,
     .side_effect = true,
     .exchange = Exchange::members,
     .tiles = tile_copy},
    sharded_slice_row,
    flat_slice_row(),
    {.name = "replicated_slice",
     .path = "ops.collectives.replicated_slice",
     .doc = "This replica's part of t along an axis, which the members of its group divide equally; an axis that "
            "becomes 1 "
            "is dropped. No communication.",
     .example = "replicated_slice(array([1.0, 2.0]))",
     .params = slice_params,
     .expand = expand_replicated_slice,
     .role = Role::composite},
    {.name = "replicated_broadcast",
     .path = "ops.collectives.replicated_broadcast",
     .schedule = "ReplicatedBroadcast",
     .output = "{0}_broadcast",
     .doc = "The tensor of one member of a group, to all of them.",
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

std::span<const OpRow> collective_rows() { return collective_table; }

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
