// Convolutions over two axes and their gradients, by winograd.hpp, in float32: 3 x 3 kernels with stride 1, and kernels
// with 3 to 6 elements along each axis and stride 2.
//
// An error is at most 8 rounding units (2^-23), relative to the largest sum of absolute terms; sums of products have
// about 1 unit. An infinity or NaN reaches all sixteen outputs of its tiles, including outputs whose windows do not
// contain it.
#include "runtime/kernels/convolution/ways.hpp"
#include "runtime/kernels/convolution/winograd_correlation.hpp"
#include "runtime/kernels/prepared.hpp"

namespace pxl {
namespace {

using namespace winograd_parts;

// Transformed tiles in a unit, times channels: 2.25 MiB, most of which stay in L2. More tiles would be written to
// memory; fewer would read the transformed kernels more often. Measured with 64 to 512 channels on Sapphire Rapids.
constexpr int64_t tiles_of_inputs = int64_t{1} << 14;
// Product columns whose sums are kept for all positions.
constexpr int64_t columns_at_once = 64;

// Columns and terms of products with kernels that are transformed when they are used. Their transformed kernels stay in
// L2 for all positions. There are fewer columns if there would be too few units. Measured with 256 and 512 channels on
// AMD EPYC (Zen 3).
constexpr int64_t kernel_columns = 64, min_kernel_columns = 32, kernel_rows = 64;
// The cost of a number in these kernels, comparable with ns_per_kernel_number. Measured with the same convolutions.
constexpr double ns_per_kernel_number_in_use = 0.5;

/// Whether kernels are transformed when they are used: there are few tiles in all, and many kernels.
bool is_by_kernels(const TileCorrelation& s) {
  return s.c.groups == 1 && all_tiles(s.form, s.c) <= good_tiles &&
         kernel_numbers(s.form, s.c) > max_near_kernel_numbers &&
         s.columns(s.results) >= enough_winograd_units * min_kernel_columns;
}

/// Transforms the kernels first, for all tile units.
Kernel by_tiles(const TileCorrelation& s, double ns) {
  const Convolution& c = s.c;
  const int64_t depth = s.depth, groups = c.groups;
  const PlaneUnits units = tile_units(s.form, c.batch, s.results, c.axes,
                                      std::clamp(tiles_of_inputs / depth, min_tiles_of_unit, good_tiles));
  const int64_t down = units.rows_per_unit + s.overlap(units);
  const int64_t most = units.max_places() + s.overlap(units) * units.across;
  const int64_t parts = output_parts(s.results, div_up(enough_winograd_units, units.units * groups)),
                own = s.results / parts, at_once = columns_at_once / s.columns_of_channel;
  const int64_t in_tile = padded_channels(depth), out_tile = padded_channels(s.columns(std::min(own, at_once)));
  const int64_t v_size = position_stride(in_tile * most), m_size = position_stride(out_tile * most);
  const int64_t w_size = position_stride(packed().packed_size(s.columns(s.results), depth)),
                w_group = s.form.positions() * w_size, blocks = div_up(s.results, TileCorrelation::block());
  const WinogradTiles in = s.tiles_taken(down, units.across), out = s.tiles_given(down, units.across);
  WorkspaceLayout workspace;
  const auto tiles = workspace.per_thread<float>(s.form.positions() * v_size),
             sums = workspace.per_thread<float>(s.form.positions() * m_size),
             scratch = workspace.per_thread<float>(std::max(in.scratch(), out.scratch())),
             left = workspace.per_thread<float>(packed().packed_a_size);
  const double make_ns = kernel_numbers(s.form, c) * kernel_number_ns(s.form, c) * static_cast<double>(groups);
  const Kernel make = Kernel::parallel(groups * blocks, 1, make_ns, [=](const Buffers& b, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t g = i / blocks, first = i % blocks * TileCorrelation::block();
      s.transform(first, std::min(TileCorrelation::block(), s.results - first), s.terms,
                  b.input<float>(0) + g * s.terms * s.results * s.taps + first * s.taps_between_results, w_size,
                  b.output<float>(0) + g * w_group);
    }
  });
  const auto part_of_result = [=](const Buffers& b, int64_t begin, int64_t end) {
    const Finish finish = finish_of(b, s.c, s.bias);
    float *v = b.workspace(tiles), *m = b.workspace(sums), *memory = b.workspace(scratch);
    for (int64_t i = begin; i < end; ++i) {
      const UnitOfRows u = s.unit(units, i / parts / groups);
      const int64_t g = i / parts % groups, part = i % parts * own;
      if (i == begin || part == 0) s.take(u.tiles, in, g, 0, s.terms, v_size, in_tile, b.input<float>(0), v, memory);
      const float* const w = b.input<float>(1) + g * w_group;
      for (int64_t first = part; first < part + own; first += at_once) {
        const int64_t channels = std::min(at_once, part + own - first);
        for (int64_t p = 0; p < s.form.positions(); ++p)
          packed().multiply({.a = matrix_of(v + p * v_size, in_tile),
                             .m = u.tiles.places,
                             .n = s.columns(channels),
                             .k = depth,
                             .b = w + p * w_size + first * s.columns_of_channel * depth,
                             .out = m + p * m_size,
                             .ldo = out_tile,
                             .terms_of_sum = channels_of_sum(depth),
                             .packed_a = b.workspace(left)});
        s.give(u, out, g, first, channels, m_size, out_tile, m, finish, b.output<float>(0), memory);
      }
    }
  };
  const auto complete = [=](int64_t i, const ResultParts::Take& f) {
    s.complete(s.unit(units, i / parts / groups), i / parts % groups, i % parts * own, own, f);
  };
  Kernel rest = Kernel::parallel(units.units * groups * parts, 1, ns * static_cast<double>(c.batch * groups) - make_ns,
                                 part_of_result)
                    .with_workspace(workspace)
                    .with_result_parts({s.result_plane(), parts, complete});
  return preparing(
      {"winograd kernels", 1, groups * w_group * static_cast<int64_t>(sizeof(float)), make, std::move(rest)},
      operands_of(s.c, s.bias));
}

/// Transforms all tiles first. Kernels are transformed for some columns and terms at a time, and multiplied while they
/// are in L2.
Kernel by_kernels(const TileCorrelation& s, double ns) {
  const Convolution& c = s.c;
  const int64_t all = all_tiles(s.form, c), positions = s.form.positions();
  const PlaneUnits units(c.batch, div_up(c.axes[1].out, s.form.outputs), div_up(c.axes[2].out, s.form.outputs), all);
  const int64_t columns =
      s.columns(s.results) >= enough_winograd_units * kernel_columns ? kernel_columns : min_kernel_columns;
  const int64_t at_once = std::max(winograd_channels, columns / s.columns_of_channel),
                terms_at_once = kernel_rows / s.rows(winograd_channels) * winograd_channels;
  const int64_t in_tile = padded_channels(s.depth), out_tile = padded_channels(s.columns(at_once));
  const int64_t v_size = position_stride(in_tile * all), m_size = position_stride(out_tile * all),
                w_size = position_stride(packed().packed_size(s.columns(at_once), s.rows(terms_at_once)));
  const WinogradTiles in = s.tiles_taken(units.rows, units.across), out = s.tiles_given(units.rows, units.across);
  WorkspaceLayout workspace;
  const auto tiles = workspace.per_call<float>(positions * v_size);
  const auto weights = workspace.per_thread<float>(positions * w_size),
             sums = workspace.per_thread<float>(positions * m_size),
             scratch = workspace.per_thread<float>(std::max(in.scratch(), out.scratch())),
             left = workspace.per_thread<float>(packed().packed_a_size);
  const int64_t blocks = div_up(s.terms, winograd_channels), of_sample = units.rows * units.across;
  std::vector<Phase> phases;
  phases.push_back({c.batch * blocks, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) {
                        const int64_t sample = i / blocks, first = i % blocks * winograd_channels;
                        s.take({.sample = sample, .rows = units.rows}, in, 0, first,
                               std::min(winograd_channels, s.terms - first), v_size, in_tile, b.input<float>(0),
                               b.workspace(tiles) + sample * of_sample * in_tile, b.workspace(scratch));
                      }
                    }});
  phases.push_back({div_up(s.results, at_once), 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                      const Finish finish = finish_of(b, s.c, s.bias);
                      float *w = b.workspace(weights), *m = b.workspace(sums);
                      for (int64_t i = begin; i < end; ++i) {
                        const int64_t first = i * at_once, channels = std::min(at_once, s.results - first);
                        for (int64_t term = 0; term < s.terms; term += terms_at_once) {
                          const int64_t terms = std::min(terms_at_once, s.terms - term);
                          for (int64_t r = 0; r < channels; r += TileCorrelation::block())
                            s.transform(
                                r, std::min(TileCorrelation::block(), channels - r), terms,
                                b.input<float>(1) + (first + r) * s.taps_between_results + term * s.taps_between_terms,
                                w_size, w);
                          for (int64_t p = 0; p < positions; ++p)
                            packed().multiply({.a = matrix_of(b.workspace(tiles) + p * v_size + s.row(term), in_tile),
                                               .add = term > 0,
                                               .m = all,
                                               .n = s.columns(channels),
                                               .k = s.rows(terms),
                                               .b = w + p * w_size,
                                               .out = m + p * m_size,
                                               .ldo = out_tile,
                                               .terms_of_sum = channels_of_sum(s.depth),
                                               .packed_a = b.workspace(left)});
                        }
                        s.give(s.unit(units, 0), out, 0, first, channels, m_size, out_tile, m, finish,
                               b.output<float>(0), b.workspace(scratch));
                      }
                    }});
  const auto complete = [=](int64_t i, const ResultParts::Take& f) {
    s.complete(s.unit(units, 0), 0, i * at_once, std::min(at_once, s.results - i * at_once), f);
  };
  return Kernel::parallel(std::move(phases), ns * static_cast<double>(c.batch))
      .with_workspace(workspace)
      .with_result_parts({s.result_plane(), 1, complete});
}

Kernel winograd_correlation(const TileCorrelation& s, double ns) {
  return is_by_kernels(s) ? by_kernels(s, ns) : by_tiles(s, ns);
}

/// The convolution over the output's gradient that computes the data gradient: its kernels are turned.
Convolution turned_convolution(const Convolution& c) {
  Convolution t{c.batch, c.groups, c.cout, c.cin, c.axes};
  for (size_t i = 1; i < t.axes.size(); ++i) {
    std::swap(t.axes[i].in, t.axes[i].out);
    t.axes[i].padding_before = t.axes[i].kernel - 1 - c.axes[i].padding_before;
  }
  return t;
}

FormCost cost_of(const Convolution& c, TilePass way) {
  return fastest_form(c, ns_per_product_fma, [&](const WinogradForm& form) {
    return is_by_kernels({c, form, way, false}) ? ns_per_kernel_number_in_use : kernel_number_ns(form, c);
  });
}
/// The convolution that computes another convolution's data gradient, and its algorithm.
struct DataGrad {
  Convolution c;
  TilePass way;

  explicit DataGrad(const Convolution& of)
      : c(of.axes[1].stride == 1 ? turned_convolution(of) : of),
        way(of.axes[1].stride == 1 ? TilePass::turned : TilePass::transposed) {}
};

}  // namespace

double winograd_outputs_ns(const Convolution& c) { return cost_of(c, TilePass::outputs).ns; }
double winograd_data_grad_ns(const Convolution& c) {
  const DataGrad grad(c);
  return cost_of(grad.c, grad.way).ns;
}

std::optional<Kernel> winograd_convolution_kernel(const Convolution& c, bool bias) {
  const FormCost cost = cost_of(c, TilePass::outputs);
  return winograd_correlation({c, *cost.form, TilePass::outputs, bias}, cost.ns);
}
std::optional<Kernel> winograd_data_grad_kernel(const Convolution& c, bool bias) {
  const DataGrad grad(c);
  const FormCost cost = cost_of(grad.c, grad.way);
  return winograd_correlation({grad.c, *cost.form, grad.way, bias}, cost.ns);
}

}  // namespace pxl
