// Winograd's minimal filtering F(4 x 4, 3 x 3): A. Lavin and S. Gray, "Fast algorithms for convolutional neural
// networks", CVPR 2016. Sixteen outputs of a 3 x 3 convolution are made of 36 products instead of 144: tiles of 6 x 6
// inputs, 4 apart, and kernels are transformed to 36 numbers each, which are multiplied and summed over the channels
// position by position (36 matrix products), and sums are transformed to 4 x 4 outputs. Weight gradients are
// F(3 x 3, 4 x 4) with the same transform of tiles. The points of interpolation are 0, 1/sqrt(2), -1/sqrt(2), sqrt(2),
// -sqrt(2) and infinity, whose errors are a third of those of 0, 1, -1, 2, -2. Channels are side by side in what is
// transformed: element (position, tile, channel). Compiled per instruction set and selected at start-up; with fused
// multiply-adds the bits are those of every instruction set.
#pragma once

#include <cstdint>

namespace pxl {

inline constexpr int64_t winograd_positions = 36, winograd_taps = 9, winograd_outputs = 4;
/// Channels that are transformed at a time: the lanes of the widest vectors.
inline constexpr int64_t winograd_channels = 16;

/// Rows of tiles of one plane of `rows` x `columns` numbers. Tile (i, j) of inputs begins at row
/// 4 (first + i) - before_rows, column 4 j - before_columns; outside the plane numbers are 0. Tile (i, j) of outputs
/// is the four rows from 4 (first + i) on, and the four columns from 4 j on, as far as the plane has them.
struct WinogradTiles {
  int64_t rows = 0, columns = 0;
  int64_t before_rows = 0, before_columns = 0;
  int64_t first = 0, down = 0, across = 0;

  int64_t count() const { return down * across; }
  /// Rows of inputs, and numbers of each, which include all of the plane's row.
  int64_t lines() const { return winograd_outputs * down + 2; }
  int64_t line() const {
    const int64_t windows = winograd_outputs * across + 2, plane = before_columns + columns;
    return windows > plane ? windows : plane;
  }
  /// Floats of scratch memory that a transform needs.
  int64_t scratch() const { return winograd_channels * (lines() + 6) * line(); }
};

/// Up to winograd_channels channels: their planes are `plane` numbers apart; position p of tile i of channel c is
/// element p * position + i * tile + c of what is transformed, of which whole vectors are written.
struct WinogradChannels {
  int64_t channels = 0, plane = 0, position = 0, tile = 0;
};

struct WinogradFunctions {
  /// Tiles of inputs.
  void (*inputs)(const WinogradTiles& t, const WinogradChannels& c, const float* planes, float* to, float* scratch);
  /// Tiles of 4 x 4 gradients of outputs, for gradients of weights.
  void (*gradients)(const WinogradTiles& t, const WinogradChannels& c, const float* planes, float* to, float* scratch);
  /// Sums of products to 4 x 4 outputs, plus bias[c] unless it is null.
  void (*outputs)(const WinogradTiles& t, const WinogradChannels& c, const float* from, const float* bias,
                  float* planes, float* scratch);
  /// n kernels, at most winograd_channels: tap k of kernel i is from[i * distance + k], or tap 8 - k where they are
  /// `turned`. Position p of kernel i is to[p * position + i]; whole vectors are written.
  void (*kernels)(const float* from, int64_t distance, bool turned, int64_t n, float* to, int64_t position);
  /// Sums of products to n kernels of 9 numbers, one after the other; reads whole vectors.
  void (*weights)(const float* from, int64_t position, int64_t n, float* to);
};

const WinogradFunctions& winograd();

}  // namespace pxl
