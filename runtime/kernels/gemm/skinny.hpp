// Skinny GEMM: products with a small m or k, as in training with small batches. The bandwidth of the weights bounds
// them, so each weight is read once. A fused update also writes each weight once, while it is in L1. float32 only;
// compiled per instruction set and selected at start-up.
//
// Order of summation: forward sums in the order of k, with one fused multiply-add per term (a multiplication and an
// addition on processors without FMA). Backward sums the weight gradient in the order of m. It sums the input gradient
// over n in lanes (16; without FMA as many as a vector has), then over the lanes in a fixed tree. The bits do not
// depend on the partition among threads. All instruction sets with FMA give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/gemm/narrow.hpp"
#include "runtime/kernels/update/fused_update.hpp"

namespace pxl {

/// Maximum m (forward, dgrad) or k (wgrad). The accumulators for half as many rows fit the registers.
inline constexpr int64_t max_skinny_dim = 16;

/// Columns per panel of `forward`'s result.
inline constexpr int64_t skinny_panel = 64;
/// Floats in that result, for m rows and n columns.
constexpr int64_t skinny_panels_size(int64_t m, int64_t n) {
  return m * ((n + skinny_panel - 1) / skinny_panel * skinny_panel);
}

/// x[m, k0:k1] @ w[k0:k1, n] as panels: element (i, j) is out[j / skinny_panel][i][j % skinny_panel]. Columns after n
/// in the last panel are undefined. x and w are row-major with leading dimensions `ld*`; m <= max_skinny_dim.
struct SkinnyForward {
  const float* x = nullptr;
  int64_t ldx = 0;
  const float* w = nullptr;
  int64_t ldw = 0;
  int64_t m = 0, n = 0, k0 = 0, k1 = 0;
  float* out = nullptr;
  bool add = false;  ///< adds to the sums in `out`, of the rows before k0
};

/// Processes rows k in [k0, k1) of w[k, n], with g[k, n] = sum_m x[m, k] dy[m, n]:
///   dx[m, k] = sum_n dy[m, n] w[k, n]     unless dx is null
///   u[k, n] = g[k, n], or u[k, n] + alpha g[k, n] with `add`     unless u is null
///   update of g                           if it has a row: its dense states [k, n] change; g is register 0
///   sink(context, k, rows, g)             unless sink is null: g is rows * n, dense, valid during the call
/// At most one of the last three is set. u or a state of the update may be w, and the sink may change rows [k, k +
/// rows) of w: dx uses the old rows. m <= max_skinny_dim.
struct SkinnyBackward {
  const float* x = nullptr;
  int64_t ldx = 0;
  const float* w = nullptr;
  int64_t ldw = 0;
  const float* dy = nullptr;
  int64_t lddy = 0;
  int64_t m = 0, n = 0, k0 = 0, k1 = 0;
  float* dx = nullptr;
  int64_t lddx = 0;
  float* u = nullptr;
  int64_t ldu = 0;
  float alpha = 1;
  bool add = false;
  struct {
    int row = -1;                       ///< row of CompiledUpdates; -1 for none
    float* const* registers = nullptr;  ///< at row 0, column 0
    const float* constants = nullptr;   ///< FusedUpdateConstants
  } update;
  void (*sink)(void* context, int64_t k, int64_t rows, float* g) = nullptr;
  void* context = nullptr;
  float* memory = nullptr;  ///< the sink's: at least max(2 * n, skinny_sink_elements) floats
};
inline constexpr int64_t skinny_sink_elements = 1024;

/// Sums columns [n0, n1) of `slices` forward results, which are `size` floats apart, in order. The sums go to row-major
/// to[m, n]. n0 is a multiple of skinny_panel.
struct SkinnyJoin {
  const float* panels = nullptr;
  int64_t slices = 1, size = 0;
  int64_t m = 0, n = 0, n0 = 0, n1 = 0;
  float* to = nullptr;
};

/// SkinnyForward with weights that are widened in registers. Without scales, or with one scale per row, the bits are
/// those of `forward` with widened weights, or with rows of x times the scales. If scales are per column or group, the
/// terms within a block of rows are summed, and the sum is multiplied by the scale. Blocks begin at k0 and where a
/// group begins, and a block stays within its group. The number of rows in a block depends on m and the format. Weights
/// in float8_143 are widened as 2^-7 times their value, and elements of x beyond 2^120 may then overflow.
struct SkinnyStream {
  const float* x = nullptr;
  int64_t ldx = 0;
  NarrowFormat format = NarrowFormat::float32;
  const std::byte* w = nullptr;  ///< at column 0 of row 0
  int64_t ldw = 0;               ///< elements; bytes for int4
  NarrowScales scales;
  int64_t m = 0, n = 0, k0 = 0, k1 = 0;  ///< m <= max_skinny_dim; for int4 k0, k1 and groups are even
  float* out = nullptr;
};
/// Maximum m for products with float32 weights by `stream`, and for batches of products.
inline constexpr int64_t max_streamed_rows = 4;

struct SkinnyFunctions {
  void (*forward)(const SkinnyForward&);
  void (*stream)(const SkinnyStream&);
  void (*backward)(const SkinnyBackward&);
  void (*join)(const SkinnyJoin&);
};

const SkinnyFunctions& skinny();

}  // namespace pxl
