// Winograd's minimal filtering F(2 x 2, 3 x 3): A. Lavin and S. Gray, "Fast algorithms for convolutional neural
// networks", CVPR 2016. Four outputs of a 3 x 3 convolution are made of 16 products instead of 36: tiles of 4 x 4
// inputs, 2 apart, and kernels are transformed to 16 numbers each, which are multiplied and summed over the channels
// position by position (16 matrix products), and sums are transformed to 2 x 2 outputs. Weight gradients are
// F(3 x 3, 2 x 2) with the same transform of tiles. Transforms are additions and halvings. Compiled per instruction
// set and selected at start-up; all sets have the same bits.
#pragma once

#include <cstdint>

namespace pxl {

inline constexpr int64_t winograd_positions = 16, winograd_taps = 9;

/// Rows of tiles of one plane of `rows` x `columns` numbers. Tile (i, j) of inputs begins at row
/// 2 (first + i) - before_rows, column 2 j - before_columns; outside the plane numbers are 0. Tile (i, j) of outputs
/// is rows 2 (first + i) and the next one, columns 2 j and the next one, as far as the plane has them.
struct WinogradTiles {
  int64_t rows = 0, columns = 0;
  int64_t before_rows = 0, before_columns = 0;
  int64_t first = 0, down = 0, across = 0;

  int64_t count() const { return down * across; }
  /// Tiles of a row in whole vectors of every instruction set, and a row of numbers for them.
  int64_t width() const { return (across + 15) / 16 * 16; }
  int64_t line() const { return 2 * width() + 16; }
  /// Floats of scratch memory that the transform of inputs needs.
  int64_t scratch() const { return (2 * down + 2) * (4 * width() + line()); }
};

/// Position p of tile or kernel i is element p * stride + i of what is transformed.
struct WinogradFunctions {
  /// Tiles of inputs.
  void (*inputs)(const WinogradTiles& t, const float* plane, float* to, int64_t stride, float* scratch);
  /// Tiles of 2 x 2 gradients of outputs, for gradients of weights.
  void (*gradients)(const WinogradTiles& t, const float* plane, float* to, int64_t stride);
  /// Sums of products to 2 x 2 outputs.
  void (*outputs)(const WinogradTiles& t, const float* from, int64_t stride, float* plane);
  /// n kernels: tap k of kernel i is from[i * distance + k], or tap 8 - k where they are `turned`.
  void (*kernels)(const float* from, int64_t distance, bool turned, int64_t n, float* to, int64_t stride);
  /// Sums of products to n kernels of 9 numbers, one after the other.
  void (*weights)(const float* from, int64_t stride, int64_t n, float* to);
};

const WinogradFunctions& winograd();

}  // namespace pxl
