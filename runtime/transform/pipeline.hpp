// Pipelines: ops of a graph, divided into stages that work on consecutive micro-batches at the same time.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

struct PipelineStage {
  std::string name;      ///< as messages show it: "0", "front"
  std::vector<Op*> ops;  ///< in order of creation
};

/// Replaces the stages' ops, all of `graph`, by one call of a graph that runs each of them for `steps` micro-batches.
/// The ops move; handles stay valid, for the ops and for their results. Stage s works on micro-batch c - s in cycle c.
/// The first stages - 1 cycles run the first stages only, a loop runs all stages, and the last stages - 1 cycles run
/// the last stages only. A cycle calls, for its stages, graphs of host loads, of computation, of host stores, and of
/// copies between IPUs. A tensor that the next stage uses is carried to the next cycle; one that a stage d > 1 stages
/// further on uses is written into a ring of d + 1 slots, and read there (stash and restore).
///
/// Results have the bits of the stages one after the other, `steps` times. Throws if they would not: a stage uses a
/// result of a later stage; one stage changes memory that another stage uses; a stream, or a remote buffer that is
/// stored to, in two stages. Throws for a tensor of another IPU that is not copied, and for fewer than
/// 2 * stages.size() steps.
Op* pipeline(Graph& graph, int64_t steps, const std::vector<PipelineStage>& stages);

/// The stage that makes each tensor, and the tensors that cross from one stage to another.
class StageFlow {
 public:
  /// Checks the conditions of `pipeline`.
  StageFlow(const Graph& graph, const std::vector<PipelineStage>& stages);

  const std::vector<PipelineStage>& stages() const { return stages_; }
  bool contains(const Op* op) const { return stage_.count(op) > 0; }
  size_t stage(const Op* op) const { return stage_.at(op); }
  /// Whether an op of a stage makes the tensor.
  bool is_made(const Tensor* t) const { return t->producer && contains(t->producer); }
  /// Whether a stage changes the tensor's memory, or memory that it shares.
  bool is_changed(const Tensor* t) const { return changed_.count(t) > 0; }
  /// Distances, in stages, at which the tensor is used; ascending, 0 for its own stage.
  const std::vector<size_t>& distances(const Tensor* t) const;

 private:
  void check_order() const;
  void check_ipus() const;
  void check_effects() const;
  void check_memory(const Graph& graph);

  const std::vector<PipelineStage>& stages_;
  std::unordered_map<const Op*, size_t> stage_;
  std::unordered_map<const Tensor*, std::vector<size_t>> distances_;
  std::unordered_set<const Tensor*> changed_;
};

}  // namespace pxl
