// Convolutions and their gradients by direct.hpp, over one or two spatial axes in float32. Partitions and the choice of
// the algorithm depend on the shapes and the instruction set only.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "runtime/kernels/convolution/direct.hpp"
#include "runtime/kernels/convolution/partial_sums.hpp"
#include "runtime/kernels/convolution/ways.hpp"

namespace pxl {

namespace {

// Floats in the padded input planes of a block: 256 KiB, so that they stay in L2.
constexpr int64_t block_floats = 1 << 16;
// Maximum of block_floats. Above it, im2col works on chunks of the input channels.
constexpr int64_t max_block_floats = 1 << 19;
// Planes at a multiple of this distance map to the same few L1 sets: a sum over channels would evict its own lines.
// Such planes are moved apart by one vector.
constexpr int64_t aliasing_floats = 256;
constexpr int64_t readable_after = 16;  // floats after the last plane, see DirectBlock
// Minimum number of work units, which may run in parallel. The output channels are partitioned to reach it.
constexpr int64_t min_units = 16;

// The cost model, in single-core ns, measured with single convolutions of 1 to 256 channels on AMD EPYC. It counts
// AVX-512 vectors on every processor, so that all processors choose alike: the two algorithms differ in the order of
// sums.
constexpr int64_t lanes = 16;
constexpr double ns_per_vector_fma = 0.36, ns_per_padded_element = 0.25, ns_per_lane_sum = 3, ns_per_block = 60;

/// One axis of a correlation. `out` windows, `stride` apart, have `kernel` elements, `dilation` apart. The `in` input
/// elements are `spread` apart, with zeros between them, and follow `before` zeros (negative: that many elements are
/// cut off).
struct Axis {
  int64_t in, out, kernel, stride, dilation, before, spread;

  int64_t reach() const { return (kernel - 1) * dilation; }
};

Axis outputs_axis(const WindowAxis& a) { return {a.in, a.out, a.kernel, a.stride, a.dilation, a.padding_before, 1}; }
/// The gradient with respect to the input correlates dy, spread by the stride, with the reversed weights.
Axis inputs_axis(const WindowAxis& a) {
  return {a.out, a.in, a.kernel, 1, a.dilation, (a.kernel - 1) * a.dilation - a.padding_before, a.stride};
}

/// The padded planes for a block of window rows. Elements that are a stride apart in a row are made adjacent: each row
/// has one part of `width` floats for each remainder modulo the stride.
struct Planes {
  Axis h, w;
  int64_t inputs = 0;  ///< channels
  int64_t width = 0, row = 0, rows_per_block = 0, blocks = 0;
  std::vector<int64_t> offsets;  ///< one per tap

  Planes(const Axis& height, const Axis& across, int64_t channels, bool reversed)
      : h(height), w(across), inputs(channels) {
    width = w.out + w.reach() / w.stride;
    row = width * w.stride;
    rows_per_block = h.out;
    while (rows_per_block > 4 && inputs * plane(rows_per_block) > block_floats)
      rows_per_block = std::max<int64_t>(4, (rows_per_block / 2 + 3) / 4 * 4);
    blocks = (h.out + rows_per_block - 1) / rows_per_block;
    for (int64_t i = 0; i < h.kernel; ++i)
      for (int64_t j = 0; j < w.kernel; ++j) {
        const int64_t y = (reversed ? h.kernel - 1 - i : i) * h.dilation,
                      x = (reversed ? w.kernel - 1 - j : j) * w.dilation;
        offsets.push_back(y * row + x % w.stride * width + x / w.stride);
      }
  }

  int64_t height(int64_t rows) const { return (rows - 1) * h.stride + h.reach() + 1; }
  /// Distance between planes, in floats.
  int64_t plane(int64_t rows) const {
    const int64_t size = height(rows) * row;
    return size % aliasing_floats == 0 ? size + lanes : size;
  }
  int64_t floats() const { return inputs * plane(rows_per_block) + readable_after; }
  int64_t taps() const { return std::ssize(offsets); }

  /// Fills the planes for windows [first, first + rows), from `inputs` planes of h.in x w.in elements.
  void fill(const float* from, int64_t first, int64_t rows, float* to) const {
    const int64_t padded_rows = height(rows), size = inputs * plane(rows);
    if (w.spread == 1 && h.spread == 1)
      direct().fill({.planes = inputs,
                     .source_rows = h.in,
                     .columns = w.in,
                     .rows = padded_rows,
                     .first = first * h.stride - h.before,
                     .before = w.before,
                     .stride = w.stride,
                     .width = width,
                     .distance = plane(rows)},
                    from, to);
    else
      spread(from, first * h.stride - h.before, padded_rows, plane(rows), to);
    std::fill(to + size, to + size + readable_after, 0.0F);
  }

  /// Spreads elements with zeros between them; the strides are 1. Row r of a padded plane is row first + r of the
  /// spread plane.
  void spread(const float* from, int64_t first, int64_t padded_rows, int64_t distance, float* to) const {
    std::fill(to, to + inputs * distance, 0.0F);
    const int64_t begin = w.before >= 0 ? 0 : (-w.before + w.spread - 1) / w.spread;
    for (int64_t c = 0; c < inputs; ++c, from += h.in * w.in, to += distance)
      for (int64_t r = 0; r < padded_rows; ++r) {
        const int64_t at = first + r, source = at / h.spread;
        if (at < 0 || at % h.spread != 0 || source >= h.in) continue;
        int64_t column = begin * w.spread + w.before;
        for (int64_t j = begin; j < w.in && column < width; ++j, column += w.spread)
          to[r * row + column] = from[source * w.in + j];
      }
  }

  DirectBlock block(const float* x, int64_t rows) const {
    DirectBlock b;
    b.x = x;
    b.plane = plane(rows);
    b.row_step = h.stride * row;
    b.offsets = offsets.data();
    b.taps = taps();
    b.inputs = inputs;
    b.rows = rows;
    b.columns = w.out;
    b.y_row = w.out;
    b.y_plane = h.out * w.out;
    return b;
  }

  double fill_ns() const {
    const double rows = static_cast<double>(blocks) * static_cast<double>(plane(rows_per_block));
    return ns_per_padded_element * static_cast<double>(inputs) * rows + ns_per_block * static_cast<double>(blocks);
  }
  /// Vector multiply-adds for `outputs` output channels of one sample; partly filled vectors count as full.
  double fmas(int64_t outputs) const {
    const int64_t vectors = (w.out + lanes - 1) / lanes;
    return static_cast<double>(h.out * vectors) * static_cast<double>(taps() * inputs) * static_cast<double>(outputs);
  }
};

Planes output_planes(const Convolution& c) { return {outputs_axis(c.axes[1]), outputs_axis(c.axes[2]), c.cin, false}; }
Planes gradient_planes(const Convolution& c) { return {inputs_axis(c.axes[1]), inputs_axis(c.axes[2]), c.cout, true}; }

/// Load factor: register blocks with few output channels load more than they compute.
double loads(int64_t outputs) { return outputs == 1 ? 1.5 : outputs < 4 ? 1.2 : 1; }

// The same for blocks with one row. Measured with 32 to 64 channels of 500 to 3,000 columns on Sapphire Rapids.
constexpr double loads_of_one_row = 1.5;

constexpr double unsupported = std::numeric_limits<double>::infinity();

double outputs_ns(const Planes& planes, int64_t outputs) {
  if (planes.floats() > max_block_floats) return unsupported;
  const double one_row = planes.h.out == 1 ? loads_of_one_row : 1;
  return planes.fill_ns() + planes.fmas(outputs) * ns_per_vector_fma * std::max(loads(outputs), one_row);
}

/// y = planes of x correlated with the weights, partitioned by sample, group, row block and output channels.
Kernel correlation(const Convolution& c, Planes given, int64_t outputs, int64_t w_output, int64_t w_input, bool bias) {
  const auto planes = std::make_shared<const Planes>(std::move(given));
  const int64_t blocks = c.batch * c.groups * planes->blocks;
  const int64_t parts = std::clamp<int64_t>((min_units + blocks - 1) / blocks, 1, (outputs + 3) / 4);
  const int64_t per_part = ((outputs + parts - 1) / parts + 3) / 4 * 4;
  const int64_t x_group = planes->inputs * planes->h.in * planes->w.in;
  const int64_t y_plane = planes->h.out * planes->w.out, w_group = c.cout * c.cin * planes->taps();
  WorkspaceLayout workspace;
  const auto padded = workspace.per_thread<float>(planes->floats());
  const double cost =
      static_cast<double>(c.batch * c.groups) * (planes->fill_ns() + planes->fmas(outputs) * ns_per_vector_fma);
  struct Unit {
    int64_t matrix;         ///< sample and group
    int64_t output, count;  ///< the first output channel, and how many there are; perhaps none
    int64_t row, rows;
  };
  const auto unit = [=](int64_t u) {
    const int64_t output = u % parts * per_part, row = u / parts % planes->blocks * planes->rows_per_block;
    return Unit{u / parts / planes->blocks, output, std::min(per_part, outputs - output), row,
                std::min(planes->rows_per_block, planes->h.out - row)};
  };
  const auto part = [=](const Buffers& b, int64_t begin, int64_t end) {
    const Finish finish = finish_of(b, c, bias);
    float* x = b.workspace(padded);
    for (int64_t u = begin; u < end; ++u) {
      const Unit at = unit(u);
      if (at.count <= 0) continue;
      if (u == begin || u % parts == 0) planes->fill(b.input<float>(0) + at.matrix * x_group, at.row, at.rows, x);
      DirectBlock d = planes->block(x, at.rows);
      d.outputs = at.count;
      d.w_output = w_output;
      d.w_input = w_input;
      const int64_t group = at.matrix % c.groups,
                    y = (at.matrix * outputs + at.output) * y_plane + at.row * planes->w.out;
      d.finish = finish.from(group * outputs + at.output, y);
      direct().outputs(d, b.input<float>(1) + group * w_group + at.output * w_output, b.output<float>(0) + y);
    }
  };
  const auto complete = [=](int64_t u, const ResultParts::Take& f) {
    const Unit at = unit(u);
    if (at.count > 0)
      f(at.matrix * outputs + at.output, at.count, at.row * planes->w.out, (at.row + at.rows) * planes->w.out);
  };
  return Kernel::parallel(blocks * parts, 1, cost, part)
      .with_workspace(workspace)
      .with_result_parts({y_plane, parts, complete});
}

}  // namespace

double direct_outputs_ns(const Convolution& c) {
  return is_planar(c) ? outputs_ns(output_planes(c), c.cout) : unsupported;
}
double direct_data_grad_ns(const Convolution& c) {
  return is_planar(c) ? outputs_ns(gradient_planes(c), c.cin) : unsupported;
}
double direct_weights_grad_ns(const Convolution& c) {
  if (!is_planar(c)) return unsupported;
  const Planes planes = output_planes(c);
  if (planes.floats() > max_block_floats) return unsupported;
  const double sums = static_cast<double>(c.cin * c.cout * planes.taps() * planes.blocks) * ns_per_lane_sum;
  return planes.fill_ns() + sums + planes.fmas(c.cout) * ns_per_vector_fma * loads(1);
}

std::optional<Kernel> direct_convolution_kernel(const Convolution& c, bool bias) {
  const int64_t taps = kernel_size(c.axes);
  return correlation(c, output_planes(c), c.cout, c.cin * taps, taps, bias);
}

std::optional<Kernel> direct_data_grad_kernel(const Convolution& c, bool bias) {
  const int64_t taps = kernel_size(c.axes);
  return correlation(c, gradient_planes(c), c.cin, taps, c.cin * taps, bias);
}

std::optional<Kernel> direct_weights_grad_kernel(const Convolution& c) {
  const auto planes = std::make_shared<const Planes>(output_planes(c));
  const int64_t per_group = c.cout * c.cin * planes->taps(), size = c.groups * per_group;
  const int64_t blocks = c.batch * planes->blocks;
  const int64_t parts = c.groups >= min_units ? 1 : std::min(blocks, max_partial_results(size));
  const int64_t x_group = c.cin * planes->h.in * planes->w.in, y_plane = planes->h.out * planes->w.out;
  WorkspaceLayout workspace;
  const auto partial = workspace.per_call<float>(parts > 1 ? parts * size : 0);
  const auto padded = workspace.per_thread<float>(planes->floats());
  std::vector<Phase> phases;
  phases.push_back(
      {parts * c.groups, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
         float* x = b.workspace(padded);
         for (int64_t u = begin; u < end; ++u) {
           const int64_t part = u / c.groups, g = u % c.groups;
           float* sums = (parts > 1 ? b.workspace(partial) + part * size : b.output<float>(0)) + g * per_group;
           std::fill(sums, sums + per_group, 0.0F);
           for (int64_t i = blocks * part / parts; i < blocks * (part + 1) / parts; ++i) {
             const int64_t matrix = i / planes->blocks * c.groups + g;
             const int64_t first = i % planes->blocks * planes->rows_per_block;
             const int64_t rows = std::min(planes->rows_per_block, planes->h.out - first);
             planes->fill(b.input<float>(1) + matrix * x_group, first, rows, x);
             DirectBlock d = planes->block(x, rows);
             d.outputs = c.cout;
             d.w_output = c.cin * planes->taps();
             d.w_input = planes->taps();
             direct().weights(d, b.input<float>(0) + matrix * c.cout * y_plane + first * planes->w.out, sums);
           }
         }
       }});
  if (parts > 1) phases.push_back(partial_sums_phase(partial, parts, size));
  const double cost =
      static_cast<double>(c.batch * c.groups) * (planes->fill_ns() + planes->fmas(c.cout) * ns_per_vector_fma);
  return Kernel::parallel(std::move(phases), cost).with_workspace(workspace);
}

}  // namespace pxl
