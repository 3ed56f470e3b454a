// Arithmetic of two or more tensors, with broadcasting.
#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/elementwise/elementwise.hpp"
#include "runtime/op/algebra_definitions.hpp"
#include "runtime/ops/elementwise/pairwise.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

template <Binary f>
Kernel folded(const OpContext& s) {
  std::vector<Shape> shapes;
  for (const TensorSpec* spec : s.in) shapes.push_back(spec->shape);
  return nary_kernel(f, s.input(0).dtype, shapes, s.out[0].shape);
}

// Ints have no result for division by 0 and for negative powers: these are run-time errors, as for host numbers.
using CheckSecond = void (*)(DType dtype, const std::byte* second, int64_t n);
constexpr CheckSecond divisors_of_floor_div = [](DType dtype, const std::byte* second, int64_t n) {
  check_divisors(dtype, second, n, "//");
};
constexpr CheckSecond divisors_of_mod = [](DType dtype, const std::byte* second, int64_t n) {
  check_divisors(dtype, second, n, "%");
};
template <Binary f, CheckSecond check>
Kernel checked(const OpContext& s) {
  const DType dtype = s.input(1).dtype;
  if (!is_integer(dtype)) return pairwise<f>(s);
  const int64_t n = s.out[0].size() == 0 ? 0 : s.input(1).size();
  return Kernel([plain = pairwise<f>(s), dtype, n](const Buffers& b) {
    check(dtype, b.in[1], n);
    plain(b);
  });
}

// All elements are checked before any element is computed.
ElementOrder checked_order(const OpContext& s) {
  return is_integer(s.input(1).dtype) ? ElementOrder::whole : orders::pairs(s);
}

// An op with more than two operands is elementwise only if all operands have the result's shape.
ElementOrder folded_order(const OpContext& s) {
  if (s.in.size() == 2) return orders::pairs(s);
  const bool alike =
      std::all_of(s.in.begin(), s.in.end(), [&](const TensorSpec* t) { return t->shape == s.out[0].shape; });
  return alike && s.in.size() > 2 ? ElementOrder::elementwise : ElementOrder::whole;
}

// Sets the gradient of slot `i` from a gradient with the output's shape: sums over broadcast axes.
void give(GradContext& c, size_t i, const Expr& g) { c.set(i, sum_to(g, c.in_spec(i).shape)); }

int64_t folded_flops(const OpContext& s) { return s.out[0].size() * (static_cast<int64_t>(s.in.size()) - 1); }

// Tied operands share the gradient equally. Two operands are compared once for a tie; ties among more operands are
// counted.
void extremum_gradient(GradContext& c) {
  OpBuilder& at = c.builder();
  const size_t operands = c.op().inputs.size();
  const Expr none = at.scalar(0.0, c.dy().dtype());
  const auto chosen = [&](size_t i) { return at.one("equal", {c.in(i), c.out()}); };
  Expr share = c.dy();
  if (operands == 2) {
    share = at.one("select", {at.one("equal", {c.in(0), c.in(1)}), c.dy() * 0.5, c.dy()});
  } else if (operands > 2) {
    std::vector<Expr> flags;
    for (size_t i = 0; i < operands; ++i) flags.push_back(cast(chosen(i), c.dy().dtype()));
    // NaN equals nothing, so no operand is selected for it.
    share = c.dy() / at.one("maximum", {std::vector<Expr>{at.one("sum_n", {flags}), at.scalar(1.0, c.dy().dtype())}});
  }
  for (size_t i = 0; i < operands; ++i)
    if (c.wants(i)) give(c, i, at.one("select", {chosen(i), share, none}));
}

// The value of an operand that is a constant scalar.
const Array* constant_scalar(const GradContext& c, size_t slot) {
  const Tensor& t = *c.op().inputs[slot];
  return t.kind == TensorKind::constant && t.data.size() == 1 ? &t.data : nullptr;
}

void pow_gradient(GradContext& c) {
  OpBuilder& at = c.builder();
  if (c.wants(0)) {
    if (const Array* e = constant_scalar(c, 1)) {
      const double n = e->number(0);
      if (n == 0)
        set_zero(c, 0);
      else if (n == 1)
        give(c, 0, c.dy());
      else if (n == 2)
        give(c, 0, c.dy() * (c.in(0) * 2.0));
      else
        give(c, 0, c.dy() * (at.one("pow", {c.in(0), at.scalar(n - 1, c.in_spec(0).dtype)}) * n));
    } else {
      // If the exponent is 0 the result is 1 for all t; 0 t^-1 would be NaN at t = 0.
      const Expr none = at.scalar(0.0, c.in_spec(1).dtype), power = c.in(1);
      const Expr derivative = power * at.one("pow", {c.in(0), power - 1.0});
      give(c, 0, c.dy() * at.one("select", {at.one("equal", {power, none}), none, derivative}));
    }
  }
  if (c.wants(1)) {
    // t^e ln t tends to 0 with t; the logarithm alone does not.
    const Expr zero = at.scalar(0.0, c.in_spec(0).dtype);
    const Expr log = at.one("select", {at.one("greater", {c.in(0), zero}), at.one("log", {c.in(0)}), zero});
    give(c, 1, c.dy() * (c.out() * log));
  }
}

constexpr Param pow_params[] = {{"t", ParamKind::tensor}, {"e", ParamKind::tensor, no_default, "exponent"}};
constexpr Param atan2_params[] = {{"y", ParamKind::tensor}, {"x", ParamKind::tensor}};
constexpr Param list_params[] = {{"ts", ParamKind::tensors}};

std::vector<TensorSpec> infer_atan2(const OpContext& s) {
  check_floating(s, 0);
  return infer_broadcast(s);
}

constexpr OpRow add_row = {.name = "add",
                           .path = "ops.add",
                           .schedule = "Add",
                           .output = "add_out",
                           .doc = "The elementwise sum of two tensors, with broadcasting.",
                           .formula = "lhs + rhs",
                           .example = "add(array([[1.0, 2.0], [3.0, 4.0]]), array([10.0, 20.0]))",
                           .params = binary_params,
                           .infer = infer_broadcast,
                           .definition = reference::add,
                           .tolerance = &tolerance::bits,
                           .kernel = pairwise<Binary::add>,
                           .gradient =
                               [](GradContext& c) {
                                 for (size_t i : {0, 1})
                                   if (c.wants(i)) give(c, i, c.dy());
                               },
                           .pattern = Pattern::elementwise,
                           .inplace_ok = true,
                           .additive = true,
                           .inplace = "add_",
                           .onnx = "Add",
                           .tiles = tile_add};

constexpr OpRow arithmetic_table[] = {
    add_row,
    in_place_form(add_row, {"add_", "ops.add_", "AddLhsInplace", "add_lhs_inplace_out"}, infer_into_first),
    {.name = "sub",
     .path = "ops.sub",
     .schedule = "Sub",
     .output = "sub_out",
     .doc = "The elementwise difference of two tensors, with broadcasting.",
     .formula = "lhs - rhs",
     .example = "sub(array([5.0, 7.0]), array([1.0, 2.0]))",
     .params = binary_params,
     .infer = infer_broadcast,
     .definition = reference::sub,
     .tolerance = &tolerance::bits,
     .kernel = pairwise<Binary::sub>,
     .gradient =
         [](GradContext& c) {
           if (c.wants(0)) give(c, 0, c.dy());
           if (c.wants(1)) c.set(1, -sum_to(c.dy(), c.in_spec(1).shape));
         },
     .pattern = Pattern::elementwise,
     .inplace_ok = true,
     .onnx = "Sub",
     .tiles = tile_add},
    {.name = "mul",
     .path = "ops.mul",
     .schedule = "Mul",
     .output = "mul_out",
     .doc = "The elementwise product of two tensors, with broadcasting.",
     .formula = "lhs * rhs",
     .example = "mul(array([5.0, 7.0]), array([1.0, 2.0]))",
     .params = binary_params,
     .infer = infer_broadcast,
     .definition = reference::mul,
     .tolerance = &tolerance::bits,
     .kernel =
         [](const OpContext& s) {
           return multiply_kernel(s.input(0).dtype, s.input(0).shape, s.input(1).shape, s.out[0].shape);
         },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0)) give(c, 0, c.dy() * c.in(1));
           if (c.wants(1)) give(c, 1, c.dy() * c.in(0));
         },
     .pattern = Pattern::elementwise,
     .inplace_ok = true,
     .onnx = "Mul",
     .tiles = tile_add},
    {.name = "div",
     .path = "ops.div",
     .schedule = "Div",
     .output = "div_out",
     .doc = "The elementwise quotient of two tensors, with broadcasting. Integer division truncates toward zero, and "
            "division by 0 yields 0; the operator `/` on integers yields the quotient in float32.",
     .formula = "lhs / rhs",
     .example = "div(array([5.0, 7.0]), array([2.0, 4.0]))",
     .params = binary_params,
     .infer = infer_broadcast,
     .definition = reference::div,
     .tolerance = &tolerance::bits,
     .kernel = pairwise<Binary::div>,
     .gradient =
         [](GradContext& c) {
           if (c.wants(0)) give(c, 0, c.dy() / c.in(1));
           if (c.wants(1)) give(c, 1, -(c.dy() * c.in(0) / c.builder().one("square", {c.in(1)})));
         },
     .pattern = Pattern::elementwise,
     .inplace_ok = true,
     .onnx = "Div",
     .tiles = tile_div},
    {.name = "floor_div",
     .path = "ops.floor_div",
     .schedule = "FloorDiv",
     .output = "floor_div_out",
     .doc = "Floor division of two tensors, with broadcasting: the operator `//`. Integer division by 0 is a run-time "
            "error. The gradient is 0.",
     .formula = "floor(lhs / rhs)",
     .example = "floor_div(array([7, -7]), array([2, 2]))",
     .params = binary_params,
     .infer = infer_broadcast,
     .definition = reference::floor_div,
     .kernel = checked<Binary::floor_div, divisors_of_floor_div>,
     .gradient =
         [](GradContext& c) {
           for (size_t i : {0, 1}) set_zero(c, i);
         },
     .pattern = Pattern::elementwise,
     .order = checked_order,
     .inplace_ok = true,
     .tiles = tile_div},
    {.name = "fmod",
     .path = "ops.fmod",
     .schedule = "Fmod",
     .output = "fmod_out",
     .doc = "The remainder of a division truncated toward zero, with the sign of lhs; integer division by 0 yields 0. "
            "Only lhs has a gradient.",
     .formula = "lhs - rhs trunc(lhs / rhs)",
     .example = "fmod(array([7.0, -7.0]), array([3.0, 3.0]))",
     .params = binary_params,
     .infer = infer_broadcast,
     .definition = reference::fmod,
     .tolerance = &tolerance::bits,
     .kernel = pairwise<Binary::fmod>,
     .gradient =
         [](GradContext& c) {
           if (c.wants(0)) give(c, 0, c.dy());
         },
     .pattern = Pattern::elementwise,
     .inplace_ok = true,
     .onnx = "Mod",
     .tiles = tile_div},
    {.name = "mod",
     .path = "ops.mod",
     .schedule = "Mod",
     .output = "mod_out",
     .doc = "The remainder of a floor division, with the sign of rhs: the operator `%`. Integer division by 0 is a "
            "run-time error.",
     .formula = "lhs - rhs floor(lhs / rhs)",
     .example = "mod(array([7.0, -7.0]), array([3.0, 3.0]))",
     .params = binary_params,
     .infer = infer_broadcast,
     .definition = reference::mod,
     .kernel = checked<Binary::mod, divisors_of_mod>,
     .gradient =
         [](GradContext& c) {
           if (c.wants(0)) give(c, 0, c.dy());
           if (c.wants(1)) give(c, 1, -(c.dy() * c.builder().one("floor_div", {c.in(0), c.in(1)})));
         },
     .pattern = Pattern::elementwise,
     .order = checked_order,
     .inplace_ok = true,
     .tiles = tile_div},
    {.name = "atan2",
     .path = "ops.atan2",
     .schedule = "Atan2",
     .output = "atan2_out",
     .doc = "The angle of the point (x, y) from the x axis, from -pi to pi, with broadcasting.",
     .formula = "arctan(y / x), in the quadrant of (x, y)",
     .example = "atan2(array([1.0, -1.0]), array([-1.0, -1.0]))",
     .params = atan2_params,
     .infer = infer_atan2,
     .definition = reference::atan2,
     .tolerance = &tolerance::function,
     .kernel = pairwise<Binary::atan2>,
     .gradient =
         [](GradContext& c) {
           const Expr y = c.in(0), x = c.in(1), share = c.dy() / (y * y + x * x);
           if (c.wants(0)) give(c, 0, share * x);
           if (c.wants(1)) give(c, 1, -(share * y));
         },
     .pattern = Pattern::elementwise,
     .inplace_ok = true,
     .tiles = tile_div},
    {.name = "pow",
     .path = "ops.pow",
     .schedule = "Pow",
     .output = "pow_out",
     .doc = "Each element raised to a power, with broadcasting. A negative power of an int is a run-time error.",
     .formula = "t^e",
     .example = "pow(array([1.0, 2.0, 3.0]), 2)",
     .params = pow_params,
     .infer = infer_broadcast,
     .definition = reference::pow,
     .kernel = checked<Binary::pow, check_exponents>,
     .gradient = pow_gradient,
     .pattern = Pattern::elementwise,
     .precision = Precision::kept,
     .order = checked_order,
     .inplace_ok = true,
     .onnx = "Pow",
     .tiles = tile_pow},
    {.name = "maximum",
     .path = "ops.maximum",
     .schedule = "Max",
     .output = "maximum_out",
     .doc = "The elementwise maximum of one or more tensors. NaN where one is NaN; -0 is less than 0. Tied operands "
            "share the gradient equally.",
     .formula = "max(t1, t2, ...)",
     .example = "maximum(array([1.0, 5.0]), array([3.0, 2.0]))",
     .params = list_params,
     .infer = infer_broadcast,
     .definition = reference::maximum,
     .tolerance = &tolerance::bits,
     .kernel = folded<Binary::maximum>,
     .gradient = extremum_gradient,
     .flops = folded_flops,
     .pattern = Pattern::elementwise,
     .order = folded_order,
     .onnx = "Max",
     .tiles = tile_extremum},
    {.name = "minimum",
     .path = "ops.minimum",
     .schedule = "Min",
     .output = "minimum_out",
     .doc = "The elementwise minimum of one or more tensors. NaN where one is NaN; -0 is less than 0. Tied operands "
            "share the gradient equally.",
     .formula = "min(t1, t2, ...)",
     .example = "minimum(array([1.0, 5.0]), array([3.0, 2.0]))",
     .params = list_params,
     .infer = infer_broadcast,
     .definition = reference::minimum,
     .tolerance = &tolerance::bits,
     .kernel = folded<Binary::minimum>,
     .gradient = extremum_gradient,
     .flops = folded_flops,
     .pattern = Pattern::elementwise,
     .order = folded_order,
     .onnx = "Min",
     .tiles = tile_extremum},
    {.name = "sum_n",
     .schedule = "Sum",
     .output = "sum_out",
     .doc =
         "The elementwise sum of one or more tensors, one after the other in their dtype, such as contributions to a "
         "gradient.",
     .formula = "t1 + t2 + ...",
     .params = list_params,
     .infer = infer_broadcast,
     .definition = reference::sum_n,
     .tolerance = &tolerance::bits,
     .kernel = folded<Binary::add>,
     .gradient =
         [](GradContext& c) {
           for (size_t i = 0; i < c.op().inputs.size(); ++i)
             if (c.wants(i)) give(c, i, c.dy());
         },
     .flops = folded_flops,
     .pattern = Pattern::elementwise,
     .order = folded_order,
     .onnx = "Sum",
     .tiles = tile_add},
};
static_assert(all_complete(arithmetic_table));

}  // namespace

void check_divisors(DType dtype, const std::byte* divisors, int64_t n, std::string_view op) {
  if (!is_integer(dtype)) return;
  with_type(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      const T* divisor = reinterpret_cast<const T*>(divisors);
      if (std::find(divisor, divisor + n, T{}) != divisor + n)
        throw run_error(fmt::format("division by zero in `{}` of ints", op)).as(codes::arithmetic);
    }
  });
}

void check_exponents(DType dtype, const std::byte* exponents, int64_t n) {
  if (!is_integer(dtype)) return;
  with_type(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      const T* exponent = reinterpret_cast<const T*>(exponents);
      const T* negative = std::find_if(exponent, exponent + n, [](T e) { return e < 0; });
      if (negative != exponent + n)
        throw run_error(fmt::format("`**` of ints has no result for the exponent {}", int64_t{*negative}),
                        {"convert the base first: cast(x, float32)"})
            .as(codes::arithmetic);
    }
  });
}

std::span<const OpRow> arithmetic_rows() { return arithmetic_table; }

}  // namespace pxl
