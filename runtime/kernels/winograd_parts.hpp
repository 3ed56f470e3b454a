// How convolutions by winograd.hpp are divided: tiles of planes in units of work, in float32. Partitions depend on the
// shapes only. Included by winograd_*.cpp.
#pragma once

#include <algorithm>
#include <limits>

#include "runtime/base/div_up.hpp"
#include "runtime/kernels/convolution.hpp"
#include "runtime/kernels/direct_convolution.hpp"
#include "runtime/kernels/packed.hpp"
#include "runtime/kernels/plane_units.hpp"
#include "runtime/kernels/winograd.hpp"

namespace pxl::winograd_parts {

// Tiles of a unit of work, the rows of its products, and fewer where units would be too few. Not measured.
inline constexpr int64_t good_tiles = 112, min_tiles_of_unit = 28;
// Units are divided by outputs where they would be too few. Not measured.
inline constexpr int64_t enough_winograd_units = 16;

// Tiles, and channels, that are summed by themselves: the transforms enlarge the errors of sums, which are then about
// as large as those of convolutions that are summed term by term.
inline constexpr int64_t tiles_of_sum = 128;
inline int64_t channels_of_sum(int64_t channels) { return channels > 64 ? 64 : 32; }

/// Units of at most `most` tiles, and at least `enough_winograd_units` of them together with parts of the outputs.
inline PlaneUnits tile_units(int64_t batch, int64_t outputs, const WindowAxes& axes, int64_t most = good_tiles) {
  const int64_t rows = div_up(axes[1].out, winograd_outputs), across = div_up(axes[2].out, winograd_outputs);
  const int64_t all = batch * rows * across;
  return {batch, rows, across,
          std::clamp(all * output_parts(outputs, enough_winograd_units) / enough_winograd_units,
                     std::min(min_tiles_of_unit, all), most)};
}

/// f(channel, channels, plane, tiles, place) for each block of channels of each sample of a unit: its first channel and
/// their number, the number of its first plane in a tensor of `all` channels, and the tiles of a plane, the first of
/// which is `place` of the unit's. The channels are [first, first + channels) of those of the tensor.
template <class F>
void each_block(const PlaneUnits::Unit& u, const WinogradTiles& shape, int64_t first, int64_t channels, int64_t all,
                F&& f) {
  WinogradTiles t = shape;
  t.first = u.row;
  t.down = u.rows;
  for (int64_t s = 0; s < u.samples; ++s)
    for (int64_t c = 0; c < channels; c += winograd_channels)
      f(c, std::min(winograd_channels, channels - c), (u.sample + s) * all + first + c, t, s * t.count());
}

/// Tiles of inputs of the windows.
inline WinogradTiles input_tiles(const WindowAxes& axes, const PlaneUnits& units) {
  return {.rows = axes[1].in,
          .columns = axes[2].in,
          .before_rows = axes[1].padding_before,
          .before_columns = axes[2].padding_before,
          .down = units.rows_per_unit,
          .across = units.across};
}
inline WinogradTiles output_tiles(const WindowAxes& axes, const PlaneUnits& units) {
  return {.rows = axes[1].out, .columns = axes[2].out, .down = units.rows_per_unit, .across = units.across};
}

inline bool is_supported(const Convolution& c) {
  if (!is_planar(c)) return false;
  return std::all_of(c.axes.begin() + 1, c.axes.end(), [](const WindowAxis& a) {
    return a.kernel == 3 && a.stride == 1 && a.dilation == 1 && a.padding_before >= 0 && a.padding_before <= 2;
  });
}

/// The convolution over the gradient of the output that is the gradient of the data: its kernels are turned.
inline Convolution turned_convolution(const Convolution& c) {
  Convolution t{c.batch, c.groups, c.cout, c.cin, c.axes};
  for (size_t i = 1; i < t.axes.size(); ++i) {
    std::swap(t.axes[i].in, t.axes[i].out);
    t.axes[i].padding_before = 2 - c.axes[i].padding_before;
  }
  return t;
}

/// Distance of the positions of n numbers. All positions of a tile are used at once: they are spread over the sets of
/// L1 (4 KiB) and of L2 (128 KiB and more).
inline int64_t position_stride(int64_t n) { return div_up(n, 1024) * 1024 + 960; }

inline MatrixView matrix_of(const float* data, int64_t stride) {
  return {reinterpret_cast<const std::byte*>(data), stride};
}

inline double tiles_of_sample(const WindowAxes& axes) {
  return static_cast<double>(div_up(axes[1].out, winograd_outputs) * div_up(axes[2].out, winograd_outputs));
}

inline constexpr double unsupported_ns = std::numeric_limits<double>::infinity();
// The cost model, in ns of one core with AVX-512: a vector multiply-add of the products, also where they are summed
// over tiles; the transform of a number of the data, and of a kernel, whose numbers lie far apart. Measured with 3 to
// 512 channels of 7 x 7 to 56 x 56 elements on AMD EPYC.
inline constexpr double ns_per_product_fma = 0.36, ns_per_tile_sum_fma = 0.45, ns_per_transformed_number = 0.4,
                        ns_per_kernel_number = 0.8;
inline constexpr double product_lanes = 16;

/// Of one sample and group: with so much for each vector multiply-add, and for each number of a transformed kernel.
/// Vectors of channels are computed whole.
inline double winograd_ns(const Convolution& c, double ns_per_fma, double ns_per_kernel) {
  if (!is_supported(c)) return unsupported_ns;
  const double cin = static_cast<double>(padded_channels(c.cin)), cout = static_cast<double>(padded_channels(c.cout)),
               depth = static_cast<double>(c.cin), tiles = tiles_of_sample(c.axes);
  const double products = tiles * depth * cout / product_lanes * ns_per_fma;
  const double kernels = depth * cout / static_cast<double>(c.batch) * ns_per_kernel;
  return static_cast<double>(winograd_positions) *
         (products + (cin + cout) * tiles * ns_per_transformed_number + kernels);
}

}  // namespace pxl::winograd_parts
