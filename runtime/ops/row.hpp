// Building blocks of rows: parameter lists, texts, in-place forms and views.
#pragma once

#include <array>

#include "runtime/op/complete.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/op/element_order.hpp"
#include "runtime/op/op.hpp"
#include "runtime/op/shards.hpp"
#include "runtime/ops/infer.hpp"
#include "runtime/ops/op_builder.hpp"

namespace pxl {

inline constexpr Param unary_params[] = {{"t", ParamKind::tensor}};
inline constexpr Param binary_params[] = {{"lhs", ParamKind::tensor}, {"rhs", ParamKind::tensor}};

/// Texts of an op; the other columns are common to its family.
struct RowText {
  std::string_view name, path, schedule, output, doc, formula, example, onnx = {};
};

/// A row with one kernel, these texts and parameters.
constexpr OpRow described(const RowText& text, std::span<const Param> params, InferFn infer, DefinitionFn definition,
                          KernelFn kernel, GradFn gradient, Pattern pattern, TileMap tiles) {
  OpRow row{};
  row.name = text.name;
  row.path = text.path;
  row.schedule = text.schedule;
  row.output = text.output;
  row.doc = text.doc;
  row.formula = text.formula;
  row.example = text.example;
  row.onnx = text.onnx;
  row.params = params;
  row.infer = infer;
  row.definition = definition;
  row.kernel = kernel;
  row.gradient = gradient;
  row.pattern = pattern;
  row.tiles = tiles;
  return row;
}

/// The row with this tolerance.
constexpr OpRow within(const Tolerance& tolerance, OpRow row) {
  row.tolerance = &tolerance;
  return row;
}

/// The row with this dtype in mixed precision.
constexpr OpRow computes(Precision precision, OpRow row) {
  row.precision = precision;
  return row;
}

/// The row with this order.
constexpr OpRow ordered(ElementOrderFn order, OpRow row) {
  row.order = order;
  return row;
}

/// Names of an in-place form.
struct InPlace {
  std::string_view name, path, schedule, output;
};

/// The form that overwrites its first operand: same parameters and kernel, without gradient, because the value that it
/// would need is overwritten.
constexpr OpRow in_place_form(OpRow base, const InPlace& form, InferFn infer = nullptr) {
  base.name = form.name;
  base.path = form.path;
  base.schedule = form.schedule;
  base.output = form.output;
  base.modifies = 1;
  base.alias = 0;
  base.gradient = nullptr;
  base.inplace = {};
  base.onnx = {};
  base.example = {};
  base.inplace_ok = false;
  if (infer) base.infer = infer;
  return base;
}

/// An op with one operand and one result.
inline Expr of_op(std::string_view op, const Expr& t) { return t.builder().one(op, {t}); }

/// Zeros of this spec.
inline Expr zeros_of(OpBuilder& at, const TensorSpec& spec) {
  const TensorSpec whole = whole_spec(spec);
  const Expr zero = at.one("init", {}, {{"shape", whole.shape}, {"dtype", whole.dtype}});
  return spec.is_shard() ? at.one("replica_sharded_slice", {zero}, {{"group", spec.shard_groups}}) : zero;
}

/// Sets a zero gradient for an input that the result depends on in steps only, so that its producers stay reachable.
inline void set_zero(GradContext& c, size_t slot) {
  if (c.wants(slot)) c.set(slot, zeros_of(c.builder(), c.in_spec(slot)));
}

/// The view form: the result shares its operands' memory. Nothing is modified, so the gradient remains. `parts`
/// describes the elements if the columns `view` and `layout` do not.
constexpr OpRow view_form(const OpRow& base, const InPlace& names, ViewFn parts = nullptr) {
  OpRow row = in_place_form(base, names);
  row.modifies = 0;
  row.gradient = base.gradient;
  row.parts = parts;
  return row;
}

/// The part of a view that is the whole result: input 0 with this layout.
inline std::vector<ViewPart> whole_view(StridedLayout operand) {
  StridedLayout result = contiguous(operand.shape);
  return {{0, std::move(operand), std::move(result)}};
}

/// The check of a row whose operands must satisfy conditions that no other op checks.
inline IndexCheck checks_values(const OpContext&) { return {}; }
/// The check of an op that reads indices along an axis.
inline IndexCheck indices_below(int slot, int64_t extent, bool ignores_others) {
  return {!ignores_others, slot, extent};
}

/// Floating-point operations of a matrix product.
int64_t matmul_flops(const OpContext& site);

/// The matrices of the last two axes, transposed.
Expr swap_last_axes(const Expr& e);

/// Slice [begin, begin + size) of one axis; no op if it is the whole axis.
Expr narrow(const Expr& e, size_t axis, int64_t begin, int64_t size);

// Families of rows, in the order of the table.
std::span<const OpRow> elementwise_rows();
std::span<const OpRow> activation_rows();
std::span<const OpRow> identity_rows();
std::span<const OpRow> activation_grad_rows();
std::span<const OpRow> arithmetic_rows();
std::span<const OpRow> logical_rows();
std::span<const OpRow> reduce_rows();
std::span<const OpRow> matmul_rows();
std::span<const OpRow> attention_rows();
std::span<const OpRow> composite_rows();
std::span<const OpRow> linear_algebra_rows();
std::span<const OpRow> fourier_rows();
std::span<const OpRow> float8_rows();
std::span<const OpRow> shape_rows();
std::span<const OpRow> slice_rows();
std::span<const OpRow> pad_rows();
std::span<const OpRow> join_rows();
std::span<const OpRow> index_rows();
std::span<const OpRow> scatter_rows();
std::span<const OpRow> sparse_rows();
std::span<const OpRow> nd_index_rows();
std::span<const OpRow> linear_quantise_rows();
std::span<const OpRow> response_rows();
std::span<const OpRow> dynamic_rows();
std::span<const OpRow> convolution_rows();
std::span<const OpRow> pooling_rows();
std::span<const OpRow> resample_rows();
std::span<const OpRow> block_rows();
std::span<const OpRow> placement_rows();
std::span<const OpRow> addon_rows();
std::span<const OpRow> collective_rows();
std::span<const OpRow> order_rows();
std::span<const OpRow> normalise_rows();
std::span<const OpRow> batch_norm_rows();
std::span<const OpRow> loss_rows();
std::span<const OpRow> random_rows();
std::span<const OpRow> update_rows();

}  // namespace pxl
