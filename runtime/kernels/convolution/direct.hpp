// Direct convolution: products of padded input planes and weights in registers, without im2col. It suits rows of
// windows that fill vectors, and depthwise convolutions. float32 only; compiled per instruction set and selected at
// start-up.
//
// Order of summation: an output sums over input channels, then taps, with one fused multiply-add per term (a
// multiplication and an addition on processors without FMA). A weight sums over windows in lanes (16; without FMA as
// many as a vector has), then over lanes, then over samples. All instruction sets with FMA give the same bits.
#pragma once

#include <cstdint>

#include "runtime/kernels/block/finish.hpp"
#include "runtime/kernels/convolution/plane_rows.hpp"

namespace pxl {

/// Window rows for one sample and group. Tap t reads x[c * plane + offsets[t] + r * row_step + o] as element (c, r, o)
/// of the input. The 64 bytes after the last element are readable.
struct DirectBlock {
  const float* x = nullptr;
  int64_t plane = 0, row_step = 0;
  const int64_t* offsets = nullptr;
  int64_t taps = 0, inputs = 0, outputs = 0, rows = 0, columns = 0;
  /// Element (k, c, t) of the weights is w[k * w_output + c * w_input + t].
  int64_t w_output = 0, w_input = 0;
  Finish finish = {};              ///< of output channels
  int64_t y_plane = 0, y_row = 0;  ///< element (k, r, o) of the output is y[k * y_plane + r * y_row + o]
};

/// Planes with their padding. Elements that are a stride apart in a row are made adjacent: each row has one part of
/// `width` floats for each remainder modulo the stride.
struct PaddedPlanes {
  int64_t planes = 0, source_rows = 0, columns = 0;  ///< without padding
  int64_t rows = 0, first = 0;  ///< row r of a padded plane is row first + r of the plane, or zeros
  int64_t before = 0;           ///< zeros before a row; negative: elements that are left out
  int64_t stride = 1, width = 0;
  int64_t distance = 0;  ///< floats from one padded plane to the next, at least those of a plane
};

/// Channels per block of a depthwise convolution: the lanes of the widest vectors.
inline constexpr int64_t depthwise_channels = 16;

/// Planes of up to depthwise_channels channels, each correlated with a separate kernel.
struct DepthwiseBlock {
  int64_t channels = 0;
  int64_t rows = 0, columns = 0;                ///< extents of an input plane
  int64_t padded_rows = 0, padded_columns = 0;  ///< all that windows reach, and all of the plane
  int64_t before_rows = 0, before_columns = 0;  ///< padding before the plane
  int64_t out_rows = 0, out_columns = 0, row_stride = 1, column_stride = 1;
  int64_t taps = 0;
  const int64_t* offsets = nullptr;  ///< offset of each tap in the padded plane
  Finish finish = {};                ///< of channels
  /// 3 or 5 for windows of so many rows and columns, without dilation, a stride of 1 or 2 apart: AVX-512 has code
  /// that reads the rows of the planes in place. Then `memory` has a row.
  int in_rows = 0;
  bool reversed = false;  ///< whether the offsets begin with the last tap of a window
};

struct DirectFunctions {
  /// Writes the padded planes, and up to 15 floats after each.
  void (*fill)(const PaddedPlanes& p, const float* from, float* to);
  /// y[k, r, o] = the finished sum over c and t of w[k, c, t] x[c, t, r, o].
  void (*outputs)(const DirectBlock& b, const float* w, float* y);
  /// dw[k, c, t] += sum over r and o of dy[k, r, o] x[c, t, r, o].
  void (*weights)(const DirectBlock& b, const float* dy, float* dw);
  /// Depthwise functions on consecutive planes: the outputs from x and w[channel, tap]; the gradient of x from dy and
  /// w; the gradient of w from x and dy, added to sums[tap][channel] for depthwise_channels channels. `memory` holds
  /// depthwise_channels padded planes, output planes and kernels. Outputs add terms in the order of taps, both
  /// gradients in the order of windows.
  void (*depthwise_outputs)(const DepthwiseBlock& b, const float* x, const float* w, float* y, float* memory);
  void (*depthwise_inputs)(const DepthwiseBlock& b, const float* dy, const float* w, float* dx, float* memory);
  void (*depthwise_weights)(const DepthwiseBlock& b, const float* dy, const float* x, float* sums, float* memory);
  /// Transposes rows of planes into elements with `channels` channels. Zeros fill the last vector of an element.
  void (*to_channels_last)(const PlaneRows& r, int64_t channels, const float* planes, float* to);
  /// Finishes elements [0, n) with `channels` channels, `element` numbers apart, and transposes them into planes. Reads
  /// whole vectors of `from`.
  void (*from_channels_last)(const float* from, int64_t element, int64_t channels, int64_t n, const Finish& finish,
                             float* planes, int64_t plane);
  /// Copies column i of `rows` rows, `distance` numbers apart, to `to` + places[i], for i < n, in whole vectors.
  void (*columns_to)(const float* from, int64_t distance, int64_t rows, int64_t n, const int64_t* places, float* to);
};

const DirectFunctions& direct();

}  // namespace pxl
