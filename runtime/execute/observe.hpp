// Observation of a run, op by op.
#pragma once

#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// An op of a run with its operands and results, by slot, as views of the run's memory: valid during the call only. The
/// array of an absent or unread operand is empty.
struct OpView {
  const Op& op;
  const std::vector<Array>& inputs;
  const std::vector<Array>& outputs;  ///< before the op has run: uninitialised
  int replica = 0, replicas = 1;      ///< which replica runs the op, of how many
  bool has(size_t input) const { return op.inputs[input] != nullptr; }
};

/// Called for each op of an observed run, in order, including ops of called graphs. An exception from it ends the run;
/// variables are then rolled back.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void before(const OpView&) {}
  virtual void after(const OpView&) {}
};

}  // namespace pxl
