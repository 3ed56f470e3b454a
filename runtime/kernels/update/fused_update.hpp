// Consecutive updates on the same elements, as one compiled loop whose intermediate values stay in registers. The rows
// of update_table.inc define the steps and the compiled sequences. The bits are those of separate steps.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/kernels/kernel.hpp"

namespace pxl {

/// The formula that a kernel computes per element, in float32. It is a step of update_table.inc, or a function of
/// value_and_derivative.hpp, which no compiled update contains.
enum class UpdateOpKind : uint8_t {
#define PXL_UPDATE_STEP(NAME, ...) NAME,
#include "runtime/kernels/update/update_table.inc"
  function,    ///< f(x)
  derivative,  ///< g times the derivative of f at x
};
inline constexpr size_t update_step_kinds = static_cast<size_t>(UpdateOpKind::function);
inline constexpr size_t max_constants = 4, max_step_operands = 3;  // per step

/// An elementwise kernel with one output, described as a step.
struct UpdateOp {
  UpdateOpKind kind;
  std::vector<int> operands;  ///< input slots, in the order of the formula
  /// Writes max_constants constants; false if this run needs the kernel itself.
  std::function<bool(const Buffers&, float* constants)> constants;
  int function = 0;  ///< f, a Unary
};

/// An update op with its operands. Equal numbers denote the same memory.
struct UpdateOperands {
  const UpdateOp* step = nullptr;  ///< null if the kernel is not a step
  std::vector<int> operands;       ///< in the order of the formula
  int result = -1;
  bool passing = false;  ///< whether only the next step reads the result
};

inline constexpr size_t max_update_ops = 4, max_registers = 5;
/// The constants of all steps, one step after another.
using FusedUpdateConstants = std::array<float, max_update_ops * max_constants>;

/// A step on registers.
struct UpdateLink {
  UpdateOpKind kind{};
  int8_t result = -1;
  int8_t operands[max_step_operands] = {-1, -1, -1};  ///< -1 beyond the last
  constexpr UpdateLink() = default;
  constexpr UpdateLink(UpdateOpKind k, int8_t to, int8_t a, int8_t b = -1, int8_t c = -1)
      : kind(k), result(to), operands{a, b, c} {}
};

struct CompiledUpdate {
  std::string_view name;
  UpdateLink steps[max_update_ops];
};

/// The rows of the table. Register 0 is the incoming value; the states follow.
struct CompiledUpdates {
  using enum UpdateOpKind;
  static constexpr int8_t x = 0, s1 = 1, s2 = 2, s3 = 3, t = 4;
  static constexpr CompiledUpdate rows[] = {
#define PXL_COMPILED_UPDATE(NAME, ...) {#NAME, {__VA_ARGS__}},
#include "runtime/kernels/update/update_table.inc"
  };
  static constexpr int count = sizeof rows / sizeof rows[0];
};

/// The compiled update that matches the first of `sites`.
struct FusedUpdateMatch {
  int update = -1;   ///< a row of CompiledUpdates
  size_t steps = 0;  ///< 0 for none
  /// places[r] is the memory of register r; -1 if the register has no memory.
  std::vector<int> places;
};
FusedUpdateMatch match_fused_update(std::span<const UpdateOperands> sites);

}  // namespace pxl
