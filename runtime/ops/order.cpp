// Sorting along an axis.
#include "runtime/kernels/reduction/reduce.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param sort_params[] = {
    {"t", ParamKind::tensor}, {"axis", ParamKind::integer, of(-1)}, {"descending", ParamKind::boolean, of(false)}};

int64_t sort_axis(const OpContext& s) { return axis_of(s, "axis", static_cast<int64_t>(s.input(0).shape.size())); }

constexpr OpRow order_table[] = {
    {.name = "sort",
     .path = "ops.sort",
     .schedule = "Sort",
     .output = "sort_out,sort_indices_out",
     .doc = "The elements sorted along an axis, and their int32 indices. The sort is stable; NaN is last (first if "
            "descending).",
     .example = "sort(array([3.0, 1.0, 2.0]))",
     .params = sort_params,
     .infer =
         [](const OpContext& s) {
           check_no_float8(s, 0);
           sort_axis(s);
           TensorSpec spec{s.input(0).shape, s.input(0).dtype, {}};
           return std::vector<TensorSpec>{spec, {spec.shape, DType::int32, {}}};
         },
     .definition = reference::sort,
     .tolerance = &tolerance::bits,
     .kernel = [](const OpContext& s) { return sort_kernel(s.input(0), sort_axis(s), s.boolean("descending")); },
     .gradient =
         [](GradContext& c) {
           if (!c.wants(0)) return;
           const Expr zeros =
               c.builder().one("init", {}, {{"shape", c.in_spec(0).shape}, {"dtype", c.in_spec(0).dtype}});
           c.set(0, c.builder().one("scatter", {zeros, c.out(1), c.dy()}, {{"axis", c.site().integer("axis")}}));
         },
     .batch = Batch::axis,
     .tiles = tile_sort},
    {.name = "argsort",
     .path = "ops.argsort",
     .doc = "The int32 indices that sort the elements along an axis.",
     .example = "argsort(array([3.0, 1.0, 2.0]))",
     .params = sort_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           return std::vector<Expr>{
               at.emit("sort", {args.expr(0)}, {{"axis", *args.attr(1)}, {"descending", *args.attr(2)}})[1]};
         },
     .role = Role::composite},
};
static_assert(all_complete(order_table));

}  // namespace

std::span<const OpRow> order_rows() { return order_table; }

}  // namespace pxl
