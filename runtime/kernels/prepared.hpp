// Kernels whose operands or results are in other forms than theirs: narrower, divided, transformed or packed. The forms
// are in the workspace. An operand that a kernel prepares may also be kept in its form for many runs.
#pragma once

#include <string_view>

#include "runtime/kernels/kernel.hpp"

namespace pxl {

struct OtherForm {
  int64_t bytes = 0;  ///< of the form
  /// Phases. in: the operand and those that follow it; out: the form. For a result: in: the form; out: the result.
  Kernel make;
};
/// `inner`, which consists of phases, on forms of its first operands, and perhaps of its result. Operands whose `make`
/// is empty stay as they are.
Kernel on_forms(const Kernel& inner, const std::vector<OtherForm>& operands, const OtherForm& result = {});

/// A form that depends on one operand alone.
struct PreparedOperand {
  std::string_view form;  ///< what it is, for readers of plans
  size_t slot = 1;        ///< of the operand
  int64_t bytes = 0;
  Kernel make;
  Kernel rest;  ///< the kernel, with the form in the operand's place
};
/// The kernel of `operands` operands that makes the form in each run. Kernel::prepared() of it is `p`.
Kernel preparing(const PreparedOperand& p, size_t operands);

}  // namespace pxl
