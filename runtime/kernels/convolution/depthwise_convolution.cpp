// Depthwise convolutions of small planes, and their gradients, with 16 channels in the lanes of vectors (direct.hpp).
// The rows of small planes would not fill vectors.
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/div_up.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/convolution/direct.hpp"
#include "runtime/kernels/convolution/ways.hpp"

namespace pxl {
namespace {

// Maximum floats in the planes of a channel block: 256 KiB, so that they stay in L2.
constexpr int64_t max_lane_floats = 1 << 16;
// Number of units into which the sums for the weight gradient are divided.
constexpr int64_t enough_sums = 16;
// The cost model, in single-core ns: an element transposed into lanes or back; a vector multiply-add for 16 channels;
// the same with the sum in memory. Measured with planes of 4 x 4 to 28 x 28 elements on AMD EPYC with AVX-512.
constexpr double ns_per_lane_element = 0.25, ns_per_lane_fma = 0.6, ns_per_stored_fma = 1.5;
// The same for rows that are read in place: a vector multiply-add, a vector of results, and a plane. Measured with 3 x
// 3 and 5 x 5 kernels and planes of 7 x 7 to 112 x 112 elements on Sapphire Rapids.
constexpr double ns_per_row_fma = 0.4, ns_per_row_vector = 1.5, ns_per_plane = 20;

/// DepthwiseBlock::in_rows
int rows_in_place(const Convolution& c) {
  const WindowAxis &h = c.axes[1], &w = c.axes[2];
  const bool fits = instruction_set() == "avx512" && h.dilation == 1 && w.dilation == 1 && h.stride == w.stride &&
                    h.stride <= 2 && h.kernel == w.kernel && (h.kernel == 3 || h.kernel == 5);
  return fits ? static_cast<int>(h.kernel) : 0;
}

/// The planes of a depthwise convolution, and the partition of its channel blocks.
struct DepthwisePlanes {
  DepthwiseBlock block;
  std::vector<int64_t> offsets;
  int64_t batch, groups, blocks;

  /// `reversed`: taps count from the last tap.
  explicit DepthwisePlanes(const Convolution& c, bool reversed = false)
      : batch(c.batch), groups(c.groups), blocks(div_up(c.groups, depthwise_channels)) {
    const WindowAxis &h = c.axes[1], &w = c.axes[2];
    const auto padded = [](const WindowAxis& a) {
      return std::max((a.out - 1) * a.stride + (a.kernel - 1) * a.dilation + 1, a.padding_before + a.in);
    };
    block.rows = h.in, block.columns = w.in;
    block.padded_rows = padded(h), block.padded_columns = padded(w);
    block.before_rows = h.padding_before, block.before_columns = w.padding_before;
    block.out_rows = h.out, block.out_columns = w.out;
    block.row_stride = h.stride, block.column_stride = w.stride;
    block.taps = h.kernel * w.kernel;
    for (int64_t i = 0; i < h.kernel; ++i)
      for (int64_t j = 0; j < w.kernel; ++j) offsets.push_back(i * h.dilation * block.padded_columns + j * w.dilation);
    if (reversed) std::reverse(offsets.begin(), offsets.end());
    block.in_rows = rows_in_place(c), block.reversed = reversed;
  }

  int64_t in_plane() const { return block.rows * block.columns; }
  int64_t out_plane() const { return block.out_rows * block.out_columns; }
  int64_t floats() const {
    return depthwise_channels * (block.padded_rows * block.padded_columns + out_plane() + block.taps);
  }
  /// The block that has the channels of block `i`.
  DepthwiseBlock of(int64_t i) const {
    DepthwiseBlock b = block;
    b.offsets = offsets.data();
    b.channels = std::min(depthwise_channels, groups - i * depthwise_channels);
    return b;
  }
  double in_place_ns() const {
    const auto vectors = static_cast<double>(block.out_rows * div_up(block.out_columns, depthwise_channels));
    return vectors * (static_cast<double>(block.taps) * ns_per_row_fma + ns_per_row_vector) + ns_per_plane;
  }
  double ns(double ns_per_fma) const {
    const double fmas = static_cast<double>(out_plane() * block.taps) / static_cast<double>(depthwise_channels);
    return static_cast<double>(in_plane() + out_plane()) * ns_per_lane_element + fmas * ns_per_fma;
  }
};

constexpr double not_depthwise_ns = std::numeric_limits<double>::infinity();

bool is_depthwise(const Convolution& c) { return is_planar(c) && c.cin == 1 && c.cout == 1 && c.groups > 1; }

double depthwise_ns(const Convolution& c, double ns_per_fma) {
  if (!is_depthwise(c) || c.axes[1].padding_before < 0 || c.axes[2].padding_before < 0) return not_depthwise_ns;
  const DepthwisePlanes planes(c);
  return planes.floats() <= max_lane_floats ? planes.ns(ns_per_fma) : not_depthwise_ns;
}

/// The convolution over the output's gradient, with reversed kernels, that computes the data gradient. It exists if
/// strides are 1 and every element of the gradient is used.
std::optional<Convolution> gradient_as_convolution(const Convolution& c) {
  Convolution turned = c;
  for (WindowAxis& a : turned.axes) {
    a.padding_before = (a.kernel - 1) * a.dilation - a.padding_before;
    if (a.stride != 1 || a.padding_before < 0) return {};
    std::swap(a.in, a.out);
  }
  return turned;
}

/// Computes the outputs of each sample and channel block; with `backward` the data gradient, by its windows.
Kernel by_lanes(const Convolution& c, const DepthwisePlanes& given, bool backward, bool bias, double ns) {
  const auto planes = std::make_shared<const DepthwisePlanes>(given);
  WorkspaceLayout workspace;
  const auto memory =
      workspace.per_thread<float>(planes->block.in_rows > 0 && !backward ? planes->block.columns : planes->floats());
  const int64_t from = backward ? planes->out_plane() : planes->in_plane(),
                to = backward ? planes->in_plane() : planes->out_plane();
  return Kernel::parallel(c.batch * planes->blocks, 1, ns * static_cast<double>(c.batch * c.groups),
                          [=](const Buffers& b, int64_t begin, int64_t end) {
                            const Finish finish = finish_of(b, c, bias);
                            const auto run = backward ? direct().depthwise_inputs : direct().depthwise_outputs;
                            for (int64_t u = begin; u < end; ++u) {
                              const int64_t i = u % planes->blocks, channel = i * depthwise_channels;
                              const int64_t plane = u / planes->blocks * planes->groups + channel;
                              DepthwiseBlock block = planes->of(i);
                              block.finish = finish.from(channel, plane * to);
                              run(block, b.input<float>(0) + plane * from,
                                  b.input<float>(1) + channel * planes->block.taps, b.output<float>(0) + plane * to,
                                  b.workspace(memory));
                            }
                          })
      .with_workspace(workspace)
      .with_result_parts({to, 1, [=](int64_t u, const ResultParts::Take& f) {
                            const int64_t i = u % planes->blocks;
                            f(u / planes->blocks * planes->groups + i * depthwise_channels, planes->of(i).channels, 0,
                              to);
                          }});
}

}  // namespace

double depthwise_outputs_ns(const Convolution& c) {
  return is_depthwise(c) && rows_in_place(c) > 0 ? DepthwisePlanes(c).in_place_ns() : depthwise_ns(c, ns_per_lane_fma);
}
double depthwise_data_grad_ns(const Convolution& c) {
  if (!is_depthwise(c)) return not_depthwise_ns;
  const auto turned = gradient_as_convolution(c);
  return turned ? depthwise_outputs_ns(*turned) : depthwise_ns(c, ns_per_stored_fma);
}
double depthwise_weights_grad_ns(const Convolution& c) { return depthwise_ns(c, ns_per_lane_fma); }

std::optional<Kernel> depthwise_convolution_kernel(const Convolution& c, bool bias) {
  return by_lanes(c, DepthwisePlanes(c), false, bias, depthwise_outputs_ns(c));
}
std::optional<Kernel> depthwise_data_grad_kernel(const Convolution& c, bool bias) {
  const double ns = depthwise_data_grad_ns(c);
  if (const auto turned = gradient_as_convolution(c))
    return by_lanes(*turned, DepthwisePlanes(*turned, true), false, bias, ns);
  return by_lanes(c, DepthwisePlanes(c), true, bias, ns);
}

std::optional<Kernel> depthwise_weights_grad_kernel(const Convolution& c) {
  const auto planes = std::make_shared<const DepthwisePlanes>(c);
  const int64_t blocks = planes->blocks, taps = planes->block.taps, of_block = taps * depthwise_channels;
  const int64_t parts = std::min(c.batch, div_up(enough_sums, blocks));
  WorkspaceLayout workspace;
  const auto memory = workspace.per_thread<float>(planes->floats());
  const auto sums = workspace.per_call<float>(parts * blocks * of_block);  // [part, block, tap, channel]
  std::vector<Phase> phases;
  phases.push_back({parts * blocks, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                      for (int64_t u = begin; u < end; ++u) {
                        const int64_t i = u % blocks, part = u / blocks, channel = i * depthwise_channels;
                        float* const to = b.workspace(sums) + u * of_block;
                        std::fill(to, to + of_block, 0.0F);
                        const DepthwiseBlock block = planes->of(i);
                        const int64_t last = planes->batch * (part + 1) / parts;
                        for (int64_t s = planes->batch * part / parts; s < last; ++s) {
                          const int64_t plane = s * planes->groups + channel;
                          direct().depthwise_weights(block, b.input<float>(0) + plane * planes->out_plane(),
                                                     b.input<float>(1) + plane * planes->in_plane(), to,
                                                     b.workspace(memory));
                        }
                      }
                    }});
  phases.push_back({c.groups, 64, [=](const Buffers& b, int64_t begin, int64_t end) {
                      for (int64_t g = begin; g < end; ++g)
                        for (int64_t t = 0; t < taps; ++t) {
                          const float* from = b.workspace(sums) + g / depthwise_channels * of_block +
                                              t * depthwise_channels + g % depthwise_channels;
                          float sum = *from;
                          for (int64_t part = 1; part < parts; ++part) sum += from[part * blocks * of_block];
                          b.output<float>(0)[g * taps + t] = sum;
                        }
                    }});
  return Kernel::parallel(std::move(phases), depthwise_weights_grad_ns(c) * static_cast<double>(c.batch * c.groups))
      .with_workspace(workspace);
}

}  // namespace pxl
