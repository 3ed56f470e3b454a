// Ops that know of IPUs: copies between IPUs and tile sets, and collectives between the IPUs of a replica; and
// printing.
#include <fmt/format.h>

#include <cstring>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/movement/shape.hpp"
#include "runtime/kernels/outside/collective.hpp"
#include "runtime/kernels/outside/print.hpp"
#include "runtime/op/op_ipus.hpp"
#include "runtime/ops/collective/collective_row.hpp"
#include "runtime/ops/print_format.hpp"
#include "runtime/ops/row.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {

namespace {

constexpr Param copy_params[] = {{"t", ParamKind::tensor},
                                 {destination_name, ParamKind::integer, no_default, "number of the IPU"},
                                 {"source", ParamKind::integers, none_default, "none: the IPU of t's producer"}};
constexpr Param place_params[] = {{"t", ParamKind::tensor}, {destination_name, ParamKind::integer}};
constexpr Param self_param{"print_self", ParamKind::boolean, of(true), "whether the tensor is printed"};
constexpr Param gradient_param{"print_gradient", ParamKind::boolean, of(false), "whether its gradient is printed"};
constexpr Param threshold_param{"summarise_threshold", ParamKind::integer, of(1000),
                                "maximum number of elements before only the edges are shown"};
constexpr Param edge_param{"edge_items", ParamKind::integer, of(3)};
constexpr Param width_param{"max_line_width", ParamKind::integer, of(75)};
constexpr Param digits_param{"digits", ParamKind::integer, of(8)};
constexpr Param float_param{"float_format", ParamKind::string, of("auto"), "auto, fixed, scientific or none"};
constexpr Param separator_param{"separator", ParamKind::string, of(" ")};
constexpr Param open_param{"open_bracket", ParamKind::string, of("[")};
constexpr Param close_param{"close_bracket", ParamKind::string, of("]")};
constexpr Param print_params[] = {{"t", ParamKind::tensor},
                                  {"title", ParamKind::string, none_default, "none: print_ and t's name"},
                                  self_param,
                                  gradient_param,
                                  threshold_param,
                                  edge_param,
                                  width_param,
                                  digits_param,
                                  float_param,
                                  separator_param,
                                  open_param,
                                  close_param};

void check_ipu(std::string_view op, int64_t ipu) {
  if (ipu < 0 || ipu >= 4096) throw Error(fmt::format("{}: an IPU's number is from 0 to 4095, got {}", op, ipu));
}

/// Returns the result of `emit`, with its ops on an IPU.
template <class Emit>
auto on_ipu(OpBuilder& at, int64_t ipu, Emit emit) {
  auto* graph = dynamic_cast<GraphOpBuilder*>(&at);
  if (!graph) return emit();
  struct Placed {
    std::optional<int>& ipu;
    std::optional<int> before = ipu;
    ~Placed() { ipu = before; }
  } placed{graph->graph().ir().ipu};
  placed.ipu = static_cast<int>(ipu);
  return emit();
}

void check_place_known(std::string_view op, const Expr& t, std::string_view param) {
  if (t.is_tensor() && !t.tensor()->ipu())
    throw Error(fmt::format("{}: could not infer the ipu of `{}`. Please specify `{}`", op, t.label(), param),
                {"only the results of ops have one"});
}

std::vector<Expr> expand_ipu_copy(OpBuilder& at, const Expr& t, int64_t destination, bool source_given) {
  check_ipu("ipu_copy", destination);
  if (!source_given) check_place_known("ipu_copy", t, "source");
  // The result has the placement of its producer.
  return on_ipu(at, destination, [&] { return at.emit("ipu_copy_to", {t}, {{destination_name, destination}}); });
}

// ---- collectives between the IPUs of one replica

constexpr Param between_params[] = {
    {"ts", ParamKind::tensors, no_default, "a tensor on each IPU, all of one spec"},
    {ipus_name, ParamKind::integers, none_default, "the IPU of each tensor; none: those on which they were made"}};
constexpr Param between_reduction_params[] = {between_params[0], between_params[1], reduction_param};
/// Parameters of the ops that know their IPUs.
constexpr Param placed_params[] = {between_params[0], {ipus_name, ParamKind::integers}};
constexpr Param placed_reduction_params[] = {placed_params[0], placed_params[1], reduction_param};

const std::vector<int64_t>& ipus_of(GradContext& c) { return *op_ipus(*c.op().row, c.op().attrs); }

/// A composite of `name` as the op `name` + "_between" with the IPU of each tensor.
std::vector<Expr> expand_between(OpBuilder& at, std::string_view name, const OpArgs& args) {
  const auto& ts = std::get<std::vector<Expr>>(args.values[0]);
  std::vector<int64_t> ipus;
  if (args.is_none(1)) {
    for (const Expr& t : ts) {
      check_place_known(name, t, ipus_name);
      ipus.push_back(t.is_tensor() ? *t.tensor()->ipu() : std::ssize(ipus));
    }
  } else if (const auto* list = std::get_if<std::vector<int64_t>>(args.attr(1))) {
    ipus = *list;
  } else {
    ipus = {std::get<int64_t>(*args.attr(1))};
  }
  if (ipus.size() != ts.size())
    throw Error(fmt::format("{}: {} tensor{} and {} IPU{}: each tensor needs one", name, ts.size(),
                            ts.size() == 1 ? "" : "s", ipus.size(), ipus.size() == 1 ? "" : "s"));
  for (const int64_t ipu : ipus) check_ipu(name, ipu);
  OpArgs inner = args;
  inner.values[1] = Attr(ipus);
  return at.emit(get_op(fmt::format("{}_between", name)), std::move(inner));
}

std::vector<TensorSpec> infer_between(const OpContext& s) {
  if (s.integers(ipus_name).size() != s.in.size()) refuse(s, "each tensor needs an IPU");
  std::vector<TensorSpec> out;
  for (const TensorSpec* t : s.in) {
    if (*t != s.input(0))
      refuse(s, fmt::format("the tensors differ: {} and {}", text(s.input(0)), text(*t)), codes::shape);
    out.push_back(*t);
  }
  return out;
}
std::vector<TensorSpec> infer_reduction_between(const OpContext& s) {
  replica_reduction_of(s);
  return infer_between(s);
}
std::vector<TensorSpec> infer_sum_between(const OpContext& s) {
  check_numbers(s, 0);
  return infer_between(s);
}

Kernel reduction_between(const OpContext& s, ReplicaReduction reduction) {
  return replica_reduction_kernel(s.input(0).dtype, reduction, s.input(0).size(), std::ssize(s.in), {});
}
Kernel copies(const OpContext& s) {
  return [bytes = static_cast<size_t>(s.input(0).bytes()), n = s.in.size()](const Buffers& b) {
    for (size_t i = 0; i < n; ++i)
      if (b.out[i] != b.in[i]) std::memcpy(b.out[i], b.in[i], bytes);
  };
}

/// Each operand's gradient is the reduction of all.
void reduced_gradients(GradContext& c, const std::string& reduction) {
  const std::vector<int64_t>& ipus = ipus_of(c);
  std::vector<Expr> dys;
  for (size_t i = 0; i < ipus.size(); ++i) {
    Expr dy = c.dy(i);
    if (!dy) dy = on_ipu(c.builder(), ipus[i], [&] { return zeros_of(c.builder(), c.out_spec(i)); });
    dys.push_back(std::move(dy));
  }
  const std::vector<Expr> sums = c.builder().emit("all_reduce_between", {dys}, {{ipus_name, ipus}, {"op", reduction}});
  for (size_t i = 0; i < sums.size(); ++i)
    if (c.wants(i)) c.set(i, sums[i]);
}

constexpr OpRow all_reduce_between = {
    .name = "all_reduce_between",
    .schedule = "AllReduce",
    .output = "{0}_all_reduce",
    .doc = "The reduction of tensors on several IPUs, on each of them.",
    .params = placed_reduction_params,
    .infer = infer_reduction_between,
    .definition = reference::replicated_all_reduce,
    .kernel = [](const OpContext& s) { return reduction_between(s, replica_reduction(s.string("op"))); },
    .gradient =
        [](GradContext& c) {
          check_linear(c.site());
          reduced_gradients(c, c.site().string("op"));
        },
    .shards = true,
    .tiles = tile_copy};

constexpr OpRow identical_inputs_between = {
    .name = "all_reduce_identical_inputs_between",
    .schedule = "Identity",
    .output = "identity_{0}",
    .doc = "Equal tensors on several IPUs as they are; their gradients are reduced.",
    .params = placed_params,
    .infer = infer_between,
    .definition = reference::identities,
    .kernel = copies,
    .gradient = [](GradContext& c) { reduced_gradients(c, "add"); },
    .shards = true,
    .tiles = tile_copy};

constexpr OpRow identical_grad_inputs_between = {
    .name = "all_reduce_identical_grad_inputs_between",
    .schedule = "AllReduce",
    .output = "{0}_all_reduce",
    .doc = "The sum of tensors on several IPUs, on each of them, whose gradients are equal.",
    .params = placed_params,
    .infer = infer_sum_between,
    .definition = reference::replicated_sum,
    .kernel = [](const OpContext& s) { return reduction_between(s, ReplicaReduction::add); },
    .gradient =
        [](GradContext& c) {
          for (size_t i = 0; i < ipus_of(c).size(); ++i)
            if (c.wants(i) && c.dy(i)) c.set(i, c.dy(i));
        },
    .shards = true,
    .tiles = tile_copy};

constexpr Kernel (*placed_copy)(const OpContext&) = [](const OpContext& s) { return copy_kernel(s.input(0)); };

constexpr OpRow placement_table[] = {
    {.name = "ipu_copy",
     .path = "ops.ipu_copy",
     .doc = "A copy on another IPU.",
     .example = "ipu_copy(array([1.0, 2.0]), 1, 0)",
     .params = copy_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           return expand_ipu_copy(at, args.expr(0), std::get<int64_t>(*args.attr(1)), !args.is_none(2));
         },
     .role = Role::composite},
    {.name = "copy_to_ipu",
     .path = "ops.copy_to_ipu",
     .doc = "A copy on another IPU; alias of ipu_copy.",
     .example = "copy_to_ipu(array([1.0, 2.0]), 1, 0)",
     .params = copy_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           return expand_ipu_copy(at, args.expr(0), std::get<int64_t>(*args.attr(1)), !args.is_none(2));
         },
     .role = Role::composite,
     .method = true},
    {.name = "ipu_copy_to",
     .schedule = "IpuCopy",
     .output = "{0}_c{ipu}",
     .doc = "A copy on the IPU of the op.",
     .params = place_params,
     .infer = infer_same,
     .definition = reference::identity,
     .kernel = placed_copy,
     .gradient =
         [](GradContext& c) {
           if (!c.wants(0)) return;
           const int64_t source = c.op().inputs[0]->ipu().value_or(0);
           c.set(0, expand_ipu_copy(c.builder(), c.dy(), source, true)[0]);
         },
     .pattern = Pattern::elementwise,
     .order = orders::whole,
     .inplace_ok = true,
     .tiles = tile_copy},
    all_reduce_between,
    identical_inputs_between,
    identical_grad_inputs_between,
    {.name = "all_reduce",
     .path = "ops.collectives.all_reduce",
     .doc = "Reduces tensors, one on each of a replica's IPUs; each IPU gets the result. Sums have the order of "
            "collectives over replicas, by the position in the list.",
     .formula = "y[i] = op of all ts",
     .example = "all_reduce([array([1.0, 2.0]), array([3.0, 5.0])], [0, 1])",
     .params = between_reduction_params,
     .expand = [](OpBuilder& at, const OpArgs& args) { return expand_between(at, "all_reduce", args); },
     .role = Role::composite},
    {.name = "all_reduce_identical_inputs",
     .path = "ops.collectives.all_reduce_identical_inputs",
     .doc =
         "Tensors that several IPUs of a replica hold equal, as they are; their gradients are reduced. Begins what the "
         "IPUs compute in parts.",
     .example = "all_reduce_identical_inputs([array([1.0, 2.0]), array([1.0, 2.0])], [0, 1])",
     .params = between_params,
     .expand = [](OpBuilder& at,
                  const OpArgs& args) { return expand_between(at, "all_reduce_identical_inputs", args); },
     .role = Role::composite},
    {.name = "all_reduce_identical_grad_inputs",
     .path = "ops.collectives.all_reduce_identical_grad_inputs",
     .doc = "The sum of tensors, one on each of a replica's IPUs, which get equal gradients for it. The gradient of "
            "each tensor is its own result's gradient. Ends a computation that the IPUs do in parts.",
     .example = "all_reduce_identical_grad_inputs([array([1.0, 2.0]), array([3.0, 5.0])], [0, 1])",
     .params = between_params,
     .expand = [](OpBuilder& at,
                  const OpArgs& args) { return expand_between(at, "all_reduce_identical_grad_inputs", args); },
     .role = Role::composite},
    {.name = "io_tile_copy",
     .path = "ops.io_tile_copy",
     .schedule = "IoTileCopy",
     .output = "{0}_iotilecopy",
     .doc = "A copy on the other set of tiles: compute tiles or I/O tiles.",
     .example = "io_tile_copy(array([1.0, 2.0]))",
     .params = unary_params,
     .infer = infer_same,
     .definition = reference::identity,
     .kernel = placed_copy,
     .gradient =
         [](GradContext& c) {
           if (c.wants(0)) c.set(0, c.builder().one("io_tile_copy", {c.dy()}));
         },
     .pattern = Pattern::elementwise,
     .order = orders::whole,
     .inplace_ok = true,
     .tiles = tile_copy},
    {.name = "print_tensor",
     .path = "ops.print_tensor",
     .doc = "Prints the tensor to standard error whenever it is computed, and returns it.",
     .example = "print_tensor(array([1.0, 2.0]), \"title\", print_self = false)",
     .params = print_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           OpArgs inner = args;
           if (args.is_none(1)) inner.values[1] = Attr("print_" + args.expr(0).label());
           return at.emit(get_op("print"), std::move(inner));
         },
     .role = Role::composite},
    {.name = "print",
     .schedule = "PrintTensor",
     .output = "print_out",
     .doc = "The op of print_tensor, with a title.",
     .params = print_params,
     .infer =
         [](const OpContext& s) {
           print_format(s);
           return infer_same(s);
         },
     .definition = reference::print,
     .tolerance = &tolerance::bits,
     .kernel = [](const OpContext& s) { return print_kernel(s.input(0), print_format(s), s.boolean("print_self")); },
     .gradient =
         [](GradContext& c) {
           if (!c.wants(0)) return;
           const OpContext s = c.site();
           if (!s.boolean("print_gradient")) return c.set(0, c.dy());
           OpArgs args;
           args.values.emplace_back(c.dy());
           for (size_t i = 1; i < s.row.params.size(); ++i) args.values.emplace_back(s.attrs[i]);
           args.values[param_index(s.row, "title")] = Attr(s.string("title") + "_gradient");
           args.values[param_index(s.row, "print_self")] = Attr(true);
           c.set(0, c.builder().emit(s.row, std::move(args))[0]);
         },
     .side_effect = true,
     .exchange = Exchange::replica,
     .shards = true,
     .tiles = tile_host},
};
static_assert(all_complete(placement_table));

}  // namespace

std::span<const OpRow> placement_rows() { return placement_table; }

}  // namespace pxl
