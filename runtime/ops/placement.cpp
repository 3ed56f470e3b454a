// Ops that preserve values: copies to other IPUs and tile sets, and printing.
#include <fmt/format.h>

#include "runtime/base/diagnostic.hpp"
#include "runtime/kernels/print.hpp"
#include "runtime/kernels/shape.hpp"
#include "runtime/ops/print_format.hpp"
#include "runtime/ops/row.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {

namespace {

constexpr Param copy_params[] = {{"t", ParamKind::tensor},
                                 {"destination", ParamKind::integer, no_default, "number of the IPU"},
                                 {"source", ParamKind::integers, none_default, "none: the IPU of t's producer"}};
constexpr Param place_params[] = {{"t", ParamKind::tensor}, {"destination", ParamKind::integer}};
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

std::vector<Expr> expand_ipu_copy(OpBuilder& at, const Expr& t, int64_t destination, bool source_given) {
  if (destination < 0 || destination >= 4096)
    throw Error(fmt::format("ipu_copy: an IPU's number is from 0 to 4095, got {}", destination));
  auto* graph = dynamic_cast<GraphOpBuilder*>(&at);
  if (graph && !source_given && !t.tensor()->ipu())
    throw Error(fmt::format("ipu_copy: could not infer the ipu of `{}`. Please specify `source`", t.label()),
                {"only the results of ops have one"});
  if (!graph) return at.emit("ipu_copy_to", {t}, {{"destination", destination}});
  // The result has the placement of its producer.
  struct Placed {
    std::optional<int>& ipu;
    std::optional<int> before = ipu;
    ~Placed() { ipu = before; }
  } placed{graph->graph().ir().ipu};
  placed.ipu = static_cast<int>(destination);
  return at.emit("ipu_copy_to", {t}, {{"destination", destination}});
}

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
     .inplace_ok = true,
     .tiles = tile_copy},
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
