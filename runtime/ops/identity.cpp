// Ops that forward their operand: under another name, without gradient, or in another dtype.
#include <fmt/format.h>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/kernels/elementwise/elementwise.hpp"
#include "runtime/kernels/movement/shape.hpp"
#include "runtime/ops/row.hpp"
#include "runtime/ops/stop_gradient.hpp"

namespace pxl {

void stop_gradient(GradContext&) {}

namespace {

constexpr Param cast_params[] = {{"t", ParamKind::tensor}, {"data_type", ParamKind::dtype}};
constexpr Param identity_params[] = {{"t", ParamKind::tensor}, output_name_param};

constexpr Kernel (*copy)(const OpContext&) = [](const OpContext& s) { return copy_kernel(s.input(0)); };

constexpr OpRow detach_row = {.name = "detach",
                              .path = "ops.detach",
                              .schedule = "Detach",
                              .output = "detach_out",
                              .doc = "The same values, without gradient.",
                              .example = "detach(array([1.0, 2.0]))",
                              .params = unary_params,
                              .infer = infer_same,
                              .definition = reference::identity,
                              .kernel = copy,
                              .gradient = stop_gradient,
                              .pattern = Pattern::elementwise,
                              .order = orders::whole,
                              .inplace_ok = true,
                              .view = true,
                              .method = true,
                              .inplace = "detach_",
                              .tiles = tile_view};

constexpr OpRow detach_view() {
  return view_form(detach_row, {"detach_", "ops.detach_", "DetachInplace", "detach_inplace_out"});
}

constexpr OpRow identity_table[] = {
    {.name = "rename",
     .path = "ops.rename",
     .doc = "A copy under another name; alias of identity.",
     .example = "rename(array([1.0, 2.0]), \"other\")",
     .params = identity_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           return at.emit("identity", {args.expr(0)}, {{output_name_param.name, *args.attr(1)}});
         },
     .role = Role::composite},
    {.name = "identity",
     .path = "ops.identity",
     .schedule = "Identity",
     .output = "identity_{0}",
     .doc = "A copy.",
     .example = "identity(array([1.0, 2.0]))",
     .params = identity_params,
     .infer = infer_same,
     .definition = reference::identity,
     .tolerance = &tolerance::bits,
     .kernel = copy,
     .gradient =
         [](GradContext& c) {
           if (c.wants(0)) c.set(0, c.dy());
         },
     .pattern = Pattern::elementwise,
     .order = orders::whole,
     .inplace_ok = true,
     .view = true,
     .onnx = "Identity",
     .tiles = tile_copy},
    detach_row,
    detach_view(),
    {.name = "cast",
     .path = "ops.cast",
     .schedule = "Cast",
     .output = "{0}_{dtype}",
     .doc =
         "Converts the elements. Floats become integers truncating toward zero, beyond the range the nearest one, NaN "
         "0; integers keep the low bits; bool is the comparison with 0. Subnormal numbers are kept.",
     .example = "cast(array([-1.5, 0.0, 2.5]), int32)",
     .params = cast_params,
     .infer =
         [](const OpContext& s) {
           TensorSpec spec = s.input(0);
           spec.dtype = s.dtype("data_type");
           if (spec.dtype != s.input(0).dtype) {
             check_no_float8(s, 0);
             if (is_float8(spec.dtype))
               refuse(s,
                      fmt::format("{} takes a scale: use pow2scale_cast_to_fp8, on arrays host_pow2scale_cast_to_fp8",
                                  name(spec.dtype)),
                      codes::dtype);
           }
           return std::vector<TensorSpec>{spec};
         },
     .definition = reference::cast,
     .kernel =
         [](const OpContext& s) { return cast_kernel(s.input(0).dtype, s.dtype("data_type"), s.input(0).size()); },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0) && is_floating(c.in_spec(0).dtype)) c.set(0, cast(c.dy(), c.in_spec(0).dtype));
         },
     .pattern = Pattern::elementwise,
     .inplace_ok = true,
     .method = true,
     .onnx = "Cast",
     .tiles = tile_cast},
};
static_assert(all_complete(identity_table));

}  // namespace

std::span<const OpRow> identity_rows() { return identity_table; }

}  // namespace pxl
