// Reverse-mode differentiation, graph to graph (reference: PopXL's transforms.autodiff).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

enum class ConnectionType : uint8_t { fwd, fwd_grad };

/// Whether an input or output of a gradient graph represents a forward tensor or its gradient.
struct ExpectedConnection {
  ConnectionType type;
  Tensor* fwd_tensor;
};

struct GradGraphInfo {
  Graph* graph = nullptr;  ///< the gradient graph
  Graph* forward_graph = nullptr;
  std::vector<ExpectedConnection> expected_inputs;   ///< parallel to graph->inputs()
  std::vector<ExpectedConnection> expected_outputs;  ///< parallel to graph->outputs()

  /// {gradient graph input: caller's tensor} for the forward connections, from a call of the forward graph. Throws
  /// Error if the call site calls another graph.
  std::map<Tensor*, Tensor*> inputs_dict(const Op& fwd_call) const;
  /// {argument of the forward call: its gradient, an output of the gradient call}, in output order. A repeated argument
  /// keeps its last gradient.
  std::vector<std::pair<Tensor*, Tensor*>> fwd_parent_ins_to_grad_parent_outs(const Op& fwd_call,
                                                                              const Op& grad_call) const;
};
using GradGraphInfoPtr = std::shared_ptr<const GradGraphInfo>;

/// The gradient graph of `graph`. `grads_provided` defaults to the declared outputs, `grads_required` to all inputs
/// that can have a gradient. Inputs of the result: a gradient per provided tensor, then the forward tensors that are
/// used, by id. Activations among them become additional outputs, both in the forward graph and at its call sites.
/// Graphs called by `graph` are differentiated first, each once. Memoised by graph and lists; with `own`, a separate
/// graph that the caller may modify. Throws for a modifying op in the forward graph, a required tensor without gradient
/// path, and an op without gradient; each error names the op and its source line.
GradGraphInfoPtr autodiff(Graph& graph, std::optional<std::vector<Tensor*>> grads_provided = {},
                          std::optional<std::vector<Tensor*>> grads_required = {},
                          const std::map<Graph*, GradGraphInfoPtr>& called_graphs_grad_info = {}, bool own = false);

/// A custom gradient, which replaces the gradients of a graph's ops. autodiff calls it with the graph, `grads_provided`
/// and `grads_required` when the graph or a caller needs a gradient graph.
using CustomGradient =
    std::function<GradGraphInfoPtr(Graph&, const std::vector<Tensor*>&, const std::vector<Tensor*>&)>;
/// `is_path`: every floating input may have a gradient, whatever the graph's ops are.
void set_custom_gradient(Graph& graph, CustomGradient gradient, bool is_path);

using TensorSet = std::unordered_set<const Tensor*>;
/// Floating tensors that reach `provided` through floating tensors of the graph's ops.
TensorSet tensors_before(const Graph& graph, const std::vector<Tensor*>& provided);

/// Completes a gradient graph: `made` begins with an input for the gradient of each tensor in `provided`; `gradients`
/// are pairs of a forward tensor and its gradient, which become the outputs; `values` are forward tensors and the
/// inputs of `made` that represent them. Eliminates dead code, orders the inputs, and makes activations outputs of the
/// forward graph, unless the gradient graph is called `within` the forward graph.
GradGraphInfoPtr finish_gradient_graph(Graph& forward, Graph& made, const std::vector<Tensor*>& provided,
                                       const std::vector<std::pair<Tensor*, Tensor*>>& gradients,
                                       const std::unordered_map<Tensor*, Tensor*>& values, bool within = false);

/// The floating inputs of `graph` that lead to `grads_provided` (default: the declared outputs), in input order. A path
/// runs through floating tensors, or through a custom gradient that is a path.
std::vector<Tensor*> differentiable_inputs(const Graph& graph, std::optional<std::vector<Tensor*>> grads_provided = {});

/// The inputs for which `autodiff(graph)` computes gradients. The inputs of a custom gradient are known only from its
/// graph.
std::vector<Tensor*> inputs_with_gradient(Graph& graph);

/// A call of a gradient graph, created by `backward`.
struct Backward {
  GradGraphInfoPtr info;
  Op* call = nullptr;
  std::vector<Tensor*> gradients;  ///< parallel to the wanted tensors
};

/// Makes the call of a gradient graph read forward values as the forward call read them. Changes that were written in
/// between are ordered after the gradient's call (graph/read_order.hpp). `call` is the last op of its graph. Does
/// nothing unless it calls a gradient graph. Throws if the gradient depends on such a change. Throws if it is unclear
/// which forward call is meant: several have these operands, and changes are between them.
void order_gradient_call(Op& call);

/// The gradients of tensors that were passed to a call. `output_grads` is parallel to the declared outputs of the
/// called graph (a shorter list, or null: no gradient); each has the output's spec and is in the caller's graph. Builds
/// or reuses the gradient graph, and calls it in the graph of `fwd_call`. Gradients are summed if one tensor was passed
/// to several inputs. Throws Error if a wanted tensor was not passed to the call or no path leads to it.
Backward backward(Op& fwd_call, const std::vector<Tensor*>& output_grads, const std::vector<Tensor*>& wanted);
/// The same for operands of the call by slot, without sums: a tensor that is passed twice has two gradients. Each slot
/// must be one of the inputs that `differentiable_inputs` returns.
Backward backward_by_slot(Op& fwd_call, const std::vector<Tensor*>& output_grads, const std::vector<size_t>& slots);

/// The gradients of `loss` for tensors in its own graph. Adds a call of a gradient graph for the ops between them; the
/// gradient graph reads the values that these ops read. `loss_gradient` has the spec of `loss`. The gradient of a
/// tensor without a path is null. Throws for ops in place on a path, and for ops without gradient.
Backward gradients_within(Tensor& loss, Tensor& loss_gradient, const std::vector<Tensor*>& wanted);
/// Whether a gradient graph was made for a graph of the program.
bool has_gradients(const Ir& ir);
/// The variables on which a loss depends by floats, though `gradients_within` was never asked for their gradient.
std::vector<const Tensor*> variables_without_gradient(const Ir& ir);
/// Why `tensor` has no gradient of `loss`, a tensor of its graph: notes of an error.
std::vector<std::string> notes_on_lost_gradient(const Tensor& tensor, const Tensor& loss, std::string remedy);

}  // namespace pxl
