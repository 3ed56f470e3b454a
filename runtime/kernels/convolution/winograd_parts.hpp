// Partitions convolutions by winograd.hpp into work units of plane tiles, in float32. Partitions depend on the shapes
// only. Included by winograd_*.cpp.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>

#include "runtime/base/div_up.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/convolution/convolution.hpp"
#include "runtime/kernels/convolution/plane_units.hpp"
#include "runtime/kernels/convolution/ways.hpp"
#include "runtime/kernels/convolution/winograd.hpp"
#include "runtime/kernels/gemm/packed.hpp"

namespace pxl::winograd_parts {

// Tiles per unit, which are the rows of its products; fewer if there would be too few units.
inline constexpr int64_t good_tiles = 112, min_tiles_of_unit = 28;
// Number of units below which outputs are partitioned as well.
inline constexpr int64_t enough_winograd_units = 16;

// Tiles, and channels, that are summed separately. The transforms enlarge the errors of sums; with these limits, errors
// are about as large as in convolutions that sum term by term.
inline constexpr int64_t tiles_of_sum = 128;
inline int64_t channels_of_sum(int64_t channels) { return channels > 64 ? 64 : 32; }

/// Units with at most `most` tiles. Units times parts of the outputs are at least `enough_winograd_units`.
inline PlaneUnits tile_units(const WinogradForm& form, int64_t batch, int64_t outputs, const WindowAxes& axes,
                             int64_t most = good_tiles) {
  const int64_t rows = div_up(axes[1].out, form.outputs), across = div_up(axes[2].out, form.outputs);
  const int64_t all = batch * rows * across;
  return {batch, rows, across,
          std::clamp(all * output_parts(outputs, enough_winograd_units) / enough_winograd_units,
                     std::min(min_tiles_of_unit, all), most)};
}

/// Calls f(channel, channels, plane, tiles, place) for each channel block in each sample of a unit. `channel` is the
/// block's first channel and `channels` its size. `plane` is the number of its first plane in a tensor with `all`
/// channels. `tiles` are the tiles of a plane, and `place` is the number of the first one in the unit. The tensor's
/// channels [first, first + channels) are processed.
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

/// The input tiles of the windows, at most `down` tile rows.
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

/// The channels in all phases, in whole blocks if there are several phases.
inline int64_t phased_channels(const WinogradForm& form, int64_t channels) {
  return form.phases() == 1 ? channels : form.phases() * padded_channels(channels);
}

/// Distance between positions, each of which has n numbers. All positions of a tile are used together, so they are
/// spread over the sets of L1 (4 KiB) and L2 (128 KiB and more).
inline int64_t position_stride(int64_t n) { return div_up(n, 1024) * 1024 + 960; }

inline MatrixView matrix_of(const float* data, int64_t stride) {
  return {reinterpret_cast<const std::byte*>(data), stride};
}

inline constexpr double unsupported_ns = std::numeric_limits<double>::infinity();
// The cost model, in single-core ns with AVX-512: a vector multiply-add in products; the same if products are summed
// over tiles; a transformed number of the data. Measured with 3 to 512 channels of 7 x 7 to 56 x 56 elements on AMD
// EPYC.
inline constexpr double ns_per_product_fma = 0.36, ns_per_tile_sum_fma = 0.45, ns_per_transformed_number = 0.4;
// Cost per transformed kernel element. Kernel elements are strided; the second constant applies if all kernels together
// exceed the caches (`max_near_kernel_numbers`). Measured with 16 to 512 channels and strides of 1 and 2 on AMD EPYC
// (Zen 3) with AVX2.
inline constexpr double ns_per_kernel_number = 0.4, ns_per_distant_kernel_number = 0.8;
inline constexpr double max_near_kernel_numbers = 4e6;
/// Numbers in the transformed kernels of a group. Channels are rounded up to whole vectors.
inline double kernel_numbers(const WinogradForm& form, const Convolution& c) {
  return static_cast<double>(form.positions() * phased_channels(form, c.cin) * padded_channels(c.cout));
}
inline double kernel_number_ns(const WinogradForm& form, const Convolution& c) {
  return kernel_numbers(form, c) <= max_near_kernel_numbers ? ns_per_kernel_number : ns_per_distant_kernel_number;
}
inline constexpr double product_lanes = 16;
// Times of strides beside the model, with AVX-512: measured with 32 to 512 channels of 14 x 14 to 112 x 112 elements on
// Sapphire Rapids, where planes in phases are read with gaps.
inline constexpr double strided = 1.15;

/// The number of tiles in all samples.
inline int64_t all_tiles(const WinogradForm& form, const Convolution& c) {
  return c.batch * div_up(c.axes[1].out, form.outputs) * div_up(c.axes[2].out, form.outputs);
}

/// A form and its expected time for one sample and group.
struct FormCost {
  std::optional<WinogradForm> form;
  double ns = unsupported_ns;
};

/// The fastest form. A vector multiply-add costs `ns_per_fma`, and a number of a transformed kernel costs
/// number_ns(form). Channels are rounded up to whole vectors. No form if the shape is not supported.
template <class F>
FormCost fastest_form(const Convolution& c, double ns_per_fma, F&& number_ns) {
  FormCost best;
  if (!is_planar(c)) return best;
  for (const WinogradFunctions& f : winograd()) {
    const WinogradForm& form = f.form;
    const bool supported = std::all_of(c.axes.begin() + 1, c.axes.end(), [&](const WindowAxis& a) {
      // Rows that no window reaches must fit the scratch memory.
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
    const double factor = form.step > 1 && instruction_set() == "avx512" ? strided : 1;
    const double ns =
        static_cast<double>(form.positions()) * (products + (cin + cout) * tiles * ns_per_transformed_number) * factor +
        kernel_numbers(form, c) / batch * number_ns(form);
    if (ns < best.ns) best = {form, ns};
  }
  return best;
}

}  // namespace pxl::winograd_parts
