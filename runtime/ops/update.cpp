// Updates of variables: accumulators, scaled additions, and the steps of Adam, AdaMax and LAMB. Operands may have any
// floating dtype; results keep the dtype of the first.
#include "runtime/kernels/update/update.hpp"

#include <fmt/format.h>

#include <limits>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param factor_param{"f", ParamKind::number_or_tensor};
constexpr Param accumulate_params[] = {
    {"t", ParamKind::tensor}, {"X", ParamKind::tensor}, {"f", ParamKind::number_or_tensor, none_default}};
constexpr Param square_params[] = {
    {"t", ParamKind::tensor}, {"X", ParamKind::tensor}, {"f", ParamKind::number_or_tensor, of(1.0)}};
constexpr Param moving_average_params[] = {{"t", ParamKind::tensor}, {"X", ParamKind::tensor}, factor_param};
constexpr Param mean_params[] = {{"t", ParamKind::tensor},
                                 {"X", ParamKind::tensor},
                                 {"step", ParamKind::number_or_tensor, no_default, "number of values averaged before"}};
constexpr Param scale_params[] = {{"t", ParamKind::tensor}, factor_param};
constexpr Param sparse_params[] = {{"t", ParamKind::tensor},
                                   {"X", ParamKind::tensor},
                                   {"indices", ParamKind::index},
                                   {"axis", ParamKind::integer, of(0)},
                                   {"f", ParamKind::number_or_tensor, none_default},
                                   {"W", ParamKind::optional_tensor, none_default, "the table's layout; not used"}};
constexpr Param copy_update_params[] = {{"t", ParamKind::tensor}, {"X", ParamKind::tensor}};
constexpr Param scaled_params[] = {{"X", ParamKind::tensor},
                                   {"Y", ParamKind::tensor},
                                   {"a", ParamKind::number_or_tensor, of(1.0)},
                                   {"b", ParamKind::number_or_tensor, of(1.0)}};
// Slots in the order of PopXL's op: the weight precedes the accumulators.
constexpr Param updater_params[] = {{"weight", ParamKind::optional_tensor, none_default},
                                    {"acc_first_order", ParamKind::tensor},
                                    {"acc_second_order", ParamKind::tensor},
                                    {"time_step", ParamKind::optional_tensor, none_default},
                                    {"weight_decay", ParamKind::number_or_tensor, none_default},
                                    {"beta1", ParamKind::number_or_tensor, none_default},
                                    {"beta2", ParamKind::number_or_tensor, none_default},
                                    {"epsilon", ParamKind::number_or_tensor, of(1e-7)},
                                    {"adamax", ParamKind::boolean, of(false)}};
constexpr Param adam_params[] = {
    {"acc_first_order", ParamKind::tensor},
    {"acc_second_order", ParamKind::tensor},
    {"weight", ParamKind::optional_tensor, none_default, "needed with weight_decay"},
    {"time_step", ParamKind::optional_tensor, none_default, "increased by 1 in place; enables bias correction"},
    {"weight_decay", ParamKind::number_or_tensor, none_default},
    {"beta1", ParamKind::number_or_tensor, none_default},
    {"beta2", ParamKind::number_or_tensor, none_default},
    {"epsilon", ParamKind::number_or_tensor, of(1e-7)}};
constexpr Param adamax_params[] = {
    {"acc_first_order", ParamKind::tensor},
    {"acc_second_order", ParamKind::tensor},
    {"weight", ParamKind::optional_tensor, none_default, "needed with weight_decay"},
    {"time_step", ParamKind::optional_tensor, none_default, "required; increased by 1 in place"},
    {"weight_decay", ParamKind::number_or_tensor, none_default},
    {"beta1", ParamKind::number_or_tensor, of(0.9)},
    {"epsilon", ParamKind::number_or_tensor, of(1e-7)}};
constexpr Param var_update_params[] = {{"t", ParamKind::tensor},
                                       {"x", ParamKind::tensor},
                                       {"r1", ParamKind::tensor},
                                       {"r2", ParamKind::tensor},
                                       {"learning_rate", ParamKind::number_or_tensor, none_default},
                                       {"max_weight_norm", ParamKind::number_or_tensor, none_default}};

// A number, or the operand that holds it.
Scalar factor(const OpContext& s, std::string_view param, double if_none) {
  const size_t slot = slot_of(s.row, param);
  if (s.has(slot)) return Scalar::in(static_cast<int>(slot), s.input(slot).dtype);
  return Scalar::of(s.is_none(param) ? if_none : s.number(param));
}

void check_factor(const OpContext& s, std::string_view param) { check_scalar_if_tensor(s, param); }

std::vector<TensorSpec> infer_accumulate(const OpContext& s) {
  check_floating(s, 0);
  check_floating(s, 1);
  check_broadcastable(s, 1, s.input(0).shape);
  check_factor(s, s.row.params[2].name);
  return {s.input(0)};
}

template <Accumulate op>
Kernel accumulate(const OpContext& s) {
  return accumulate_kernel(op, s.input(0), s.input(1), factor(s, s.row.params[2].name, 1.0));
}

constexpr OpRow accumulator(std::string_view name, std::string_view path, std::string_view doc,
                            std::string_view formula, std::span<const Param> params, DefinitionFn definition,
                            KernelFn kernel) {
  OpRow row{};
  row.name = name;
  row.path = path;
  row.schedule = "Accumulate";
  row.output = "accumulate_out";
  row.doc = doc;
  row.formula = formula;
  row.params = params;
  row.infer = infer_accumulate;
  row.definition = definition;
  row.tolerance = &tolerance::bits;
  row.kernel = kernel;
  row.flops = [](const OpContext& s) { return 3 * s.out[0].size(); };
  row.pattern = Pattern::elementwise;
  row.order = orders::alike;
  row.modifies = 1;
  row.alias = 0;
  row.additive = true;
  row.tiles = tile_update;
  return row;
}

constexpr OpRow scaler(std::string_view name, std::string_view path, std::string_view doc, std::string_view formula,
                       std::span<const Param> params, InferFn infer, DefinitionFn definition, KernelFn kernel) {
  OpRow row = accumulator(name, path, doc, formula, params, definition, kernel);
  row.schedule = "AccumulatorScale";
  row.output = "accumulator_scale_out";
  row.infer = infer;
  row.tolerance = nullptr;
  row.flops = nullptr;
  row.additive = false;
  row.order = orders::elementwise;
  return row;
}

std::vector<TensorSpec> infer_scaled_add(const OpContext& s) {
  check_floating(s, 0);
  check_floating(s, 1);
  check_shape(s, 1, s.input(0).shape);
  check_factor(s, "a");
  check_factor(s, "b");
  return {s.input(0)};
}

void scaled_add_gradient(GradContext& c) {
  const OpContext s = c.site();
  const auto part = [&](size_t slot, size_t factor_slot, std::string_view param) {
    if (!c.wants(slot)) return;
    Expr g = c.dy();
    if (c.op().inputs[factor_slot])
      g = g * cast(reshape(c.in(factor_slot), {}), g.dtype());  // it may have axes of extent 1
    else if (s.number(param) != 1)
      g = g * s.number(param);
    c.set(slot, cast(g, c.in_spec(slot).dtype));
  };
  part(0, 2, "a");
  part(1, 3, "b");
  for (size_t slot : {size_t{2}, size_t{3}})
    if (c.op().inputs[slot] && c.wants(slot))
      c.set(slot, cast(reshape(sum_to(c.dy() * cast(c.in(slot - 2), c.dy().dtype()), {}), c.in_spec(slot).shape),
                       c.in_spec(slot).dtype));
}

constexpr OpRow scaled_add_row = {
    .name = "scaled_add",
    .path = "ops.scaled_add",
    .schedule = "ScaledAdd",
    .output = "scaled_add_out",
    .doc =
        "The weighted sum of two tensors with equal shapes, each step rounded to X's dtype. The weights are numbers or "
        "scalar tensors.",
    .formula = "a X + b Y",
    .example = "scaled_add(array([1.0, 2.0]), array([10.0, 20.0]), b = 0.5)",
    .params = scaled_params,
    .infer = infer_scaled_add,
    .definition = reference::scaled_add,
    .tolerance = &tolerance::bits,
    .kernel =
        [](const OpContext& s) {
          return scaled_add_kernel(s.input(0), s.input(1), factor(s, "a", 1.0), factor(s, "b", 1.0));
        },
    .gradient = scaled_add_gradient,
    .flops = [](const OpContext& s) { return 3 * s.out[0].size(); },
    .pattern = Pattern::elementwise,
    .order = orders::elementwise,
    .inplace_ok = true,
    .additive = true,
    .inplace = "scaled_add_",
    .tiles = tile_update};

enum UpdaterSlot : size_t { weight_slot, m_slot, v_slot, step_slot };

std::vector<TensorSpec> infer_updater(const OpContext& s) {
  for (size_t slot : {m_slot, v_slot}) check_floating(s, slot);
  check_shape(s, v_slot, s.input(m_slot).shape);
  TensorSpec out = s.input(m_slot);
  if (s.has(weight_slot)) {
    check_floating(s, weight_slot);
    check_shape(s, weight_slot, out.shape);
    out.dtype = s.input(weight_slot).dtype;
  }
  check_scalar_if_tensor(s, "time_step");
  for (std::string_view param : {"weight_decay", "beta1", "beta2", "epsilon"}) check_factor(s, param);
  return {out};
}

Kernel updater(const OpContext& s) {
  AdamOptions o;
  o.mode = s.boolean("adamax") ? AdamOptions::adamax : AdamOptions::adam;
  o.m = static_cast<int>(m_slot);
  o.v = static_cast<int>(v_slot);
  if (s.has(weight_slot)) o.weight = static_cast<int>(weight_slot), o.weight_dtype = s.input(weight_slot).dtype;
  if (s.has(step_slot)) o.step = static_cast<int>(step_slot), o.step_dtype = s.input(step_slot).dtype;
  o.weight_decay = factor(s, "weight_decay", 0.0);
  o.beta1 = factor(s, "beta1", 0.9);
  o.beta2 = factor(s, "beta2", 0.999);
  o.epsilon = factor(s, "epsilon", 1e-7);
  return adam_updater_kernel(s.input(m_slot), s.input(v_slot), s.out[0], o);
}

// The weight is an operand only with weight decay.
std::vector<Expr> expand_updater(OpBuilder& at, const OpArgs& args, std::string_view op, bool adamax) {
  const size_t epsilon = adamax ? 6 : 7;
  const Attr* decay = args.attr(4);
  const bool decays = args.has_expr(4) || (!args.is_none(4) && std::get<double>(*decay) != 0);
  if (decays && args.is_none(2)) throw Error(fmt::format("{}: weight decay requires a weight", op));
  if (!args.is_none(3) && (args.is_none(5) || (!adamax && args.is_none(6))))
    throw Error(
        fmt::format("{}: bias correction (a time_step) requires {}", op, adamax ? "beta1" : "both beta1 and beta2"));
  if (adamax && args.is_none(3)) throw Error(fmt::format("{}: AdaMax requires a time_step", op));
  std::vector<OpArg> operands(9);
  if (decays) operands[0] = args.values[2], operands[4] = args.values[4];
  operands[1] = args.values[0];
  operands[2] = args.values[1];
  operands[3] = args.values[3];
  operands[5] = args.values[5];
  if (!adamax) operands[6] = args.values[6];
  operands[7] = args.values[epsilon];
  return at.emit("adam_update", std::move(operands), {{"adamax", adamax}});
}

constexpr OpRow update_table[] = {
    scaled_add_row,
    in_place_form(scaled_add_row, {"scaled_add_", "ops.scaled_add_", "ScaledAddLhsInplace", "scaled_add__{0}"}),
    accumulator("accumulate_", "ops.var_updates.accumulate_", "Adds to an accumulator, in its dtype.", "t + f X",
                accumulate_params, reference::accumulate_, accumulate<Accumulate::add_scaled>),
    accumulator("accumulate_square_", "ops.var_updates.accumulate_square_",
                "Adds squares to an accumulator, in its dtype.", "t + f X^2", square_params,
                reference::accumulate_square_, accumulate<Accumulate::add_square>),
    accumulator("accumulate_mean_", "ops.var_updates.accumulate_mean_",
                "A running mean: `step` values were averaged before. Each step is rounded to its dtype.",
                "t step / (step + 1) + X / (step + 1)", mean_params, reference::accumulate_mean_,
                accumulate<Accumulate::mean>),
    accumulator("accumulate_moving_average_", "ops.var_updates.accumulate_moving_average_",
                "An exponential moving average. Each step is rounded to its dtype.", "f t + (1 - f) X",
                moving_average_params, reference::accumulate_moving_average_, accumulate<Accumulate::moving_average>),
    accumulator("accumulate_moving_average_square_", "ops.var_updates.accumulate_moving_average_square_",
                "An exponential moving average of squares. Each step is rounded to its dtype.", "f t + (1 - f) X^2",
                moving_average_params, reference::accumulate_moving_average_square_,
                accumulate<Accumulate::moving_average_square>),
    scaler(
        "accumulator_scale_", "ops.var_updates.accumulator_scale_", "Scales an accumulator.", "f t", scale_params,
        [](const OpContext& s) {
          check_floating(s, 0);
          check_factor(s, "f");
          return infer_same(s);
        },
        reference::accumulator_scale_,
        [](const OpContext& s) { return accumulator_scale_kernel(s.input(0), factor(s, "f", 1.0)); }),
    scaler("accumulator_zero_", "ops.var_updates.accumulator_zero_", "Sets an accumulator to 0.", "0", unary_params,
           infer_same_float, reference::accumulator_zero_,
           [](const OpContext& s) { return accumulator_scale_kernel(s.input(0), Scalar::of(0.0)); }),
    {.name = "sparse_accumulate_",
     .path = "ops.var_updates.sparse_accumulate_",
     .schedule = "PopartSparseAccumulate",
     .output = "sparse_accumulate_out",
     .doc = "Adds slices to an accumulator at indices along an axis, each in its dtype; duplicates accumulate.",
     .formula = "t[indices] + f X",
     .params = sparse_params,
     .infer =
         [](const OpContext& s) {
           check_floating(s, 0);
           check_floating(s, 1);
           check_integers(s, 2);
           check_factor(s, "f");
           const TensorSpec& t = s.input(0);
           const auto axis = static_cast<size_t>(axis_of(s, "axis", static_cast<int64_t>(t.shape.size())));
           Shape slices(t.shape.begin(), t.shape.begin() + static_cast<ptrdiff_t>(axis));
           slices.insert(slices.end(), s.input(2).shape.begin(), s.input(2).shape.end());
           slices.insert(slices.end(), t.shape.begin() + static_cast<ptrdiff_t>(axis) + 1, t.shape.end());
           check_shape(s, 1, slices);
           return std::vector<TensorSpec>{t};
         },
     .definition = reference::sparse_accumulate_,
     .tolerance = &tolerance::bits,
     .kernel =
         [](const OpContext& s) {
           return sparse_accumulate_kernel(s.input(0), s.input(1), s.input(2),
                                           axis_of(s, "axis", static_cast<int64_t>(s.input(0).shape.size())),
                                           factor(s, "f", 1.0));
         },
     .flops = [](const OpContext& s) { return 2 * s.input(1).size(); },
     .modifies = 1,
     .alias = 0,
     .checks_indices = checks_values,
     .tiles = tile_scatter},
    {.name = "copy_var_update_",
     .path = "ops.var_updates.copy_var_update_",
     .schedule = "CopyVarUpdate",
     .output = "copy_var_update_out",
     .doc = "Overwrites a variable with a tensor of the same spec.",
     .formula = "X",
     .params = copy_update_params,
     .infer =
         [](const OpContext& s) {
           check_one_dtype(s);
           check_shape(s, 1, s.input(0).shape);
           return infer_same(s);
         },
     .definition = reference::copy_var_update_,
     .kernel = [](const OpContext& s) { return copy_var_update_kernel(s.input(0)); },
     .pattern = Pattern::movement,
     .order = orders::elementwise,
     .modifies = 1,
     .alias = 0,
     .shards = true,
     .tiles = tile_copy},
    {.name = "adam_updater",
     .path = "ops.var_updates.adam_updater",
     .doc =
         "The direction of an Adam step. Increases time_step by 1, in place, before it is used. The accumulators are "
         "corrected in their dtypes, the quotient has the second one's.",
     .formula = "m / (1 - beta1^step) / (sqrt(v / (1 - beta2^step)) + epsilon) + weight_decay weight",
     .example = "adam_updater(array([0.1, 0.2]), array([0.01, 0.04]))",
     .params = adam_params,
     .expand = [](OpBuilder& at, const OpArgs& args) { return expand_updater(at, args, "adam_updater", false); },
     .role = Role::composite,
     .modifies = 1U << 3},
    {.name = "lamb_updater",
     .path = "ops.var_updates.lamb_updater",
     .doc =
         "The direction of a LAMB step: that of Adam with decay. Increases time_step by 1, in place. The accumulators "
         "are corrected in their dtypes, the quotient has the second one's.",
     .formula = "m / (1 - beta1^step) / (sqrt(v / (1 - beta2^step)) + epsilon) + weight_decay weight",
     .example = "lamb_updater(array([0.1, 0.2]), array([0.01, 0.04]))",
     .params = adam_params,
     .expand = [](OpBuilder& at, const OpArgs& args) { return expand_updater(at, args, "lamb_updater", false); },
     .role = Role::composite,
     .modifies = 1U << 3},
    {.name = "adamax_updater",
     .path = "ops.var_updates.adamax_updater",
     .doc = "The direction of an AdaMax step. Increases time_step by 1, in place, before it is used. The first "
            "accumulator is corrected in its dtype, the quotient has the second one's.",
     .formula = "m / (1 - beta1^step) / (v + epsilon) + weight_decay weight",
     .example = "adamax_updater(array([0.1, 0.2]), array([0.1, 0.2]), time_step = array(0.0))",
     .params = adamax_params,
     .expand = [](OpBuilder& at, const OpArgs& args) { return expand_updater(at, args, "adamax_updater", true); },
     .role = Role::composite,
     .modifies = 1U << 3},
    {.name = "adam_update",
     .schedule = "AdamUpdater",
     .output = "adam_updater_out",
     .doc = "The op that adam_updater, lamb_updater and adamax_updater expand to.",
     .params = updater_params,
     .infer = infer_updater,
     .definition = reference::adam_update,
     .tolerance = &tolerance::bits,
     .kernel = updater,
     .flops = [](const OpContext& s) { return 8 * s.out[0].size(); },
     .pattern = Pattern::elementwise,
     .order = orders::prepared,
     .modifies = 1U << step_slot,
     .tiles = tile_adam},
    {.name = "adam_var_update",
     .path = "ops.var_updates.adam_var_update",
     .schedule = "AdamVarUpdate",
     .output = "adam_var_update_out",
     .doc = "Subtracts a LAMB step: the direction scaled by the ratio between weight's and direction's norms, which is "
            "float32.",
     .formula = "t - learning_rate min(sqrt(r1), max_weight_norm) / sqrt(r2) x",
     .params = var_update_params,
     .infer =
         [](const OpContext& s) {
           check_floating(s, 0);
           check_floating(s, 1);
           check_shape(s, 1, s.input(0).shape);
           for (std::string_view param : {"r1", "r2"}) check_scalar_if_tensor(s, param);
           for (std::string_view param : {"learning_rate", "max_weight_norm"}) check_factor(s, param);
           return infer_same(s);
         },
     .definition = reference::adam_var_update,
     .tolerance = &tolerance::bits,
     .kernel =
         [](const OpContext& s) {
           return adam_var_update_kernel(s.input(0), s.input(1), s.input(2).dtype, s.input(3).dtype,
                                         factor(s, "learning_rate", 1.0),
                                         factor(s, "max_weight_norm", std::numeric_limits<double>::infinity()));
         },
     .flops = [](const OpContext& s) { return 2 * s.out[0].size(); },
     .pattern = Pattern::elementwise,
     .order = orders::elementwise,
     .modifies = 1,
     .alias = 0,
     .tiles = tile_update},
};
static_assert(all_complete(update_table));

}  // namespace

std::span<const OpRow> update_rows() { return update_table; }

}  // namespace pxl
