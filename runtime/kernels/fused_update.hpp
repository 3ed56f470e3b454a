// Updates that follow each other on the same elements, as one loop whose intermediate values stay in registers. Such a
// chain is a row of a table: which steps, and on which operands each. The bits are those of its steps one by one.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/kernels/kernel.hpp"

namespace pxl {

/// What a step computes of each element, in float32; c are its constants, all others its operands.
enum class UpdateOpKind : uint8_t {
  scale,         ///< c0 old
  blend,         ///< c0 old + c1 x
  blend_square,  ///< c0 old + c1 x^2
  adam,          ///< c0 m / (sqrt(c1 v) + c2)
  adam_decay,    ///< c0 m / (sqrt(c1 v) + c2) + c3 w
  // Of no chain: what value_and_derivative.hpp speaks of.
  function,    ///< f(x)
  derivative,  ///< g times the slope of f at x
};
inline constexpr size_t max_constants = 4;  // of one step

/// A kernel elementwise with one output, as a step.
struct UpdateOp {
  UpdateOpKind kind;
  std::vector<int> operands;  ///< input slots, in the order of the formula
  /// Writes the constants; false where this run needs the kernel itself.
  std::function<bool(const Buffers&, float* constants)> constants;
  int function = 0;  ///< f, a Unary
};

/// A step where it stands: equal numbers are equal places of memory.
struct UpdateOperands {
  const UpdateOp* step = nullptr;  ///< null for a kernel that is none
  std::vector<int> operands;       ///< in the order of the formula
  int result = -1;
  bool passing = false;  ///< whether only the next step reads the result
};

inline constexpr size_t max_update_ops = 4, max_registers = 5;
/// Of all steps one after the other.
using FusedUpdateConstants = std::array<float, max_update_ops * max_constants>;

/// The rows of the table.
enum class FusedUpdateKind : uint8_t { none, adam, adam_decay, momentum };

/// The chain that the first of `sites` are.
struct FusedUpdateMatch {
  FusedUpdateKind kind = FusedUpdateKind::none;
  size_t steps = 0;  ///< 0 for none
  /// place[r] is the place of memory of register r; -1 for a value that is in none.
  std::vector<int> places;
  /// `registers` point at the first of n elements, null for values in no memory; the constants of the steps follow each
  /// other, max_constants for each.
  void (*run)(float* const* registers, const float* constants, int64_t n) = nullptr;
};
FusedUpdateMatch match_fused_update(std::span<const UpdateOperands> sites);

}  // namespace pxl
