// Winograd's minimal filtering F(m x m, r x r): A. Lavin and S. Gray, "Fast algorithms for convolutional neural
// networks", CVPR 2016. The m x m outputs of a convolution of r x r taps are made of (m + r - 1)^2 products instead of
// m^2 r^2: tiles of as many inputs, m apart, and kernels are transformed to as many numbers each, its positions, which
// are multiplied and summed over the channels position by position (a matrix product each), and sums are transformed to
// m x m outputs. Gradients of weights are F(r x r, m x m) with the same transform of tiles. Channels are side by side
// in what is transformed: element (position, tile, channel). Compiled per instruction set and selected at start-up;
// with fused multiply-adds the bits are those of every instruction set.
//
// A convolution of stride 2 is one of stride 1 over the four phases of the planes, those of even and odd rows and
// columns, whose channels are four times as many and whose kernels have half as many taps along each axis, rounded up.
// Phases are read where they lie, as elements that are two apart. The gradient of its data is the transposed algorithm:
// tiles of m x m gradients are transformed to positions, and sums of products to tiles of all phases, which overlap.
#pragma once

#include <cstdint>
#include <span>

namespace pxl {

/// Channels that are transformed at a time: the lanes of the widest vectors.
inline constexpr int64_t winograd_channels = 16;

/// F(outputs x outputs, taps x taps) of convolutions whose stride is `step`.
struct WinogradForm {
  int64_t outputs = 4, taps = 3, step = 1;

  constexpr int64_t side() const { return outputs + taps - 1; }
  constexpr int64_t positions() const { return side() * side(); }
  constexpr int64_t phases() const { return step * step; }
  /// Where channel i of the first phase is among those of all phases: winograd_channels of each, phase by phase.
  constexpr int64_t place(int64_t i) const {
    return i / winograd_channels * winograd_channels * phases() + i % winograd_channels;
  }
  friend constexpr bool operator==(const WinogradForm&, const WinogradForm&) = default;
};
inline constexpr int64_t max_winograd_positions = 36, max_winograd_phases = 4;

/// Rows of tiles of one plane of `rows` x `columns` numbers. Tile (i, j) of inputs begins at row
/// step m (first + i) - before_rows, column step m j - before_columns; outside the plane numbers are 0. Tile (i, j) of
/// outputs is the m rows from m (first + i) on, and the m columns from m j on, as far as the plane has them.
struct WinogradTiles {
  WinogradForm form;
  int64_t rows = 0, columns = 0;
  int64_t before_rows = 0, before_columns = 0;
  int64_t first = 0, down = 0, across = 0;

  int64_t count() const { return down * across; }
  /// Rows between those where tiles of inputs begin, and as many columns.
  int64_t pitch() const { return form.step * form.outputs; }
  /// Rows of inputs, and numbers of each, which include all of the plane's row.
  int64_t lines() const { return pitch() * down + form.step * (form.taps - 1); }
  int64_t line() const {
    const int64_t windows = pitch() * across + form.step * (form.taps - 1), plane = before_columns + columns;
    return windows > plane ? windows : plane;
  }
  /// Floats of scratch memory that a transform needs.
  int64_t scratch() const { return winograd_channels * (lines() + form.side()) * line(); }
};

/// Up to winograd_channels channels: their planes are `plane` numbers apart; position p of phase f of tile i of channel
/// c is element p * position + i * tile + f * winograd_channels + c of what is transformed, of which whole vectors are
/// written.
struct WinogradChannels {
  int64_t channels = 0, plane = 0, position = 0, tile = 0;
};

/// `n` kernels of `rows` x `columns` numbers: number k of kernel i is i * distance + k, or the last one minus k where
/// they are `turned`, which those of a step of 1 may be.
struct WinogradKernels {
  int64_t n = 0, distance = 0, rows = 3, columns = 3;
  bool turned = false;
};

struct WinogradFunctions {
  WinogradForm form;
  /// Tiles of inputs, of all phases.
  void (*inputs)(const WinogradTiles& t, const WinogradChannels& c, const float* planes, float* to, float* scratch);
  /// Tiles of m x m gradients of outputs, `divided` as gradients of weights need, and those of data must not be.
  void (*gradients)(const WinogradTiles& t, const WinogradChannels& c, bool divided, const float* planes, float* to,
                    float* scratch);
  /// Sums of products to m x m outputs, plus bias[c] unless it is null.
  void (*outputs)(const WinogradTiles& t, const WinogradChannels& c, const float* from, const float* bias,
                  float* planes, float* scratch);
  /// The transposed of `inputs`: sums of products to rows [begin, end) of planes, as sums over all tiles, plus bias[c]
  /// unless it is null. Rows and columns that no tile reaches are 0.
  void (*data)(const WinogradTiles& t, const WinogradChannels& c, int64_t begin, int64_t end, const float* from,
               const float* bias, float* planes, float* scratch);
  /// At most winograd_channels: position p of phase f of kernel i is to[p * position + phases[f] + i]; whole vectors
  /// are written.
  void (*kernels)(const WinogradKernels& k, const float* from, float* to, int64_t position, const int64_t* phases);
  /// Sums of products to kernels, one after the other: position p of phase f of kernel i is
  /// from[p * position + form.place(i) + f * winograd_channels]; reads whole vectors.
  void (*weights)(const WinogradKernels& k, const float* from, int64_t position, float* to);
};

/// The functions of all forms for one instruction set.
using WinogradTable = std::span<const WinogradFunctions>;
const WinogradTable& winograd();
/// Those of one form, which must be among them.
const WinogradFunctions& winograd(const WinogradForm& form);

}  // namespace pxl
