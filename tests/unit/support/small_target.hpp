// A second machine for plans, which can do less than the processor.
#pragma once

#include "runtime/plan/target.hpp"

namespace pxl::test {

/// A machine that runs two members at a time, on short blocks, and products by themselves.
struct SmallTarget : Target {
  SmallTarget() {
    max_members = 2;
    block = 64;
  }
  bool multiplies_in_blocks(const TensorSpec&, const TensorSpec&, const TensorSpec&, const GemmShape&) const override {
    return false;
  }
  bool computes_operands(const GemmShape&) const override { return false; }
  std::optional<PreparedForm> prepares(const Node&) const override { return std::nullopt; }
  bool share_a_pass(const Node&, const Node&) const override { return false; }
  bool saves_derivative(const OpRow&, const OpRow&) const override { return false; }
};

}  // namespace pxl::test
