// Attention as one op.
#include "runtime/kernels/attention/attention.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param attention_params[] = {
    {"q", ParamKind::tensor, no_default, "queries, [..., heads, t, d]"},
    {"k", ParamKind::own_tensor, no_default, "keys, [..., key_heads, s, d]"},
    {"v", ParamKind::own_tensor, no_default, "values, [..., key_heads, s, e]"},
    {"count", ParamKind::index, none_default, "int32, one element: how many keys there are; none: s"},
    {"is_causal", ParamKind::boolean, of(false), "query i reads the keys up to number i + count - t alone"},
    {"scale", ParamKind::number, none_default, "of the products; none: 1 / sqrt(d)"}};

double factor_of(const OpContext& s, const Shape& q) {
  return s.is_none("scale") ? 1 / std::sqrt(static_cast<double>(q.back())) : s.number("scale");
}
AttentionShape shape_of(const OpContext& s, const Shape& q, const Shape& k, const Shape& v) {
  return attention_shape(q, k, v, s.boolean("is_causal"), factor_of(s, q));
}
AttentionShape shape_of(const OpContext& s) {
  return shape_of(s, s.input(0).shape, s.input(1).shape, s.input(2).shape);
}

std::vector<TensorSpec> infer_attention(const OpContext& s) {
  for (const size_t slot : {0, 1, 2}) check_floating(s, slot);
  const TensorSpec &q = s.input(0), &k = s.input(1), &v = s.input(2);
  const size_t rank = q.shape.size();
  if (rank < 2) refuse(s, fmt::format("{} must have at least two axes, [..., t, d]", s.label(0)), codes::shape);
  if (k.dtype != v.dtype)
    refuse(s, fmt::format("{} is {} and {} is {}", s.label(1), name(k.dtype), s.label(2), name(v.dtype)), codes::dtype);
  for (const size_t slot : {1, 2})
    if (s.input(slot).shape.size() != rank)
      refuse(s,
             fmt::format("{} has {} axes, and {} has {}", s.label(slot), s.input(slot).shape.size(), s.label(0), rank),
             codes::shape);
  if (k.shape[rank - 1] != q.shape[rank - 1])
    refuse(s, fmt::format("queries have {} features, and keys {}", q.shape[rank - 1], k.shape[rank - 1]), codes::shape);
  for (size_t i = 0; i + 1 < rank; ++i) {
    if (v.shape[i] != k.shape[i])
      refuse(s, fmt::format("keys have the extent {} on axis {}, and values {}", k.shape[i], i, v.shape[i]),
             codes::shape);
    if (i + 2 >= rank) continue;
    const bool heads = i + 3 == rank;
    if (heads && k.shape[i] > 0 && q.shape[i] % k.shape[i] != 0)
      refuse(s, fmt::format("{} heads of keys do not divide {} heads of queries", k.shape[i], q.shape[i]),
             codes::shape);
    if ((!heads || k.shape[i] == 0) && k.shape[i] != q.shape[i])
      refuse(s, fmt::format("queries have the extent {} on axis {}, and keys {}", q.shape[i], i, k.shape[i]),
             codes::shape);
  }
  if (s.has(3) && (s.input(3).dtype != DType::int32 || s.input(3).size() != 1))
    refuse(s, fmt::format("{} must be int32 with one element, not {}", s.label(3), text(s.input(3))), codes::dtype);
  Shape out = q.shape;
  out.back() = v.shape.back();
  return {{out, q.dtype, {}}};
}

int64_t attention_flops(const OpContext& s) {
  const AttentionShape a = shape_of(s);
  return a.outer * a.rows() * a.s * (2 * a.d + 2 * a.e + 5);
}

/// Whether each row of queries reads each key, [rows, s]; null if all read all.
Expr allowed(GradContext& c, const AttentionShape& a) {
  OpBuilder& at = c.builder();
  const bool counted = c.op().inputs.size() > 3 && c.op().inputs[3];
  if (!counted && !a.causal) return {};
  const auto numbers = [&](Shape shape, int64_t first, int64_t period) {
    Array values(DType::int32, shape);
    for (int64_t i = 0; i < values.size(); ++i)
      values.mutable_data<int32_t>()[i] = static_cast<int32_t>(first + i % period);
    return at.constant(std::move(values), "positions");
  };
  const Expr keys = numbers({1, a.s}, 0, std::max<int64_t>(1, a.s));
  const Expr after_last = a.causal ? numbers({a.rows(), 1}, 1 - a.t, std::max<int64_t>(1, a.t)) : numbers({1, 1}, 0, 1);
  const Expr count = counted ? reshape(c.in(3), {1, 1}) : numbers({1, 1}, a.s, 1);
  return at.one("less", {keys, after_last + count});
}

// The weights are computed again, in the dtype of the computation: w = softmax(scale q k^T). g is the gradient of the
// result. Then dv = w^T g, dz = softmax_grad(g v^T, w), dq = scale dz k, and dk = scale dz^T q.
void attention_gradient(GradContext& c) {
  if (!c.wants(0) && !c.wants(1) && !c.wants(2)) return;
  OpBuilder& at = c.builder();
  const AttentionShape a = shape_of(c.site(), c.in_spec(0).shape, c.in_spec(1).shape, c.in_spec(2).shape);
  const DType wide = c.in_spec(1).dtype == DType::float64 ? DType::float64 : compute_dtype(c.in_spec(0).dtype);
  const auto rows = [&](const Expr& e, int64_t n, int64_t width) {
    return reshape(cast(e, wide), {a.outer, n, width});
  };
  const Expr q = rows(c.in(0), a.rows(), a.d), k = rows(c.in(1), a.s, a.d), v = rows(c.in(2), a.s, a.e);
  const Expr g = rows(c.dy(), a.rows(), a.e);
  const auto product = [&](const Expr& x, const Expr& y) { return at.one("matmul", {x, y}); };
  Expr scores = product(q * a.scale, swap_last_axes(k));
  if (const Expr mask = allowed(c, a))
    scores = at.one("where", {mask, scores, at.scalar(-std::numeric_limits<double>::infinity(), wide)});
  const Expr weights = at.one("softmax", {scores}, {{"axis", int64_t{-1}}});
  const auto give = [&](size_t slot, const Expr& e) {
    c.set(slot, reshape(cast(e, c.in_spec(slot).dtype), c.in_spec(slot).shape));
  };
  if (c.wants(2)) give(2, product(swap_last_axes(weights), g));
  if (!c.wants(0) && !c.wants(1)) return;
  const Expr of_scores = at.one("softmax_grad", {product(g, swap_last_axes(v)), weights}, {{"axis", int64_t{-1}}});
  if (c.wants(0)) give(0, product(of_scores, k) * a.scale);
  if (c.wants(1)) give(1, product(swap_last_axes(of_scores), q) * a.scale);
}

constexpr OpRow attention_table[] = {
    {.name = "dot_product_attention",
     .path = "ops.dot_product_attention",
     .schedule = "Attention",
     .output = "attention_out",
     .doc = "The mean of values, weighted by the softmax of the products of queries and keys. Consecutive heads of "
            "queries share a head of keys. No key or value from `count` on is read. A query without keys is NaN.",
     .formula = "softmax(scale q k^T) v",
     .example = "dot_product_attention(array([[0.0, 1.0]]), array([[2.0, 0.0], [0.0, 0.0]]), array([[1.0], [3.0]]))",
     .params = attention_params,
     .infer = infer_attention,
     .definition = reference::attention,
     .tolerance = &tolerance::weighted_sum,
     .kernel = [](const OpContext& s) { return attention_kernel(shape_of(s), s.input(0).dtype, s.input(1).dtype); },
     .gradient = attention_gradient,
     .flops = attention_flops,
     .precision = Precision::low,
     .checks_indices =
         [](const OpContext& s) {
           return s.has(3) ? IndexCheck{true, 3, s.input(1).shape[s.input(1).shape.size() - 2] + 1, true}
                           : IndexCheck{.fails = false};
         },
     .tiles = tile_attention},
};
static_assert(all_complete(attention_table));

}  // namespace

std::span<const OpRow> attention_rows() { return attention_table; }

}  // namespace pxl
