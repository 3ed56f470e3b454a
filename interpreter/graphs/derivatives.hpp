// Functions of functions: `grad`, `value_and_grad`, `vjp`, `jvp`, `hvp`, `jacobian`.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "interpreter/graphs/graphs.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/cycles.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {

struct GraphSource;

/// Arguments in which arrays, lists of numbers and differentiated floats are tensors.
struct LiftedArguments {
  Arguments args;
  std::set<const Tensor*> numbers;  ///< those that were floats
  /// Filled by what uses the arguments: results that are numbers, because they belong to such tensors.
  std::set<const Tensor*> number_results;
};

/// A function that `grad` or one of its kin made of a function. A call adds calls of graphs to the graph that is being
/// built; where no tensor is among the arguments and the captures it computes at once.
struct DerivativeObject final : Object {
  std::string key;    ///< what it computes, with its options
  std::string title;  ///< "grad(loss)"
  Value function;
  std::vector<Value> parts;             ///< values that it holds besides, such as `wrt`
  std::vector<std::string> parameters;  ///< of the function, as far as they are known
  std::vector<Value> differentiated;    ///< arguments, by name or position, whose floats are inputs
  bool all_differentiated = false;      ///< the floats of every argument are inputs
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

/// What a graph of a function is made from: of a def or a method its code, of anything else a call of it.
GraphSource source_of_function(const Value& f, const Arguments& args);
/// The names of a function's parameters, as far as its value tells them.
std::vector<std::string> parameters_of(const Value& f);

/// A call of a function's graph.
struct FunctionCall {
  Callable callable;
  Op* op = nullptr;
  /// A tensor among the arguments.
  struct Given {
    std::string argument;  ///< "x"; empty if the parameter has no name
    size_t position = 0;   ///< of the argument
    std::string path;      ///< within the argument; empty if the tensor is all of it
    Value tensor;
    size_t slot = 0;  ///< of the call's operands
  };
  std::vector<Given> given;
};
/// A function's arguments that are tensors and specs, as its graph orders its inputs.
std::vector<FunctionCall::Given> tensors_given(Interpreter& in, const Value& f, const Arguments& args);
/// The graph of a function for these arguments, from the cache of graphs.
Callable graph_of_function(Interpreter& in, const Value& f, const Arguments& args);
/// A name for messages: "loss".
std::string title_of(const Value& f);
/// Adds a call of the graph of a function, or of a graph. Specs among the arguments are refused.
FunctionCall call_function(Interpreter& in, const Value& f, const Arguments& args);

/// Runs `d.build` as a program of its own, on arrays. The program is kept for further calls of its kind.
Value compute_at_once(Interpreter& in, const Ref<DerivativeObject>& d, const Arguments& args);
/// Whether tensors are among the arguments, or names of the function reach one.
bool needs_graph(Interpreter& in, const DerivativeObject& d, const Arguments& args);
/// The arguments with `lift` of each array in its place. The first dtype of floats among them is that of the floats.
LiftedArguments lift_arguments(Interpreter& in, const DerivativeObject& d, Arguments args,
                               const std::function<Value(const Array&)>& lift);

}  // namespace pxl
