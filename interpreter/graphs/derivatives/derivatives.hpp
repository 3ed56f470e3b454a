// Functions that transform functions: `grad`, `value_and_grad`, `vjp`, `jvp`, `hvp`, `jacobian`.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "interpreter/graphs/modules/states.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/cycles.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {

struct GraphSource;

/// Arguments after arrays, lists of numbers and differentiated floats have become tensors.
struct LiftedArguments {
  Arguments args;
  std::set<const Tensor*> numbers;  ///< tensors that were floats
  /// The results that must be returned as numbers, since they belong to such tensors. The user of the arguments fills
  /// it.
  std::set<const Tensor*> number_results;
};

/// A function that `grad` or a similar function made from another function. A call adds calls of graphs to the graph
/// that is being built. If neither the arguments nor the captures contain a tensor, the call computes at once.
struct DerivativeObject final : Object {
  std::string key;    ///< identifies the computation and its options
  std::string title;  ///< "grad(loss)"
  Value function;
  std::vector<Value> parts;             ///< further values, such as `wrt`
  std::vector<std::string> parameters;  ///< parameters of the function, as far as they are known
  std::vector<Value> differentiated;    ///< arguments, by name or position, whose floats become inputs
  bool all_differentiated = false;      ///< whether the floats of every argument become inputs
  using Build = std::function<Value(Interpreter&, const DerivativeObject&, LiftedArguments&)>;
  Build build;
  std::string type_name() const override { return "function"; }
  std::string repr(Interpreter&) override { return "<function " + title + ">"; }
  bool callable() const override { return true; }
  Value call(Interpreter& in, Arguments args) override;
  void references(References& to) const override {
    to.add(function);
    for (const Value& v : parts) to.add(v);
  }
};

/// A graph, bound graph or gradient graph.
bool is_graph_value(const Value& v);
/// The source of a function's graph: the code of a def or a method, or a call of anything else.
GraphSource source_of_function(const Value& f, const Arguments& args);
/// The names of a function's parameters, as far as its value reveals them.
std::vector<std::string> parameters_of(const Value& f);

/// A call to a function's graph.
struct FunctionCall {
  Callable callable;
  CallOperands operands;
  Op* op = nullptr;
  /// A tensor among the arguments.
  struct Given {
    std::string argument;  ///< "x"; empty if the parameter has no name
    size_t position = 0;   ///< position of the argument
    std::string path;      ///< path within the argument; empty if the tensor is the whole argument
    Value tensor;
    size_t slot = 0;  ///< slot among the call's operands
  };
  std::vector<Given> given;
};
/// A function's arguments that are tensors or specs, in the order of its graph's inputs.
std::vector<FunctionCall::Given> tensors_given(Interpreter& in, const Value& f, const Arguments& args);
/// The function's graph for these arguments, from the cache of graphs.
Callable graph_of_function(Interpreter& in, const Value& f, const Arguments& args);
/// A name for messages: "loss".
std::string title_of(const Value& f);
/// The call of a graph, or of a function's graph, without its op. Refuses specs among the arguments.
FunctionCall prepared_call(Interpreter& in, const Value& f, const Arguments& args);
/// As above, and adds the op.
FunctionCall call_function(Interpreter& in, const Value& f, const Arguments& args);

/// Runs `d.build` as a separate program on arrays. Later calls of the same kind use the program again.
Value compute_at_once(Interpreter& in, const Ref<DerivativeObject>& d, const Arguments& args);
/// Whether the arguments contain a tensor, or the function's names reach one.
bool needs_graph(Interpreter& in, const DerivativeObject& d, const Arguments& args);
/// Replaces each array in the arguments with `lift` of the array. Floats get the first floating-point dtype among the
/// arguments.
LiftedArguments lift_arguments(Interpreter& in, const DerivativeObject& d, Arguments args,
                               const std::function<Value(const Array&)>& lift);
/// Throws the error about an argument that is an int, where no argument for which a gradient is wanted has a float.
[[noreturn]] void refuse_int(const std::string& title, const Arguments& args, size_t position, const std::string& name);

}  // namespace pxl
