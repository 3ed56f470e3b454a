// Which rows have gradients that differences can check, and the scalar that is differentiated.
#pragma once

#include <string_view>

#include "runtime/op/op.hpp"
#include "runtime/ops/infer.hpp"

namespace pxl::test {

/// Rows whose gradient is not the derivative of their value, or is checked elsewhere, and why.
inline bool by_definition_other(std::string_view name) {
  return name == "detach" || name == "detach_" ||  // cuts the gradient
         name == "round_to_bfloat16" ||            // passes the gradient on
         name == "batch_norm" ||                   // its running statistics are cut off
         name.find("_identical_") != name.npos;    // all replicas have the sum, or its gradient, alike
}

/// Rows of which an operand has no gradient, though the result depends on it: the divisor of fmod, regions.
inline bool has_constant_operand(std::string_view name) {
  return name == "fmod" || name == "roi_align" || name == "roi_align_grad";
}

/// Comparisons and logic: no gradient passes, and none is refused.
inline bool is_step(const OpRow& row) {
  return row.infer == infer_compare || row.infer == infer_predicate || row.infer == infer_logical;
}

/// Weights of the outputs in the scalar that is differentiated: uneven, so that gradients do not cancel.
inline double weight(size_t output, int64_t i) {
  return 0.5 + 0.3 * static_cast<double>((i * 5 + static_cast<int64_t>(output)) % 7);
}

}  // namespace pxl::test
