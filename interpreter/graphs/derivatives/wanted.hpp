// The tensors by which derivatives are taken, and the gradients that a call adds.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "interpreter/graphs/derivatives/derivatives.hpp"
#include "interpreter/graphs/modules/tensor_trees.hpp"

namespace pxl {

class ArgReader;

/// An operand by which a derivative is taken, and its name and place in the result.
struct Wanted {
  std::string name;
  std::string path;  ///< "1.weight": below the second item of a list
  Tensor* tensor = nullptr;
  std::vector<size_t> slots;  ///< of the call; several hold a captured tensor
};

/// The gradient of a tensor without a path to the result.
enum class Unused : uint8_t { error, zero, none };
Unused to_unused(const ArgReader& a);

/// Whether `wrt` names arguments, rather than tensors.
bool selects_arguments(const Value& wrt);
/// The tensors of `wrt`, by name and path. A bound graph has its variables.
std::vector<Wanted> wanted_tensors(Interpreter& in, const Value& wrt, const char* where);
/// The operands of a call that `wrt` selects. `whole` tells whether `wrt` is one tensor.
std::vector<Wanted> resolve_wanted(Interpreter& in, const FunctionCall& call, const Value& f, const Value& wrt,
                                   bool& whole);

/// The paths of what a graph returns, by declared output.
std::vector<std::string> result_paths(Interpreter& in, const std::shared_ptr<Ir>& ir, const Graph& graph);
/// Gradients of a graph's results that a dict has by their paths; none for the results that it lacks.
std::vector<Value> gradients_by_path(Interpreter& in, const std::shared_ptr<Ir>& ir, const Graph& graph,
                                     const Value& dict, const char* where);

[[noreturn]] void refuse_without_path(const std::string& name, const Tensor& inner, const Tensor& loss);
Tensor* ones_for(Interpreter& in, const Tensor& y);
Value zeros_like(Interpreter& in, const TensorSpec& spec);
/// Adds the gradient of a call for operands; `output_grads` is parallel to the declared outputs.
std::vector<Value> gradients_of_call(Interpreter& in, const FunctionCall& call,
                                     const std::vector<Tensor*>& output_grads, const std::vector<Wanted>& wanted,
                                     Unused unused);
/// Gradients in the form of `wanted`.
Value in_form(const std::shared_ptr<Ir>& ir, const std::vector<Wanted>& wanted, std::vector<Value> gradients,
              bool whole);
/// Notes the gradients that are returned as numbers.
void note_numbers(LiftedArguments& lifted, const std::vector<Wanted>& wanted, const std::vector<Value>& gradients);

struct GradOptions {
  Unused unused = Unused::error;
  bool value = false, aux = false;
};
/// `grad(f)` or `value_and_grad(f)`.
Value make_grad(const Value& f, const Value& wrt, GradOptions options);
/// A function that a transform makes of f.
Ref<DerivativeObject> derivative(std::string name, const Value& f, DerivativeObject::Build build);

}  // namespace pxl
