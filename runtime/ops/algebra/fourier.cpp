// Discrete Fourier transforms. A complex number is two elements of the last axis: its real and its imaginary part.
#include "runtime/kernels/fourier/fourier.hpp"

#include <fmt/format.h>

#include <cmath>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/op/algebra_definitions.hpp"
#include "runtime/ops/algebra/composite_row.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param complex_param{"t", ParamKind::tensor, no_default, "[..., n, 2]"};
constexpr Param real_param{"t", ParamKind::tensor, no_default, "[..., n], real"};
constexpr Param along_param{"axis", ParamKind::integer, of(-1), "among the axes without the last one, of two parts"};
constexpr Param real_axis_param{"axis", ParamKind::integer, of(-1)};
constexpr Param scaling_param{"norm", ParamKind::string, of("backward"),
                              "backward: inverses are divided by n; forward: the others; ortho: both by sqrt(n)"};
constexpr Param extent_param{"n", ParamKind::integers, none_default,
                             "extent of the result; none: an even one, 2 (n_in - 1)"};
constexpr Param fourier_params[] = {
    {"t", ParamKind::tensor, no_default, "[..., n, ..., 2], or [..., n, ...] if it is the real side"},
    {"inverse", ParamKind::boolean, of(false)},
    {"real", ParamKind::integer, of(0), "n, if the result of an inverse one, or the operand, is real"},
    {"axis", ParamKind::integer, of(0), "from 0, among the axes without the last one, of two parts"}};
constexpr Param fft_params[] = {complex_param, along_param, scaling_param};
constexpr Param rfft_params[] = {real_param, real_axis_param, scaling_param};
constexpr Param irfft_params[] = {complex_param, extent_param, along_param, scaling_param};
constexpr Param fft2_params[] = {{"t", ParamKind::tensor, no_default, "[..., m, n, 2]"}, scaling_param};
constexpr Param rfft2_params[] = {{"t", ParamKind::tensor, no_default, "[..., m, n], real"}, scaling_param};
constexpr Param irfft2_params[] = {{"t", ParamKind::tensor, no_default, "[..., m, n, 2]"}, extent_param, scaling_param};

std::vector<TensorSpec> infer_fourier(const OpContext& s) {
  check_floating(s, 0);
  const int64_t real = s.integer("real"), half = real / 2 + 1;
  const bool inverse = s.boolean("inverse"), of_real = real > 0 && !inverse;
  TensorSpec t = s.input(0);
  Shape& shape = t.shape;
  const int64_t axes = std::ssize(shape) - (of_real ? 0 : 1);
  if (!of_real && (axes < 1 || shape.back() != 2))
    refuse(s, fmt::format("expected complex numbers [..., 2], not the shape {}", bracket_text(shape)), codes::shape);
  int64_t& n = shape[static_cast<size_t>(axis_of(s, "axis", axes))];
  if (real != 0 && n != (of_real ? real : half))
    refuse(
        s,
        fmt::format("expected {} numbers along the axis, not the shape {}", of_real ? real : half, bracket_text(shape)),
        codes::shape);
  if (real > 0) n = of_real ? half : real;
  if (of_real) shape.push_back(2);
  if (real > 0 && inverse) shape.pop_back();
  return {t};
}

/// The transposed matrix of a transform is its conjugate, the other direction. A half of a spectrum stands for two
/// numbers each, but for the first and, of an even extent, the last.
void fourier_gradient(GradContext& c) {
  if (!c.wants(0)) return;
  const bool inverse = c.site().boolean("inverse");
  const int64_t real = c.site().integer("real"), half = real / 2 + 1, axis = c.site().integer("axis");
  const auto other = [&](const Expr& dy) {
    return c.builder().one("fourier", {dy}, {{"inverse", !inverse}, {"real", real}, {"axis", axis}});
  };
  if (real == 0) return c.set(0, other(c.dy()));
  const int64_t rank = inverse ? std::ssize(c.in_spec(0).shape) : c.dy().rank();
  Shape along(static_cast<size_t>(rank - axis), 1);
  along[0] = half;
  Array weights(DType::float64, along);
  for (int64_t k = 0; k < half; ++k)
    weights.mutable_data<double>()[k] = k == 0 || 2 * k == real ? 1 : inverse ? 2 : 0.5;
  const Expr shares = c.builder().constant(weights.cast(c.dy().dtype()));
  c.set(0, inverse ? other(c.dy()) * shares : other(c.dy() * shares));
}

/// A Fourier transform in the words of a user: its name, and its number of axes.
struct Call {
  std::string_view op;
  bool inverse = false;
  std::string norm = "backward";
};

double scale_of(const Call& call, double n) {
  if (call.norm == "ortho") return 1 / std::sqrt(n);
  if (call.norm != "backward" && call.norm != "forward")
    throw Error(fmt::format("{}: norm must be backward, forward or ortho, not {}", call.op, call.norm));
  return (call.norm == "backward") == call.inverse ? 1 / n : 1;
}

void check_complex(const Call& call, const Expr& t, int64_t axes) {
  if (t.rank() <= axes || t.shape().back() != 2)
    throw Error(fmt::format("{}: {} must be complex numbers [{}, 2], not of shape {}", call.op, t.label(),
                            axes == 1 ? "..., n" : "..., m, n", bracket_text(t.shape())),
                {"the last axis has the real and the imaginary part: stack(re, im, axis = -1)"})
        .as(codes::shape);
}

/// The transform of n numbers along an axis, scaled. `real` is n if one side is real, and 0 otherwise.
Expr transform_of(const Call& call, const Expr& t, int64_t axis, int64_t n, int64_t real) {
  const double scale = scale_of(call, static_cast<double>(std::max<int64_t>(1, n)));
  const Expr y = t.builder().one("fourier", {t}, {{"inverse", call.inverse}, {"real", real}, {"axis", axis}});
  return scale == 1 ? y : y * scale;
}
/// Along an axis, which is not the last.
Expr transformed(const Call& call, const Expr& t, int64_t axis) {
  return transform_of(call, t, axis, t.shape()[static_cast<size_t>(axis)], 0);
}
/// The half of the spectrum of real numbers along an axis that determines the other one.
Expr half_of(const Call& call, const Expr& t, int64_t axis) {
  const int64_t n = t.shape()[static_cast<size_t>(axis)];
  if (n == 0) throw Error(fmt::format("{}: axis {} of {} has no elements", call.op, axis, t.label())).as(codes::shape);
  return transform_of(call, t, axis, n, n);
}

/// Real numbers from the half of their spectrum that determines the other one.
Expr real_of(const Call& call, const Expr& t, int64_t axis, const Attr& extent) {
  const int64_t half = t.shape()[static_cast<size_t>(axis)];
  int64_t n = 2 * (half - 1);
  if (const auto* given = std::get_if<int64_t>(&extent)) n = *given;
  if (const auto* list = std::get_if<std::vector<int64_t>>(&extent); list && list->size() == 1) n = (*list)[0];
  if (n < 1 || n / 2 + 1 != half)
    throw Error(fmt::format("{}: {} has {} frequencies, but {} real numbers have {}", call.op, t.label(), half, n,
                            n < 1 ? 0 : n / 2 + 1),
                {half == 1 ? "n is 1 here" : fmt::format("n is {} or {} here", 2 * (half - 1), 2 * half - 1)})
        .as(codes::shape);
  return transform_of(call, t, axis, n, n);
}

Call call_of(std::string_view op, bool inverse, const OpArg& norm) {
  return {op, inverse, std::get<std::string>(std::get<Attr>(norm))};
}

template <bool inverse>
std::vector<Expr> expand_fft(OpBuilder&, const OpArgs& args) {
  const Call call = call_of(inverse ? "ifft" : "fft", inverse, args.values[2]);
  const Expr& t = args.expr(0);
  check_complex(call, t, 1);
  return {transformed(call, t, normalise_axis(std::get<int64_t>(*args.attr(1)), t.rank() - 1))};
}
std::vector<Expr> expand_rfft(OpBuilder&, const OpArgs& args) {
  const Expr& t = args.expr(0);
  const int64_t axis = normalise_axis(std::get<int64_t>(*args.attr(1)), t.rank());
  return {half_of(call_of("rfft", false, args.values[2]), t, axis)};
}
std::vector<Expr> expand_irfft(OpBuilder&, const OpArgs& args) {
  const Call call = call_of("irfft", true, args.values[3]);
  const Expr& t = args.expr(0);
  check_complex(call, t, 1);
  const int64_t axis = normalise_axis(std::get<int64_t>(*args.attr(2)), t.rank() - 1);
  return {real_of(call, t, axis, *args.attr(1))};
}
template <bool inverse>
std::vector<Expr> expand_fft2(OpBuilder&, const OpArgs& args) {
  const Call call = call_of(inverse ? "ifft2" : "fft2", inverse, args.values[1]);
  const Expr& t = args.expr(0);
  check_complex(call, t, 2);
  return {transformed(call, transformed(call, t, t.rank() - 2), t.rank() - 3)};
}
std::vector<Expr> expand_rfft2(OpBuilder&, const OpArgs& args) {
  const Call call = call_of("rfft2", false, args.values[1]);
  const Expr& t = args.expr(0);
  if (t.rank() < 2)
    throw Error(fmt::format("rfft2: {} must have two axes, not the shape {}", t.label(), bracket_text(t.shape())))
        .as(codes::shape);
  return {transformed(call, half_of(call, t, t.rank() - 1), t.rank() - 2)};
}
std::vector<Expr> expand_irfft2(OpBuilder&, const OpArgs& args) {
  const Call call = call_of("irfft2", true, args.values[2]);
  const Expr& t = args.expr(0);
  check_complex(call, t, 2);
  const Expr columns = transformed(call, t, t.rank() - 3);
  return {real_of(call, columns, t.rank() - 2, *args.attr(1))};
}

constexpr OpRow fourier_table[] = {
    {.name = "fourier",
     .schedule = "Fourier",
     .output = "fourier_out",
     .doc = "Fourier transforms of lines, unscaled. Real lines have the half of their spectrum that determines the "
            "other one.",
     .formula = "sum t[j] e^(-+2 pi i j k / n)",
     .params = fourier_params,
     .infer = infer_fourier,
     .definition = reference::fourier,
     .tolerance = &tolerance::sum,
     .kernel =
         [](const OpContext& s) {
           const Kernel kernel = fourier_kernel(s.input(0), s.boolean("inverse"), s.integer("real"), s.integer("axis"));
           return kernel ? kernel : definition_kernel(s);
         },
     .gradient = fourier_gradient,
     .flops = [](const OpContext& s) { return 5 * s.input(0).size(); },
     .batch = Batch::axis,
     .tiles = tile_reduction},
    composite_row(
        "fft", "ops.fft",
        "The Fourier transform of complex numbers along an axis, of any extent. A line with NaN or infinities has NaN.",
        "sum t[j] e^(-2 pi i j k / n)", "fft(array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]))", fft_params,
        expand_fft<false>),
    composite_row("ifft", "ops.ifft", "The inverse of `fft`.", "sum t[j] e^(2 pi i j k / n) / n",
                  "ifft(array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]))", fft_params, expand_fft<true>),
    composite_row(
        "rfft", "ops.rfft",
        "The Fourier transform of real numbers along an axis: complex numbers [..., n // 2 + 1, 2], the half that "
        "determines the others. All numbers of a line with NaN or infinities are NaN.",
        "sum t[j] e^(-2 pi i j k / n)", "rfft(array([1.0, 2.0, 3.0, 4.0]))", rfft_params, expand_rfft),
    composite_row("irfft", "ops.irfft", "The inverse of `rfft`: n real numbers along the axis.",
                  "sum t[j] e^(2 pi i j k / n) / n", "irfft(array([[10.0, 0.0], [-2.0, 2.0], [-2.0, 0.0]]))",
                  irfft_params, expand_irfft),
    composite_row("fft2", "ops.fft2", "The Fourier transform of complex numbers along two axes.", {},
                  "fft2(array([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]))", fft2_params, expand_fft2<false>),
    composite_row("ifft2", "ops.ifft2", "The inverse of `fft2`.", {},
                  "ifft2(array([[[4.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]))", fft2_params, expand_fft2<true>),
    composite_row(
        "rfft2", "ops.rfft2",
        "The Fourier transform of real numbers along the last two axes: complex numbers [..., m, n // 2 + 1, 2].", {},
        "rfft2(array([[1.0, 2.0], [3.0, 4.0]]))", rfft2_params, expand_rfft2),
    composite_row("irfft2", "ops.irfft2", "The inverse of `rfft2`: real numbers [..., m, n].", {},
                  "irfft2(array([[[10.0, 0.0], [-2.0, 0.0]], [[-4.0, 0.0], [0.0, 0.0]]]))", irfft2_params,
                  expand_irfft2),
};
static_assert(all_complete(fourier_table));

}  // namespace

std::span<const OpRow> fourier_rows() { return fourier_table; }

}  // namespace pxl
