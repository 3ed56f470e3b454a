// Multithreaded GEMM with fused epilogues: results are passed on while they are in cache, or added to a matrix in
// place. The partition depends on the shape only, so results have the same bits on any number of threads, with and
// without an epilogue.
//
//   skinny m                skinny.hpp                                x[m, k] @ w[k, n],   m <= max_skinny_dim
//   skinny m, transposed    skinny.hpp                                dy[m, n] @ w[k, n]^T
//   skinny k                skinny.hpp, one row of the result each    x[b, m]^T @ dy[b, n], b <= max_skinny_dim
//   one column              as a product of one row                   x[m, k] @ w[k, 1]
//   batches of few rows     skinny.hpp, matrix by matrix              m <= max_streamed_rows
//   other float32           oneDNN (or BLAS) on row panels
//   float16, bfloat16       narrow_product.hpp
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "runtime/kernels/gemm/matmul.hpp"
#include "runtime/kernels/gemm/narrow.hpp"
#include "runtime/kernels/kernel.hpp"
#include "runtime/kernels/update/fused_update.hpp"

namespace pxl {

/// Consumes elements [begin, end) of the row-major result, at most epilogue_block of them. `values` points at element
/// `begin`, has the result's dtype and may be changed. `buffers` has the epilogue's workspace.
using Epilogue = std::function<void(const Buffers& buffers, std::byte* values, int64_t begin, int64_t end)>;

/// Maximum elements per call of an epilogue: 4 KiB of float32, so that the elements and a few intermediate results stay
/// in L1.
inline constexpr int64_t epilogue_block = 1024;

/// An epilogue that is a compiled update (fused_update.hpp), with the result as register 0.
struct UpdateEpilogue {
  int row = -1;                            ///< row of CompiledUpdates; -1 for none
  std::array<int, max_registers> slots{};  ///< input slot of each register, -1 for none; changed in place
  /// Writes the constants of all steps. False if this run needs the general `epilogue`.
  std::function<bool(const Buffers&, float* constants)> constants;
};

/// Computes elements [begin, end) of the right operand, row-major, as float32. Such operands are converted or computed
/// block by block, and never stored. Called from several threads; `memory` is a workspace with `per_thread` bytes.
struct RightOperand {
  std::function<void(const Buffers&, float* to, int64_t begin, int64_t end, std::byte* memory)> compute;
  size_t per_thread = 0;
  /// The same elements in place, for products of few rows. Its scales fit the columns.
  std::optional<NarrowSource> narrow;
};

struct ProductOptions {
  /// Workspace of the epilogue. It precedes the GEMM's own in the kernel's workspace.
  WorkspaceSize epilogue_workspace = {};
  /// Input slots of the operands.
  size_t a = 0, b = 1;
  /// Output that stores the result; negative if only the epilogue receives it.
  int out = 0;
  Epilogue epilogue;  ///< may be empty if out >= 0; called from several threads
  /// The same as `epilogue`, but in registers; only if `out` is negative.
  UpdateEpilogue update;
  /// If not negative: c += alpha * product in place, where c is this input slot. Excludes an epilogue.
  int add_to = -1;
  float alpha = 1;
  /// Replaces input a: dense float32 in the workspace `epilogue_workspace`. Only if is_skinny_product.
  std::optional<PerCall<float>> left;
  /// Replaces input b. Only if is_skinny_product.
  RightOperand right;
  /// The dtype of the operands and the result: float32, or a dtype that computes in float32 (narrow_product.hpp), which
  /// excludes `add_to`.
  DType dtype = DType::float32;
};

/// Whether product_kernel supports these operands. They are all float32, or all of one dtype that computes in float32;
/// no batch of vectors, and k > 0.
bool product_supports(const TensorSpec& a, const TensorSpec& b, const TensorSpec& out, const GemmShape& plan);

/// Whether the left operand has few rows, so that the right operand is read once, row by row (skinny.hpp).
bool is_skinny_product(const GemmShape& plan);

/// in: a, b as `plan` describes (batches broadcast through its strides). Parallel. A strided result is stored and has
/// no epilogue.
Kernel product_kernel(const GemmShape& plan, ProductOptions options);

/// A GEMM with its options, as a kernel runs it.
struct GemmCall {
  GemmShape plan;
  ProductOptions options;
};

/// Whether dgrad and wgrad of a layer can share one pass over the weights w[k, n]:
///   dx = dy[m, n] @ w^T, and dw = x[m, k]^T @ dy with `add_to` w or an epilogue that updates w.
/// Checks shapes and options only; the caller ensures that w and dy are the same tensors.
bool can_fuse_dgrad_wgrad(const GemmCall& dx, const GemmCall& dw);
/// dgrad and wgrad in one pass: each row of w is read for dx and then updated while it is in registers or L1. Results
/// have the bits of dx followed by dw. in, out: the operands of dx, then those of dw, which begin at `dw_in` and
/// `dw_out`. The workspaces of the epilogues are in this order too. Parallel.
Kernel dgrad_wgrad_kernel(const GemmCall& dx, const GemmCall& dw, size_t dw_in, size_t dw_out);

}  // namespace pxl
