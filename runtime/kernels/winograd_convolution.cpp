#include "runtime/kernels/winograd_convolution.hpp"

#include <algorithm>
#include <limits>

#include "runtime/base/div_up.hpp"
#include "runtime/kernels/channel_bias.hpp"
#include "runtime/kernels/direct_convolution.hpp"
#include "runtime/kernels/packed.hpp"
#include "runtime/kernels/partial_sums.hpp"
#include "runtime/kernels/winograd.hpp"

namespace pxl {
namespace {

// Tiles of a unit of work, the columns of its products, and fewer where units would be too few. Not measured.
constexpr int64_t good_tiles = 128, min_tiles_of_unit = 32;
// Units are divided by outputs where they would be too few: channels of a part at least.
constexpr int64_t enough_winograd_units = 16, min_part_channels = 64;

constexpr double unsupported_ns = std::numeric_limits<double>::infinity();
// The cost model, in ns of one core with AVX-512: a vector multiply-add of the products, also where they are summed
// over tiles; the transform of a number of the data, and of a kernel, whose numbers lie far apart. Measured with 3 to
// 512 channels of 7 x 7 to 56 x 56 elements on AMD EPYC.
constexpr double ns_per_product_fma = 0.36, ns_per_tile_sum_fma = 0.45, ns_per_transformed_number = 0.2,
                 ns_per_kernel_number = 1.2;
constexpr double product_lanes = 16;

/// Into how many equal parts outputs may be divided, at most `wanted`: a power of two.
int64_t output_parts(int64_t outputs, int64_t wanted) {
  int64_t parts = 1;
  while (parts < wanted && outputs % (2 * parts) == 0 && outputs / (2 * parts) >= min_part_channels) parts *= 2;
  return parts;
}

/// Tiles of the planes of a batch in units of work: some rows of tiles of one sample, or several samples.
struct TileUnits {
  int64_t batch = 1, rows = 1, across = 1;  ///< rows of tiles of a sample
  int64_t samples_per_unit = 1, rows_per_unit = 1, per_sample = 1;
  int64_t units = 1;

  TileUnits(int64_t samples, int64_t outputs, const WindowAxes& axes) : batch(samples) {
    rows = div_up(axes[1].out, 2);
    across = div_up(axes[2].out, 2);
    const int64_t all = batch * rows * across;
    const int64_t wanted = std::clamp(all * output_parts(outputs, enough_winograd_units) / enough_winograd_units,
                                      std::min(min_tiles_of_unit, all), good_tiles);
    if (rows * across >= wanted) {
      rows_per_unit = std::clamp<int64_t>(wanted / across, 1, rows);
      per_sample = div_up(rows, rows_per_unit);
      units = batch * per_sample;
    } else {
      rows_per_unit = rows;
      samples_per_unit = std::clamp<int64_t>(wanted / (rows * across), 1, batch);
      units = div_up(batch, samples_per_unit);
    }
  }

  int64_t max_tiles() const { return samples_per_unit * rows_per_unit * across; }

  struct Unit {
    int64_t sample = 0, samples = 1, row = 0, rows = 1, tiles = 1;
  };
  Unit at(int64_t u) const {
    Unit unit;
    unit.sample = u / per_sample * samples_per_unit;
    unit.samples = std::min(samples_per_unit, batch - unit.sample);
    unit.row = u % per_sample * rows_per_unit;
    unit.rows = std::min(rows_per_unit, rows - unit.row);
    unit.tiles = unit.samples * unit.rows * across;
    return unit;
  }
};

/// f(plane, tiles, place) for each plane of `channels` channels from `first` on of the samples of a unit: number of the
/// plane in a tensor of `all` channels, its tiles, and the place of the first of them among those of all channels.
template <class F>
void each_plane(const TileUnits::Unit& u, const WinogradTiles& shape, int64_t first, int64_t channels, int64_t all,
                F&& f) {
  WinogradTiles t = shape;
  t.first = u.row;
  t.down = u.rows;
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t s = 0; s < u.samples; ++s) f((u.sample + s) * all + first + c, t, c * u.tiles + s * t.count());
}

/// Tiles of inputs of the windows.
WinogradTiles input_tiles(const WindowAxes& axes, const TileUnits& units) {
  return {.rows = axes[1].in,
          .columns = axes[2].in,
          .before_rows = axes[1].padding_before,
          .before_columns = axes[2].padding_before,
          .down = units.rows_per_unit,
          .across = units.across};
}
WinogradTiles output_tiles(const WindowAxes& axes, const TileUnits& units) {
  return {.rows = axes[1].out, .columns = axes[2].out, .down = units.rows_per_unit, .across = units.across};
}

bool is_supported(const Convolution& c) {
  if (!is_planar(c) || c.groups != 1) return false;
  return std::all_of(c.axes.begin() + 1, c.axes.end(), [](const WindowAxis& a) {
    return a.kernel == 3 && a.stride == 1 && a.dilation == 1 && a.padding_before >= 0 && a.padding_before <= 2;
  });
}

/// The convolution over the gradient of the output that is the gradient of the data: its kernels are turned.
Convolution turned_convolution(const Convolution& c) {
  Convolution t{c.batch, 1, c.cout, c.cin, c.axes};
  for (size_t i = 1; i < t.axes.size(); ++i) {
    std::swap(t.axes[i].in, t.axes[i].out);
    t.axes[i].padding_before = 2 - c.axes[i].padding_before;
  }
  return t;
}

/// Distance of the positions of n tiles or kernels: all positions of one are used at once, which would compete for the
/// same lines of L1 at a multiple of 4 KiB.
int64_t position_stride(int64_t n) { return div_up(n, 1024) * 1024 + 64; }

MatrixView matrix_of(const float* data, int64_t stride) { return {reinterpret_cast<const std::byte*>(data), stride}; }

double tiles_of_sample(const WindowAxes& axes) {
  return static_cast<double>(div_up(axes[1].out, 2) * div_up(axes[2].out, 2));
}

/// Of one sample. Each number of the kernels is transformed, and part of `partial_sums` sums.
double winograd_ns(const Convolution& c, double ns_per_fma, int64_t partial_sums) {
  if (!is_supported(c)) return unsupported_ns;
  const double cin = static_cast<double>(c.cin), cout = static_cast<double>(c.cout), tiles = tiles_of_sample(c.axes);
  const double products = tiles * cin * cout / product_lanes * ns_per_fma;
  const double kernels = cin * cout / static_cast<double>(c.batch) *
                         (ns_per_kernel_number + static_cast<double>(partial_sums) * ns_per_partial_number);
  return static_cast<double>(winograd_positions) *
         (products + (cin + cout) * tiles * ns_per_transformed_number + kernels);
}

/// How the gradient of weights is divided: among partial sums, and these by outputs.
struct WeightParts {
  int64_t sums = 1, divisions = 1;
  WeightParts(const Convolution& c, const TileUnits& units)
      : divisions(output_parts(c.cout, div_up(enough_winograd_units, units.units))) {
    sums = std::min(
        {units.units, max_partial_results(winograd_positions * c.cin * c.cout), 2 * enough_winograd_units / divisions});
  }
};

/// Outputs of c; with `turn` the weights are those of the convolution whose data gradient c computes.
Kernel winograd_correlation(const Convolution& c, bool turn, bool bias, double ns) {
  const TileUnits units(c.batch, c.cout, c.axes);
  const int64_t most = units.max_tiles(), cin = c.cin, cout = c.cout, kernel_stride = position_stride(cin * cout);
  const int64_t parts = output_parts(cout, div_up(enough_winograd_units, units.units)), own = cout / parts;
  const WinogradTiles in = input_tiles(c.axes, units), out = output_tiles(c.axes, units);
  const int64_t x_plane = input_size(c.axes), y_plane = output_size(c.axes);
  WorkspaceLayout workspace;
  const auto weights = workspace.per_call<float>(winograd_positions * kernel_stride);
  const auto tiles = workspace.per_thread<float>(winograd_positions * position_stride(cin * most)),
             sums = workspace.per_thread<float>(winograd_positions * position_stride(own * most)),
             scratch = workspace.per_thread<float>(in.scratch());
  const auto memory = workspace.per_thread<float>(packed().product_memory(own));
  std::vector<Phase> phases;
  // A row of weights is the kernels of one output.
  phases.push_back({cout, std::max<int64_t>(1, 256 / cin), [=](const Buffers& b, int64_t begin, int64_t end) {
                      for (int64_t o = begin; o < end; ++o)
                        winograd().kernels(b.input<float>(1) + (turn ? o : o * cin) * winograd_taps,
                                           (turn ? cout : 1) * winograd_taps, turn, cin, b.workspace(weights) + o * cin,
                                           kernel_stride);
                    }});
  phases.push_back(
      {units.units * parts, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
         float *v = b.workspace(tiles), *m = b.workspace(sums);
         for (int64_t i = begin; i < end; ++i) {
           const TileUnits::Unit u = units.at(i / parts);
           const int64_t first = i % parts * own;
           const int64_t v_size = position_stride(cin * u.tiles), m_size = position_stride(own * u.tiles);
           if (i == begin || first == 0)
             each_plane(u, in, 0, cin, cin, [&](int64_t plane, const WinogradTiles& t, int64_t place) {
               winograd().inputs(t, b.input<float>(0) + plane * x_plane, v + place, v_size, b.workspace(scratch));
             });
           for (int64_t p = 0; p < winograd_positions; ++p)
             packed().product({.a = matrix_of(b.workspace(weights) + p * kernel_stride + first * cin, cin),
                               .b = matrix_of(v + p * v_size, u.tiles),
                               .m = own,
                               .n = u.tiles,
                               .k = cin,
                               .out = m + p * m_size,
                               .ldo = u.tiles,
                               .memory = b.workspace(memory)});
           each_plane(u, out, first, own, cout, [&](int64_t plane, const WinogradTiles& t, int64_t place) {
             float* const y = b.output<float>(0) + plane * y_plane;
             winograd().outputs(t, m + place, m_size, y);
             const int64_t row = 2 * t.first, rows = std::min(t.rows - row, 2 * t.down);
             if (bias)
               add_channel_bias(b.input<float>(2) + plane % cout, 1, y_plane, rows * t.columns, y + row * t.columns);
           });
         }
       }});
  return Kernel::parallel(std::move(phases), ns * static_cast<double>(c.batch)).with_workspace(workspace);
}

}  // namespace

double winograd_outputs_ns(const Convolution& c) { return winograd_ns(c, ns_per_product_fma, 0); }
double winograd_data_grad_ns(const Convolution& c) {
  return is_supported(c) ? winograd_outputs_ns(turned_convolution(c)) : unsupported_ns;
}
double winograd_weights_grad_ns(const Convolution& c) {
  if (!is_supported(c)) return unsupported_ns;
  return winograd_ns(c, ns_per_tile_sum_fma, WeightParts(c, TileUnits(c.batch, c.cout, c.axes)).sums);
}

Kernel winograd_convolution_kernel(const Convolution& c, bool bias) {
  return winograd_correlation(c, false, bias, winograd_outputs_ns(c));
}
Kernel winograd_data_grad_kernel(const Convolution& c, bool bias) {
  return winograd_correlation(turned_convolution(c), true, bias, winograd_data_grad_ns(c));
}

Kernel winograd_weights_grad_kernel(const Convolution& c) {
  const TileUnits units(c.batch, c.cout, c.axes);
  const int64_t most = units.max_tiles(), cin = c.cin, cout = c.cout, kernel_stride = position_stride(cin * cout);
  const int64_t size = winograd_positions * kernel_stride;
  const WeightParts divided(c, units);
  const int64_t parts = divided.sums, divisions = divided.divisions, own = cout / divisions;
  const WinogradTiles in = input_tiles(c.axes, units), out = output_tiles(c.axes, units);
  const int64_t x_plane = input_size(c.axes), y_plane = output_size(c.axes);
  WorkspaceLayout workspace;
  const auto partial = workspace.per_call<float>(parts * size);
  const auto tiles = workspace.per_thread<float>(winograd_positions * position_stride(cin * most)),
             gradients = workspace.per_thread<float>(winograd_positions * position_stride(own * most)),
             scratch = workspace.per_thread<float>(in.scratch());
  const auto memory = workspace.per_thread<float>(packed().product_memory(own));
  std::vector<Phase> phases;
  phases.push_back(
      {parts * divisions, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
         float *v = b.workspace(tiles), *d = b.workspace(gradients);
         for (int64_t i = begin; i < end; ++i) {
           const int64_t part = i / divisions, first_output = i % divisions * own;
           float* to = b.workspace(partial) + part * size + first_output * cin;
           const int64_t first = units.units * part / parts, last = units.units * (part + 1) / parts;
           for (int64_t n = first; n < last; ++n) {
             const TileUnits::Unit u = units.at(n);
             const int64_t v_size = position_stride(cin * u.tiles), d_size = position_stride(own * u.tiles);
             each_plane(u, in, 0, cin, cin, [&](int64_t plane, const WinogradTiles& t, int64_t place) {
               winograd().inputs(t, b.input<float>(1) + plane * x_plane, v + place, v_size, b.workspace(scratch));
             });
             each_plane(u, out, first_output, own, cout, [&](int64_t plane, const WinogradTiles& t, int64_t place) {
               winograd().gradients(t, b.input<float>(0) + plane * y_plane, d + place, d_size);
             });
             for (int64_t p = 0; p < winograd_positions; ++p)
               packed().product({.a = matrix_of(d + p * d_size, u.tiles),
                                 .b = matrix_of(v + p * v_size, u.tiles),
                                 .tb = true,
                                 .add = n != first,
                                 .m = own,
                                 .n = cin,
                                 .k = u.tiles,
                                 .out = to + p * kernel_stride,
                                 .ldo = cin,
                                 .memory = b.workspace(memory)});
           }
         }
       }});
  // Partial sums are added in the order of the parts, then transformed to kernels.
  phases.push_back({cin * cout, 256, [=](const Buffers& b, int64_t begin, int64_t end) {
                      constexpr int64_t block = 256;
                      float all[winograd_positions * block];
                      for (int64_t at = begin; at < end; at += block) {
                        const int64_t count = std::min(block, end - at);
                        for (int64_t p = 0; p < winograd_positions; ++p) {
                          const float* from = b.workspace(partial) + p * kernel_stride + at;
                          float* const to = all + p * block;
                          std::copy_n(from, count, to);
                          for (int64_t part = 1; part < parts; ++part)
                            for (int64_t i = 0; i < count; ++i) to[i] += from[part * size + i];
                        }
                        winograd().weights(all, block, count, b.output<float>(0) + at * winograd_taps);
                      }
                    }});
  return Kernel::parallel(std::move(phases), winograd_weights_grad_ns(c) * static_cast<double>(c.batch))
      .with_workspace(workspace);
}

}  // namespace pxl
