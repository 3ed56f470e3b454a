// Matrix products divided among threads, with what follows them folded in: results are handed on while they are
// in cache, or added to a matrix in place. How a product is divided follows from its shape alone, so the bits of the
// results depend neither on the number of threads nor on what is folded in.
//
//   few rows          skinny.hpp, weights owned by rows          x[m, k] @ w[k, n],   m <= max_skinny_dim
//   few rows, by w^T  skinny.hpp                                 dy[m, n] @ w[k, n]^T
//   few terms         skinny.hpp, a row of the result at a time  x[b, m]^T @ dy[b, n], b <= max_skinny_dim
//   else              oneDNN (or BLAS) on panels of rows
//   float16           half_product.hpp
#pragma once

#include <array>
#include <functional>

#include "runtime/kernels/fused_update.hpp"
#include "runtime/kernels/kernel.hpp"
#include "runtime/kernels/matmul.hpp"

namespace pxl {

/// Takes the elements [begin, end) of the result, row-major and of its dtype; `values` points at element `begin`. May
/// change them.
using Epilogue = std::function<void(const Buffers& buffers, std::byte* values, int64_t begin, int64_t end)>;

/// Elements handed on at once: they and what is computed from them stay in the first-level cache.
inline constexpr int64_t epilogue_block = 1024;

/// All that follows a product where that is a chain of updates (fused_update.hpp) with the result as register 0.
struct UpdateEpilogue {
  FusedUpdateKind kind = FusedUpdateKind::none;
  std::array<int, max_registers> slots{};  ///< of the registers among the inputs, -1 for none; changed in place
  /// Writes the constants of all steps; false where this run needs `take`.
  std::function<bool(const Buffers&, float* constants)> constants;
};

struct ProductOptions {
  /// What the epilogue needs: the first part of the kernel's workspace, before its own.
  WorkspaceSize epilogue_workspace = {};
  /// Slots of the operands among the inputs.
  size_t a = 0, b = 1;
  /// Where the result goes: output `out`, or where that is negative nowhere but to `take`.
  int out = 0;
  Epilogue epilogue;  ///< may be empty where out is not negative; called from several threads
  /// Does what `take` does, in registers; `out` is negative.
  UpdateEpilogue update;
  /// The result is `c + alpha * product` in place, c being input slot `add_to`; not together with `take`.
  int add_to = -1;
  float alpha = 1;
  /// Operands and result are float16 (half_product.hpp), not float32; no `add_to` then.
  bool half = false;
};

/// Whether product_kernel takes these operands: all float32 or all float16, no 1-D operand, something to sum.
bool product_supports(const TensorSpec& a, const TensorSpec& b, const TensorSpec& out, const GemmShape& plan);

/// in: a, b as the plan says (batches broadcast by its strides). Divisible. Where the results do not lie dense, they
/// are stored and nothing follows the product.
Kernel product_kernel(const GemmShape& plan, ProductOptions options);

/// A product as a kernel does it.
struct GemmCall {
  GemmShape plan;
  ProductOptions options;
};

/// Whether two products read the same matrix w[k, n] or change it in a way that one pass over it serves both:
///   dx = dy[m, n] @ w^T, and dw = x[m, k]^T @ dy with `add_to` w, or with a `take` that changes w
/// by shape; whether their operands are the same ones is for the caller to know.
bool can_fuse_dgrad_wgrad(const GemmCall& dx, const GemmCall& dw);
/// Each row of w is read for dx and then changed, while it is in registers or in the first-level cache; the bits are
/// those of dx and then dw. in, out: those of dx, and from `dw_in` and `dw_out` on those of dw. Divisible.
Kernel dgrad_wgrad_kernel(const GemmCall& dx, const GemmCall& dw, size_t dw_in, size_t dw_out);

}  // namespace pxl
