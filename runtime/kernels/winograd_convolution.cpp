#include "runtime/kernels/winograd_convolution.hpp"

#include <array>

#include "runtime/kernels/winograd_parts.hpp"

namespace pxl {
namespace {

using namespace winograd_parts;

// Transformed tiles of a unit, times channels: 2.25 MiB, most of which stay in L2. More of them would be written to
// memory, fewer would read the transformed kernels more often. Measured with 64 to 512 channels on Sapphire Rapids.
constexpr int64_t tiles_of_inputs = int64_t{1} << 14;
// Columns of products whose sums are kept for all positions. Not measured.
constexpr int64_t columns_at_once = 64;

enum class Way {
  outputs,     ///< of a convolution
  turned,      ///< its data gradient, as the outputs of a convolution with turned kernels
  transposed,  ///< its data gradient, by transposed transforms
};

/// The products of tiles and kernels of one pass: sums over `terms` channels for `results` channels, of all phases.
struct Products {
  const WinogradFunctions* f;
  WinogradForm form;
  Way way;
  int64_t terms, results;
  int64_t depth;               ///< terms of a sum
  int64_t columns_of_channel;  ///< sums for each channel of the result
  int64_t taps, taps_between_terms, taps_between_results;
  WinogradKernels kernels;

  Products(const Convolution& c, const WinogradForm& of, Way by)
      : f(&winograd(of)),
        form(of),
        way(by),
        terms(by == Way::transposed ? c.cout : c.cin),
        results(by == Way::transposed ? c.cin : c.cout),
        depth(by == Way::transposed ? terms : phased_channels(form, terms)),
        columns_of_channel(by == Way::transposed ? form.phases() : 1),
        taps(kernel_size(c.axes)),
        taps_between_terms(by == Way::outputs ? taps : results * taps),
        taps_between_results(by == Way::outputs ? terms * taps : taps),
        kernels{.distance = taps_between_results,
                .rows = c.axes[1].kernel,
                .columns = c.axes[2].kernel,
                .turned = by == Way::turned} {}

  /// Columns of the sums of so many channels.
  int64_t columns(int64_t channels) const {
    return columns_of_channel == 1 ? channels : columns_of_channel * padded_channels(channels);
  }

  // Transformed kernels in the panels of the right operand of packed products, one after the other for each group and
  // position.
  int64_t nr() const { return packed().nr; }
  int64_t position() const { return position_stride(packed().packed_size(columns(results), depth)); }
  int64_t group() const { return form.positions() * position(); }
  /// Results of one call of the transform: panels are at least as wide.
  int64_t block() const { return std::min(winograd_channels, nr()); }
  int64_t blocks() const { return div_up(results, block()); }

  /// Block `i` of the results of one group, from its weights.
  void transform(int64_t i, const float* weights, float* to) const {
    const int64_t first = i * block();
    WinogradKernels k = kernels;
    k.n = std::min(block(), results - first);
    std::array<int64_t, max_winograd_phases> phases;
    for (int64_t p = 0; p < form.phases(); ++p) {
      const int64_t row = way == Way::transposed ? 0 : p * winograd_channels,
                    column = way == Way::transposed ? form.place(first) + p * winograd_channels : first;
      phases[static_cast<size_t>(p)] = column / nr() * depth * nr() + row * nr() + column % nr();
    }
    const auto row = [&](int64_t c) { return (way == Way::transposed ? c : form.place(c)) * nr(); };
    for (int64_t c = 0; c < terms; ++c)
      f->kernels(k, weights + first * taps_between_results + c * taps_between_terms, to + row(c), position(),
                 phases.data());
    for (int64_t c = terms; row(c) < depth * nr() && c % winograd_channels != 0; ++c)
      for (int64_t p = 0; p < form.positions(); ++p)
        for (int64_t phase = 0; phase < form.phases(); ++phase)
          std::fill_n(to + row(c) + p * position() + phases[static_cast<size_t>(phase)], block(), 0.0F);
  }
};

/// A unit of tiles of the gradient of the outputs, also those of the row of tiles before it: it computes the rows
/// [begin, end) of the gradient of the data, which no other unit does.
struct OverlappingUnit {
  PlaneUnits::Unit tiles;
  int64_t begin, end;

  OverlappingUnit(const PlaneUnits& units, int64_t i, const WinogradTiles& t) : tiles(units.at(i)) {
    const bool last = tiles.row + tiles.rows == units.rows;
    begin = std::clamp<int64_t>(t.pitch() * tiles.row - t.before_rows, 0, t.rows);
    end = last ? t.rows : std::clamp<int64_t>(t.pitch() * (tiles.row + tiles.rows) - t.before_rows, 0, t.rows);
    if (tiles.row == 0) return;
    --tiles.row, ++tiles.rows;
    tiles.places += units.across;
  }
};

/// The outputs or the gradient of the data of c, whose weights are those of the convolution whose data gradient c
/// computes where they are `turned`.
Kernel winograd_correlation(const Convolution& c, const WinogradForm& form, Way way, bool bias, double ns) {
  const Products products(c, form, way);
  const bool transposed = way == Way::transposed;
  const int64_t depth = products.depth, terms = products.terms, results = products.results, groups = c.groups;
  const PlaneUnits units =
      tile_units(form, c.batch, results, c.axes, std::clamp(tiles_of_inputs / depth, min_tiles_of_unit, good_tiles));
  const int64_t overlap = transposed && units.per_sample > 1 ? 1 : 0;
  const int64_t most = units.max_places() + overlap * units.across;
  const int64_t parts = output_parts(results, div_up(enough_winograd_units, units.units * groups)),
                own = results / parts, at_once = columns_at_once / products.columns_of_channel;
  const int64_t in_tile = padded_channels(depth), out_tile = padded_channels(products.columns(std::min(own, at_once)));
  const int64_t v_size = position_stride(in_tile * most), m_size = position_stride(out_tile * most);
  const int64_t down = units.rows_per_unit + overlap;
  const WinogradTiles in = input_tiles(form, c.axes, down, units.across),
                      out = output_tiles(form, c.axes, down, units.across);
  const int64_t x_plane = input_size(c.axes), y_plane = output_size(c.axes);
  WorkspaceLayout workspace;
  const auto weights = workspace.per_call<float>(groups * products.group());
  const auto tiles = workspace.per_thread<float>(form.positions() * v_size),
             sums = workspace.per_thread<float>(form.positions() * m_size),
             scratch = workspace.per_thread<float>(std::max(in.scratch(), out.scratch())),
             left = workspace.per_thread<float>(packed().packed_a_size);
  std::vector<Phase> phases;
  phases.push_back({groups * products.blocks(), 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) {
                        const int64_t g = i / products.blocks();
                        products.transform(i % products.blocks(),
                                           b.input<float>(1) + g * terms * results * products.taps,
                                           b.workspace(weights) + g * products.group());
                      }
                    }});
  phases.push_back(
      {units.units * groups * parts, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
         const WinogradFunctions& f = *products.f;
         float *v = b.workspace(tiles), *m = b.workspace(sums), *memory = b.workspace(scratch);
         for (int64_t i = begin; i < end; ++i) {
           const OverlappingUnit whole(units, i / parts / groups, in);
           const PlaneUnits::Unit u = transposed ? whole.tiles : units.at(i / parts / groups);
           const int64_t g = i / parts % groups, part = i % parts * own;
           if (i == begin || part == 0)
             each_block(u, transposed ? out : in, g * terms, terms, groups * terms,
                        [&](int64_t channel, int64_t channels, int64_t plane, const WinogradTiles& t, int64_t place) {
                          float* const to = v + place * in_tile;
                          if (transposed)
                            f.gradients(t, {channels, y_plane, v_size, in_tile}, false,
                                        b.input<float>(0) + plane * y_plane, to + channel, memory);
                          else
                            f.inputs(t, {channels, x_plane, v_size, in_tile}, b.input<float>(0) + plane * x_plane,
                                     to + form.place(channel), memory);
                        });
           const float* const w = b.workspace(weights) + g * products.group();
           for (int64_t first = part; first < part + own; first += at_once) {
             const int64_t channels_now = std::min(at_once, part + own - first);
             for (int64_t p = 0; p < form.positions(); ++p)
               packed().multiply({.a = matrix_of(v + p * v_size, in_tile),
                                  .m = u.places,
                                  .n = products.columns(channels_now),
                                  .k = depth,
                                  .b = w + p * products.position() + first * products.columns_of_channel * depth,
                                  .out = m + p * m_size,
                                  .ldo = out_tile,
                                  .terms_of_sum = channels_of_sum(depth),
                                  .packed_a = b.workspace(left)});
             each_block(u, transposed ? in : out, g * results + first, channels_now, groups * results,
                        [&](int64_t channel, int64_t channels, int64_t plane, const WinogradTiles& t, int64_t place) {
                          const float* const from = m + place * out_tile;
                          const float* const added = bias ? b.input<float>(2) + g * results + first + channel : nullptr;
                          if (transposed)
                            f.data(t, {channels, x_plane, m_size, out_tile}, whole.begin, whole.end,
                                   from + form.place(channel), added, b.output<float>(0) + plane * x_plane, memory);
                          else
                            f.outputs(t, {channels, y_plane, m_size, out_tile}, from + channel, added,
                                      b.output<float>(0) + plane * y_plane, memory);
                        });
           }
         }
       }});
  return Kernel::parallel(std::move(phases), ns * static_cast<double>(c.batch * groups)).with_workspace(workspace);
}

/// The convolution over the gradient of the output that is the gradient of the data: its kernels are turned.
Convolution turned_convolution(const Convolution& c) {
  Convolution t{c.batch, c.groups, c.cout, c.cin, c.axes};
  for (size_t i = 1; i < t.axes.size(); ++i) {
    std::swap(t.axes[i].in, t.axes[i].out);
    t.axes[i].padding_before = t.axes[i].kernel - 1 - c.axes[i].padding_before;
  }
  return t;
}

FormCost outputs_cost(const Convolution& c) {
  return fastest_form(c, ns_per_product_fma, [](const WinogradForm&) { return 0.0; });
}

}  // namespace

double winograd_outputs_ns(const Convolution& c) { return outputs_cost(c).ns; }
double winograd_data_grad_ns(const Convolution& c) {
  const FormCost own = outputs_cost(c);
  return own.form && own.form->step == 1 ? outputs_cost(turned_convolution(c)).ns : own.ns;
}

Kernel winograd_convolution_kernel(const Convolution& c, bool bias) {
  const FormCost cost = outputs_cost(c);
  return winograd_correlation(c, *cost.form, Way::outputs, bias, cost.ns);
}
Kernel winograd_data_grad_kernel(const Convolution& c, bool bias) {
  const FormCost own = outputs_cost(c);
  if (own.form->step > 1) return winograd_correlation(c, *own.form, Way::transposed, bias, own.ns);
  const Convolution turned = turned_convolution(c);
  const FormCost cost = outputs_cost(turned);
  return winograd_correlation(turned, *cost.form, Way::turned, bias, cost.ns);
}

}  // namespace pxl
