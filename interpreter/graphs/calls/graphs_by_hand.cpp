// Graphs made by hand (create_empty_graph, graph_input, graph_output) and caches of graphs.
#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

/// `GraphCache()`: create_graph with it returns the graph of an earlier call that would have built the same graph.
struct GraphCacheObject final : Object {
  std::string type_name() const override { return "GraphCache"; }
  std::optional<Value> member(Interpreter&, std::string_view name) override {
    if (name != "create_graph") return std::nullopt;
    auto self = static_ref_cast<GraphCacheObject>(shared_from_this());
    return make_method(no_effects, "create_graph", [self](Interpreter& in, Arguments args) -> Value {
      const Value callee = take_callee(args);
      GraphSource source = source_of(callee);
      take_training(in, source, args);
      const BuiltGraph built = shared_graph(in, source, args, Value(self));
      Value graph = graph_value(graphs_of(in).target().ir, built.graph, built.captured);
      if (!callee.as<ModuleInstance>()) return graph;
      return make_tuple({Value(built.factories->copy()), std::move(graph)});
    });
  }
  std::vector<std::string> member_names() const override { return {"create_graph"}; }
};

Value create_empty_graph(Interpreter& in, const std::shared_ptr<Ir>& ir, const Arguments& args) {
  ArgReader a(args);
  const std::string name = a.string("name");
  if (name.empty() || name.find('/') != std::string::npos)
    throw Error("create_empty_graph: `" + name + "` cannot be the name of a graph").as(codes::program);
  stamp(in, *ir);
  return graph_value(ir, &ir->create_graph(name));
}

namespace {

Value graph_input(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  const Value shape = a.value("shape");
  TensorSpec spec;
  if (is_tensor_like(shape)) {
    spec = to_spec(in, shape, "the spec of a graph input");
  } else {
    spec.shape = to_shape(shape, "the shape of a graph input");
    spec.dtype = a.has("dtype") ? to_dtype(a.value("dtype"), "the dtype of a graph input") : DType::float32;
  }
  const BuildTarget target = graphs_of(in).target();
  stamp(in, *target.ir);
  return tensor_value(target.ir,
                      target.graph->add_input(spec, a.string("name"), a.boolean("by_ref"), a.string_or("key", "")));
}

}  // namespace

void bind_graph_making_builtins(Scope& p) {
  define(p, no_effects,
         {"graph_input(shape, dtype = float32, name = \"t\", by_ref = false, key = none)",
          "A further input of the graph that is being built; `shape` may be a spec, and `key` is its dotted name for "
          "`bind`.",
          R"(def scaled(x) { return x * graph_input(float32[1], name = "scale") }
graph = ir.create_graph(scaled, float32[2])
len(graph.inputs))"},
         [](Interpreter& in, Arguments args) { return graph_input(in, args); });
  define(p, no_effects, {"graph_output(t)", "A further output of the graph that is being built.", R"(def both(x) {
  graph_output(x * 2)
  return x + 1
}
len(ir.create_graph(both, float32[2]).outputs))"},
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a(args);
           Tensor* t = as_tensor(a.value("t"));
           if (!t) type_error("graph_output takes a tensor, got " + with_article(a.value("t").type_name()));
           const BuildTarget target = graphs_of(in).target();
           if (target.graph->is_main())
             throw Error("graph_output: the main graph has no outputs", {"store the tensor to a `stream out`"})
                 .as(codes::program);
           target.graph->add_output(t);
           return {};
         });
  define(p, no_effects,
         {"GraphCache()",
          "A cache of graphs: its create_graph builds a graph once for equal arguments, configuration and place.",
          R"(from nn import Linear
cache = GraphCache()
layer = Linear(3)
a = cache.create_graph(layer, float32[2, 4])
b = cache.create_graph(layer, float32[2, 4])
a[1].id == b[1].id)"},
         [](Interpreter&, Arguments args) -> Value {
           ArgReader a(args);
           return make_ref<GraphCacheObject>();
         });
}

}  // namespace pxl
