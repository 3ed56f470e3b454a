// Weight gradients by winograd.hpp. Matrix products sum the tiles, one product per position. Partial sums are used if
// they stay in L2. Otherwise rounds of many tiles are transformed and then summed by position.
#include <vector>

#include "runtime/kernels/convolution/partial_sums.hpp"
#include "runtime/kernels/convolution/ways.hpp"
#include "runtime/kernels/convolution/winograd_parts.hpp"

namespace pxl {
namespace {

using namespace winograd_parts;

// Floats in the sums of a group that stay in L2 beside the tiles.
constexpr int64_t max_partial_floats = int64_t{1} << 18;
// Floats in the transformed tiles of a round, and minimum tiles per round, so that sums are not read and written for a
// few terms only.
constexpr int64_t round_floats = int64_t{1} << 22, min_round_tiles = 256;
// Outputs per chunk of a position's sums.
constexpr int64_t outputs_of_part = 128;

/// Sizes of the transformed data and the sums, for the weights of a convolution.
struct WeightSums {
  Convolution c;
  WinogradForm form;
  const WinogradFunctions* f;
  PlaneUnits units;
  WinogradTiles in, out;
  int64_t in_tile, out_tile;
  int64_t row;  ///< sums per output: one for each channel and phase
  int64_t kernel_stride, x_plane, y_plane;

  WeightSums(const Convolution& given, const WinogradForm& of)
      : c(given),
        form(of),
        f(&winograd(of)),
        units(tile_units(of, c.batch, 1, c.axes)),
        in(input_tiles(of, c.axes, units.rows_per_unit, units.across)),
        out(output_tiles(of, c.axes, units.rows_per_unit, units.across)),
        in_tile(of.phases() * padded_channels(c.cin)),
        out_tile(padded_channels(c.cout)),
        row(phased_channels(of, c.cin)),
        kernel_stride(position_stride(c.cout * row)),
        x_plane(input_size(c.axes)),
        y_plane(output_size(c.axes)) {}

  int64_t group_size() const { return form.positions() * kernel_stride; }
  int64_t scratch() const { return std::max(in.scratch(), out.scratch()); }
  bool in_rounds() const { return group_size() > max_partial_floats; }
  int64_t partial_sums() const {
    if (in_rounds()) return 1;
    return std::min({units.units, max_partial_results(c.groups * group_size()), enough_winograd_units});
  }
  /// Units per round.
  int64_t round_units() const {
    const int64_t wanted = std::max(min_round_tiles, round_floats / (form.positions() * (in_tile + out_tile)));
    return std::min(units.units, div_up(wanted, units.max_places()));
  }

  /// Transforms channels [first, first + channels) of group g's inputs.
  void take_inputs(const PlaneUnits::Unit& u, int64_t g, int64_t first, int64_t channels, int64_t position,
                   const float* x, float* to, float* memory) const {
    each_block(u, in, g * c.cin + first, channels, c.groups * c.cin,
               [&](int64_t channel, int64_t n, int64_t plane, const WinogradTiles& t, int64_t place) {
                 f->inputs(t, {n, x_plane, position, in_tile}, x + plane * x_plane,
                           to + place * in_tile + form.place(first + channel), memory);
               });
  }
  void take_gradients(const PlaneUnits::Unit& u, int64_t g, int64_t first, int64_t channels, int64_t position,
                      const float* dy, float* to, float* memory) const {
    each_block(u, out, g * c.cout + first, channels, c.groups * c.cout,
               [&](int64_t channel, int64_t n, int64_t plane, const WinogradTiles& t, int64_t place) {
                 f->gradients(t, {n, y_plane, position, out_tile}, true, dy + plane * y_plane,
                              to + place * out_tile + first + channel, memory);
               });
  }
  /// Sums outputs [first, first + outputs) at a position, over `tiles` tiles.
  void sum(const float* d, const float* v, int64_t first, int64_t outputs, int64_t tiles, bool add, float* to,
           float* memory) const {
    packed().product({.a = matrix_of(d + first, out_tile),
                      .b = matrix_of(v, in_tile),
                      .ta = true,
                      .add = add,
                      .m = outputs,
                      .n = row,
                      .k = tiles,
                      .out = to + first * row,
                      .ldo = row,
                      .memory = memory,
                      .terms_of_sum = tiles_of_sum});
  }
};

/// Adds partial sums in the order of the parts, and transforms them to kernels.
Phase kernels_of_sums(const WeightSums& s, PerCall<float> sums, int64_t parts) {
  // Adjacent kernels: all kernels of a group, or of one output if there are several phases.
  const int64_t of_group = s.c.cin * s.c.cout, run = s.form.phases() == 1 ? of_group : s.c.cin;
  const int64_t size = s.group_size(), all = s.c.groups * size, stride = s.kernel_stride;
  const int64_t blocks = div_up(run, winograd_channels), taps = kernel_size(s.c.axes);
  return {s.c.groups * (of_group / run) * blocks, 16, [=](const Buffers& b, int64_t begin, int64_t end) {
            constexpr int64_t numbers = 256;
            const int64_t at_once = numbers / winograd_channels / s.form.phases();
            float total[max_winograd_positions * numbers];
            for (int64_t at = begin, count = 0; at < end; at += count) {
              const int64_t place = at % blocks * winograd_channels, group = at / blocks * run / of_group,
                            first = at / blocks * run % of_group / s.c.cin * s.row + s.form.place(place);
              count = std::min({at_once, end - at, blocks - at % blocks});
              for (int64_t p = 0; p < s.form.positions(); ++p) {
                const float* from = b.workspace(sums) + group * size + p * stride + first;
                float* const to = total + p * numbers;
                std::copy_n(from, count * winograd_channels * s.form.phases(), to);
                for (int64_t part = 1; part < parts; ++part)
                  add_numbers(from + part * all, count * winograd_channels * s.form.phases(), to);
              }
              s.f->weights({.n = std::min(count * winograd_channels, run - place),
                            .rows = s.c.axes[1].kernel,
                            .columns = s.c.axes[2].kernel},
                           total, numbers, b.output<float>(0) + (at / blocks * run + place) * taps);
            }
          }};
}

std::vector<Phase> weights_by_parts(const WeightSums& s, WorkspaceLayout& workspace) {
  const int64_t most = s.units.max_places(), groups = s.c.groups, size = s.group_size(), parts = s.partial_sums();
  const int64_t v_size = position_stride(s.in_tile * most), d_size = position_stride(s.out_tile * most);
  const auto partial = workspace.per_call<float>(parts * groups * size);
  const auto tiles = workspace.per_thread<float>(s.form.positions() * v_size),
             gradients = workspace.per_thread<float>(s.form.positions() * d_size),
             scratch = workspace.per_thread<float>(s.scratch()),
             memory = workspace.per_thread<float>(packed().product_memory(s.c.cout));
  Phase sums{parts * groups, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
               float *v = b.workspace(tiles), *d = b.workspace(gradients);
               for (int64_t i = begin; i < end; ++i) {
                 const int64_t g = i % groups, part = i / groups;
                 float* to = b.workspace(partial) + i * size;
                 const int64_t first = s.units.units * part / parts, last = s.units.units * (part + 1) / parts;
                 for (int64_t n = first; n < last; ++n) {
                   const PlaneUnits::Unit u = s.units.at(n);
                   s.take_inputs(u, g, 0, s.c.cin, v_size, b.input<float>(1), v, b.workspace(scratch));
                   s.take_gradients(u, g, 0, s.c.cout, d_size, b.input<float>(0), d, b.workspace(scratch));
                   for (int64_t p = 0; p < s.form.positions(); ++p)
                     s.sum(d + p * d_size, v + p * v_size, 0, s.c.cout, u.places, n != first, to + p * s.kernel_stride,
                           b.workspace(memory));
                 }
               }
             }};
  return {sums, kernels_of_sums(s, partial, parts)};
}

std::vector<Phase> weights_in_rounds(const WeightSums& s, WorkspaceLayout& workspace) {
  const int64_t units = s.units.units, per_round = s.round_units(), most = per_round * s.units.max_places();
  const int64_t v_size = position_stride(s.in_tile * most), d_size = position_stride(s.out_tile * most);
  const auto sums = workspace.per_call<float>(s.c.groups * s.group_size()),
             tiles = workspace.per_call<float>(s.form.positions() * v_size),
             gradients = workspace.per_call<float>(s.form.positions() * d_size);
  const auto scratch = workspace.per_thread<float>(s.scratch()),
             memory = workspace.per_thread<float>(packed().product_memory(outputs_of_part));
  const int64_t in_blocks = div_up(s.c.cin, winograd_channels),
                blocks = in_blocks + div_up(s.c.cout, winograd_channels);
  const int64_t parts = div_up(s.c.cout, outputs_of_part);
  std::vector<Phase> phases;
  for (int64_t g = 0; g < s.c.groups; ++g)
    for (int64_t first = 0; first < units; first += per_round) {
      const int64_t count = std::min(per_round, units - first), before = s.units.places_before(first);
      phases.push_back(
          {count * blocks, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
             for (int64_t i = begin; i < end; ++i) {
               const int64_t n = first + i / blocks, block = i % blocks;
               const PlaneUnits::Unit u = s.units.at(n);
               const int64_t place = s.units.places_before(n) - before;
               const bool inputs = block < in_blocks;
               const int64_t channel = (inputs ? block : block - in_blocks) * winograd_channels;
               if (inputs)
                 s.take_inputs(u, g, channel, std::min(winograd_channels, s.c.cin - channel), v_size, b.input<float>(1),
                               b.workspace(tiles) + place * s.in_tile, b.workspace(scratch));
               else
                 s.take_gradients(u, g, channel, std::min(winograd_channels, s.c.cout - channel), d_size,
                                  b.input<float>(0), b.workspace(gradients) + place * s.out_tile, b.workspace(scratch));
             }
           }});
      const int64_t all = s.units.places_before(first + count) - before;
      phases.push_back({s.form.positions() * parts, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            const int64_t p = i / parts, output = i % parts * outputs_of_part;
                            s.sum(b.workspace(gradients) + p * d_size, b.workspace(tiles) + p * v_size, output,
                                  std::min(outputs_of_part, s.c.cout - output), all, first != 0,
                                  b.workspace(sums) + g * s.group_size() + p * s.kernel_stride, b.workspace(memory));
                          }
                        }});
    }
  phases.push_back(kernels_of_sums(s, sums, 1));
  return phases;
}

/// The fastest form. One sum is the result itself, and is transformed; further sums cost more.
FormCost weights_cost(const Convolution& c) {
  return fastest_form(c, ns_per_tile_sum_fma, [&](const WinogradForm& form) {
    const double sums = static_cast<double>(WeightSums(c, form).partial_sums() - 1);
    return kernel_number_ns(form, c) + sums * ns_per_partial_number;
  });
}

}  // namespace

double winograd_weights_grad_ns(const Convolution& c) { return weights_cost(c).ns; }

std::optional<Kernel> winograd_weights_grad_kernel(const Convolution& c) {
  const FormCost cost = weights_cost(c);
  const WeightSums s(c, *cost.form);
  WorkspaceLayout workspace;
  std::vector<Phase> phases = s.in_rounds() ? weights_in_rounds(s, workspace) : weights_by_parts(s, workspace);
  return Kernel::parallel(std::move(phases), cost.ns * static_cast<double>(c.batch * c.groups))
      .with_workspace(workspace);
}

}  // namespace pxl
