// Sorting along an axis.
#include "runtime/kernels/reduce.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param sort_params[] = {
    {"t", ParamKind::tensor}, {"axis", ParamKind::integer, of(-1)}, {"descending", ParamKind::boolean, of(false)}};

int64_t axis_in(const OpSite& s) { return axis_of(s, "axis", static_cast<int64_t>(s.input(0).shape.size())); }

constexpr OpRow order_table[] = {
    {.name = "sort",
     .path = "ops.sort",
     .schedule = "Sort",
     .output = "sort_out,sort_indices_out",
     .doc = "The elements in order along an axis, and their int32 indices; equal ones keep their order, NaN comes last "
            "(first where descending).",
     .example = "sort(array([3.0, 1.0, 2.0]))",
     .params = sort_params,
     .infer =
         [](const OpSite& s) {
           check_no_float8(s, 0);
           axis_in(s);
           TensorSpec spec{s.input(0).shape, s.input(0).dtype, {}};
           return std::vector<TensorSpec>{spec, {spec.shape, DType::int32, {}}};
         },
     .definition = reference::sort,
     .kernel = [](const OpSite& s) { return sort_kernel(s.input(0), axis_in(s), s.boolean("descending")); },
     .gradient =
         [](GradContext& c) {
           if (!c.wants(0)) return;
           const Expr zeros =
               c.emitter().one("init", {}, {{"shape", c.in_spec(0).shape}, {"dtype", c.in_spec(0).dtype}});
           c.set(0, c.emitter().one("scatter", {zeros, c.out(1), c.dy()}, {{"axis", c.site().integer("axis")}}));
         },
     .tiles = tile_sort},
    {.name = "argsort",
     .path = "ops.argsort",
     .doc = "The int32 indices that put the elements in order along an axis.",
     .example = "argsort(array([3.0, 1.0, 2.0]))",
     .params = sort_params,
     .expand =
         [](Emitter& at, const OpArgs& args) {
           return std::vector<Expr>{
               at.emit("sort", {args.expr(0)}, {{"axis", *args.attr(1)}, {"descending", *args.attr(2)}})[1]};
         },
     .role = Role::composite},
};
static_assert(all_complete(order_table));

}  // namespace

std::span<const OpRow> order_rows() { return order_table; }

}  // namespace pxl
