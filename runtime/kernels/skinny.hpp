// Skinny GEMM: products with a small m or k, as in training with small batches. They are bound by the bandwidth of the
// weights, so each weight is read once, and with a fused update written once, while it is in L1. float32 only; compiled
// per instruction set and selected at start-up.
//
// Order of summation: forward sums in the order of k, with one fused multiply-add per term (a multiplication and an
// addition on processors without FMA). Backward sums the weight gradient in the order of m, and the input gradient over
// n in lanes (16 of them, without FMA as many as a vector has), then over the lanes in a fixed tree. The bits do not
// depend on the partition among threads, and with FMA they are those of every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/fused_update.hpp"
#include "runtime/kernels/narrow.hpp"

namespace pxl {

/// Maximum m (forward, dgrad) or k (wgrad). The accumulators of half as many rows fit the registers.
inline constexpr int64_t max_skinny_dim = 16;

/// Columns of a panel of the result of `forward`.
inline constexpr int64_t skinny_panel = 64;
/// Floats of that result for m rows and n columns.
constexpr int64_t skinny_panels_size(int64_t m, int64_t n) {
  return m * ((n + skinny_panel - 1) / skinny_panel * skinny_panel);
}

/// x[m, k0:k1] @ w[k0:k1, n] as panels: element (i, j) is out[j / skinny_panel][i][j % skinny_panel]; columns from n to
/// the end of the last panel are undefined. x and w are row-major with leading dimensions `ld*`; m <= max_skinny_dim.
struct SkinnyForward {
  const float* x = nullptr;
  int64_t ldx = 0;
  const float* w = nullptr;
  int64_t ldw = 0;
  int64_t m = 0, n = 0, k0 = 0, k1 = 0;
  float* out = nullptr;
  bool add = false;  ///< to what `out` holds of the rows before k0
};

/// For the rows k in [k0, k1) of w[k, n], with g[k, n] = sum_m x[m, k] dy[m, n]:
///   dx[m, k] = sum_n dy[m, n] w[k, n]     where dx is not null
///   u[k, n] = g[k, n], or u[k, n] + alpha g[k, n] with `add`     where u is not null
///   update of g                           where it has a row: its states [k, n] change, dense; g is register 0
///   sink(context, k, rows, g)             where sink is not null: g is rows * n, dense, valid during the call
/// At most one of these three. u or a state of the update may be w, and the sink may change w's rows k to k + rows:
/// dx uses the old ones. m <= max_skinny_dim.
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
    int row = -1;                       ///< of CompiledUpdates; -1 for none
    float* const* registers = nullptr;  ///< at row 0, column 0
    const float* constants = nullptr;   ///< FusedUpdateConstants
  } update;
  void (*sink)(void* context, int64_t k, int64_t rows, float* g) = nullptr;
  void* context = nullptr;
  float* memory = nullptr;  ///< of the sink: at least max(2 * n, skinny_sink_elements) floats
};
inline constexpr int64_t skinny_sink_elements = 1024;

/// Sums columns [n0, n1) of the results of `slices` forward calls, `size` floats apart, in order, into row-major
/// to[m, n]. n0 is a multiple of skinny_panel.
struct SkinnyJoin {
  const float* panels = nullptr;
  int64_t slices = 1, size = 0;
  int64_t m = 0, n = 0, n0 = 0, n1 = 0;
  float* to = nullptr;
};

/// As SkinnyForward, of weights that are widened in registers. Without scales, or with one for each row, bits are those
/// of `forward` with widened weights, or with rows of x times the scales. With scales of columns or groups, the terms
/// of a block of rows, of a group at most, are summed and their sum is multiplied by the scale. Blocks begin at k0 and
/// at the beginnings of groups; how many rows they have depends on m and the format. Elements of x beyond 2^120 may
/// overflow with weights of float8_143, which are widened as 2^-7 times their value.
struct SkinnyStream {
  const float* x = nullptr;
  int64_t ldx = 0;
  NarrowFormat format = NarrowFormat::float32;
  const std::byte* w = nullptr;  ///< at column 0 of row 0
  int64_t ldw = 0;               ///< elements; of int4 bytes
  NarrowScales scales;
  int64_t m = 0, n = 0, k0 = 0, k1 = 0;  ///< m <= max_skinny_dim; for int4 k0, k1 and groups are even
  float* out = nullptr;
};
/// Maximum m of products of float32 weights by `stream`, and of batches of products.
inline constexpr int64_t max_streamed_rows = 4;

struct SkinnyFunctions {
  void (*forward)(const SkinnyForward&);
  void (*stream)(const SkinnyStream&);
  void (*backward)(const SkinnyBackward&);
  void (*join)(const SkinnyJoin&);
};

const SkinnyFunctions& skinny();

}  // namespace pxl
