// Pooling: maxima and averages over sliding windows, and over whole planes.
#include "runtime/kernels/image/pooling.hpp"

#include <fmt/format.h>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/ops/row.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/ops/windows/window_params.hpp"

namespace pxl {

namespace {

using Ints = std::vector<int64_t>;

constexpr Param t_param{"t", ParamKind::tensor, no_default, "[N, C, spatial...], one to three axes"};
constexpr Param kernel_param{"kernel_size", ParamKind::shape, no_default, "one an axis, or one for all"};
constexpr Param pool_strides{"stride", ParamKind::shape, none_default, "none: 1, not the kernel size"};
constexpr Param pool_paddings{"padding", ParamKind::shape, none_default,
                              "before each spatial axis, then after each; one value applies to all"};
constexpr Param out_pads_param{"out_pads", ParamKind::shape, none_default, "zeros around the result, as padding"};
constexpr Param pool_dilations{"dilation", ParamKind::shape, none_default,
                               "distance of the kernel's elements; none: 1"};
constexpr Param in_dilations_param{"in_dilations", ParamKind::shape, none_default,
                                   "distance of t's elements, padded in between; none: 1"};
constexpr Param auto_pad_param{"auto_pad", ParamKind::string, of("not_set"),
                               "not_set, same_upper, same_lower or valid"};
constexpr Param ceil_param{"ceil_mode", ParamKind::boolean, of(false), "keeps a partial last window"};

constexpr Param count_param{"count_include_pad", ParamKind::boolean, of(false),
                            "whether averages include the padding, as zeros"};

constexpr Param average_params[] = {t_param,        kernel_param,       pool_strides,   pool_paddings, out_pads_param,
                                    pool_dilations, in_dilations_param, auto_pad_param, ceil_param,    count_param};
constexpr Param max_params[] = {t_param,
                                kernel_param,
                                pool_strides,
                                pool_paddings,
                                out_pads_param,
                                pool_dilations,
                                in_dilations_param,
                                auto_pad_param,
                                ceil_param,
                                {"storage_order", ParamKind::string, of("row"), "of indices, which are not returned"}};
constexpr Param g_param{"g", ParamKind::tensor};
constexpr Param x_param{"x", ParamKind::tensor};
constexpr Param shape_param{"shape", ParamKind::shape};
constexpr Param max_grad_params[] = {g_param,        x_param,        kernel_param,       pool_strides,   pool_paddings,
                                     out_pads_param, pool_dilations, in_dilations_param, auto_pad_param, ceil_param};
constexpr Param average_grad_params[] = {g_param,        shape_param,    kernel_param,   pool_strides,
                                         pool_paddings,  out_pads_param, pool_dilations, in_dilations_param,
                                         auto_pad_param, ceil_param,     count_param};

TensorSpec pooled_spec(const OpContext& s, const Shape& data, DType dtype) {
  const Pool p = resolve_pool(s, data);
  TensorSpec out{{data[0], data[1]}, dtype, {}};
  for (size_t i = 5 - data.size(); i < 3; ++i) out.shape.push_back(p.out_extent(i));
  prefixed(s, [&] { return element_count(out.shape); });
  return out;
}

void check_storage_order(const OpContext& s) {
  const std::string& order = s.string("storage_order");
  if (order != "row" && order != "column") refuse(s, fmt::format("storage_order must be row or column, not {}", order));
}

void check_data(const OpContext& s, size_t slot) {
  check_floating(s, slot);
  spatial_shape(s, slot);
}

std::vector<TensorSpec> infer_pool(const OpContext& s) {
  check_data(s, 0);
  return {pooled_spec(s, s.input(0).shape, s.input(0).dtype)};
}

std::vector<TensorSpec> infer_max_grad(const OpContext& s) {
  check_data(s, 1);
  check_one_dtype(s);
  check_shape(s, 0, pooled_spec(s, s.input(1).shape, s.input(1).dtype).shape);
  return {s.input(1)};
}

std::vector<TensorSpec> infer_pick(const OpContext& s) {
  check_data(s, 1);
  check_one_dtype(s);
  check_shape(s, 0, s.input(1).shape);
  return {pooled_spec(s, s.input(1).shape, s.input(1).dtype)};
}

std::vector<TensorSpec> infer_average_grad(const OpContext& s) {
  check_data(s, 0);
  const Shape shape = s.integers("shape");
  if (shape.size() != s.input(0).shape.size()) refuse(s, "the shape has another rank than the gradient", codes::shape);
  check_shape(s, 0, pooled_spec(s, shape, s.input(0).dtype).shape);
  return {{shape, s.input(0).dtype, {}}};
}

// Builds a row by name on these operands, with the windows of another op and optionally a shape.
Expr same_windows(GradContext& c, std::string_view op, std::initializer_list<Expr> operands, const Shape* shape) {
  const OpRow& row = get_op(op);
  OpArgs args;
  auto operand = operands.begin();
  for (const Param& p : row.params) {
    if (is_operand(p.kind))
      args.values.emplace_back(*operand++);
    else if (p.name == shape_param.name)
      args.values.emplace_back(Attr(*shape));
    else
      args.values.emplace_back(c.site().attr(p.name));
  }
  return c.builder().emit(row, std::move(args))[0];
}

int64_t pool_flops(const OpContext& s) { return s.out[0].size() * element_count(s.integers("kernel_size")); }

std::vector<Expr> global_pool(OpBuilder& at, const OpArgs& args, std::string_view op, std::string_view reduction) {
  const Expr& t = args.expr(0);
  if (t.rank() < 3)
    throw Error(fmt::format("{}: {} must have a batch, a channel and spatial axes", op, t.label()),
                {fmt::format("{}: {}", t.label(), text(t.spec()))})
        .as(codes::shape);
  Ints axes;
  for (int64_t i = 2; i < t.rank(); ++i) axes.push_back(i);
  return at.emit(reduction, {t}, {{"axis", axes}, {"keepdims", true}});
}

constexpr OpRow pooling_table[] = {
    {.name = "max_pool",
     .path = "ops.max_pool",
     .schedule = "MaxPool",
     .output = "max_pool_out",
     .doc = "The maximum in each window of the spatial axes, without padding. The default stride is 1. The gradient "
            "goes to the first maximum.",
     .example = "max_pool(array([[[1.0, 3.0, 2.0, 4.0]]]), 2, stride = 2)",
     .params = max_params,
     .infer =
         [](const OpContext& s) {
           check_storage_order(s);
           return infer_pool(s);
         },
     .definition = reference::max_pool,
     .tolerance = &tolerance::bits,
     .kernel = [](const OpContext& s) { return max_pool_kernel(s.input(0).dtype, resolve_pool(s, s.input(0).shape)); },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0)) c.set(0, same_windows(c, "max_pool_grad", {c.dy(), c.in(0)}, nullptr));
         },
     .flops = pool_flops,
     .precision = Precision::follows,
     .onnx = "MaxPool",
     .tiles = tile_pooling},
    {.name = "max_pool_grad",
     .schedule = "MaxPoolGrad",
     .output = "gradient",
     .doc = "g added at the positions of the first maxima of x's windows.",
     .params = max_grad_params,
     .infer = infer_max_grad,
     .definition = reference::max_pool_grad,
     .kernel =
         [](const OpContext& s) { return max_pool_grad_kernel(s.input(0).dtype, resolve_pool(s, s.input(1).shape)); },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0)) c.set(0, same_windows(c, "max_pool_pick", {c.dy(), c.in(1)}, nullptr));
           set_zero(c, 1);
         },
     .flops = pool_flops,
     .tiles = tile_pooling},
    {.name = "max_pool_pick",
     .schedule = "MaxPoolGradGrad",
     .output = "gradient",
     .doc = "The elements of g at the positions of the first maxima of x's windows.",
     .params = max_grad_params,
     .infer = infer_pick,
     .definition = reference::max_pool_pick,
     .tolerance = &tolerance::bits,
     .kernel =
         [](const OpContext& s) { return max_pool_pick_kernel(s.input(0).dtype, resolve_pool(s, s.input(1).shape)); },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0)) c.set(0, same_windows(c, "max_pool_grad", {c.dy(), c.in(1)}, nullptr));
           set_zero(c, 1);
         },
     .flops = pool_flops,
     .tiles = tile_pooling},
    {.name = "average_pool",
     .path = "ops.average_pool",
     .schedule = "AveragePool",
     .output = "average_pool_out",
     .doc = "The mean in each window of the spatial axes, without padding unless count_include_pad is set. The default "
            "stride is 1.",
     .example = "average_pool(array([[[1.0, 3.0, 2.0, 4.0]]]), 2, stride = 2)",
     .params = average_params,
     .infer = infer_pool,
     .definition = reference::average_pool,
     .kernel =
         [](const OpContext& s) { return average_pool_kernel(s.input(0).dtype, resolve_pool(s, s.input(0).shape)); },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0)) c.set(0, same_windows(c, "average_pool_grad", {c.dy()}, &c.in_spec(0).shape));
         },
     .flops = pool_flops,
     .precision = Precision::follows,
     .onnx = "AveragePool",
     .tiles = tile_pooling},
    {.name = "average_pool_grad",
     .schedule = "AveragePoolGrad",
     .output = "gradient",
     .doc = "g distributed equally over the elements of each window.",
     .params = average_grad_params,
     .infer = infer_average_grad,
     .definition = reference::average_pool_grad,
     .kernel =
         [](const OpContext& s) {
           return average_pool_grad_kernel(s.input(0).dtype, resolve_pool(s, s.integers("shape")));
         },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0)) c.set(0, same_windows(c, "average_pool", {c.dy()}, nullptr));
         },
     .flops = pool_flops,
     .tiles = tile_pooling},
    {.name = "global_max_pool",
     .path = "ops.global_max_pool",
     .doc = "The maximum over all spatial axes, which are kept with extent 1.",
     .example = "global_max_pool(array([[[1.0, 3.0, 2.0]]]))",
     .params = unary_params,
     .expand = [](OpBuilder& at, const OpArgs& args) { return global_pool(at, args, "global_max_pool", "max"); },
     .role = Role::composite,
     .onnx = "GlobalMaxPool"},
    {.name = "global_average_pool",
     .path = "ops.global_average_pool",
     .doc = "The mean over all spatial axes, which are kept with extent 1.",
     .example = "global_average_pool(array([[[1.0, 3.0, 2.0]]]))",
     .params = unary_params,
     .expand = [](OpBuilder& at, const OpArgs& args) { return global_pool(at, args, "global_average_pool", "mean"); },
     .role = Role::composite,
     .onnx = "GlobalAveragePool"},
};
static_assert(all_complete(pooling_table));

}  // namespace

std::span<const OpRow> pooling_rows() { return pooling_table; }

}  // namespace pxl
