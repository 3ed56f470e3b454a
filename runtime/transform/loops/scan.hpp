// Scans: graphs that repeat a step along the first axis of sequences, with the step's results stacked or summed. A
// scan is linear in the number of iterations, and its gradient is a scan in the other direction.
#pragma once

#include "runtime/transform/autodiff.hpp"

namespace pxl {

/// A step, and the roles of its inputs and declared outputs. Inputs: carried tensors, slices of sequences, and tensors
/// that stay the same. Outputs: the carried tensors of the next iteration, with the same specs; results that are
/// stacked; and results that are summed. The step modifies no input.
struct ScanForm {
  Graph* step = nullptr;
  int64_t count = 0;  ///< iterations, at most max_scan_iterations
  size_t carried = 0, sliced = 0, stacked = 0;
  bool reversed = false;  ///< from the last slice to the first
  /// A run decides the number of iterations: the last input of the scan, int32[], is at most `count`. Stacks have zeros
  /// for the others.
  bool counted = false;
  bool recomputed = false;  ///< the step's gradient keeps its inputs alone
};

/// Iterations are counted in int32.
constexpr int64_t max_scan_iterations = (int64_t{1} << 31) - 1;

/// Adds a loop op. `condition`: the carried bool that ends it.
Op* add_loop(Graph& graph, Graph& body, std::vector<Tensor*> inputs, int64_t count,
             std::optional<size_t> condition = {});

/// The form of a graph that make_scan has made; none for other graphs, and for scans without iterations.
std::optional<ScanForm> scan_form(const Graph& graph);

/// A call of a scan may have further outputs, which gradients keep. Calls of other scans in the scan's graph compute
/// them, from the same operands: this visits those calls. `known` has what a transform made of each tensor, the
/// operands and the declared outputs of `call` included.
template <class Known, class Visit>
void visit_keeping_scans(const Op& call, Known& known, Visit visit) {
  const Graph& scan = *call.called[0];
  const size_t declared = scan.declared_outputs();
  if (call.outputs.size() == declared) return;
  for (size_t i = 0; i < call.inputs.size(); ++i) known[scan.inputs()[i]] = known.at(call.inputs[i]);
  for (size_t j = 0; j < declared; ++j) known[scan.outputs()[j]] = known.at(call.outputs[j]);
  for (const auto& op : scan.ops())
    if (op->row->role == Role::call) visit(*op);
  for (size_t j = declared; j < call.outputs.size(); ++j) known[call.outputs[j]] = known.at(scan.outputs()[j]);
}

/// A graph that runs a scan. Inputs: the carried tensors before the first iteration, the sequences [count, ...], the
/// other inputs of the step, the number of iterations if it is counted. Outputs: the carried tensors after the last
/// iteration, the stacked results [count, ...], written in place, and the sums. It has a custom gradient, which again
/// calls a scan; what the step's gradient needs is stored for each iteration.
Graph& make_scan(const ScanForm& form);

/// Emits the gradient of a scan, or of a loop whose iterations are steps of a scan.
class ScanGradient {
 public:
  /// `given`: the outputs of the scan that have a gradient; `wanted`: its inputs whose gradients are needed; `called`:
  /// gradient graphs to use (autodiff).
  ScanGradient(const ScanForm& form, const std::vector<bool>& given, const std::vector<bool>& wanted,
               const std::map<Graph*, GradGraphInfoPtr>& called = {});

  /// Whether an input has a gradient at all. If not, there is nothing to emit.
  bool any() const { return info_ && !info_->expected_outputs.empty(); }
  /// A scan like the given one that also stacks what the gradient needs, from output `stash_begin()` on. `loop_body`,
  /// if the caller's own loop calls that instead of a scan's body, gets this scan as its extension. Null if nothing
  /// has to be kept.
  Graph* keeping_scan(const Graph* loop_body);
  size_t stash_begin() const { return form_.carried + form_.stacked; }

  /// Tensors of the graph in which the reversed scan is called; by index, or null for a gradient that is zero.
  struct Operands {
    std::function<Tensor*(size_t)> input, output, stashed, gradient;
    Tensor* count = nullptr;  ///< of a counted scan
  };
  /// Calls the reversed scan in `made`. Returns the gradients by input of the scan, null for none.
  std::vector<Tensor*> reverse(Graph& made, const Operands& operands);

 private:
  struct Given;
  struct Reversal;
  Given source(Tensor* t, const Operands& operands) const;

  ScanForm form_;
  std::vector<bool> given_, wanted_;
  std::vector<size_t> states_;  ///< carried tensors whose gradient is carried
  std::vector<Tensor*> stash_;  ///< tensors of the step that are kept for each iteration
  GradGraphInfoPtr info_;       ///< of the step
};

/// A loop body that does what another body does, and more: by input and by declared output of `of`, those of the body.
struct LoopExtension {
  const Graph* of = nullptr;
  std::vector<size_t> inputs, outputs;
};
/// None if the body is no extension of another one.
std::optional<LoopExtension> loop_extension(const Graph& body);

}  // namespace pxl
