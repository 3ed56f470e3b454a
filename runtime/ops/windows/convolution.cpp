// Convolutions and transposed convolutions. Each is linear in both operands, and the gradients consist of the same
// three ops, so they are differentiable too.
#include "runtime/kernels/convolution/convolution.hpp"

#include <array>

#include "runtime/ops/elementwise/float8.hpp"
#include "runtime/ops/row.hpp"
#include "runtime/ops/windows/convolution_shape.hpp"

namespace pxl {

namespace {

using Ints = std::vector<int64_t>;

constexpr Param stride_param{"stride", ParamKind::shape, none_default, "one per axis, or one for all; none: 1"};
constexpr Param padding_param{"padding", ParamKind::shape, none_default,
                              "zeros before each spatial axis, then after each; one value applies to all; none: 0"};
constexpr Param dilation_param{"dilation", ParamKind::shape, none_default,
                               "distance of the kernel's elements; none: 1"};
constexpr Param groups_param{"groups", ParamKind::integer, of(1),
                             "number of independent convolutions over groups of channels"};
constexpr Param pad_type_param{"pad_type", ParamKind::string, of("not_set"),
                               "not_set, same_upper, same_lower or valid"};
constexpr Param memory_param{"available_memory_proportions", ParamKind::numbers, none_default, "not used"};
constexpr Param partials_param{"partials_types", ParamKind::string, none_default, "not used"};
constexpr Param dithering_param{"enable_conv_dithering", ParamKind::integers, none_default, "not used"};

constexpr Param conv_params[] = {{"t", ParamKind::tensor, no_default, "[N, C_in, spatial...], one to three axes"},
                                 {"weight", ParamKind::tensor, no_default, "[C_out, C_in / groups, kernel...]"},
                                 stride_param,
                                 padding_param,
                                 dilation_param,
                                 groups_param,
                                 pad_type_param,
                                 memory_param,
                                 partials_param,
                                 dithering_param};
constexpr Param transpose_params[] = {
    {"t", ParamKind::tensor, no_default, "[N, C_in, spatial...], one to three axes"},
    {"weight", ParamKind::tensor, no_default, "[C_in, C_out / groups, kernel...]"},
    stride_param,
    {"padding", ParamKind::shape, none_default, "elements removed from the result: before each axis, then after each"},
    dilation_param,
    groups_param,
    pad_type_param,
    {"output_padding", ParamKind::shape, none_default, "elements added after each axis of the result"},
    {"output_shape", ParamKind::shape, none_default, "the result's spatial shape; padding follows from it"},
    memory_param,
    partials_param,
    dithering_param};
constexpr Param data_grad_params[] = {{"g", ParamKind::tensor},      {"weight", ParamKind::tensor},
                                      {"shape", ParamKind::shape},   {"stride", ParamKind::shape},
                                      {"padding", ParamKind::shape}, {"dilation", ParamKind::shape},
                                      {"groups", ParamKind::integer}};
constexpr Param weights_grad_params[] = {{"g", ParamKind::tensor},      {"x", ParamKind::tensor},
                                         {"kernel", ParamKind::shape},  {"stride", ParamKind::shape},
                                         {"padding", ParamKind::shape}, {"dilation", ParamKind::shape},
                                         {"groups", ParamKind::integer}};

constexpr Param bias_param{"bias", ParamKind::optional_tensor, none_default, "[C_out], added to the sums; none: none"};

/// The parameters, followed by the bias.
template <size_t n>
constexpr std::array<Param, n + 1> with_bias(const Param (&params)[n]) {
  std::array<Param, n + 1> biased{};
  for (size_t i = 0; i < n; ++i) biased[i] = params[i];
  biased[n] = bias_param;
  return biased;
}
constexpr auto biased_conv_params = with_bias(conv_params);
constexpr auto biased_transpose_params = with_bias(transpose_params);

/// The operands, the scale of float8 operands, and the other parameters.
template <size_t n>
constexpr std::array<Param, n + 1> with_scale(const Param (&params)[n]) {
  std::array<Param, n + 1> scaled{{params[0], params[1], log2_scale_param}};
  for (size_t i = 2; i < n; ++i) scaled[i + 1] = params[i];
  return scaled;
}
constexpr auto scaled_conv_params = with_scale(conv_params);
constexpr auto scaled_transpose_params = with_scale(transpose_params);

// Explicit window attributes, as in the rows of the gradients.
struct Explicit {
  Ints stride, padding, dilation;
  int64_t groups = 1;
  explicit Explicit(const ResolvedConvolution& r) : padding(resolved_padding(r.axes)), groups(r.c.groups) {
    for (const WindowAxis& a : r.axes) stride.push_back(a.stride), dilation.push_back(a.dilation);
  }
  explicit Explicit(const OpContext& s)
      : stride(s.integers("stride")),
        padding(s.integers("padding")),
        dilation(s.integers("dilation")),
        groups(s.integer("groups")) {}
};

// A convolution of which `shape` keeps the leading windows: a transposed convolution with output_padding extends beyond
// its operand.
Expr conv(const Expr& t, const Expr& weight, const Shape& shape, const Explicit& e) {
  const Expr y =
      t.builder().one("conv", {t, weight},
                      {{"stride", e.stride}, {"padding", e.padding}, {"dilation", e.dilation}, {"groups", e.groups}});
  if (y.shape() == shape) return y;
  return t.builder().one("slice_window", {y},
                         {{"starts", Ints(shape.size(), 0)}, {"steps", Ints(shape.size(), 1)}, {"sizes", shape}});
}

Expr data_grad(const Expr& g, const Expr& weight, const Shape& data, const Explicit& e) {
  return g.builder().one("conv_data_grad", {g, weight},
                         {{"shape", spatial(data)},
                          {"stride", e.stride},
                          {"padding", e.padding},
                          {"dilation", e.dilation},
                          {"groups", e.groups}});
}

Expr weights_grad(const Expr& g, const Expr& x, const Shape& weight, const Explicit& e) {
  return g.builder().one("conv_weights_grad", {g, x},
                         {{"kernel", spatial(weight)},
                          {"stride", e.stride},
                          {"padding", e.padding},
                          {"dilation", e.dilation},
                          {"groups", e.groups}});
}

// Calls f with the context of the forward op, to derive values from its specs.
template <class F>
auto with_site(const GradContext& c, F&& f) {
  const OpContextStorage storage(c.op());
  return f(storage.site);
}

// The sum over all windows.
void bias_gradient(GradContext& c) {
  if (!c.wants(2)) return;
  Ints axes{0};
  for (int64_t i = 2; i < std::ssize(c.out_spec().shape); ++i) axes.push_back(i);
  c.set(2, sum(c.dy(), axes, false));
}

void conv_gradient(GradContext& c) {
  const Explicit e(with_site(c, resolve_conv));
  if (c.wants(0)) c.set(0, data_grad(c.dy(), c.in(1), c.in_spec(0).shape, e));
  if (c.wants(1)) c.set(1, weights_grad(c.dy(), c.in(0), c.in_spec(1).shape, e));
  bias_gradient(c);
}

// dy has the shape of the result, which is the data of a convolution whose result has t's shape.
void transpose_gradient(GradContext& c) {
  const Explicit e(with_site(c, resolve_transpose));
  if (c.wants(0)) c.set(0, conv(c.dy(), c.in(1), c.in_spec(0).shape, e));
  if (c.wants(1)) c.set(1, weights_grad(c.in(0), c.dy(), c.in_spec(1).shape, e));
  bias_gradient(c);
}

/// Members may follow parts of a result. Results of narrow dtypes are rounded at the end, as a whole.
ElementOrder parts_of_sums(const OpContext& s) {
  return is_narrow(s.input(0).dtype) ? ElementOrder::whole : ElementOrder::in_parts;
}

constexpr OpRow conv_row = {
    .name = "conv",
    .path = "ops.conv",
    .schedule = "Conv",
    .output = "conv_out",
    .doc =
        "The convolution (cross-correlation) of data and weights over one to three spatial axes. The kernel is not "
        "flipped, as in PyTorch and ONNX. PopXL's op has no bias.",
    .formula = "out[n, o, i] = bias[o] + sum over c, k of t[n, c, stride i + dilation k - padding] weight[o, c, k]",
    .example = "conv(array([[[1.0, 2.0, 3.0, 4.0]]]), array([[[1.0, -1.0]]]))",
    .params = biased_conv_params,
    .infer = infer_conv,
    .definition = reference::conv,
    .tolerance = &tolerance::padded_sum,
    .kernel = [](const OpContext& s) { return convolution_kernel(s.input(0).dtype, resolve_conv(s).c, s.has(2)); },
    .gradient = conv_gradient,
    .flops = [](const OpContext& s) { return convolution_flops(resolve_conv(s).c); },
    .precision = Precision::low,
    .order = parts_of_sums,
    .onnx = "Conv",
    .tiles = tile_convolution};

constexpr OpRow transpose_row = {
    .name = "conv_transpose",
    .path = "ops.conv_transpose",
    .schedule = "ConvTranspose",
    .output = "conv_transpose_out",
    .doc =
        "The transposed convolution over one to three spatial axes: each element of t adds a weighted copy of the "
        "kernel to the result. Sizes as in PyTorch: (in - 1) stride - padding + dilation (kernel - 1) + output_padding "
        "+ 1.",
    .formula = "out[n, o, stride i + dilation k - padding] += t[n, c, i] weight[c, o, k], beginning with bias[o]",
    .example = "conv_transpose(array([[[1.0, 2.0, 3.0]]]), array([[[1.0, -1.0]]]), stride = 2)",
    .params = biased_transpose_params,
    .infer = [](const OpContext& s) { return data_spec(s, resolve_transpose(s)); },
    .definition = reference::conv_transpose,
    .tolerance = &tolerance::padded_sum,
    .kernel =
        [](const OpContext& s) {
          return convolution_data_grad_kernel(s.input(0).dtype, resolve_transpose(s).c, s.has(2));
        },
    .gradient = transpose_gradient,
    .flops = [](const OpContext& s) { return convolution_flops(resolve_transpose(s).c); },
    .precision = Precision::low,
    .order = parts_of_sums,
    .onnx = "ConvTranspose",
    .tiles = tile_convolution_data};

/// The row with float8 operands and a scale.
constexpr OpRow scaled_form(OpRow row, std::string_view name, std::string_view path, std::string_view output,
                            std::string_view doc, std::string_view example, std::span<const Param> params,
                            KernelFn kernel) {
  row.name = name;
  row.path = path;
  row.output = output;
  row.doc = doc;
  row.example = example;
  row.params = params;
  row.kernel = kernel;
  row.order = nullptr;
  row.checks_indices = checks_values;  // the scale
  row.gradient = nullptr;
  row.onnx = {};
  return row;
}

constexpr OpRow convolution_table[] = {
    conv_row,
    scaled_form(conv_row, "conv_pow2scaled", "ops.conv_pow2scaled", "conv_pow2scaled_out",
                "The convolution of float8 data and weights, times 2^log2_scale, in float16. Accumulates in float32 "
                "and rounds once at the end.",
                "conv_pow2scaled(pow2scale_cast_to_fp8(array([[[1.0, 2.0, 3.0]]], float16), 0, float8_143), "
                "pow2scale_cast_to_fp8(array([[[1.0, -1.0]]], float16), 0, float8_143), 1)",
                scaled_conv_params,
                [](const OpContext& s) {
                  return convolution_float8_kernel(s.input(0).dtype, s.input(1).dtype, resolve_conv(s).c);
                }),
    {.name = "conv_data_grad",
     .schedule = "ConvDataGrad",
     .output = "gradient",
     .doc = "The data gradient of a convolution.",
     .params = data_grad_params,
     .infer = [](const OpContext& s) { return data_spec(s, resolve_data_grad(s)); },
     .definition = reference::conv_data_grad,
     .tolerance = &tolerance::padded_sum,
     .kernel =
         [](const OpContext& s) { return convolution_data_grad_kernel(s.input(0).dtype, resolve_data_grad(s).c); },
     .gradient =
         [](GradContext& c) {
           const Explicit e(c.site());
           if (c.wants(0)) c.set(0, conv(c.dy(), c.in(1), c.in_spec(0).shape, e));
           if (c.wants(1)) c.set(1, weights_grad(c.in(0), c.dy(), c.in_spec(1).shape, e));
         },
     .flops = [](const OpContext& s) { return convolution_flops(resolve_data_grad(s).c); },
     .precision = Precision::low,
     .order = parts_of_sums,
     .tiles = tile_convolution_data},
    {.name = "conv_weights_grad",
     .schedule = "ConvWeightsGrad",
     .output = "gradient",
     .doc = "The weight gradient of a convolution.",
     .params = weights_grad_params,
     .infer =
         [](const OpContext& s) {
           const ResolvedConvolution r = resolve_weights_grad(s);
           TensorSpec out{{r.c.groups * r.c.cout, r.c.cin}, s.input(0).dtype, {}};
           for (const WindowAxis& a : r.axes) out.shape.push_back(a.kernel);
           prefixed(s, [&] { return element_count(out.shape); });
           return std::vector<TensorSpec>{out};
         },
     .definition = reference::conv_weights_grad,
     .tolerance = &tolerance::padded_sum,
     .kernel =
         [](const OpContext& s) {
           return convolution_weights_grad_kernel(s.input(0).dtype, resolve_weights_grad(s).c);
         },
     .gradient =
         [](GradContext& c) {
           const Explicit e(c.site());
           if (c.wants(0)) c.set(0, conv(c.in(1), c.dy(), c.in_spec(0).shape, e));
           if (c.wants(1)) c.set(1, data_grad(c.in(0), c.dy(), c.in_spec(1).shape, e));
         },
     .flops = [](const OpContext& s) { return convolution_flops(resolve_weights_grad(s).c); },
     .precision = Precision::low,
     .tiles = tile_convolution_weights},
    transpose_row,
    scaled_form(
        transpose_row, "conv_transpose_pow2scaled", "ops.conv_transpose_pow2scaled", "conv_transpose_pow2scaled_out",
        "The transposed convolution of float8 data and weights, times 2^log2_scale, in float16. Accumulates in float32 "
        "and rounds once at the end.",
        "conv_transpose_pow2scaled(pow2scale_cast_to_fp8(array([[[1.0, 2.0]]], float16), 0, float8_143), "
        "pow2scale_cast_to_fp8(array([[[1.0, -1.0]]], float16), 0, float8_143), 1, stride = 2)",
        scaled_transpose_params,
        [](const OpContext& s) {
          return convolution_data_grad_float8_kernel(s.input(0).dtype, s.input(1).dtype, resolve_transpose(s).c);
        }),
};
static_assert(all_complete(convolution_table));

}  // namespace

std::span<const OpRow> convolution_rows() { return convolution_table; }

}  // namespace pxl
