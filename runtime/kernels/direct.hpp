// Direct convolution: products of padded input planes and weights in registers, without im2col. For rows of windows
// that fill vectors, and for depthwise ones. float32 only; compiled per instruction set and selected at start-up.
//
// Order of summation: outputs over input channels, then taps, with one fused multiply-add per term (a multiplication
// and an addition on processors without FMA); weights over windows in lanes (16 of them, without FMA as many as a
// vector has), then over lanes, then over samples. With FMA the bits are those of every instruction set.
#pragma once

#include <cstdint>

namespace pxl {

/// Rows of windows of one sample and group. Element (c, r, o) of tap t of the input is
/// x[c * plane + offsets[t] + r * row_step + o]; 64 bytes after the last one are readable.
struct DirectBlock {
  const float* x = nullptr;
  int64_t plane = 0, row_step = 0;
  const int64_t* offsets = nullptr;
  int64_t taps = 0, inputs = 0, outputs = 0, rows = 0, columns = 0;
  /// Element (k, c, t) of the weights is w[k * w_output + c * w_input + t].
  int64_t w_output = 0, w_input = 0;
  const float* bias = nullptr;     ///< of output channel k: bias[k]; null: none
  int64_t y_plane = 0, y_row = 0;  ///< element (k, r, o) of the output is y[k * y_plane + r * y_row + o]
};

struct DirectFunctions {
  /// y[k, r, o] = sum over c and t of w[k, c, t] x[c, t, r, o], then + bias[k].
  void (*outputs)(const DirectBlock& b, const float* w, float* y);
  /// dw[k, c, t] += sum over r and o of dy[k, r, o] x[c, t, r, o].
  void (*weights)(const DirectBlock& b, const float* dy, float* dw);
};

const DirectFunctions& direct();

}  // namespace pxl
