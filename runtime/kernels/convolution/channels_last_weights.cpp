// Weight gradients as packed products (packed.hpp): the output's gradient times the windows of the data, whose channels
// are adjacent. The data are transposed once, with their padding. The windows of a unit are the terms of one product
// for each row of taps.
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "runtime/kernels/convolution/direct.hpp"
#include "runtime/kernels/convolution/partial_sums.hpp"
#include "runtime/kernels/convolution/plane_units.hpp"
#include "runtime/kernels/convolution/ways.hpp"
#include "runtime/kernels/gemm/packed.hpp"

namespace pxl {
namespace {

// Windows per unit, which are the terms of its products: one block of the packed kernels.
constexpr int64_t unit_windows = 256;
// Window columns that are packed together: 256 KiB, so that they stay in L2.
constexpr int64_t packed_columns = 256;
// Target number of units. Outputs are partitioned, and sums are split, to reach it.
constexpr int64_t enough_products = 16;
// Maximum floats of transposed data: 32 MiB of workspace.
constexpr int64_t max_transposed_floats = int64_t{1} << 23;

// The cost model, in single-core ns, comparable with direct_convolution.cpp: a vector multiply-add; a copied number of
// the windows; a transposed number of the data. Measured with 64 to 1,024 channels of 4 x 4 to 32 x 32 elements,
// kernels of 1 x 1 to 4 x 4 and strides of 1 and 2 on AMD EPYC with AVX2.
constexpr double ns_per_term_fma = 0.35, ns_per_copied_term = 0.1, ns_per_transposed_datum = 0.35;
constexpr int64_t term_lanes = 16;

struct WindowTerms {
  Convolution c;
  int64_t element;         ///< numbers from one element to the next
  int64_t line, lines;     ///< elements of a row, rows of a sample
  int64_t runs, run, row;  ///< rows of taps, or taps; numbers of each; of all
  int64_t taps_of_run, taps;
  int64_t parts, own, sums;  ///< parts of the outputs; outputs per part; partial results
  PlaneUnits units;

  explicit WindowTerms(const Convolution& given)
      : c(given), units(given.batch, given.axes[1].out, given.axes[2].out, unit_windows) {
    const WindowAxis &h = c.axes[1], &w = c.axes[2];
    element = padded_channels(c.cin);
    line = std::max((w.out - 1) * w.stride + (w.kernel - 1) * w.dilation + 1, w.padding_before + w.in);
    lines = (h.out - 1) * h.stride + (h.kernel - 1) * h.dilation + 1;
    taps = kernel_size(c.axes);
    taps_of_run = w.dilation == 1 ? w.kernel : 1;
    runs = taps / taps_of_run;
    run = taps_of_run * element;
    row = runs * run;
    parts = output_parts(c.cout, div_up(enough_products, c.groups));
    own = c.cout / parts;
    const int64_t most = std::min(units.units, max_partial_results(c.groups * c.cout * row));
    sums = std::clamp<int64_t>(div_up(enough_products, parts * c.groups), 1, std::max<int64_t>(1, most));
  }

  int64_t sample() const { return lines * line * element; }
  int64_t transposed_floats() const { return c.batch * c.groups * sample(); }
  int64_t partial_size() const { return c.groups * c.cout * row; }
  /// Offset of run i's first number from the first number of its window.
  int64_t place_of_run(int64_t i) const {
    const WindowAxis &h = c.axes[1], &w = c.axes[2];
    const int64_t tap = i * taps_of_run;
    return (tap / w.kernel * h.dilation * line + tap % w.kernel * w.dilation) * element;
  }

  void transpose(int64_t sample_and_group, const float* x, float* to) const {
    const WindowAxis &h = c.axes[1], &w = c.axes[2];
    const int64_t plane = input_size(c.axes);
    direct().to_channels_last({.plane = plane,
                               .rows = h.in,
                               .columns = w.in,
                               .first = -h.padding_before,
                               .lines = lines,
                               .before = w.padding_before,
                               .line = line,
                               .element = element},
                              c.cin, x + sample_and_group * c.cin * plane, to + sample_and_group * sample());
  }

  /// Offsets of a unit's windows in the transposed data of a group.
  void windows_of(const PlaneUnits::Unit& u, int64_t group, int64_t* places) const {
    const WindowAxis &h = c.axes[1], &w = c.axes[2];
    for (int64_t s = 0; s < u.samples; ++s)
      for (int64_t r = u.row; r < u.row + u.rows; ++r)
        for (int64_t o = 0; o < w.out; ++o)
          *places++ = ((u.sample + s) * c.groups + group) * sample() + (r * h.stride * line + o * w.stride) * element;
  }
};

/// Packs `columns` numbers from `from` + places[k], for each of the `terms` windows k, in panels of nr.
template <int64_t nr>
void pack_windows(const float* from, const int64_t* places, int64_t terms, int64_t columns, float* to) {
  for (int64_t first = 0; first < columns; first += nr)
    for (int64_t k = 0; k < terms; ++k, to += nr) {
      const float* const at = from + places[k] + first;
      if (first + nr <= columns)
        std::memcpy(to, at, sizeof(float) * nr);
      else
        std::memcpy(to, at, sizeof(float) * static_cast<size_t>(columns - first));
    }
}
using PackWindows = void (*)(const float*, const int64_t*, int64_t, int64_t, float*);
PackWindows pack_windows_by(int64_t nr) {
  switch (nr) {
    case 8: return pack_windows<8>;
    case 16: return pack_windows<16>;
    default: return pack_windows<32>;
  }
}

/// The output's gradient for a unit, outputs [first, first + own) of a group. It is in place if it belongs to one
/// sample, else it is copied to rows of `memory`.
MatrixView outputs_of(const WindowTerms& p, const PlaneUnits::Unit& u, int64_t group, int64_t first, const float* dy,
                      float* memory) {
  const int64_t plane = output_size(p.c.axes), columns = p.c.axes[2].out;
  const float* from = dy + ((u.sample * p.c.groups + group) * p.c.cout + first) * plane;
  if (u.samples == 1) return {reinterpret_cast<const std::byte*>(from + u.row * columns), plane};
  for (int64_t s = 0; s < u.samples; ++s, from += p.c.groups * p.c.cout * plane)
    for (int64_t i = 0; i < p.own; ++i) std::copy_n(from + i * plane, plane, memory + i * u.places + s * plane);
  return {reinterpret_cast<const std::byte*>(memory), u.places};
}

bool has_window_terms(const Convolution& c) {
  return is_planar(c) && c.cin >= term_lanes / 2 && c.cout >= term_lanes && c.axes[1].padding_before >= 0 &&
         c.axes[2].padding_before >= 0;
}

}  // namespace

double channels_last_weights_grad_ns(const Convolution& c) {
  constexpr double unsupported = std::numeric_limits<double>::infinity();
  if (!has_window_terms(c)) return unsupported;
  const WindowTerms p(c);
  if (p.transposed_floats() > max_transposed_floats) return unsupported;
  const double windows = static_cast<double>(output_size(c.axes)), row = static_cast<double>(p.row);
  const double partial = static_cast<double>(p.sums * c.cout) * row / static_cast<double>(c.batch);
  const double copied =
      static_cast<double>(p.parts) * row + static_cast<double>(c.cout * (p.run / packed_columns + 1) * p.runs);
  return windows * static_cast<double>(c.cout) * row / term_lanes * ns_per_term_fma +
         windows * copied * ns_per_copied_term + static_cast<double>(p.sample()) * ns_per_transposed_datum +
         partial * ns_per_partial_number;
}

std::optional<Kernel> channels_last_weights_grad_kernel(const Convolution& c) {
  const auto terms = std::make_shared<const WindowTerms>(c);
  const int64_t most = terms->units.max_places(), nr = packed().nr;
  WorkspaceLayout workspace;
  const auto data = workspace.per_call<float>(terms->transposed_floats());
  const auto partial = workspace.per_call<float>(terms->sums * terms->partial_size());
  const auto places = workspace.per_thread<int64_t>(most);
  const auto right = workspace.per_thread<float>(packed().packed_size(std::min(packed_columns, terms->run), most));
  const auto outputs = workspace.per_thread<float>(terms->units.samples_per_unit == 1 ? 0 : terms->own * most);
  const auto left = workspace.per_thread<float>(packed().packed_a_size);
  const auto total = workspace.per_thread<float>(terms->row);
  std::vector<Phase> phases;
  phases.push_back({c.batch * c.groups, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) terms->transpose(i, b.input<float>(1), b.workspace(data));
                    }});
  phases.push_back({terms->sums * c.groups * terms->parts, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                      const WindowTerms& p = *terms;
                      const PackWindows pack = pack_windows_by(nr);
                      for (int64_t i = begin; i < end; ++i) {
                        const int64_t sum = i / p.parts / p.c.groups, g = i / p.parts % p.c.groups,
                                      first = i % p.parts * p.own;
                        float* const to =
                            b.workspace(partial) + sum * p.partial_size() + (g * p.c.cout + first) * p.row;
                        const int64_t from = p.units.units * sum / p.sums, last = p.units.units * (sum + 1) / p.sums;
                        for (int64_t unit = from; unit < last; ++unit) {
                          const PlaneUnits::Unit u = p.units.at(unit);
                          p.windows_of(u, g, b.workspace(places));
                          const MatrixView a = outputs_of(p, u, g, first, b.input<float>(0), b.workspace(outputs));
                          for (int64_t r = 0; r < p.runs; ++r)
                            for (int64_t n0 = 0; n0 < p.run; n0 += packed_columns) {
                              const int64_t columns = std::min(packed_columns, p.run - n0);
                              pack(b.workspace(data) + p.place_of_run(r) + n0, b.workspace(places), u.places, columns,
                                   b.workspace(right));
                              packed().multiply({.a = a,
                                                 .add = unit > from,
                                                 .m = p.own,
                                                 .n = columns,
                                                 .k = u.places,
                                                 .b = b.workspace(right),
                                                 .out = to + r * p.run + n0,
                                                 .ldo = p.row,
                                                 .packed_a = b.workspace(left)});
                            }
                        }
                      }
                    }});
  phases.push_back({c.groups * c.cout, 4, [=](const Buffers& b, int64_t begin, int64_t end) {
                      const WindowTerms& p = *terms;
                      for (int64_t o = begin; o < end; ++o) {
                        const float* from = b.workspace(partial) + o * p.row;
                        float* const sum = b.workspace(total);
                        std::copy_n(from, p.row, sum);
                        for (int64_t s = 1; s < p.sums; ++s) {
                          from += p.partial_size();
                          add_numbers(from, p.row, sum);
                        }
                        direct().from_channels_last(sum, p.element, p.c.cin, p.taps, {},
                                                    b.output<float>(0) + o * p.c.cin * p.taps, p.taps);
                      }
                    }});
  return Kernel::parallel(std::move(phases), channels_last_weights_grad_ns(c) * static_cast<double>(c.batch * c.groups))
      .with_workspace(workspace);
}

}  // namespace pxl
