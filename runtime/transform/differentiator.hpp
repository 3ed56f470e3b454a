// State of one differentiation: the context of the rows' gradients, and the gradient graph under construction.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "runtime/ops/op_builder.hpp"
#include "runtime/transform/autodiff.hpp"

namespace pxl {

using GradInfos = std::map<Graph*, GradGraphInfoPtr>;

/// Whether the graph has a custom gradient.
bool has_custom_gradient(const Graph& graph);
/// Whether the graph has a custom gradient that is a path (set_custom_gradient).
bool is_custom_path(const Graph& graph);
/// The inputs among tensors_before, or all floating ones of a graph whose custom gradient is a path.
TensorSet inputs_before(const Graph& graph, const std::vector<Tensor*>& provided);
/// Floating tensors reachable from `required` through floating tensors, `required` included.
TensorSet tensors_after(const Graph& graph, const std::vector<Tensor*>& required);
/// Notes of an error: the place at which the gradient of the provided tensors is lost on its way to `tensor`; `remedy`
/// last, if the tensor could have one.
std::vector<std::string> lost_gradient(const Tensor& tensor, const TensorSet& provided, std::string remedy);
/// The index of a tensor in a list; the size of the list if it is not there.
size_t index_in(const std::vector<Tensor*>& list, const Tensor* tensor);
/// The floating tensors without duplicates, in order of first appearance.
std::vector<Tensor*> floating_once(const std::vector<Tensor*>& tensors);

/// autodiff with both lists explicit. Not strict: required tensors without gradient are omitted.
GradGraphInfoPtr differentiate(Graph& graph, const std::vector<Tensor*>& provided, const std::vector<Tensor*>& required,
                               const GradInfos& called, bool strict, bool own = false);

/// Makes a gradient graph known to `order_gradient_call`.
void remember_gradient_graph(const GradGraphInfoPtr& info);

/// Throws for an op that changes memory in place: it has no derivative.
void check_nothing_modified(const Op& op);
/// Throws for an op without gradient.
[[noreturn]] void refuse_derivative(const Op& op);

/// Recomputation must not transfer data twice: throws if a graph that `op` calls uses a stream.
void check_repeatable(const Op& op);

class Differentiator : public GradContext {
 public:
  Differentiator(Graph& forward, const std::vector<Tensor*>& provided, const std::vector<Tensor*>& required,
                 const GradInfos& called);
  GradGraphInfoPtr run();
  /// The gradient graph for a part of the forward graph, which the forward graph itself calls. Its inputs are tensors
  /// of the forward graph.
  GradGraphInfoPtr run_within();
  /// The ops that the gradient is of, from the last to the first.
  const std::vector<const Op*>& visited() const { return visited_; }

  const Op& op() const override { return *op_; }
  OpBuilder& builder() override { return builder_; }
  Expr in(size_t slot) override;
  Expr out(size_t index) override;
  Expr dy(size_t index) override;
  bool wants(size_t slot) const override;
  void set(size_t slot, Expr gradient) override;
  void differentiate_call() override;

 private:
  Expr forward_value(Tensor* tensor);
  Tensor* gradient(Tensor* forward);
  void visit(const Op& op);
  void run_backwards();
  GradGraphInfoPtr finish(bool within);

  void gradient_of_call();
  void gradient_of_loop();
  void gradient_by_iteration(Graph& body, int64_t n);
  /// The gradient graph of an iteration whose outputs have these gradients (null: none); null if no input has one.
  GradGraphInfoPtr info_of_iteration(Graph& body, const std::vector<Tensor*>& grads);
  void gradient_by_scan(Graph& body, int64_t n);
  /// The gradient of a loop with a condition.
  void gradient_by_segments(Graph& body, int64_t bound);
  void gradient_of_branch();
  GradGraphInfoPtr info_of(Graph& callee, const std::vector<Tensor*>& provided, const std::vector<Tensor*>& required);
  /// Calls the gradient graph of a callee, given its inputs and outputs at the call and the gradients of its outputs
  /// (null: none). Returns the gradients by input of the callee, null if there is none.
  std::vector<Tensor*> call_gradient(const GradGraphInfo& info, const std::vector<Tensor*>& inputs,
                                     const std::vector<Tensor*>& outputs, const std::vector<Tensor*>& output_grads);
  Tensor* sum(const std::vector<Tensor*>& terms);
  Tensor* zeros(const TensorSpec& spec);
  std::vector<Tensor*> all_inputs(size_t first, size_t count);

  Graph& forward_;
  std::vector<Tensor*> provided_, required_;
  const GradInfos& called_;
  TensorSet reachable_;  // tensors whose gradient reaches a required one
  Graph& graph_;
  GraphOpBuilder builder_;
  const Op* op_ = nullptr;
  std::vector<const Op*> visited_;
  std::unordered_map<const Tensor*, std::vector<Tensor*>> contributions_;
  std::unordered_map<const Tensor*, Tensor*> gradients_;  // summed
  TensorSet named_;                                       // tensors of the gradient graph with their final name
  std::unordered_map<Tensor*, Tensor*> values_;  // forward tensors within the gradient graph: inputs, constants
};

}  // namespace pxl
