// The questions of passes to the machine that a plan is for. Answers come from rows, shapes and tables. Nothing is
// built but kernels that prepare operands, which alone know their forms.
#pragma once

#include "runtime/op/element_order.hpp"
#include "runtime/plan/node.hpp"

namespace pxl {

class Target {
 public:
  Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  virtual ~Target() = default;

  size_t max_members = 32;    ///< of a fused node: a bound on planning time
  size_t max_operands = 12;   ///< of a member, and as many results
  size_t max_scattered = 16;  ///< operands of a sparse update
  int64_t block = 1024;       ///< elements that members compute at a time
  double parallel_ns = 1500;  ///< what takes less runs on one thread

  /// How the elements of a node's results come.
  virtual ElementOrder element_order(const Node& node) const;
  /// Estimated time on one core.
  virtual double ns(const Node& node) const;
  /// Whether threads share a node's work.
  virtual bool is_divided(const Node& node) const;
  /// Whether products of such operands produce their results block by block.
  virtual bool multiplies_in_blocks(const TensorSpec& a, const TensorSpec& b, const TensorSpec& out,
                                    const GemmShape& shape) const = 0;
  /// Whether a product and the members after it may compute the right operand while the product reads it.
  virtual bool computes_operands(const GemmShape& shape) const = 0;
  /// The operand that the kernel of an op or a product brings into another form first. None if a form that is made once
  /// saves too little.
  struct PreparedForm {
    size_t slot = 0;
    int64_t bytes = 0;
    std::string_view layout;
  };
  virtual std::optional<PreparedForm> prepares(const Node& node) const = 0;
  /// Whether dx = dy @ w^T and dw = x^T @ dy may share a pass over w. The only reader of dw's result is an update of w.
  virtual bool share_a_pass(const Node& dx, const Node& dw) const = 0;
  /// Whether one node computes a function and its derivative, which a gradient then multiplies.
  virtual bool saves_derivative(const OpRow& function, const OpRow& gradient) const = 0;
};

/// The processor that pxl runs on.
const Target& cpu_target();

}  // namespace pxl
