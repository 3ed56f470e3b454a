#include "runtime/kernels/winograd_convolution.hpp"

#include "runtime/kernels/winograd_parts.hpp"

namespace pxl {
namespace {

using namespace winograd_parts;

// Transformed tiles of a unit, times channels: 2.25 MiB, most of which stay in L2. More of them would be written to
// memory, fewer would read the transformed kernels more often. Measured with 64 to 512 channels on Sapphire Rapids.
constexpr int64_t tiles_of_inputs = int64_t{1} << 14;
// Outputs whose sums are kept for all positions. Not measured.
constexpr int64_t outputs_at_once = 64;

/// Kernels in the panels of the right operand of packed products, one after the other for each group and position.
struct PackedKernels {
  int64_t cin, cout, taps_between_inputs, taps_between_outputs;
  bool turned;

  PackedKernels(const Convolution& c, bool turn)
      : cin(c.cin),
        cout(c.cout),
        taps_between_inputs(turn ? c.cout * winograd_taps : winograd_taps),
        taps_between_outputs(turn ? winograd_taps : c.cin * winograd_taps),
        turned(turn) {}

  int64_t nr() const { return packed().nr; }
  int64_t position() const { return position_stride(packed().packed_size(cout, cin)); }
  int64_t group() const { return winograd_positions * position(); }
  /// Outputs of one call of the transform: panels are at least as wide.
  int64_t block() const { return std::min(winograd_channels, nr()); }
  int64_t blocks() const { return div_up(cout, block()); }

  /// Block `i` of the outputs of one group, from its weights.
  void transform(int64_t i, const float* weights, float* to) const {
    const int64_t first = i * block(), outputs = std::min(block(), cout - first);
    float* panel = to + first / nr() * cin * nr() + first % nr();
    for (int64_t c = 0; c < cin; ++c, panel += nr())
      winograd().kernels(weights + first * taps_between_outputs + c * taps_between_inputs, taps_between_outputs, turned,
                         outputs, panel, position());
  }
};

/// Outputs of c; with `turn` the weights are those of the convolution whose data gradient c computes.
Kernel winograd_correlation(const Convolution& c, bool turn, bool bias, double ns) {
  const PlaneUnits units =
      tile_units(c.batch, c.cout, c.axes, std::clamp(tiles_of_inputs / c.cin, min_tiles_of_unit, good_tiles));
  const PackedKernels kernels(c, turn);
  const int64_t most = units.max_places(), cin = c.cin, cout = c.cout, groups = c.groups;
  const int64_t parts = output_parts(cout, div_up(enough_winograd_units, units.units * groups)), own = cout / parts;
  const int64_t in_tile = padded_channels(cin), out_tile = padded_channels(std::min(own, outputs_at_once));
  const int64_t v_size = position_stride(in_tile * most), m_size = position_stride(out_tile * most);
  const WinogradTiles in = input_tiles(c.axes, units), out = output_tiles(c.axes, units);
  const int64_t x_plane = input_size(c.axes), y_plane = output_size(c.axes);
  WorkspaceLayout workspace;
  const auto weights = workspace.per_call<float>(groups * kernels.group());
  const auto tiles = workspace.per_thread<float>(winograd_positions * v_size),
             sums = workspace.per_thread<float>(winograd_positions * m_size),
             scratch = workspace.per_thread<float>(std::max(in.scratch(), out.scratch())),
             left = workspace.per_thread<float>(packed().packed_a_size);
  std::vector<Phase> phases;
  phases.push_back({groups * kernels.blocks(), 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) {
                        const int64_t g = i / kernels.blocks();
                        kernels.transform(i % kernels.blocks(), b.input<float>(1) + g * cin * cout * winograd_taps,
                                          b.workspace(weights) + g * kernels.group());
                      }
                    }});
  phases.push_back(
      {units.units * groups * parts, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
         float *v = b.workspace(tiles), *m = b.workspace(sums);
         for (int64_t i = begin; i < end; ++i) {
           const PlaneUnits::Unit u = units.at(i / parts / groups);
           const int64_t g = i / parts % groups, part = i % parts * own;
           if (i == begin || part == 0)
             each_block(u, in, g * cin, cin, groups * cin,
                        [&](int64_t channel, int64_t channels, int64_t plane, const WinogradTiles& t, int64_t place) {
                          winograd().inputs(t, {channels, x_plane, v_size, in_tile},
                                            b.input<float>(0) + plane * x_plane, v + place * in_tile + channel,
                                            b.workspace(scratch));
                        });
           const float* const w = b.workspace(weights) + g * kernels.group();
           for (int64_t first = part; first < part + own; first += outputs_at_once) {
             const int64_t outputs = std::min(outputs_at_once, part + own - first);
             for (int64_t p = 0; p < winograd_positions; ++p)
               packed().multiply({.a = matrix_of(v + p * v_size, in_tile),
                                  .m = u.places,
                                  .n = outputs,
                                  .k = cin,
                                  .b = w + p * kernels.position() + first * cin,
                                  .out = m + p * m_size,
                                  .ldo = out_tile,
                                  .terms_of_sum = channels_of_sum(cin),
                                  .packed_a = b.workspace(left)});
             each_block(u, out, g * cout + first, outputs, groups * cout,
                        [&](int64_t channel, int64_t channels, int64_t plane, const WinogradTiles& t, int64_t place) {
                          winograd().outputs(t, {channels, y_plane, m_size, out_tile}, m + place * out_tile + channel,
                                             bias ? b.input<float>(2) + g * cout + first + channel : nullptr,
                                             b.output<float>(0) + plane * y_plane, b.workspace(scratch));
                        });
           }
         }
       }});
  return Kernel::parallel(std::move(phases), ns * static_cast<double>(c.batch * groups)).with_workspace(workspace);
}

}  // namespace

double winograd_outputs_ns(const Convolution& c) { return winograd_ns(c, ns_per_product_fma, ns_per_kernel_number); }
double winograd_data_grad_ns(const Convolution& c) {
  return is_supported(c) ? winograd_outputs_ns(turned_convolution(c)) : unsupported_ns;
}

Kernel winograd_convolution_kernel(const Convolution& c, bool bias) {
  return winograd_correlation(c, false, bias, winograd_outputs_ns(c));
}
Kernel winograd_data_grad_kernel(const Convolution& c, bool bias) {
  return winograd_correlation(turned_convolution(c), true, bias, winograd_data_grad_ns(c));
}

}  // namespace pxl
