// How convolutions by winograd.hpp are divided: tiles of planes in units of work, in float32. Partitions depend on the
// shapes only. Included by winograd_*.cpp.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>

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
inline PlaneUnits tile_units(const WinogradForm& form, int64_t batch, int64_t outputs, const WindowAxes& axes,
                             int64_t most = good_tiles) {
  const int64_t rows = div_up(axes[1].out, form.outputs), across = div_up(axes[2].out, form.outputs);
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

/// Tiles of inputs of the windows, `down` rows of tiles at most.
inline WinogradTiles input_tiles(const WinogradForm& form, const WindowAxes& axes, int64_t down, int64_t across) {
  return {.form = form,
          .rows = axes[1].in,
          .columns = axes[2].in,
          .before_rows = axes[1].padding_before,
          .before_columns = axes[2].padding_before,
          .down = down,
          .across = across};
}
inline WinogradTiles output_tiles(const WinogradForm& form, const WindowAxes& axes, int64_t down, int64_t across) {
  return {.form = form, .rows = axes[1].out, .columns = axes[2].out, .down = down, .across = across};
}

/// The channels of all phases, in whole blocks where there are several.
inline int64_t phased_channels(const WinogradForm& form, int64_t channels) {
  return form.phases() == 1 ? channels : form.phases() * padded_channels(channels);
}

/// Distance of the positions of n numbers. All positions of a tile are used at once: they are spread over the sets of
/// L1 (4 KiB) and of L2 (128 KiB and more).
inline int64_t position_stride(int64_t n) { return div_up(n, 1024) * 1024 + 960; }

inline MatrixView matrix_of(const float* data, int64_t stride) {
  return {reinterpret_cast<const std::byte*>(data), stride};
}

inline constexpr double unsupported_ns = std::numeric_limits<double>::infinity();
// The cost model, in ns of one core with AVX-512: a vector multiply-add of the products, also where they are summed
// over tiles; the transform of a number of the data. Measured with 3 to 512 channels of 7 x 7 to 56 x 56 elements on
// AMD EPYC.
inline constexpr double ns_per_product_fma = 0.36, ns_per_tile_sum_fma = 0.45, ns_per_transformed_number = 0.4;
// The transform of a number of a kernel, whose numbers lie far apart; and of one of so many of all kernels that they
// leave the caches. Measured with 16 to 512 channels and strides of 1 and 2 on AMD EPYC (Zen 3) with AVX2.
inline constexpr double ns_per_kernel_number = 0.4, ns_per_distant_kernel_number = 0.8;
inline constexpr double max_near_kernel_numbers = 4e6;
/// Numbers of the transformed kernels of a group. Vectors of channels are whole.
inline double kernel_numbers(const WinogradForm& form, const Convolution& c) {
  return static_cast<double>(form.positions() * phased_channels(form, c.cin) * padded_channels(c.cout));
}
inline double kernel_number_ns(const WinogradForm& form, const Convolution& c) {
  return kernel_numbers(form, c) <= max_near_kernel_numbers ? ns_per_kernel_number : ns_per_distant_kernel_number;
}
inline constexpr double product_lanes = 16;

/// Tiles of all samples.
inline int64_t all_tiles(const WinogradForm& form, const Convolution& c) {
  return c.batch * div_up(c.axes[1].out, form.outputs) * div_up(c.axes[2].out, form.outputs);
}

/// A form and its expected time, of one sample and group.
struct FormCost {
  std::optional<WinogradForm> form;
  double ns = unsupported_ns;
};

/// The fastest form: with so much for each vector multiply-add, and ns_per_kernel(form) for each number of a
/// transformed kernel. Vectors of channels are computed whole. None where the shape is not supported.
template <class F>
FormCost fastest_form(const Convolution& c, double ns_per_fma, F&& number_ns) {
  FormCost best;
  if (!is_planar(c)) return best;
  for (const WinogradFunctions& f : winograd()) {
    const WinogradForm& form = f.form;
    const bool supported = std::all_of(c.axes.begin() + 1, c.axes.end(), [&](const WindowAxis& a) {
      // No more rows than scratch memory has place for, where they are not reached by windows.
      const int64_t lines = form.step * (div_up(a.out, form.outputs) * form.outputs + form.taps - 1) + form.side();
      return a.stride == form.step && a.dilation == 1 && div_up(a.kernel, form.step) == form.taps &&
             a.padding_before >= 0 && a.padding_before < a.kernel &&
             (form.step == 1 || a.in + a.padding_before <= lines);
    });
    if (!supported) continue;
    const double cin = static_cast<double>(form.phases() * padded_channels(c.cin)),
                 cout = static_cast<double>(padded_channels(c.cout)),
                 depth = static_cast<double>(phased_channels(form, c.cin)), batch = static_cast<double>(c.batch),
                 tiles = static_cast<double>(all_tiles(form, c)) / batch;
    const double products = tiles * depth * cout / product_lanes * ns_per_fma;
    const double ns =
        static_cast<double>(form.positions()) * (products + (cin + cout) * tiles * ns_per_transformed_number) +
        kernel_numbers(form, c) / batch * number_ns(form);
    if (ns < best.ns) best = {form, ns};
  }
  return best;
}

}  // namespace pxl::winograd_parts
