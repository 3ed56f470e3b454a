// Hardmax and local response normalisation.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/kernels/reduction/normalise.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param hardmax_params[] = {{"t", ParamKind::tensor}, {"axis", ParamKind::integer, of(-1)}};
constexpr Param lrn_params[] = {{"t", ParamKind::tensor, no_default, "[N, C, ...]"},
                                {"size", ParamKind::integer, no_default, "channels that are summed over, at least 1"},
                                {"alpha", ParamKind::number, of(1e-4)},
                                {"beta", ParamKind::number, of(0.75)},
                                {"bias", ParamKind::number, of(1.0)}};

std::vector<TensorSpec> infer_lrn(const OpContext& s) {
  check_floating(s, 0);
  if (rank_of(s.input(0)) < 2)
    refuse(s, fmt::format("{} must have at least two axes, [N, C, ...]", s.label(0)), codes::shape);
  const int64_t size = s.integer("size");
  if (size < 1 || size > (int64_t{1} << 20)) refuse(s, fmt::format("size must be from 1 to 1048576, not {}", size));
  return {s.input(0)};
}

/// Sums over `before` channels before each, itself, and `after` after it.
Expr neighbours(const Expr& x, int64_t before, int64_t after) {
  const int64_t channels = x.shape()[1];
  before = std::min(before, channels - 1);
  after = std::min(after, channels - 1);
  std::vector<int64_t> padding(2 * x.shape().size(), 0);
  padding[1] = before;
  padding[x.shape().size() + 1] = after;
  const Expr padded = x.builder().one("pad", {x}, {{"padding", padding}});
  Expr sum = narrow(padded, 1, 0, channels);
  for (int64_t i = 1; i <= before + after; ++i) sum = sum + narrow(padded, 1, i, channels);
  return sum;
}

// dx = dy / s^beta - 2 alpha beta / size x sum'(dy x / s^(beta + 1)), where s = bias + alpha / size * the sum. sum' is
// over the channels that have this one among theirs.
void lrn_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  OpBuilder& at = c.builder();
  const Expr x = c.in(0);
  if (x.spec().size() == 0) {
    c.set(0, c.dy());
    return;
  }
  const OpContext site = c.site();
  const int64_t size = site.integer("size"), before = (size - 1) / 2, after = size - 1 - before;
  const double alpha = site.number("alpha") / static_cast<double>(size), beta = site.number("beta");
  const Expr base = neighbours(x * x, before, after) * alpha + site.number("bias");
  const auto over = [&](double exponent) { return c.dy() / at.one("pow", {base, at.scalar(exponent, x.dtype())}); };
  const Expr shared = neighbours(over(beta + 1) * x, after, before);
  c.set(0, over(beta) - x * shared * (2 * alpha * beta));
}

constexpr OpRow response_table[] = {
    {.name = "hardmax",
     .path = "ops.hardmax",
     .schedule = "Hardmax",
     .output = "hardmax_out",
     .doc = "1 at the largest element along an axis, the first one on ties, and 0 elsewhere. Its gradient is 0.",
     .example = "hardmax(array([1.0, 3.0, 2.0, 3.0]))",
     .params = hardmax_params,
     .infer = infer_softmax,
     .definition = reference::hardmax,
     .tolerance = &tolerance::bits,
     .kernel = [](const OpContext& s) { return hardmax_kernel(s.input(0), axis_of(s, "axis", rank_of(s.input(0)))); },
     .gradient = [](GradContext& c) { set_zero(c, 0); },
     .batch = Batch::axis,
     .onnx = "Hardmax",
     .tiles = tile_softmax},
    {.name = "lrn",
     .path = "ops.lrn",
     .schedule = "LRN",
     .output = "lrn_out",
     .doc = "Local response normalisation: divides each element by a power of its neighbouring channels' squares.",
     .formula = "t / (bias + alpha / size * sum of squares over size channels)^beta",
     .example = "lrn(array([[1.0, 2.0, 3.0]]), 3, alpha = 1.0)",
     .params = lrn_params,
     .infer = infer_lrn,
     .definition = reference::lrn,
     .tolerance = &tolerance::statistics,
     .kernel =
         [](const OpContext& s) {
           return lrn_kernel(s.input(0), s.integer("size"), s.number("alpha"), s.number("beta"), s.number("bias"));
         },
     .gradient = lrn_gradient,
     .flops = [](const OpContext& s) { return (2 * s.integer("size") + 4) * s.out[0].size(); },
     .onnx = "LRN",
     .tiles = {TileStrategy::unary, tile_pow.vector}},
};
static_assert(all_complete(response_table));

}  // namespace

std::span<const OpRow> response_rows() { return response_table; }

}  // namespace pxl
