// Products with few rows, as training at a small batch has them: bound by how fast the weights stream from memory, so
// each weight is read once (and, where an update is folded in, written once) while it is in the first-level cache.
// Libraries' products leave half of the machine unused here. float32 only; compiled per instruction set, chosen once.
//
// Order of additions: forward adds in the order of k, one fused multiply-add each (a multiplication and an addition on
// machines without them). In backward the gradient of the weights adds in the order of m; that of the input over n in
// lanes, then the lanes in a fixed tree. Nothing depends on how the work is divided among threads.
#pragma once

#include <cstdint>

#include "runtime/kernels/fused_update.hpp"

namespace pxl {

/// Rows up to which these are used: the accumulators of half as many fit the registers at once.
inline constexpr int64_t max_skinny_dim = 16;

/// Columns that lie together in what `forward` gives.
inline constexpr int64_t skinny_panel = 64;
/// Floats that it needs for m rows and n columns.
constexpr int64_t skinny_panels_size(int64_t m, int64_t n) {
  return m * ((n + skinny_panel - 1) / skinny_panel * skinny_panel);
}

/// x[m, k0:k1] @ w[k0:k1, n] as panels: element (i, j) goes to out[j / skinny_panel][i][j % skinny_panel]; columns from
/// n up to a whole panel hold what they like. x and w are row-major, `ld*` the distances of rows in elements;
/// m <= max_skinny_dim.
struct SkinnyForward {
  const float* x = nullptr;
  int64_t ldx = 0;
  const float* w = nullptr;
  int64_t ldw = 0;
  int64_t m = 0, n = 0, k0 = 0, k1 = 0;
  float* out = nullptr;
};

/// For the rows k in [k0, k1) of w[k, n], with g[k, n] = sum_m x[m, k] dy[m, n]:
///   dx[m, k] = sum_n dy[m, n] w[k, n]     where dx is not null
///   u[k, n] = g[k, n], or u[k, n] + alpha g[k, n] with `add`     where u is not null
///   chain(g)                              where it is one: its registers [k, n] change, dense; g is register 0
///   sink(context, k, rows, g)             where sink is not null: g is rows * n, dense, valid during the call
/// At most one of these three. u or a register of the chain may be w, and the sink may change w's rows k to k + rows:
/// dx sees the old ones. m <= max_skinny_dim.
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
    FusedUpdateKind kind = FusedUpdateKind::none;
    float* const* registers = nullptr;  ///< at row 0, column 0
    const float* constants = nullptr;   ///< FusedUpdateConstants
  } update;
  void (*sink)(void* context, int64_t k, int64_t rows, float* g) = nullptr;
  void* context = nullptr;
  float* memory = nullptr;  ///< of the sink: at least max(2 * n, sink_elements) floats
};
inline constexpr int64_t skinny_sink_elements = 1024;

/// Columns [n0, n1) of the results of `slices` forwards, each `size` floats behind the one before, added in their
/// order: to[m, n], row-major. n0 is a multiple of skinny_panel.
struct SkinnyJoin {
  const float* panels = nullptr;
  int64_t slices = 1, size = 0;
  int64_t m = 0, n = 0, n0 = 0, n1 = 0;
  float* to = nullptr;
};

struct SkinnyFunctions {
  void (*forward)(const SkinnyForward&);
  void (*backward)(const SkinnyBackward&);
  void (*join)(const SkinnyJoin&);
};

const SkinnyFunctions& skinny();

}  // namespace pxl
