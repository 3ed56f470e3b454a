// Looking at a run op by op.
#pragma once

#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// An op of a run with its operands and results, which are views of the run's own memory: valid during the call only.
/// By slot; the array of an operand that is absent or not read is empty.
struct OpView {
  const Op& op;
  const std::vector<Array>& inputs;
  const std::vector<Array>& outputs;  ///< before the op has run: not yet meaningful
  bool has(size_t input) const { return op.inputs[input] != nullptr; }
};

/// Sees each op of an observed run, in order, also those of called graphs. What it throws ends the run, and the
/// variables are as they were.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void before(const OpView&) {}
  virtual void after(const OpView&) {}
};

}  // namespace pxl
