// Winograd's minimal filtering F(m x m, r x r): A. Lavin and S. Gray, "Fast algorithms for convolutional neural
// networks", CVPR 2016. A convolution with r x r taps computes m x m outputs with (m + r - 1)^2 products instead of m^2
// r^2. Tiles of (m + r - 1)^2 inputs, m apart, and kernels are transformed to (m + r - 1)^2 numbers each, called
// positions. Each position is multiplied and summed over the channels, as one matrix product. The sums are transformed
// to m x m outputs. Weight gradients are F(r x r, m x m) with the same tile transform. Transformed data have adjacent
// channels: element (position, tile, channel). Compiled per instruction set and selected at start-up. All instruction
// sets with fused multiply-adds give the same bits.
//
// A convolution with stride 2 is a convolution with stride 1 over four phases of the planes: the even and odd rows and
// columns. It has four times the channels, and kernels with half the taps along each axis, rounded up. Phases are read
// in place, as elements that are two apart. Its data gradient is the transposed algorithm: tiles of m x m gradients are
// transformed to positions. The sums of products are transformed to tiles in all phases, which overlap.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/kernels/block/finish.hpp"

namespace pxl {

/// Channels that are transformed together: the lanes of the widest vectors.
inline constexpr int64_t winograd_channels = 16;

/// F(outputs x outputs, taps x taps) for convolutions with stride `step`.
struct WinogradForm {
  int64_t outputs = 4, taps = 3, step = 1;

  constexpr int64_t side() const { return outputs + taps - 1; }
  constexpr int64_t positions() const { return side() * side(); }
  constexpr int64_t phases() const { return step * step; }
  /// Index of the first phase's channel i among the channels of all phases, which are stored in groups of
  /// winograd_channels, phase by phase.
  constexpr int64_t place(int64_t i) const {
    return i / winograd_channels * winograd_channels * phases() + i % winograd_channels;
  }
  friend constexpr bool operator==(const WinogradForm&, const WinogradForm&) = default;
};
inline constexpr int64_t max_winograd_positions = 36, max_winograd_phases = 4;

/// Tile rows in one plane of `rows` x `columns` numbers. Input tile (i, j) begins at row step m (first + i) -
/// before_rows and column step m j - before_columns; numbers outside the plane are 0. Output tile (i, j) has the m rows
/// from m (first + i) and the m columns from m j, as far as they are in the plane.
struct WinogradTiles {
  WinogradForm form;
  int64_t rows = 0, columns = 0;
  int64_t before_rows = 0, before_columns = 0;
  int64_t first = 0, down = 0, across = 0;

  int64_t count() const { return down * across; }
  /// Distance between the first rows of adjacent input tiles, and between their first columns.
  int64_t pitch() const { return form.step * form.outputs; }
  /// Number of input rows, and of numbers per row; a row includes all of the plane's row.
  int64_t lines() const { return pitch() * down + form.step * (form.taps - 1); }
  int64_t line() const {
    const int64_t windows = pitch() * across + form.step * (form.taps - 1), plane = before_columns + columns;
    return windows > plane ? windows : plane;
  }
  /// Floats of scratch memory that a transform needs.
  int64_t scratch() const { return winograd_channels * (lines() + form.side()) * line(); }
};

/// Up to winograd_channels channels, whose planes are `plane` numbers apart. Channel c's tile i stores position p of
/// phase f in element p * position + i * tile + f * winograd_channels + c of the transformed data. Whole vectors are
/// written.
struct WinogradChannels {
  int64_t channels = 0, plane = 0, position = 0, tile = 0;
};

/// `n` kernels with `rows` x `columns` numbers. Number k of kernel i is i * distance + k. If the kernels are `turned`,
/// which requires step 1, numbers count from the last one.
struct WinogradKernels {
  int64_t n = 0, distance = 0, rows = 3, columns = 3;
  bool turned = false;
};

struct WinogradFunctions {
  WinogradForm form;
  /// Transforms input tiles, in all phases.
  void (*inputs)(const WinogradTiles& t, const WinogradChannels& c, const float* planes, float* to, float* scratch);
  /// Transforms tiles of m x m output gradients. They must be `divided` for weight gradients, and must not be for data
  /// gradients.
  void (*gradients)(const WinogradTiles& t, const WinogradChannels& c, bool divided, const float* planes, float* to,
                    float* scratch);
  /// Transforms sums of products to m x m outputs, and finishes them.
  void (*outputs)(const WinogradTiles& t, const WinogradChannels& c, const float* from, const Finish& finish,
                  float* planes, float* scratch);
  /// The transpose of `inputs`: transforms sums of products to rows [begin, end) of planes, summed over all tiles, and
  /// finishes them. Rows and columns that no tile reaches are sums of 0.
  void (*data)(const WinogradTiles& t, const WinogradChannels& c, int64_t begin, int64_t end, const float* from,
               const Finish& finish, float* planes, float* scratch);
  /// Transforms at most winograd_channels kernels. Position p of phase f in kernel i is to[p * position + phases[f] +
  /// i]. Whole vectors are written.
  void (*kernels)(const WinogradKernels& k, const float* from, float* to, int64_t position, const int64_t* phases);
  /// Transforms sums of products to consecutive kernels. Position p of phase f in kernel i is from[p * position +
  /// form.place(i) + f * winograd_channels]. Reads whole vectors.
  void (*weights)(const WinogradKernels& k, const float* from, int64_t position, float* to);
};

/// The functions for every form, in one instruction set.
using WinogradTable = std::span<const WinogradFunctions>;
const WinogradTable& winograd();
/// The functions for one form, which must be in the table.
const WinogradFunctions& winograd(const WinogradForm& form);

}  // namespace pxl
