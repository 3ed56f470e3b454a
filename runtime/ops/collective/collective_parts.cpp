// Collectives between a whole tensor and its parts: gathering, scattering, slices.
#include <fmt/format.h>

#include <numeric>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/movement/shape.hpp"
#include "runtime/op/replica_groups.hpp"
#include "runtime/op/shards.hpp"
#include "runtime/ops/collective/collective_row.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param grad_op_param{
    "grad_op", ParamKind::string, of("local"),
    "of the gradient: local, the slice of this replica's own, or add or mean over the members"};
constexpr Param replicated_gather_params[] = {
    {"t", ParamKind::tensor},
    {"axis", ParamKind::integer, of(0)},
    group_param,
    {"output_shape", ParamKind::string, of("auto"), "concat, new_axis, meta_shape; auto: meta_shape of a shard"},
    grad_op_param};
constexpr Param flat_gather_params[] = {{"t", ParamKind::tensor},
                                        group_param,
                                        {"whole", ParamKind::boolean, of(false), "whether the result is unsharded"},
                                        grad_op_param};
constexpr Param reduce_scatter_params[] = {{"t", ParamKind::tensor},
                                           reduction_param,
                                           group_param,
                                           {"configure_output_for_replicated_tensor_sharding", ParamKind::boolean,
                                            of(false), "whether the result is a shard of t, with its meta_shape"}};
constexpr Param sharded_slice_params[] = {{"t", ParamKind::tensor}, {"axis", ParamKind::integer, of(0)}, group_param};

/// All elements of the members' parts, without their padding, in the shape of the whole.
Expr gathered(GradContext& c, const Expr& shard, const TensorSpec& whole) {
  if (shard.spec().is_shard())
    return c.builder().one("all_gather_flat", {shard}, {{"group", groups_attr(c)}, {"whole", true}});
  const Expr all = c.builder().one("all_gather_flat", {shard}, {{"group", groups_attr(c)}});
  return reshape(narrow(all, 0, 0, whole.size()), whole.shape);
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

constexpr OpRow part_table[] = {
    {.name = "replicated_all_gather",
     .path = "ops.collectives.replicated_all_gather",
     .doc =
         "The tensors of the members of a group, joined along an axis, or along a new one, in ascending order of "
         "replicas; of shards the whole tensor. The gradient takes what follows to be the same on all members, unless "
         "grad_op is add or mean.",
     .example = "replicated_all_gather(array([1.0, 2.0]))",
     .params = replicated_gather_params,
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
     .params = reduce_scatter_params,
     .infer =
         [](const OpContext& s) {
           replica_reduction_of(s);
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
     .params = sharded_slice_params,
     .expand = expand_replicated_slice,
     .role = Role::composite},
};
static_assert(all_complete(part_table));

}  // namespace

std::span<const OpRow> collective_part_rows() { return part_table; }

}  // namespace pxl
