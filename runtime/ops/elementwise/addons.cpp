// Ops of popxl.addons, most of them composite, and quantised weights.
#include <fmt/format.h>

#include <cmath>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/elementwise/quantise.hpp"
#include "runtime/kernels/gemm/quantised_product.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param rotary_params[] = {{"x", ParamKind::tensor, no_default, "[batch, sequence, heads, features]"},
                                   {"sin", ParamKind::tensor, no_default, "[sequence, rotary_dim / 2]"},
                                   {"cos", ParamKind::tensor, no_default, "[sequence, rotary_dim / 2]"},
                                   {"rotary_dim", ParamKind::integer, no_default, "number of rotated features; even"}};
constexpr Param table_params[] = {{"seq_len", ParamKind::integer},
                                  {"rotary_dim", ParamKind::integer, no_default, "even"},
                                  {"dtype", ParamKind::dtype, of(DType::float32)},
                                  {"base", ParamKind::number, of(10000.0)}};
constexpr Param square_add_params[] = {{"t", ParamKind::tensor},
                                       {"loss_scaling", ParamKind::number_or_tensor, of(1.0)}};
constexpr Param quantised_params[] = {
    {"t", ParamKind::index, no_default, "unsigned, packed: four bits per value, lowest bits first"},
    {"scale", ParamKind::tensor, no_default, "one per group: t's shape, with the number of groups along the axis"},
    {"bias", ParamKind::tensor, no_default, "the same shape"},
    {"axis", ParamKind::integer, of(-1), "along which values are packed and grouped"}};
constexpr Param dequantise_params[] = {
    {"t", ParamKind::own_tensor, no_default,
     "int8 [k, n]; or with 4 bits uint8 [k / 2, n], whose row i has rows 2 i (low bits) and 2 i + 1, each plus 8"},
    {"scale", ParamKind::own_tensor, no_default, "float16, bfloat16 or float32 [ceil(k / group_size), n]"},
    {"bits", ParamKind::integer, of(8), "8 or 4"},
    {"group_size", ParamKind::integer, of(64), "rows of a column that share a scale; even with 4 bits"}};
constexpr Param quantised_matmul_params[] = {
    {"x", ParamKind::own_tensor, no_default, "int8 [.., k]"},
    {"t", ParamKind::own_tensor, no_default, "weights [k, n] of 8 or 4 bits, as dequantise has them"},
    {"x_scale", ParamKind::own_tensor, no_default, "float32 [.., ceil(k / group_size)]"},
    {"scale", ParamKind::own_tensor, no_default, "float32 [ceil(k / group_size), n]"},
    {"bits", ParamKind::integer, of(8), "of a weight: 8 or 4"},
    {"group_size", ParamKind::integer, of(64),
     "elements of a row of x, and of a column, that share a scale; even with 4 bits"}};
constexpr Param layout_params[] = {{"t", ParamKind::tensor}, {"bs", ParamKind::integer, of(1), "not used"}};

void check_rotary_dim(std::string_view op, int64_t dim, int64_t most) {
  if (dim <= 0 || dim % 2 != 0 || dim > most)
    throw Error(fmt::format("{}: rotary_dim must be even and in 2..{}, not {}", op, most, dim));
}

std::vector<Expr> expand_rotary(OpBuilder& at, const OpArgs& args) {
  const Expr &x = args.expr(0), &sin = args.expr(1), &cos = args.expr(2);
  const int64_t dim = std::get<int64_t>(*args.attr(3));
  if (x.rank() != 4)
    throw Error(fmt::format("rotary_pos_embed: {} must have shape [batch, sequence, heads, features], not {}",
                            x.label(), bracket_text(x.shape())))
        .as(codes::shape);
  const int64_t length = x.shape()[1], features = x.shape()[3], pairs = dim / 2;
  check_rotary_dim("rotary_pos_embed", dim, features);
  for (const Expr* table : {&sin, &cos})
    if (table->shape() != Shape{length, pairs})
      throw Error(fmt::format("rotary_pos_embed: {} must have shape {}, not {}", table->label(),
                              bracket_text(Shape{length, pairs}), bracket_text(table->shape())))
          .as(codes::shape);
  // Pairs of neighbouring features get an axis of their own.
  const Expr turned = reshape(narrow(x, 3, 0, dim), {x.shape()[0], length, x.shape()[2], pairs, 2});
  const Expr even = narrow(turned, 4, 0, 1), odd = narrow(turned, 4, 1, 1);
  const Expr s = reshape(sin, {1, length, 1, pairs, 1}), c = reshape(cos, {1, length, 1, pairs, 1});
  const Expr both =
      at.one("concat", {std::vector<Expr>{even * c - odd * s, odd * c + even * s}}, {{"axis", int64_t{4}}});
  const Expr result = reshape(both, {x.shape()[0], length, x.shape()[2], dim});
  if (dim == features) return {result};
  return at.emit("concat", {std::vector<Expr>{result, narrow(x, 3, dim, features - dim)}}, {{"axis", int64_t{3}}});
}

std::vector<Expr> expand_tables(OpBuilder& at, const OpArgs& args) {
  const int64_t length = std::get<int64_t>(*args.attr(0)), dim = std::get<int64_t>(*args.attr(1));
  const double base = std::get<double>(*args.attr(3));
  check_rotary_dim("trig_tables", dim, 1 << 20);
  if (length < 0 || length > 1 << 24)
    throw Error(fmt::format("trig_tables: seq_len must be in 0..{}, not {}", 1 << 24, length));
  const Shape shape{length, dim / 2};
  element_count(shape);
  Array sin(DType::float64, shape), cos(DType::float64, shape);
  double *to_sin = sin.mutable_data<double>(), *to_cos = cos.mutable_data<double>();
  for (int64_t i = 0; i < length; ++i)
    for (int64_t j = 0; j < dim / 2; ++j) {
      const double angle =
          static_cast<double>(i) * std::pow(base, -2.0 * static_cast<double>(j) / static_cast<double>(dim));
      *to_sin++ = std::sin(angle);
      *to_cos++ = std::cos(angle);
    }
  const DType dtype = std::get<DType>(*args.attr(2));
  return {at.constant(sin.cast(dtype), "sin"), at.constant(cos.cast(dtype), "cos")};
}

std::vector<Expr> expand_decompress(OpBuilder& at, const OpArgs& args) {
  const Expr &t = args.expr(0), &scale = args.expr(1), &bias = args.expr(2);
  const auto refuse = [&](const std::string& why) {
    throw Error("group_quantize_decompress: " + why, {fmt::format("{}: {}", t.label(), text(t.spec())),
                                                      fmt::format("{}: {}", scale.label(), text(scale.spec()))});
  };
  if (t.dtype() != DType::uint8 && t.dtype() != DType::uint16 && t.dtype() != DType::uint32)
    refuse(fmt::format("{} must be uint8, uint16 or uint32, not {}", t.label(), name(t.dtype())));
  if (!is_floating(scale.dtype()) || scale.dtype() != bias.dtype())
    refuse("scale and bias must be floating and of one dtype");
  if (t.rank() == 0) refuse(fmt::format("{} is a scalar: there is no axis of groups", t.label()));
  const int64_t axis = normalise_axis(std::get<int64_t>(*args.attr(3)), t.rank());
  const auto at_axis = static_cast<size_t>(axis);
  const int64_t packed = 2 * static_cast<int64_t>(size_of(t.dtype()));
  Shape whole = t.shape(), groups = t.shape();
  if (__builtin_mul_overflow(whole[at_axis], packed, &whole[at_axis])) refuse("the result is larger than memory");
  groups[at_axis] = scale.rank() == t.rank() ? scale.shape()[at_axis] : 0;
  if (scale.shape() != groups || bias.shape() != groups)
    refuse(fmt::format("scale and bias must have the shape of {} but for the number of groups along axis {}", t.label(),
                       axis));
  if (groups[at_axis] == 0 || whole[at_axis] % groups[at_axis] != 0)
    refuse(fmt::format("{} groups do not divide the {} values along axis {}", groups[at_axis], whole[at_axis], axis));
  const auto number = [&](int64_t value) { return at.constant(Array::full_int(t.dtype(), {}, value)); };
  std::vector<Expr> values;  // the four bits at each position
  for (int64_t i = 0; i < packed; ++i) {
    const Expr moved = i == 0 ? t : at.one("shift_right", {t, number(4 * i)});
    values.push_back(cast(at.one("bitwise_and", {moved, number(15)}), scale.dtype()));
  }
  const Expr unpacked = at.one("stack", {values}, {{"axis", axis + 1}});
  // Groups get an axis of their own, over which scale and bias broadcast.
  Shape split = whole, one = groups;
  split[at_axis] = groups[at_axis];
  split.insert(split.begin() + axis + 1, whole[at_axis] / groups[at_axis]);
  one.insert(one.begin() + axis + 1, 1);
  return {reshape(reshape(unpacked, split) * reshape(scale, one) + reshape(bias, one), whole)};
}

/// The shape [k, n] of the weights in one slot with the scales in another; throws if they do not match.
Shape widened_shape(const OpContext& s, size_t of_weights, size_t of_scale) {
  const TensorSpec &t = s.input(of_weights), &scale = s.input(of_scale);
  const int64_t bits = s.integer("bits"), group = s.integer("group_size");
  if (bits != 8 && bits != 4) refuse(s, fmt::format("bits must be 8 or 4, got {}", bits));
  if (group < 1 || (bits == 4 && group % 2 != 0))
    refuse(s, fmt::format("group_size must be positive{}, got {}", bits == 4 ? " and even" : "", group));
  const DType stored = bits == 8 ? DType::int8 : DType::uint8;
  if (t.dtype != stored || t.shape.size() != 2)
    refuse(s, fmt::format("weights of {} bits must be {}[rows, columns], not {}", bits, name(stored), text(t)));
  Shape out = t.shape;
  if (bits == 4 && __builtin_mul_overflow(out[0], int64_t{2}, &out[0]))
    refuse(s, "the result is larger than memory", codes::memory);
  const Shape groups{out[0] / group + (out[0] % group != 0 ? 1 : 0), out[1]};
  const bool fits = is_floating(scale.dtype) && compute_dtype(scale.dtype) == DType::float32;
  if (!fits || scale.shape != groups)
    refuse(s, fmt::format("scale must be float16, bfloat16 or float32 {}, not {}", bracket_text(groups), text(scale)),
           codes::shape);
  return out;
}

std::vector<TensorSpec> infer_dequantise(const OpContext& s) {
  const Shape out = widened_shape(s, 0, 1);
  prefixed(s, [&] { return element_count(out); });
  return {{out, s.input(1).dtype, {}}};
}

std::vector<TensorSpec> infer_quantised_matmul(const OpContext& s) {
  const Shape weights = widened_shape(s, 1, 3);
  const TensorSpec &x = s.input(0), &x_scale = s.input(2), &scale = s.input(3);
  if (x.dtype != DType::int8 || x.shape.empty() || x.shape.back() != weights[0])
    refuse(s,
           fmt::format("x must be int8 [.., {}], as the weights have {} rows, not {}", weights[0], weights[0], text(x)),
           codes::shape);
  Shape groups = x.shape, out = x.shape;
  groups.back() = scale.shape[0];
  if (x_scale.dtype != DType::float32 || x_scale.shape != groups)
    refuse(s, fmt::format("x_scale must be float32 {}, not {}", bracket_text(groups), text(x_scale)), codes::shape);
  if (scale.dtype != DType::float32) refuse(s, fmt::format("scale must be float32, not {}", text(scale)));
  out.back() = weights[1];
  prefixed(s, [&] { return element_count(out); });
  return {{out, DType::float32, {}}};
}

constexpr OpRow addon_table[] = {
    {.name = "dequantise",
     .path = "ops.dequantise",
     .schedule = "Dequantise",
     .output = "dequantise_out",
     .doc = "Weights of 8 or 4 bits as floats: each column has a scale for each group of rows. A matrix product of at "
            "most 16 rows reads them as they are stored.",
     .formula = "t[i, j] scale[i / group_size, j]",
     .example = "dequantise(cast(array([[1, 2], [-3, 4]]), int8), array([[0.5, 2.0]]), 8, 2)",
     .params = dequantise_params,
     .infer = infer_dequantise,
     .definition = reference::dequantise,
     .kernel =
         [](const OpContext& s) {
           return dequantise_kernel(s.input(0), s.input(1), s.integer("bits") == 4, s.integer("group_size"));
         },
     .pattern = Pattern::other,
     .order = orders::elementwise,
     .tiles = tile_cast},
    {.name = "quantised_matmul",
     .path = "ops.quantised_matmul",
     .schedule = "QuantisedMatMul",
     .output = "quantised_matmul_out",
     .doc = "The matrix product of 8-bit integers and weights of 8 or 4 bits; groups of both have scales. "
            "Products within a group are summed exactly; a product of few rows takes as long as its weights take to be "
            "read.",
     .formula = "sum over k of x[.., k] x_scale[.., k / group_size] t[k, j] scale[k / group_size, j]",
     .example = "quantised_matmul(cast(array([[3, -1]]), int8), cast(array([[1, 2], [-3, 4]]), int8), array([[0.5]]), "
                "array([[0.5, 2.0]]), 8, 2)",
     .params = quantised_matmul_params,
     .infer = infer_quantised_matmul,
     .definition = reference::quantised_matmul,
     .tolerance = &tolerance::whole_sum,
     .kernel =
         [](const OpContext& s) {
           return quantised_matmul_kernel(s.input(0), s.input(1), s.integer("bits") == 4, s.integer("group_size"));
         },
     .flops = matmul_flops,
     .pattern = Pattern::product,
     .tiles = tile_product},
    {.name = "rotary_pos_embed",
     .path = "addons.ops.rotary_pos_embed",
     .doc = "Rotary position embedding of GPT-J: rotates pairs of neighbouring features by the angles of their "
            "position; features from rotary_dim on are unchanged.",
     .formula = "out[2i] = x[2i] cos_i - x[2i+1] sin_i, out[2i+1] = x[2i+1] cos_i + x[2i] sin_i",
     .example = "rotary_pos_embed(ones([1, 2, 1, 2]), array([[0.0], [1.0]]), array([[1.0], [0.0]]), 2)",
     .params = rotary_params,
     .expand = expand_rotary,
     .role = Role::composite},
    {.name = "trig_tables",
     .path = "addons.ops.trig_tables",
     .doc = "The tables of sines and cosines for rotary_pos_embed, [seq_len, rotary_dim / 2] each.",
     .formula = "sin and cos of position / base^(2 i / rotary_dim)",
     .example = "trig_tables(4, 2)",
     .params = table_params,
     .expand = expand_tables,
     .role = Role::composite},
    {.name = "grad_reduce_square_add",
     .path = "addons.ops.grad_reduce_square_add",
     .doc = "A gradient's sum of squares without its loss scaling, as a float32 scalar.",
     .formula = "sum (t / loss_scaling)^2",
     .example = "grad_reduce_square_add(array([3.0, 4.0]), 2.0)",
     .params = square_add_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           const Expr t = cast(args.expr(0), DType::float32);
           if (args.has_expr(1)) return at.emit("sumsquare", {t / cast(args.expr(1), DType::float32)});
           const double scale = std::get<double>(*args.attr(1));
           return at.emit("sumsquare", {scale == 1 ? t : t / scale});
         },
     .role = Role::composite},
    {.name = "group_quantize_decompress",
     .path = "addons.ops.group_quantize_decompress",
     .doc = "Decompresses 4-bit values packed into integers; each group along an axis has a scale and a bias.",
     .formula = "q scale + bias",
     .example = "group_quantize_decompress(array([0x10, 0x32], uint8), array([0.5, 2.0]), array([0.0, 1.0]))",
     .params = quantised_params,
     .expand = expand_decompress,
     .role = Role::composite},
    {.name = "linear_layout",
     .path = "addons.ops.linear_layout",
     .doc = "Returns the tensor unchanged; in PopXL it requests a tile mapping, which the host does not have.",
     .example = "linear_layout(array([1.0, 2.0]))",
     .params = layout_params,
     .expand = [](OpBuilder&, const OpArgs& args) { return std::vector<Expr>{args.expr(0)}; },
     .role = Role::composite},
};
static_assert(all_complete(addon_table));

}  // namespace

std::span<const OpRow> addon_rows() { return addon_table; }

}  // namespace pxl
