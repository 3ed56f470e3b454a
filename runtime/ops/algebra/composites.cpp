// Statistics, norms and other ops that are made of ops: each row has an expansion and no kernel.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/ops/algebra/composite_row.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

using List = std::vector<Expr>;

constexpr double infinite = std::numeric_limits<double>::infinity();

constexpr Param reduced_param{"axis", ParamKind::axes, none_default, "the axes to reduce; none means all"};
constexpr Param keepdims_param{"keepdims", ParamKind::boolean, of(false),
                               "whether reduced axes are kept, with extent 1"};
constexpr Param truth_params[] = {
    {"t", ParamKind::tensor, no_default, "nonzero elements are true"}, reduced_param, keepdims_param};
constexpr Param variance_params[] = {
    {"t", ParamKind::tensor},
    reduced_param,
    {"correction", ParamKind::number, of(1.0), "subtracted from the number of elements; 0 as in NumPy"},
    keepdims_param};
constexpr Param norm_params[] = {
    {"t", ParamKind::tensor},
    {"p", ParamKind::number, of(2.0), "the order; inf: the largest size, -inf: the smallest, 0: how many are not 0"},
    reduced_param,
    keepdims_param};
constexpr Param fill_params[] = {{"t", ParamKind::tensor},
                                 {"mask", ParamKind::index, no_default, "broadcasts to t; nonzero elements are filled"},
                                 {"value", ParamKind::tensor, no_default, "a number, or a tensor of t's dtype"}};
constexpr Param scatter_add_params[] = {
    {"t", ParamKind::tensor},
    {"indices", ParamKind::index, no_default, "as many axes as t; off the axis no longer than t"},
    {"values", ParamKind::tensor, no_default, "the shape of the indices"},
    {"axis", ParamKind::integer, of(0)}};
constexpr Param drawn_seed_param{"seed_tensor", ParamKind::index, no_default, "uint32[2]"};
constexpr Param categorical_params[] = {{"t", ParamKind::tensor, no_default, "logarithms of weights, [..., n]"},
                                        drawn_seed_param};
constexpr Param multinomial_params[] = {
    {"t", ParamKind::tensor, no_default, "weights, [..., n], none negative"},
    drawn_seed_param,
    {"num_samples", ParamKind::integer},
    {"replacement", ParamKind::boolean, of(false), "whether a category may be drawn again"}};
constexpr Param top_p_params[] = {
    {"t", ParamKind::tensor, no_default, "logits"},
    {"p", ParamKind::number, no_default, "the share of the probability, above 0, up to 1"},
    {"axis", ParamKind::integer, of(-1)}};

Expr larger(const Expr& a, const Expr& b) { return a.builder().one("maximum", {List{a, b}}); }
Expr zero_of(const Expr& t) { return t.builder().scalar(0.0, t.dtype()); }
Expr reduced(std::string_view op, const Expr& t, const Attr& axis, const Attr& keepdims) {
  return t.builder().one(op, {t}, {{"axis", axis}, {"keepdims", keepdims}});
}

/// The variance, or its root. The op divides by the number of elements; nothing may be left to divide by, so that the
/// quotient is no number. A mean in float64 is rounded: elements in float64 are centred before.
template <bool root>
std::vector<Expr> expand_variance(OpBuilder&, const OpArgs& args) {
  const bool narrow = is_narrow(args.expr(0).dtype());
  const Expr t = narrow ? cast(args.expr(0), DType::float32) : args.expr(0);
  const Attr &axis = *args.attr(1), &keepdims = *args.attr(3);
  const Expr d = t.dtype() == DType::float64 ? t - reduced("mean", t, axis, true) : t;
  const Expr y = reduced(root ? "deviation" : "variance", d, axis, keepdims);
  const double n = static_cast<double>(t.spec().size()) / static_cast<double>(std::max<int64_t>(1, y.spec().size()));
  const double factor = n / std::max(0.0, n - std::get<double>(*args.attr(2)));
  const Expr scaled = factor == 1 ? y : y * (root ? std::sqrt(factor) : factor);
  return {narrow ? cast(scaled, args.expr(0).dtype()) : scaled};
}

/// The largest size is taken out, so that no power overflows. It is detached: the norm does not depend on it.
Expr norm_of_order(const Expr& t, double p, const Attr& axis, const Attr& keepdims) {
  OpBuilder& at = t.builder();
  const Expr size = of_op("abs", t), one = at.scalar(1.0, t.dtype()), zero = zero_of(t);
  const auto unless_zero = [&](const Expr& e) { return at.one("select", {at.one("equal", {e, zero}), one, e}); };
  const std::string_view extreme = p > 0 ? "max" : "min";
  const Expr scale = of_op("detach", reduced(extreme, size, axis, true));
  const Expr kept = of_op("detach", reduced(extreme, size, axis, keepdims));
  const Expr powers = at.one("pow", {size / unless_zero(scale), at.scalar(p, t.dtype())});
  const Expr root = at.one("pow", {unless_zero(reduced("sum", powers, axis, keepdims)), at.scalar(1 / p, t.dtype())});
  // Sizes of 0 and of infinity are the norm themselves: their quotients are no numbers.
  const Expr decides = at.one("equal", {kept, kept + kept});
  return at.one("select", {decides, kept, kept * root});
}

std::vector<Expr> expand_norm(OpBuilder& at, const OpArgs& args) {
  const Expr& t = args.expr(0);
  const double p = std::get<double>(*args.attr(1));
  const Attr &axis = *args.attr(2), &keepdims = *args.attr(3);
  if (std::isnan(p)) throw Error("norm: the order p must be a number, not nan");
  if (p == 2) return {reduced("l2", t, axis, keepdims)};
  if (p == 1) return {reduced("l1", t, axis, keepdims)};
  if (std::isinf(p)) return {reduced(p > 0 ? "max" : "min", of_op("abs", t), axis, keepdims)};
  if (p == 0) return {reduced("sum", cast(at.one("not_equal", {t, zero_of(t)}), t.dtype()), axis, keepdims)};
  if (p > 0 && t.spec().size() == 0) return {reduced("sum", of_op("abs", t), axis, keepdims)};
  return {norm_of_order(t, p, axis, keepdims)};
}

/// How many elements are true, or false, decides: of none, `any` is false and `all` is true.
template <bool any>
std::vector<Expr> expand_truth(OpBuilder& at, const OpArgs& args) {
  const Expr& t = args.expr(0);
  const Expr counted = at.one(any ? "not_equal" : "equal", {t, zero_of(t)});
  const Expr count = reduced("sum", cast(counted, DType::int32), *args.attr(1), *args.attr(2));
  return {at.one(any ? "not_equal" : "equal", {count, zero_of(count)})};
}

std::vector<Expr> expand_logaddexp(OpBuilder& at, const OpArgs& args) {
  const Expr &a = args.expr(0), &b = args.expr(1);
  // The difference of equal infinities is no number: it counts as 0.
  const Expr raw = a - b;
  const Expr difference = at.one("select", {of_op("isnan", raw), zero_of(raw), raw});
  return {larger(a, b) + of_op("softplus", -of_op("abs", difference))};
}

std::vector<Expr> expand_scatter_add(OpBuilder& at, const OpArgs& args) {
  const Expr &t = args.expr(0), &indices = args.expr(1), &values = args.expr(2);
  if (t.rank() == 0 || t.rank() != indices.rank() || indices.shape() != values.shape())
    throw Error(
        fmt::format("scatter_add: expected indices and values of one shape, with as many axes as {}, not {} and {}",
                    t.label(), bracket_text(indices.shape()), bracket_text(values.shape())))
        .as(codes::shape);
  const int64_t axis = normalise_axis(std::get<int64_t>(*args.attr(3)), t.rank());
  const auto at_axis = static_cast<size_t>(axis);
  Shape sums = values.shape();
  sums[at_axis] = t.shape()[at_axis];
  const auto added = [&](OpArg initial) {
    return at.one("scatter_reduce", {values, indices, Attr(std::string("sum")), std::move(initial)},
                  {{"axis", axis}, {"axis_size", t.shape()[at_axis]}, {"enable_index_broadcast", false}});
  };
  if (sums == t.shape()) return {added(t)};
  for (size_t i = 0; i < sums.size(); ++i)
    if (sums[i] > t.shape()[i])
      throw Error(fmt::format("scatter_add: the indices extend past {} at axis {}: {} and {}", t.label(), i, sums[i],
                              t.shape()[i]))
          .as(codes::shape);
  const std::vector<int64_t> zeros(sums.size(), 0), ones(sums.size(), 1);
  return {t +
          at.one("slice_grad", {added(std::monostate{})}, {{"starts", zeros}, {"steps", ones}, {"sizes", t.shape()}})};
}

// Numbers whose largest, added to logits, is at a category with the category's probability. Source: E. Gumbel, 1954.
Expr gumbel(OpBuilder& at, const Expr& seed, const Shape& shape) {
  const Expr u = at.one("random_uniform", {seed}, {{"shape", shape}, {"dtype", DType::float32}});
  return -of_op("log", -of_op("log", u));
}

void check_categories(std::string_view op, const Expr& t) {
  if (t.rank() == 0 || t.shape().back() == 0)
    throw Error(fmt::format("{}: {} has no categories: its shape is {}", op, t.label(), bracket_text(t.shape())))
        .as(codes::shape);
}

std::vector<Expr> expand_categorical(OpBuilder& at, const OpArgs& args) {
  const Expr& t = args.expr(0);
  check_categories("categorical", t);
  const Expr logits = at.one("checked_weights", {cast(t, DType::float32)}, {{"logits", true}});
  return {at.one("argmax", {logits + gumbel(at, args.expr(1), t.shape())}, {{"axis", int64_t{-1}}})};
}

/// The last element of each row, as an axis of one element.
Expr last_of(const Expr& t) { return narrow(t, static_cast<size_t>(t.rank() - 1), t.shape().back() - 1, 1); }

/// How many elements of ascending rows [..., n] are at most x [..., k, 1]: [..., k]. None is negative. Long rows are
/// searched in blocks, behind zeros that make the blocks equal.
Expr place_of(Expr rows, const Expr& x) {
  OpBuilder& at = rows.builder();
  const auto count = [&](const Expr& among) {
    return reduced("sum", cast(at.one("less_equal", {among, x}), DType::int32), int64_t{-1}, false);
  };
  const auto each = [](Shape shape) { return shape.insert(shape.end() - 1, 1), shape; };
  const int64_t n = rows.shape().back();
  constexpr int64_t long_row = 256;
  if (n < long_row) return count(reshape(rows, each(rows.shape())));
  // An element that is taken takes as long as eight that are compared.
  const int64_t size = std::lround(std::sqrt(static_cast<double>(n) / 8)), blocks = (n + size - 1) / size;
  std::vector<int64_t> padding(2 * rows.shape().size(), 0);
  padding[rows.shape().size() - 1] = blocks * size - n;
  Shape split = rows.shape(), ends = rows.shape(), block = x.shape();
  split.back() = ends.back() = blocks, split.push_back(size), block.back() = size;
  rows = reshape(at.one("pad", {rows}, {{"padding", padding}}), split);
  const Expr number = count(reshape(last_of(rows), each(ends)));
  const Expr places = at.one("broadcast_to", {reshape(number, x.shape())}, {{"shape", block}});
  const Expr within = count(at.one("take_along", {rows, places}, {{"axis", int64_t{-2}}}));
  const auto whole = [&](int64_t v) { return at.scalar(static_cast<double>(v), DType::int32); };
  return number * whole(size) + within - whole(blocks * size - n);
}

std::vector<Expr> expand_multinomial(OpBuilder& at, const OpArgs& args) {
  const Expr& t = args.expr(0);
  check_categories("multinomial", t);
  const int64_t samples = std::get<int64_t>(*args.attr(2)), n = t.shape().back();
  const bool again = std::get<bool>(*args.attr(3));
  if (samples < 1 || (!again && samples > n))
    throw Error(fmt::format("multinomial: num_samples must be in 1..{}, not {}", n, samples),
                {"replacement = true draws categories again"});
  const Expr weights = at.one("checked_weights", {cast(t, DType::float32)}, {{"logits", false}});
  if (!again)
    return {at.emit("topk", {of_op("log", weights) + gumbel(at, args.expr(1), t.shape())}, {{"k", samples}})[1]};
  // The first category whose running sum is above a part of the whole sum. A part that rounds to the whole is 0.
  const int64_t last = t.rank() - 1;
  const Expr ends = at.one("cumsum", {weights}, {{"axis", last}}), whole = last_of(ends);
  Shape drawn = t.shape();
  drawn.back() = samples;
  const Expr u = at.one("random_uniform", {args.expr(1)}, {{"shape", drawn}, {"dtype", DType::float32}});
  const Expr part = at.one("select", {at.one("less", {u * whole, whole}), u * whole, zero_of(u)});
  drawn.push_back(1);
  return {place_of(ends, reshape(part, drawn))};
}

std::vector<Expr> expand_top_p(OpBuilder& at, const OpArgs& args) {
  const Expr& t = args.expr(0);
  check_categories("top_p", t);
  const double p = std::get<double>(*args.attr(1));
  if (!(p > 0 && p <= 1)) throw Error(fmt::format("top_p: p must be above 0 and at most 1, not {}", p));
  const Attr axis = normalise_axis(std::get<int64_t>(*args.attr(2)), t.rank());
  if (p == 1) return {of_op("identity", t)};
  const DType dtype = t.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const std::vector<Expr> sorted =
      at.emit("sort", {cast(of_op("detach", t), dtype)}, {{"axis", axis}, {"descending", true}});
  const Expr shares = at.one("softmax", {sorted[0]}, {{"axis", axis}});
  const Expr before = at.one("cumsum", {shares}, {{"axis", axis}, {"exclusive", true}});
  const Expr kept = cast(at.one("less", {before, at.scalar(p, dtype)}), dtype);
  const Expr in_place = at.one("scatter", {kept, sorted[1], kept}, {{"axis", axis}});
  return {at.one("select", {at.one("equal", {in_place, at.scalar(1.0, dtype)}), t, at.scalar(-infinite, t.dtype())})};
}

constexpr OpRow composite_table[] = {
    composite_row("any", "ops.any", "Whether some element along the axes is true.", {},
                  "any(array([[true, false], [false, false]]), axis = 1)", truth_params, expand_truth<true>),
    composite_row("all", "ops.all", "Whether all elements along the axes are true.", {},
                  "all(array([[true, false], [true, true]]), axis = 1)", truth_params, expand_truth<false>),
    composite_row("var", "ops.var",
                  "The variance over axes. PyTorch's correction is the default; NumPy's is 0. Without elements left to "
                  "divide by it is NaN or infinite.",
                  "sum (t - mean t)^2 / (n - correction)", "var(array([[1.0, 2.0], [3.0, 6.0]]), axis = 0)",
                  variance_params, expand_variance<false>),
    composite_row("std", "ops.std",
                  "The standard deviation over axes, the root of `var`. Its gradient is 0 where it is 0.",
                  "sqrt(sum (t - mean t)^2 / (n - correction))", "std(array([[1.0, 2.0], [3.0, 6.0]]), axis = 0)",
                  variance_params, expand_variance<true>),
    composite_row(
        "norm", "ops.norm", "The norm of order p over axes, of vectors. Its gradient is 0 where all elements are 0.",
        "(sum |t|^p)^(1/p)", "norm(array([[3.0, 1.0], [4.0, -2.0]]), inf, axis = 0)", norm_params, expand_norm),
    composite_row("log10", "ops.log10", "The base-10 logarithm of each element.", "ln t / ln 10",
                  "log10(array([1.0, 10.0, 1000.0]))", unary_params,
                  [](OpBuilder& at, const OpArgs& args) {
                    const Expr x = at.one("log", {args.expr(0)});
                    return List{x / std::numbers::ln10};
                  }),
    composite_row("logaddexp", "ops.logaddexp", "log(exp(lhs) + exp(rhs)), without overflow, with broadcasting.",
                  "ln(e^lhs + e^rhs)", "logaddexp(array([0.0, 1000.0]), array([0.0, 1000.0]))", binary_params,
                  expand_logaddexp),
    composite_row("outer", "ops.outer", "The products of all elements of lhs with all of rhs, as a matrix.",
                  "lhs[i] rhs[j]", "outer(array([1.0, 2.0]), array([3.0, 4.0, 5.0]))", binary_params,
                  [](OpBuilder&, const OpArgs& args) {
                    const Expr &a = args.expr(0), &b = args.expr(1);
                    return List{reshape(a, {a.spec().size(), 1}) * reshape(b, {1, b.spec().size()})};
                  }),
    composite_row("masked_fill", "ops.masked_fill", "t with a value where the mask is nonzero.", "mask ? value : t",
                  "masked_fill(array([1.0, 2.0, 3.0]), array([true, false, true]), -1.0)", fill_params,
                  [](OpBuilder& at, const OpArgs& args) {
                    return at.emit("where", {args.expr(1), args.expr(2), args.expr(0)});
                  }),
    composite_row("scatter_add", "ops.scatter_add",
                  "A copy of t to which values are added at the indices along an axis; equal indices add up.", {},
                  "scatter_add(zeros([3]), array([2, 0, 2]), array([5.0, 6.0, 7.0]))", scatter_add_params,
                  expand_scatter_add),
    composite_row("mish", "ops.mish", "Each element times the hyperbolic tangent of its softplus.",
                  "t tanh(ln(1 + e^t))", "mish(array([-1.0, 0.0, 1.0]))", unary_params,
                  [](OpBuilder& at, const OpArgs& args) {
                    const Expr gate = of_op("tanh", at.one("softplus", {args.expr(0)}));
                    return List{args.expr(0) * gate};
                  }),
    composite_row(
        "categorical", "ops.categorical",
        "Draws a category from each row of logits, as int32; a logit of -inf is never drawn. Equal seeds draw "
        "equal categories. A logit that is NaN or inf is an error in the run, and so is a row of -inf.",
        "argmax(t + Gumbel noise)", "categorical(array([0.0, -inf, -inf]), array([1, 2], uint32))", categorical_params,
        expand_categorical),
    composite_row("multinomial", "ops.multinomial",
                  "Draws categories from rows of weights, int32 [..., num_samples]. Without replacement the categories "
                  "of a row differ; those of weight 0 come only where no others are left. A weight that is negative, "
                  "infinite or NaN is an error in the run, and so is a row without a weight above 0.",
                  {}, "multinomial(array([1.0, 0.0, 0.0]), array([1, 2], uint32), 1)", multinomial_params,
                  expand_multinomial),
    composite_row("top_p", "ops.top_p",
                  "Logits with -inf in place of those that follow the most probable ones with a share p of the "
                  "probability. A. Holtzman et al., \"The curious case of neural text degeneration\", ICLR 2020.",
                  {}, "top_p(array([0.0, 3.0, 1.0]), 0.9)", top_p_params, expand_top_p),
};
static_assert(all_complete(composite_table));

}  // namespace

std::span<const OpRow> composite_rows() { return composite_table; }

}  // namespace pxl
