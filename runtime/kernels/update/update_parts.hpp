// Parts of variable updates: block functions by dtype, broadcast operands, and kernels that are a step of fused updates
// if their dtypes allow it.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/movement/strided.hpp"
#include "runtime/kernels/update/fused_update.hpp"

namespace pxl {

/// A block of any dtype on the stack.
struct StackBlock {
  alignas(64) std::byte bytes[block_size * 8];
  operator std::byte*() { return bytes; }
};

/// The block functions of one dtype.
struct BlockArithmetic {
  DType dtype;
  int64_t width;
  BinaryBlock add, sub, mul, div;

  explicit BlockArithmetic(std::string_view what, DType d)
      : dtype(d),
        width(static_cast<int64_t>(size_of(d))),
        add(binary_block(Binary::add, d)),
        sub(binary_block(Binary::sub, d)),
        mul(binary_block(Binary::mul, d)),
        div(binary_block(Binary::div, d)) {
    if (!sub) throw Error(std::string(what) + " is not defined for " + std::string(name(d))).as(codes::dtype);
  }
};

/// A number in a dtype's representation.
struct RoundedNumber {
  alignas(8) std::byte bytes[8] = {};
  RoundedNumber(DType dtype, double value) { write_number(dtype, bytes, 0, value); }
};

inline void for_blocks(int64_t begin, int64_t end, auto&& f) {
  for (int64_t i = begin; i < end; i += block_size) f(i, std::min(block_size, end - i));
}
inline void for_blocks(int64_t n, auto&& f) { for_blocks(0, n, f); }

/// x, broadcast to t's shape: x itself, or a copy in the workspace.
struct BroadcastInput {
  bool needed;
  StridedCopy copy;
  WorkspaceLayout workspace;
  PerCall<std::byte> copied;

  BroadcastInput(const TensorSpec& x, const Shape& shape)
      : needed(x.shape != shape),
        copy(size_of(x.dtype), shape, broadcast_strides(x.shape, shape), strides_of(shape)),
        copied(workspace.per_call<std::byte>(needed ? element_count(shape) * static_cast<int64_t>(size_of(x.dtype))
                                                    : 0)) {}
  const std::byte* operator()(const Buffers& b, size_t slot) const {
    if (!needed) return b.in[slot];
    std::byte* all = b.workspace(copied);
    copy(b.in[slot], all);
    return all;
  }
};

/// Runs the step on elements [begin, end). Returns false if this run needs the general arithmetic.
inline bool run_step(const UpdateOp& op, const Buffers& b, int64_t begin, int64_t end) {
  float constants[max_constants] = {};
  if (!op.constants(b, constants)) return false;
  const float* operands[max_step_operands] = {};
  for (size_t k = 0; k < op.operands.size(); ++k)
    operands[k] = b.input<float>(static_cast<size_t>(op.operands[k])) + begin;
  bulk().updates.steps[static_cast<size_t>(op.kind)](operands, constants, b.output<float>(0) + begin, end - begin);
  return true;
}

using UpdatePart = std::function<void(const Buffers&, int64_t, int64_t)>;

/// Runs the step if it can run, else `general`.
inline UpdatePart step_or(const UpdateOp& op, UpdatePart general) {
  return [=](const Buffers& b, int64_t begin, int64_t end) {
    if (!run_step(op, b, begin, end)) general(b, begin, end);
  };
}
/// An elementwise kernel that is a step, unless its dtypes have no step.
inline Kernel step_kernel(int64_t n, double cost_ns, const std::optional<UpdateOp>& op, UpdatePart general,
                          std::vector<Phase> before = {}) {
  if (!op) return Kernel::elementwise(n, cost_ns, std::move(general), std::move(before));
  Kernel kernel = Kernel::elementwise(n, cost_ns, step_or(*op, std::move(general)), std::move(before));
  kernel.set_update_op(*op);
  return kernel;
}
inline std::optional<UpdateOp> step_if(bool float32, UpdateOp op) {
  return float32 ? std::optional(std::move(op)) : std::nullopt;
}

}  // namespace pxl
