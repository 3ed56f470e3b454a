// Graphs, bound graphs and call sites as values of the language.
#pragma once

#include <set>

#include "interpreter/graphs/trees.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

/// The form of `return`, which calls of the graph repeat.
enum class ResultForm : uint8_t { nothing, single, tuple, tree };

/// Inputs that a call gets from elsewhere than its arguments: a bound tree, `inputs = {...}`, captured tensors.
using BoundInputs = std::map<const Tensor*, Value>;

/// What the language needs of a graph beyond its IR. Kept by the interpreter, one per graph.
struct GraphFacts {
  ResultForm form = ResultForm::tuple;
  Value result;   ///< of a tree: the returned value, with specs in place of tensors
  struct Group {  ///< the inputs of one parameter; a list has several, named xs_0, xs_1
    std::string name;
    size_t first = 0, count = 1;
    bool is_list = false;
  };
  std::vector<Group> groups;
  std::vector<std::string> baked;      ///< parameters whose arguments are no inputs
  std::set<std::string> with_factory;  ///< dotted names of params that variables can be made for
  /// Of a module with a `build_grad`: the instance, and the tensors that names of its build held at the end.
  ObjectPtr differentiable;
  std::map<std::string, Tensor*> names;
  /// The captured inputs, and the tensors of the graph around it that they stood for when it was built.
  std::vector<std::pair<Tensor*, Tensor*>> captured;
};
const GraphFacts& facts_of(Interpreter& in, const std::shared_ptr<Ir>& ir, const Graph* graph);

/// The name of a graph input: of the param that it is, else of the tensor.
std::string input_name(const Tensor& input);

/// The common parts of the call forms.
/// `call`, `call_with_info` and a call like a function: adds a call op to the current graph.
Op* emit_call(Interpreter& in, const std::shared_ptr<Ir>& ir, Graph& graph, const BoundInputs& bound,
              const Arguments& args);
/// Tensors for the declared outputs of a graph, in the form that the graph returned them.
Value in_result_form(Interpreter& in, const std::shared_ptr<Ir>& ir, const Graph& graph, std::vector<Value> outputs);
/// The declared outputs of a call in that form.
Value call_result(Interpreter& in, const std::shared_ptr<Ir>& ir, const Op& op);

struct GraphObject final : Object {
  std::shared_ptr<Ir> ir;
  Graph* graph;
  BoundInputs captured;  ///< where it shares a graph whose captures were others
  GraphObject(std::shared_ptr<Ir> i, Graph* g) : ir(std::move(i)), graph(g) {}
  std::string type_name() const override { return "graph"; }
  std::string str(Interpreter&) override;   ///< its schedule
  std::string repr(Interpreter&) override;  ///< Graph[Linear_subgraph(0)]
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  bool callable() const override { return true; }
  Value call(Interpreter& in, Arguments args) override;
  bool contains(Interpreter&, const Value& item) override;
  bool equals(Interpreter&, const Value& other) override;
  std::optional<std::string> hash_key() const override;
  bool is_context() const override { return true; }  ///< `with graph { }`: ops go there
  Value enter(Interpreter& in) override;
  void leave(Interpreter& in, bool failed) override;

 private:
  std::vector<std::shared_ptr<void>> active_;  // one for each time that the context is entered
};
Value graph_value(std::shared_ptr<Ir> ir, Graph* graph);
/// Of a graph whose captures are these tensors.
Value graph_value(std::shared_ptr<Ir> ir, Graph* graph, BoundInputs captured);
/// The named inputs of a graph as a tree.
TreePtr args_tree(const std::shared_ptr<Ir>& ir, const Graph& graph);

/// A graph with tensors for its named inputs.
struct BoundGraphObject final : Object {
  Ref<GraphObject> graph;
  TreePtr vars;
  BoundInputs inputs;
  /// With those that the graph captured.
  BoundInputs all_inputs() const;
  std::string type_name() const override { return "bound graph"; }
  std::string str(Interpreter&) override;
  std::string repr(Interpreter&) override;
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  bool callable() const override { return true; }
  Value call(Interpreter& in, Arguments args) override;
};
/// `bind(tree)`, `bind({input: tensor})`, `bind(weight = w)`: the graph with these tensors and those that were bound
/// before.
Value bind_graph(Interpreter& in, const Ref<GraphObject>& g, const BoundInputs& before, const TreePtr& vars,
                 const Arguments& args);

/// A call site.
struct CallInfoObject final : Object {
  std::shared_ptr<Ir> ir;
  Op* op;
  TreePtr vars;  ///< of the bound graph that was called, or null
  CallInfoObject(std::shared_ptr<Ir> i, Op* o, TreePtr v) : ir(std::move(i)), op(o), vars(std::move(v)) {}
  std::string type_name() const override { return "call info"; }
  std::string repr(Interpreter&) override;
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
};

/// An op, for looking at.
struct OpObject final : Object {
  std::shared_ptr<Ir> ir;
  const Op* op;
  OpObject(std::shared_ptr<Ir> i, const Op* o) : ir(std::move(i)), op(o) {}
  std::string type_name() const override { return "op"; }
  std::string repr(Interpreter&) override;  ///< MatMul.100
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
};

/// What can be called: a graph, with what a bound one brings along.
struct Callable {
  std::shared_ptr<Ir> ir;
  Graph* graph = nullptr;
  BoundInputs inputs;
  TreePtr vars;
};
Callable to_callable(const Value& v, const char* where);
/// `repeat`: a loop op; the declared outputs of an iteration are the first inputs of the next.
Op* emit_repeat(Interpreter& in, const Callable& body, int64_t count, const Arguments& args);
/// `scan(f, init, xs, *args, count = none, reverse = false)`: the last states, then the stacked results.
Value make_scan(Interpreter& in, Arguments args);
/// `conditional`: an op that runs one of two graphs by a bool tensor of one element.
Op* emit_conditional(Interpreter& in, const Value& condition, const Callable& yes, const Arguments& yes_args,
                     const Callable& no, const Arguments& no_args);

/// The graph of a graph, bound graph or gradient graph; throws naming `where` for others.
Ref<GraphObject> to_graph(const Value& v, const char* where);
/// Tensors of a list, tuple, tree or a single tensor.
std::vector<Tensor*> to_tensors(Interpreter& in, const Value& v, const char* where);
/// Gives the Ir the place that the next ops come from.
void stamp(Interpreter& in, Ir& ir);
/// A tensor of the current graph: itself, or a constant where `v` is a number or an array.
Tensor* to_operand(Interpreter& in, const Value& v, const TensorSpec& spec, const std::string& what);

/// `info.backward(dy, wanted)` (gradients.cpp).
Value backward(Interpreter& in, const Ref<CallInfoObject>& info, const Arguments& args);
/// Has autodiff call the `build_grad` of the module that a graph was built from (custom_gradient.cpp).
void use_build_grad(Interpreter& in, const std::shared_ptr<Ir>& ir, Graph& graph);
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
void bind_vmap_builtin(Scope& prelude);
void bind_graph_making_builtins(Scope& prelude);
void bind_cost_builtins(Scope& prelude);
void bind_seed_builtins(Scope& prelude);
void bind_rewrite_builtins(Scope& prelude);
void bind_replica_builtins(Scope& prelude);
void bind_remote_builtins(Scope& prelude);
void bind_pipeline_builtins(Scope& prelude);

}  // namespace pxl
