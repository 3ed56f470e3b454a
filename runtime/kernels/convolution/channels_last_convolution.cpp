// Convolutions over one or two axes, and their gradients, as matrix products of windows with adjacent channels, in
// float32. Data gradients need strides of 1. Plane rows are transposed, with their padding, into elements of adjacent
// channels. For each row of taps, the packed product (packed.hpp) reads its left operand there, without im2col. Where a
// kernel has one element, the product reads the planes in place. The sums are transposed back. The algorithm suits
// strides, dilations and groups with many channels. Partitions and the choice of the algorithm depend on the shapes and
// the instruction set only.
//
// Order of summation: rows of taps, then taps, then channels, with one fused multiply-add per term. Weight gradients
// sum windows in partial results, which are then added.
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/kernels/convolution/direct.hpp"
#include "runtime/kernels/convolution/plane_units.hpp"
#include "runtime/kernels/convolution/ways.hpp"
#include "runtime/kernels/gemm/packed.hpp"
#include "runtime/kernels/prepared.hpp"

namespace pxl {
namespace {

// Windows per work unit, which are the rows of its products; fewer if there would be too few units. Parts
// of a unit have some outputs at least.
constexpr int64_t good_unit_windows = 224, min_unit_windows = 56, enough_window_units = 16, min_part_outputs = 64;
// Maximum floats in a unit's transposed rows: 1 MiB, so that they stay in L2.
constexpr int64_t max_row_floats = int64_t{1} << 18;

// The cost model, in single-core ns, comparable with direct_convolution.cpp: a vector multiply-add; a copied element of
// the left operand; a transposed data element; a packed weight. Measured with 16 to 512 channels on Sapphire Rapids,
// beside direct convolutions.
constexpr double ns_per_window_fma = 0.3, ns_per_copied_number = 0.35, ns_per_transposed_number = 0.35,
                 ns_per_packed_weight = 0.8;
constexpr int64_t fma_lanes = 16;
// The same for kernels of one element, beside im2col. Measured with 16 to 2,048 channels and planes of 1 x 1 to 112 x
// 112 elements on Sapphire Rapids.
constexpr double ns_per_fma_in_place = 0.37, ns_per_given_number = 0.4, ns_per_weight_in_place = 0.2;

/// A convolution. `turned`: the convolution over the output's gradient that computes another convolution's data
/// gradient.
struct WindowProducts {
  Convolution c;
  bool turned = false;
  bool pointwise;     ///< the planes are the left operand
  int64_t element;    ///< numbers from one element to the next
  int64_t before[2];  ///< padding of rows and columns
  int64_t line;       ///< elements of a row
  int64_t runs, run;  ///< products of a window: rows of taps, or taps; numbers of each
  int64_t taps_of_run;
  PlaneUnits units;              ///< of planes in place, the rows are their elements
  std::vector<int64_t> windows;  ///< where a unit's windows begin
  std::vector<int64_t> places;   ///< offsets of weights in a panel, see columns_to

  WindowProducts(const Convolution& given, bool turn)
      : c(given), turned(turn), pointwise(is_pointwise(given)), units(units_of(given)) {
    const WindowAxis &h = c.axes[1], &w = c.axes[2];
    element = pointwise ? c.cin : padded_channels(c.cin);
    before[0] = h.padding_before, before[1] = w.padding_before;
    line = std::max((w.out - 1) * w.stride + (w.kernel - 1) * w.dilation + 1, before[1] + w.in);
    taps_of_run = w.dilation == 1 ? w.kernel : 1;
    runs = kernel_size(c.axes) / taps_of_run;
    run = taps_of_run * element;
    for (int64_t s = 0; s < units.samples_per_unit && !pointwise; ++s)
      for (int64_t r = 0; r < units.rows_per_unit; ++r)
        for (int64_t o = 0; o < w.out; ++o)
          windows.push_back(s * sample() + (r * h.stride * line + o * w.stride) * element);
    // Weights are stored by output, channel and tap. Turned weights are stored by channel, output and tap, the last tap
    // first.
    const int64_t taps = kernel_size(c.axes);
    for (int64_t channel = 0; channel < (turned ? 1 : c.cin); ++channel)
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t tap = turned ? taps - 1 - t : t;
        places.push_back(tap / taps_of_run * run_size() + (tap % taps_of_run * element + channel) * packed().nr);
      }
  }

  static PlaneUnits units_of(const Convolution& c) {
    const int64_t plane = output_size(c.axes);
    if (!is_pointwise(c)) return {c.batch, c.axes[1].out, c.axes[2].out, wanted_windows(c)};
    const int64_t of_equal_size = div_up(plane, div_up(plane, good_unit_windows));
    return {c.batch, plane, 1, plane == 1 ? good_unit_windows : of_equal_size};
  }
  static int64_t wanted_windows(const Convolution& c) {
    const int64_t all = c.batch * output_size(c.axes);
    return std::clamp(all * output_parts(c.cout, enough_window_units) / enough_window_units,
                      std::min(min_unit_windows, all), good_unit_windows);
  }
  /// Number of plane rows that the windows of a unit reach.
  int64_t lines() const {
    const WindowAxis& h = c.axes[1];
    return (units.rows_per_unit - 1) * h.stride + (h.kernel - 1) * h.dilation + 1;
  }
  int64_t sample() const { return lines() * line * element; }
  int64_t floats() const { return pointwise ? 0 : units.samples_per_unit * sample(); }
  /// Offset of a run's first number from the first number of its window.
  int64_t place_of_run(int64_t i) const {
    const WindowAxis &h = c.axes[1], &w = c.axes[2];
    const int64_t tap = i * taps_of_run;
    return (tap / w.kernel * h.dilation * line + tap % w.kernel * w.dilation) * element;
  }
  /// Size of the packed weights, [group][run][panel][tap, channel][nr].
  int64_t run_size() const { return packed().packed_size(c.cout, run); }
  int64_t group_size() const { return runs * run_size(); }
  int64_t panels() const { return packed().strips(c.cout); }
  /// Number of parts into which the panels are divided.
  int64_t parts() const {
    return std::clamp<int64_t>(div_up(enough_window_units, units.units * c.groups), 1,
                               std::max<int64_t>(1, c.cout / min_part_outputs));
  }

  /// Packs panel `i` for every run of a group, from the group's weights.
  void pack_panel(int64_t i, const float* weights, float* to) const {
    if (pointwise) {
      const MatrixView from{reinterpret_cast<const std::byte*>(weights), turned ? c.cout : c.cin};
      return packed().pack({from, !turned, c.cin, c.cout, i, i + 1, to});
    }
    const int64_t nr = packed().nr, lanes = std::min<int64_t>(nr, fma_lanes), taps = kernel_size(c.axes);
    float* const panel = to + i * run * nr;
    for (int64_t r = 0; r < runs; ++r) std::fill_n(panel + r * run_size(), run * nr, 0.0F);
    for (int64_t first = i * nr; first < std::min((i + 1) * nr, c.cout); first += lanes) {
      const int64_t outputs = std::min(lanes, c.cout - first);
      float* const at = panel + first % nr;
      if (turned)
        for (int64_t channel = 0; channel < c.cin; ++channel)
          direct().columns_to(weights + (channel * c.cout + first) * taps, taps, outputs, taps, places.data(),
                              at + channel * nr);
      else
        direct().columns_to(weights + first * c.cin * taps, c.cin * taps, outputs, c.cin * taps, places.data(), at);
    }
  }
  /// The left operand for run i: what take_rows gave, or the elements in place. They are a transposed matrix, but for
  /// planes with one element, whose samples are rows.
  PackedGemm left(const PlaneUnits::Unit& u, int64_t group, int64_t i, const float* x, const float* rows) const {
    const auto at = [](const float* from) { return reinterpret_cast<const std::byte*>(from); };
    if (!pointwise) return {.a = {at(rows + place_of_run(i))}, .rows = windows.data()};
    const int64_t plane = input_size(c.axes), begin = (u.sample * c.groups + group) * c.cin * plane + u.row;
    return {.a = {at(x + begin), plane > 1 ? plane : c.groups * c.cin}, .transposed = plane > 1};
  }
  /// Whether the products give sums, which are finished later.
  bool gives_sums() const { return !pointwise || output_size(c.axes) == 1; }
  void take_rows(const PlaneUnits::Unit& u, int64_t group, const float* x, float* to) const {
    const int64_t plane = input_size(c.axes);
    const PlaneRows rows{.plane = plane,
                         .rows = c.axes[1].in,
                         .columns = c.axes[2].in,
                         .first = u.row * c.axes[1].stride - before[0],
                         .lines = lines(),
                         .before = before[1],
                         .line = line,
                         .element = element};
    for (int64_t s = 0; s < u.samples; ++s)
      direct().to_channels_last(rows, c.cin, x + ((u.sample + s) * c.groups + group) * c.cin * plane,
                                to + s * sample());
  }
};

bool is_supported_here(const Convolution& c) {
  if (!has_windows_of_planes(c) || (!is_planar(c) && !is_pointwise(c)) || c.cin < fma_lanes / 2 || c.cout < fma_lanes)
    return false;
  return c.axes[1].padding_before >= 0 && c.axes[2].padding_before >= 0;
}

/// The convolution over the output's gradient that computes the data gradient: its kernels are turned.
std::optional<Convolution> data_grad_convolution(const Convolution& c) {
  Convolution t{c.batch, c.groups, c.cout, c.cin, c.axes};
  for (size_t i = 1; i < t.axes.size(); ++i) {
    WindowAxis& a = t.axes[i];
    if (a.stride != 1) return {};
    std::swap(a.in, a.out);
    a.padding_before = (a.kernel - 1) * a.dilation - a.padding_before;
  }
  if (!is_supported_here(t)) return {};
  return t;
}

double expected_ns(const Convolution& c) {
  constexpr double unsupported = std::numeric_limits<double>::infinity();
  if (!is_supported_here(c)) return unsupported;
  const WindowProducts p(c, false);
  if (p.floats() > max_row_floats) return unsupported;
  const double windows = static_cast<double>(output_size(c.axes)), terms = static_cast<double>(p.runs * p.run);
  const double fmas = windows * terms * static_cast<double>(div_up(c.cout, fma_lanes));
  const double weights = terms * static_cast<double>(c.cout) / static_cast<double>(c.batch);
  if (p.pointwise)
    return fmas * ns_per_fma_in_place + static_cast<double>(c.cout) * windows * ns_per_given_number +
           weights * ns_per_weight_in_place;
  const double overlap = static_cast<double>(p.lines()) / static_cast<double>(p.units.rows_per_unit * c.axes[1].stride);
  const double moved = overlap * static_cast<double>(p.element * input_size(c.axes)) +
                       static_cast<double>(c.cout) * windows * static_cast<double>(1 + p.runs) / 2;
  return fmas * ns_per_window_fma + windows * terms * ns_per_copied_number + moved * ns_per_transposed_number +
         weights * ns_per_packed_weight;
}

Kernel window_products(const Convolution& given, bool turned, bool bias, double ns) {
  const auto products = std::make_shared<const WindowProducts>(given, turned);
  const Convolution& c = products->c;
  const PlaneUnits& units = products->units;
  const int64_t groups = c.groups, cin = c.cin, cout = c.cout, taps = kernel_size(c.axes);
  const int64_t parts = products->parts(), panels = products->panels(), nr = packed().nr;
  const int64_t row = div_up(panels, parts) * nr, y_plane = output_size(c.axes), columns = units.across;
  WorkspaceLayout workspace;
  const auto rows = workspace.per_thread<float>(products->floats()),
             sums = workspace.per_thread<float>(units.max_places() * row),
             left = workspace.per_thread<float>(packed().packed_a_size);
  const int64_t size = groups * products->group_size();
  const double make_ns =
      static_cast<double>(size) * (products->pointwise ? ns_per_weight_in_place : ns_per_packed_weight);
  const Kernel make =
      Kernel::parallel(groups * products->panels(), 1, make_ns, [=](const Buffers& b, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t g = i / products->panels();
          products->pack_panel(i % products->panels(), b.input<float>(0) + g * cin * cout * taps,
                               b.output<float>(0) + g * products->group_size());
        }
      });
  const auto part_of_result = [=](const Buffers& b, int64_t begin, int64_t end) {
    const WindowProducts& p = *products;
    const Finish finish = finish_of(b, p.c, bias);
    float *x = b.workspace(rows), *m = b.workspace(sums);
    for (int64_t i = begin; i < end; ++i) {
      const PlaneUnits::Unit u = p.units.at(i / parts / groups);
      const int64_t g = i / parts % groups, first = panels * (i % parts) / parts * nr,
                    own = std::min(panels * (i % parts + 1) / parts * nr, cout) - first;
      if (p.floats() > 0 && (i == begin || first == 0)) p.take_rows(u, g, b.input<float>(0), x);
      const float* const w = b.input<float>(1) + g * p.group_size() + first * p.run;
      for (int64_t r = 0; r < p.runs; ++r) {
        PackedGemm product = p.left(u, g, r, b.input<float>(0), x);
        product.add = r > 0;
        product.m = u.places, product.n = own, product.k = p.run;
        product.b = w + r * p.run_size();
        product.out = m, product.ldo = row;
        product.packed_a = b.workspace(left);
        if (!p.gives_sums()) {
          const int64_t y = ((u.sample * groups + g) * cout + first) * y_plane + u.row * columns;
          product.columns = b.output<float>(0) + y, product.column = y_plane;
          product.finish = finish.from(g * cout + first, y);
        }
        packed().multiply(product);
      }
      for (int64_t s = 0; s < u.samples && p.gives_sums(); ++s) {
        const int64_t y = (((u.sample + s) * groups + g) * cout + first) * y_plane + u.row * columns;
        const float* const from = m + s * u.rows * columns * row;
        Finish f = finish.from(g * cout + first, y);
        if (y_plane == 1 && !f.addend) {  // one row of results, whose biases are an addend
          std::swap(f.bias, f.addend);
          packed().finish(f, 1, own, from, row, b.output<float>(0) + y, own);
        } else {
          direct().from_channels_last(from, row, own, u.rows * columns, f, b.output<float>(0) + y, y_plane);
        }
      }
    }
  };
  const auto complete = [=](int64_t i, const ResultParts::Take& f) {
    const PlaneUnits::Unit u = products->units.at(i / parts / groups);
    const int64_t first = panels * (i % parts) / parts * nr, next = panels * (i % parts + 1) / parts * nr;
    for (int64_t s = u.sample; s < u.sample + u.samples; ++s)
      f((s * groups + i / parts % groups) * cout + first, std::min(next, cout) - first, u.row * columns,
        (u.row + u.rows) * columns);
  };
  const double all_ns = ns * static_cast<double>(c.batch * groups);
  Kernel rest = Kernel::parallel(units.units * groups * parts, 1, std::max(0.0, all_ns - make_ns), part_of_result)
                    .with_workspace(workspace)
                    .with_result_parts({y_plane, products->floats() > 0 ? parts : 1, complete});
  return preparing({"packed weights", 1, size * static_cast<int64_t>(sizeof(float)), make, std::move(rest)},
                   operands_of(c, bias));
}

}  // namespace

double channels_last_outputs_ns(const Convolution& c) { return expected_ns(c); }
double channels_last_data_grad_ns(const Convolution& c) {
  const auto turned = data_grad_convolution(c);
  return turned ? expected_ns(*turned) : std::numeric_limits<double>::infinity();
}

std::optional<Kernel> channels_last_convolution_kernel(const Convolution& c, bool bias) {
  return window_products(c, false, bias, expected_ns(c));
}
std::optional<Kernel> channels_last_data_grad_kernel(const Convolution& c, bool bias) {
  const Convolution turned = *data_grad_convolution(c);
  return window_products(turned, true, bias, expected_ns(turned));
}

}  // namespace pxl
