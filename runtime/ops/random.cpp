// Random ops. Seeds are explicit uint32[2] tensors: equal seeds yield equal values.
#include "runtime/kernels/random/random.hpp"

#include <fmt/format.h>

#include <limits>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/op/algebra_definitions.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param seed_param{"seed_tensor", ParamKind::index, no_default, "uint32[2]"};
constexpr Param uniform_params[] = {seed_param,
                                    {"shape", ParamKind::shape},
                                    {"low", ParamKind::number, of(0.0)},
                                    {"high", ParamKind::number, of(1.0)},
                                    {"dtype", ParamKind::dtype, of(DType::float32)}};
constexpr Param normal_params[] = {seed_param,
                                   {"shape", ParamKind::shape},
                                   {"mean", ParamKind::number, of(0.0)},
                                   {"std", ParamKind::number, of(1.0)},
                                   {"dtype", ParamKind::dtype, of(DType::float32)}};
constexpr Param dropout_params[] = {
    {"t", ParamKind::tensor}, seed_param, {"p", ParamKind::number, no_default, "probability of dropping an element"}};
constexpr Param shaped_params[] = {{"t", ParamKind::tensor},
                                   seed_param,
                                   {"shape", ParamKind::shape, no_default, "of the mask; broadcasts to t's shape"},
                                   {"ratio", ParamKind::number, no_default, "probability of dropping"}};
constexpr Param modify_params[] = {{"seed", ParamKind::index}, {"modifier", ParamKind::index}};
constexpr Param weights_params[] = {{"t", ParamKind::tensor, no_default, "weights, [..., n]"},
                                    {"logits", ParamKind::boolean, no_default, "whether they are logarithms"}};
constexpr Param split_seed_params[] = {{"seed", ParamKind::index, no_default, "uint32[2]"},
                                       {"n", ParamKind::integer, of(2)}};

void check_seed(const OpContext& s, size_t slot) {
  if (s.input(slot).dtype != DType::uint32 || s.input(slot).shape != Shape{2})
    refuse(s, fmt::format("{} must be a seed, uint32[2], not {}", s.label(slot), text(s.input(slot))));
}

std::vector<TensorSpec> infer_random(const OpContext& s) {
  check_seed(s, 0);
  TensorSpec spec{s.integers("shape"), s.dtype("dtype"), {}};
  if (!is_floating(spec.dtype))
    refuse(s, fmt::format("the dtype must be floating, not {}", name(spec.dtype)), codes::dtype);
  for (int64_t extent : spec.shape)
    if (extent < 0) refuse(s, fmt::format("invalid shape {}", bracket_text(spec.shape)), codes::shape);
  prefixed(s, [&] { return element_count(spec.shape); });
  return {spec};
}

std::vector<TensorSpec> dropped(const OpContext& s, double p) {
  check_floating(s, 0);
  check_seed(s, 1);
  if (!(p >= 0 && p <= 1)) refuse(s, fmt::format("the probability of dropping must be in 0..1, not {}", p));
  return {s.input(0)};
}

constexpr OpRow dropout_row = {
    .name = "dropout",
    .path = "ops.dropout",
    .schedule = "Dropout",
    .output = "dropout_out",
    .doc = "Zeroes elements with probability p and scales the others by 1/(1-p). Active in all sessions.",
    .example = "dropout(array([1.0, 2.0, 3.0]), array([1, 2], uint32), 0.5)",
    .params = dropout_params,
    .infer = [](const OpContext& s) { return dropped(s, s.number("p")); },
    .definition = reference::dropout,
    .kernel = [](const OpContext& s) { return dropout_kernel(s.input(0), s.number("p")); },
    .gradient =
        [](GradContext& c) {
          if (c.wants(0)) c.set(0, c.builder().one("dropout_grad", {c.dy(), c.in(1)}, {{"p", c.site().number("p")}}));
        },
    .pattern = Pattern::other,
    .batch = Batch::seeds,
    .precision = Precision::follows,
    .order = orders::elementwise,
    .inplace_ok = true,
    .onnx = "Dropout",
    .tiles = tile_random};

constexpr OpRow shaped_row = {
    .name = "shaped_dropout",
    .path = "ops.shaped_dropout",
    .schedule = "ShapedDropout",
    .output = "shaped_dropout_out",
    .doc = "Dropout with a mask of a smaller shape, broadcast to t's shape.",
    .example = "shaped_dropout(array([[1.0, 2.0], [3.0, 4.0]]), array([1, 2], uint32), [2, 1], 0.5)",
    .params = shaped_params,
    .infer =
        [](const OpContext& s) {
          const Shape mask = s.integers("shape");
          if (!broadcastable_to(mask, s.input(0).shape))
            refuse(s,
                   fmt::format("the shape {} does not broadcast to {}", bracket_text(mask),
                               bracket_text(s.input(0).shape)),
                   codes::shape);
          return dropped(s, s.number("ratio"));
        },
    .definition = reference::shaped_dropout,
    .kernel =
        [](const OpContext& s) { return shaped_dropout_kernel(s.input(0), s.integers("shape"), s.number("ratio")); },
    .gradient =
        [](GradContext& c) {
          if (c.wants(0))
            c.set(0, c.builder().one("shaped_dropout_grad", {c.dy(), c.in(1)},
                                     {{"shape", c.site().attr("shape")}, {"ratio", c.site().number("ratio")}}));
        },
    .pattern = Pattern::other,
    .batch = Batch::seeds,
    .precision = Precision::follows,
    .inplace_ok = true,
    .tiles = tile_random};

// The gradient is the same function with the same seed.
constexpr OpRow gradient_of(OpRow row, std::string_view name, std::string_view schedule) {
  row.name = name;
  row.path = {};
  row.schedule = schedule;
  row.output = "gradient";
  row.doc = "The gradient, with the mask of the forward op's seed.";
  row.example = {};
  row.onnx = {};
  return row;
}

constexpr OpRow random_table[] = {
    {.name = "random_uniform",
     .path = "ops.random_uniform",
     .schedule = "RandomUniform",
     .output = "random_uniform_out",
     .doc = "Uniformly distributed numbers on [low, high).",
     .example = "random_uniform(array([1, 2], uint32), [3])",
     .params = uniform_params,
     .infer = infer_random,
     .definition = reference::random_uniform,
     .kernel = [](const OpContext& s) { return random_uniform_kernel(s.out[0], s.number("low"), s.number("high")); },
     .pattern = Pattern::other,
     .batch = Batch::seeds,
     .order = orders::elementwise,
     .tiles = tile_random},
    {.name = "random_normal",
     .path = "ops.random_normal",
     .schedule = "RandomNormal",
     .output = "random_normal_out",
     .doc = "Normally distributed numbers.",
     .example = "random_normal(array([1, 2], uint32), [3])",
     .params = normal_params,
     .infer = infer_random,
     .definition = reference::random_normal,
     .kernel = [](const OpContext& s) { return random_normal_kernel(s.out[0], s.number("mean"), s.number("std")); },
     .pattern = Pattern::other,
     .batch = Batch::seeds,
     .order = orders::elementwise,
     .tiles = tile_random},
    dropout_row,
    gradient_of(dropout_row, "dropout_grad", "DropoutGrad"),
    shaped_row,
    gradient_of(shaped_row, "shaped_dropout_grad", "ShapedDropoutGrad"),
    {.name = "modify_random_seed",
     .schedule = "ModifyRandomSeed",
     .output = "modified_seed",
     .doc = "A new seed, independent of those for other modifiers.",
     .params = modify_params,
     .infer =
         [](const OpContext& s) {
           check_seed(s, 0);
           if (s.input(1).dtype != DType::uint32 || s.input(1).size() != 1)
             refuse(s, "the modifier must be a uint32 scalar", codes::shape);
           return std::vector<TensorSpec>{s.input(0)};
         },
     .definition = reference::modify_random_seed,
     .kernel = [](const OpContext&) { return modify_seed_kernel(); },
     .pattern = Pattern::other,
     .tiles = tile_fill},
    {.name = "checked_weights",
     .schedule = "CheckedWeights",
     .output = "checked_weights_out",
     .doc = "Weights of categories, or logits, as they are. A row of which no category can be drawn is an error in the "
            "run.",
     .params = weights_params,
     .infer =
         [](const OpContext& s) {
           check_floating(s, 0);
           if (s.input(0).shape.empty()) refuse(s, "expected weights along the last axis", codes::shape);
           return std::vector<TensorSpec>{s.input(0)};
         },
     .definition = reference::checked_weights,
     .kernel = [](const OpContext& s) { return checked_weights_kernel(s.input(0), s.boolean("logits")); },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0)) c.set(0, c.dy());
         },
     .pattern = Pattern::other,
     .batch = Batch::axis,
     .checks_indices = checks_values,
     .tiles = tile_reduction},
    {.name = "split_random_seed",
     .path = "ops.split_random_seed",
     .doc = "n distinct seeds derived from one seed; deterministic.",
     .example = "split_random_seed(array([1, 2], uint32), 3)",
     .params = split_seed_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           const int64_t n = std::get<int64_t>(*args.attr(1));
           if (n < 1 || n > (1 << 16)) throw Error(fmt::format("split_random_seed: n must be in 1..65536, not {}", n));
           std::vector<Expr> seeds;
           for (int64_t i = 0; i < n; ++i)
             seeds.push_back(
                 at.one("modify_random_seed", {args.expr(0), at.constant(Array::full_int(DType::uint32, {}, i))}));
           return seeds;
         },
     .role = Role::composite},
};
static_assert(all_complete(random_table));

}  // namespace

std::span<const OpRow> random_rows() { return random_table; }

}  // namespace pxl
