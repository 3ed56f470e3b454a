// Comparisons, logic and selection. Results are bool; operands of logic that are not bool are cast first, by an op.
#include <fmt/format.h>

#include <cstring>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/elementwise/broadcast.hpp"
#include "runtime/kernels/elementwise/elementwise.hpp"
#include "runtime/ops/elementwise/pairwise.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

template <Unary f>
Kernel bool_unary(const OpContext& s) {
  return unary_kernel(f, s.input(0).dtype, s.input(0).size());
}

Expr as_bool(const Expr& e) { return cast(e, DType::boolean); }

constexpr Param where_params[] = {{"condition", ParamKind::index, no_default, "selects lhs if nonzero"},
                                  {"lhs", ParamKind::tensor},
                                  {"rhs", ParamKind::tensor}};

constexpr OpRow comparison(const RowText& text, DefinitionFn definition, KernelFn kernel) {
  OpRow row = described(
      text, binary_params, infer_compare, definition, kernel, [](GradContext&) {}, Pattern::elementwise, tile_compare);
  row.inplace_ok = true;
  return row;
}

constexpr OpRow predicate(const RowText& text, DefinitionFn definition, KernelFn kernel) {
  OpRow row = comparison(text, definition, kernel);
  row.params = unary_params;
  row.infer = infer_predicate;
  return row;
}

// The op of a logical composite: bool operands only.
constexpr OpRow gate(const RowText& text, std::span<const Param> params, DefinitionFn definition, KernelFn kernel) {
  OpRow row = comparison(text, definition, kernel);
  row.params = params;
  row.infer = infer_logical;
  return row;
}

constexpr OpRow bits(const RowText& text, DefinitionFn definition, KernelFn kernel) {
  OpRow row = comparison(text, definition, kernel);
  row.infer = infer_bits;
  row.gradient = nullptr;
  return row;
}

constexpr OpRow shift(const RowText& text, DefinitionFn definition, KernelFn kernel) {
  OpRow row = bits(text, definition, kernel);
  row.infer = infer_shift;
  return row;
}

// One loop goes over all elements.
ElementOrder select_order(const OpContext& s) {
  const Shape &condition = s.input(0).shape, &a = s.input(1).shape, &b = s.input(2).shape;
  const LoopNest nest = broadcast_loop_nest({condition, a, b}, s.out[0].shape);
  return nest.extents.size() == 1 ? ElementOrder::elementwise : ElementOrder::whole;
}

constexpr OpRow logical_table[] = {
    comparison({"equal", "ops.equal", "Equal", "equal_out", "Whether elements are equal.", "lhs == rhs",
                "equal(array([1, 2]), array([1, 3]))", "Equal"},
               reference::equal, pairwise<Binary::equal>),
    comparison({"not_equal", "ops.not_equal", "NotEqual", "not_equal_out", "Whether elements differ.", "lhs != rhs",
                "not_equal(array([1, 2]), array([1, 3]))"},
               reference::not_equal, pairwise<Binary::not_equal>),
    comparison({"less", "ops.less", "Less", "less_out", "Whether lhs is less than rhs.", "lhs < rhs",
                "less(array([1, 2]), array([2, 2]))", "Less"},
               reference::less, pairwise<Binary::less>),
    comparison(
        {"less_equal", "ops.less_equal", "LessEqual", "less_equal_out", "Whether lhs is less than or equal to rhs.",
         "lhs <= rhs", "less_equal(array([1, 2]), array([1, 1]))", "LessOrEqual"},
        reference::less_equal, pairwise<Binary::less_equal>),
    comparison({"greater", "ops.greater", "Greater", "greater_out", "Whether lhs is greater than rhs.", "lhs > rhs",
                "greater(array([1, 2]), array([1, 1]))", "Greater"},
               reference::greater, pairwise<Binary::greater>),
    comparison({"greater_equal", "ops.greater_equal", "GreaterEqual", "greater_equal_out",
                "Whether lhs is greater than or equal to rhs.", "lhs >= rhs",
                "greater_equal(array([1, 2]), array([2, 2]))", "GreaterOrEqual"},
               reference::greater_equal, pairwise<Binary::greater_equal>),
    predicate({"isnan",
               "ops.isnan",
               "IsNaN",
               "isnan_out",
               "Whether elements are NaN.",
               {},
               "isnan(array([1.0, 0.0]))",
               "IsNaN"},
              reference::isnan, bool_unary<Unary::isnan>),
    predicate({"isinf",
               "ops.isinf",
               "IsInf",
               "isinf_out",
               "Whether elements are infinite.",
               {},
               "isinf(array([1.0, 0.0]))",
               "IsInf"},
              reference::isinf, bool_unary<Unary::isinf>),
    {.name = "isfinite",
     .path = "ops.isfinite",
     .doc = "Whether elements are finite: neither infinite nor NaN.",
     .example = "isfinite(array([1.0, 0.0]))",
     .params = unary_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           const Expr nan = at.one("isnan", {args.expr(0)});
           const Expr inf = at.one("isinf", {args.expr(0)});
           return at.emit("not", {at.one("or", {nan, inf})});
         },
     .role = Role::composite},
    {.name = "logical_and",
     .path = "ops.logical_and",
     .doc = "Whether both operands are nonzero.",
     .formula = "lhs & rhs",
     .example = "logical_and(array([true, true]), array([true, false]))",
     .params = binary_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           const Expr a = as_bool(args.expr(0));
           return at.emit("and", {a, as_bool(args.expr(1))});
         },
     .role = Role::composite},
    {.name = "logical_or",
     .path = "ops.logical_or",
     .doc = "Whether at least one operand is nonzero.",
     .formula = "lhs | rhs",
     .example = "logical_or(array([false, true]), array([false, false]))",
     .params = binary_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           const Expr a = as_bool(args.expr(0));
           return at.emit("or", {a, as_bool(args.expr(1))});
         },
     .role = Role::composite},
    {.name = "logical_not",
     .path = "ops.logical_not",
     .doc = "Whether elements are 0.",
     .formula = "~t",
     .example = "logical_not(array([true, false]))",
     .params = unary_params,
     .expand = [](OpBuilder& at, const OpArgs& args) { return at.emit("not", {as_bool(args.expr(0))}); },
     .role = Role::composite},
    {.name = "where",
     .path = "ops.where",
     .doc = "Elements of lhs where the condition is nonzero, of rhs elsewhere, with broadcasting. Both are computed: "
            "where the derivative of what is not taken is infinite, its gradient is NaN.",
     .formula = "condition ? lhs : rhs",
     .example = "where(array([true, false]), array([1.0, 2.0]), array([3.0, 4.0]))",
     .params = where_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           const Expr condition = as_bool(args.expr(0));
           return at.emit("select", {condition, args.expr(1), args.expr(2)});
         },
     .role = Role::composite},

    bits({"bitwise_and", "ops.bitwise_and", "BitwiseAnd", "bitwise_and_out", "Bitwise and.", "lhs & rhs",
          "bitwise_and(array([6, 5]), array([3, 4]))"},
         reference::and_, pairwise<Binary::bit_and>),
    bits({"bitwise_or", "ops.bitwise_or", "BitwiseOr", "bitwise_or_out", "Bitwise or.", "lhs | rhs",
          "bitwise_or(array([6, 5]), array([3, 4]))"},
         reference::or_, pairwise<Binary::bit_or>),
    bits({"bitwise_xor", "ops.bitwise_xor", "BitwiseXor", "bitwise_xor_out", "Bitwise exclusive or.", "lhs ^ rhs",
          "bitwise_xor(array([6, 5]), array([3, 4]))"},
         reference::bitwise_xor, pairwise<Binary::bit_xor>),
    shift({"shift_left", "ops.shift_left", "ShiftLeft", "shift_left_out",
           "Shifts the bits left. The result is 0 if the number of places is negative or at least the number of bits.",
           "lhs << rhs", "shift_left(array([1, 3]), array([2, 1]))"},
          reference::shift_left, pairwise<Binary::shift_left>),
    shift({"shift_right", "ops.shift_right", "ShiftRight", "shift_right_out",
           "Shifts the bits right; arithmetic for signed integers. If the number of places is negative or at least the "
           "number of bits, the result is 0, or -1 for a negative number.",
           "lhs >> rhs", "shift_right(array([8, -8]), array([2, 1]))"},
          reference::shift_right, pairwise<Binary::shift_right>),
    {.name = "bitwise_not",
     .path = "ops.bitwise_not",
     .doc = "The bitwise complement.",
     .formula = "~t",
     .example = "bitwise_not(array([0, 5]))",
     .params = unary_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           const Expr& t = args.expr(0);
           if (t.dtype() == DType::boolean) return at.emit("not", {t});
           if (is_floating(t.dtype()))
             throw Error(fmt::format("bitwise_not: {} must hold integers or bools, not {}", t.label(), name(t.dtype())))
                 .as(codes::dtype);
           Array ones = Array::zeros(t.dtype(), {});
           std::memset(ones.mutable_raw(), 0xff, static_cast<size_t>(size_of(t.dtype())));
           return at.emit("bitwise_xor", {t, at.constant(std::move(ones))});
         },
     .role = Role::composite},

    gate({"and", {}, "And", "and_out", "Both operands.", {}, {}, "And"}, binary_params, reference::and_,
         pairwise<Binary::logical_and>),
    gate({"or", {}, "Or", "or_out", "Either operand.", {}, {}, "Or"}, binary_params, reference::or_,
         pairwise<Binary::logical_or>),
    gate({"not", {}, "Not", "not_out", "The opposite.", {}, {}, "Not"}, unary_params, reference::not_,
         bool_unary<Unary::logical_not>),
    {.name = "select",
     .schedule = "Where",
     .output = "where_out",
     .doc = "Elements of lhs where the condition is true, of rhs elsewhere.",
     .params = where_params,
     .infer = infer_select,
     .definition = reference::select,
     .tolerance = &tolerance::bits,
     .kernel =
         [](const OpContext& s) {
           return where_kernel(s.input(1).dtype, s.input(0).shape, s.input(1).shape, s.input(2).shape, s.out[0].shape);
         },
     .gradient =
         [](GradContext& c) {
           const auto part = [&](size_t slot, bool lhs) {
             const Expr zero = c.builder().scalar(0.0, c.dy().dtype());
             c.set(slot, sum_to(lhs ? c.builder().one("select", {c.in(0), c.dy(), zero})
                                    : c.builder().one("select", {c.in(0), zero, c.dy()}),
                                c.in_spec(slot).shape));
           };
           if (c.wants(1)) part(1, true);
           if (c.wants(2)) part(2, false);
         },
     .pattern = Pattern::elementwise,
     .order = select_order,
     .onnx = "Where",
     .tiles = tile_select},
};
static_assert(all_complete(logical_table));

}  // namespace

std::span<const OpRow> logical_rows() { return logical_table; }

}  // namespace pxl
