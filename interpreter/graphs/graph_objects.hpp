// Graphs, bound graphs and call sites as values of the language.
#pragma once

#include <set>

#include "interpreter/graphs/modules/trees.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

/// The form of `return`, which calls of the graph repeat.
enum class ResultForm : uint8_t { nothing, single, tuple, tree };

/// Inputs that do not come from a call's arguments: a bound tree, `inputs = {...}`, captured tensors.
using BoundInputs = std::map<const Tensor*, Value>;

/// Facts about a graph that the language needs and the IR lacks. The interpreter keeps one object per graph.
struct GraphFacts {
  ResultForm form = ResultForm::tuple;
  Value result;   ///< for a tree: the returned value, with specs in place of tensors
  struct Group {  ///< the inputs for one parameter; a list has several, named xs_0, xs_1
    std::string name;
    size_t first = 0, count = 1;
    bool is_list = false;
  };
  std::vector<Group> groups;
  std::vector<std::string> baked;      ///< parameters whose arguments are constants of the graph
  std::set<std::string> with_factory;  ///< dotted names of params for which variables can be made
  /// The instance, if its module has a method for a transform, such as `build_grad`. `names` has the tensors bound to
  /// names of its build at the end.
  ObjectPtr differentiable;
  std::map<std::string, Tensor*> names;
  /// The captured inputs, and the tensors of the enclosing graph that they represented when the graph was built.
  std::vector<std::pair<Tensor*, Tensor*>> captured;
  /// A captured tensor to which no name of the code leads: calls with equal arguments can't share the graph.
  std::string out_of_reach;
};
const GraphFacts& facts_of(Interpreter& in, const std::shared_ptr<Ir>& ir, const Graph* graph);

/// The name of a graph input: the param's name if the input is a param, otherwise the tensor's name.
std::string input_name(const Tensor& input);

/// Adds a call op to the current graph. `call`, `call_with_info` and a call in function form use it.
Op* emit_call(Interpreter& in, const std::shared_ptr<Ir>& ir, Graph& graph, const BoundInputs& bound,
              const Arguments& args);
/// Arranges the tensors for a graph's declared outputs in the form that the graph returned.
Value in_result_form(Interpreter& in, const std::shared_ptr<Ir>& ir, const Graph& graph, std::vector<Value> outputs);
/// The declared outputs of a call in the graph's form.
Value call_result(Interpreter& in, const std::shared_ptr<Ir>& ir, const Op& op);

struct GraphObject final : Object {
  std::shared_ptr<Ir> ir;
  Graph* graph;
  ObjectPtr origin;      ///< of a graph that an instance made, its GraphOrigin; else null
  BoundInputs captured;  ///< set if the graph is shared and its captures were other tensors
  GraphObject(std::shared_ptr<Ir> i, Graph* g) : ir(std::move(i)), graph(g) {}
  std::string type_name() const override { return "graph"; }
  void references(References& to) const override { to.add(origin); }
  std::string str(Interpreter&) override;   ///< its schedule
  std::string repr(Interpreter&) override;  ///< Graph[Linear_subgraph(0)]
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  bool callable() const override { return true; }
  Value call(Interpreter& in, Arguments args) override;
  bool contains(Interpreter&, const Value& item) override;
  bool equals(Interpreter&, const Value& other) override;
  std::optional<std::string> hash_key() const override;
  bool is_context() const override { return true; }  ///< `with graph { }`: ops are added to the graph
  Value enter(Interpreter& in) override;
  void leave(Interpreter& in, bool failed) override;

 private:
  std::vector<std::shared_ptr<void>> active_;  // one for each entry into the context
};
Value graph_value(std::shared_ptr<Ir> ir, Graph* graph);
/// The value for a graph that has captured these tensors.
Value graph_value(std::shared_ptr<Ir> ir, Graph* graph, BoundInputs captured);
/// The named inputs of a graph as a tree.
TreePtr args_tree(const std::shared_ptr<Ir>& ir, const Graph& graph);

/// A graph with tensors for its named inputs.
struct BoundGraphObject final : Object {
  void references(References& to) const override { to.add(graph); }
  Ref<GraphObject> graph;
  TreePtr vars, states;  ///< params, and states
  BoundInputs inputs;
  /// The inputs, which include those that the graph captured.
  BoundInputs all_inputs() const;
  std::string type_name() const override { return "bound graph"; }
  std::string str(Interpreter&) override;
  std::string repr(Interpreter&) override;
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  bool callable() const override { return true; }
  Value call(Interpreter& in, Arguments args) override;
};
/// `bind(tree)`, `bind({input: tensor})`, `bind(weight = w)`: the graph with these tensors and those bound before.
Value bind_graph(Interpreter& in, const Ref<GraphObject>& g, const BoundGraphObject* before, const Arguments& args);

/// A call site.
struct CallInfoObject final : Object {
  std::shared_ptr<Ir> ir;
  Op* op;
  TreePtr vars;  ///< variables of the bound graph that was called, or null
  CallInfoObject(std::shared_ptr<Ir> i, Op* o, TreePtr v) : ir(std::move(i)), op(o), vars(std::move(v)) {}
  std::string type_name() const override { return "call info"; }
  std::string repr(Interpreter&) override;
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
};

/// An op, for inspection.
struct OpObject final : Object {
  std::shared_ptr<Ir> ir;
  const Op* op;
  OpObject(std::shared_ptr<Ir> i, const Op* o) : ir(std::move(i)), op(o) {}
  std::string type_name() const override { return "op"; }
  std::string repr(Interpreter&) override;  ///< MatMul.100
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
};

/// A callable graph, with the inputs that a bound graph adds.
struct Callable {
  std::shared_ptr<Ir> ir;
  Graph* graph = nullptr;
  BoundInputs inputs;
  TreePtr vars;
};
Callable to_callable(const Value& v, const char* where);
/// `repeat`: a loop op; the declared outputs of an iteration are the first inputs of the next.
Op* emit_repeat(Interpreter& in, Callable body, int64_t count, const Arguments& args);
/// `scan(f, init, xs, *args, count = none, reverse = false)`: returns the last states, then the stacked results.
Value make_scan(Interpreter& in, Arguments args);
/// `conditional`: adds an op that runs one of two graphs, as a one-element bool tensor decides.
Op* emit_conditional(Interpreter& in, const Value& condition, Callable yes, const Arguments& yes_args, Callable no,
                     const Arguments& no_args);

/// The graph in a graph, bound graph or gradient graph. Throws an error that names `where` for other values.
Ref<GraphObject> to_graph(const Value& v, const char* where);
/// The tensors in a list, tuple or tree, or a single tensor.
std::vector<Tensor*> to_tensors(Interpreter& in, const Value& v, const char* where);
/// Sets the source position for the Ir's next ops.
void stamp(Interpreter& in, Ir& ir);
/// An operand in the current graph: the tensor itself, or a constant if `v` is a number or an array.
Tensor* to_operand(Interpreter& in, const Value& v, const TensorSpec& spec, const std::string& what);

/// `info.backward(dy, wanted)` (gradients.cpp).
Value backward(Interpreter& in, const Ref<CallInfoObject>& info, const Arguments& args);
/// Makes transforms call `build_grad`, `build_jvp` and `build_batch` of the module that a graph was built from
/// (custom_gradient.cpp).
void use_methods_of_graph(Interpreter& in, const std::shared_ptr<Ir>& ir, Graph& graph);
/// `ir.create_empty_graph(name)`.
Value create_empty_graph(Interpreter& in, const std::shared_ptr<Ir>& ir, const Arguments& args);
/// `autodiff(graph, ...)`.
Value make_autodiff(Interpreter& in, const Value& graph, const Arguments& args);

void bind_session_builtins(Scope& prelude);
void bind_context_builtins(Scope& prelude);
void bind_variable_builtins(Scope& prelude);
void bind_stream_builtins(Scope& prelude);
void bind_param_builtins(Scope& prelude);
void bind_gradient_builtins(Scope& prelude);
void bind_derivative_builtins(Scope& prelude);
void bind_directional_builtins(Scope& prelude);
void bind_loop_builtins(Scope& prelude);
void bind_vmap_builtin(Scope& prelude);
void bind_precision_builtin(Scope& prelude);
void bind_graph_making_builtins(Scope& prelude);
void bind_cost_builtins(Scope& prelude);
void bind_seed_builtins(Scope& prelude);
void bind_rewrite_builtins(Scope& prelude);
void bind_replica_builtins(Scope& prelude);
void bind_remote_builtins(Scope& prelude);
void bind_pipeline_builtins(Scope& prelude);

}  // namespace pxl
