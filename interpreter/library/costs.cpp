// Counts floating point operations.
#include <fmt/format.h>

#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/programs.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/transform/flops.hpp"

namespace pxl {
namespace {

const Graph& graph_of(Interpreter& in, const Value& v, const char* where, Value& holder) {
  if (v.as<GraphObject>() || v.as<BoundGraphObject>() || v.type_name() == "gradient graph")
    return *to_graph(v, where)->graph;
  return to_ir(in, v, where, holder)->ir->main();
}

std::string op_key(const Op& op) { return fmt::format("{}.{}", op.row->schedule, op.id); }

}  // namespace

void bind_cost_builtins(Scope& p) {
  define(p, no_effects,
         {"total_flops(graph)",
          "The floating-point operations in one run of a graph, or an ir's main graph, with everything that it calls.",
          R"(def product(x) { return x @ x }
total_flops(ir.create_graph(product, float32[8, 8])))"},
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a(args);
           Value holder;
           return flops_of(graph_of(in, a.value("graph"), "total_flops", holder));
         });
  define(p, no_effects,
         {"evaluate_flops(graph)",
          "A dict from the ops of a graph, and of the graphs that it calls, to their floating-point operations.",
          R"(def product(x) { return x @ x }
graph = ir.create_graph(product, float32[8, 8])
list(evaluate_flops(graph).values()))"},
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a(args);
           Value holder;
           auto d = make_ref<DictObject>();
           for (const auto& [op, flops] : flops_by_op(graph_of(in, a.value("graph"), "evaluate_flops", holder)))
             d->put(Value(op_key(*op)), Value(flops));
           return d;
         });
}

}  // namespace pxl
