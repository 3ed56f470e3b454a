// One differentiation in progress: what the gradient rules of the rows see, and the gradient graph being built.
#pragma once

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/ops/op_builder.hpp"
#include "runtime/transform/autodiff.hpp"

namespace pxl {

using TensorSet = std::unordered_set<const Tensor*>;
using GradInfos = std::map<Graph*, GradGraphInfoPtr>;

/// Floating tensors from which floating tensors lead to `provided`.
TensorSet tensors_before(const Graph& graph, const std::vector<Tensor*>& provided);
/// Floating tensors to which floating tensors lead from `required`; these included.
TensorSet tensors_after(const Graph& graph, const std::vector<Tensor*>& required);
/// Each tensor once, in order of first appearance, floating ones only.
std::vector<Tensor*> floating_once(const std::vector<Tensor*>& tensors);

/// autodiff with both lists given. Not strict: required tensors to which no gradient flows are left out.
GradGraphInfoPtr differentiate(Graph& graph, const std::vector<Tensor*>& provided, const std::vector<Tensor*>& required,
                               const GradInfos& called, bool strict, bool own = false);

/// What is computed again must not move data a second time: throws where a graph that `op` calls uses a stream.
void check_repeatable(const Op& op);

class Differentiator : public GradContext {
 public:
  Differentiator(Graph& forward, const std::vector<Tensor*>& provided, const std::vector<Tensor*>& required,
                 const GradInfos& called);
  GradGraphInfoPtr run();

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
  GradGraphInfoPtr finish();

  void gradient_of_call();
  void gradient_of_loop();
  void gradient_by_iteration(Graph& body, int64_t n, const GradGraphInfo* info);
  void gradient_by_loops(Graph& body, int64_t n, const GradGraphInfoPtr& info);
  void gradient_of_branch();
  GradGraphInfoPtr info_of(Graph& callee, const std::vector<Tensor*>& provided, const std::vector<Tensor*>& required);
  /// Calls the gradient graph of a callee, given what its inputs and outputs are here and the gradients of its
  /// outputs (null: none). Gives the gradients by input of the callee, null where there is none.
  std::vector<Tensor*> call_gradient(const GradGraphInfo& info, const std::vector<Tensor*>& inputs,
                                     const std::vector<Tensor*>& outputs, const std::vector<Tensor*>& output_grads);
  Tensor* sum(const std::vector<Tensor*>& terms);
  Tensor* zeros(const TensorSpec& spec);
  std::vector<Tensor*> all_inputs(size_t first, size_t count);

  Graph& forward_;
  std::vector<Tensor*> provided_, required_;
  const GradInfos& called_;
  TensorSet reachable_;  // tensors whose gradient leads to a required one
  Graph& graph_;
  GraphOpBuilder builder_;
  const Op* op_ = nullptr;
  std::unordered_map<const Tensor*, std::vector<Tensor*>> contributions_;
  std::unordered_map<const Tensor*, Tensor*> gradients_;  // summed
  TensorSet named_;                                       // tensors of the gradient graph that have their final name
  std::unordered_map<Tensor*, Tensor*> values_;           // forward tensors in the gradient graph: inputs, constants
};

}  // namespace pxl
