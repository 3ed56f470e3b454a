#include "runtime/kernels/convolution/convolution.hpp"

#include <cstring>
#include <memory>
#include <vector>

#include "runtime/base/div_up.hpp"
#include "runtime/kernels/convolution/im2col.hpp"
#include "runtime/kernels/convolution/partial_sums.hpp"
#include "runtime/kernels/convolution/ways.hpp"
#include "runtime/kernels/gemm/gemm.hpp"
#include "runtime/kernels/gemm/packed.hpp"
#include "runtime/kernels/through_float.hpp"

namespace pxl {
namespace {

using namespace im2col;

// Time to pack one number of an operand in a library, in single-core ns. Measured with weight gradients of 16 to 512
// channels on AMD EPYC.
constexpr double ns_per_packed_number = 0.4;
// Time to pack one number for 1x1 kernels, whose operand is already a matrix of few rows. Measured on AMD EPYC (Zen 3)
// with AVX2.
constexpr double ns_per_packed_number_in_place = 0.15;
// Time of a vector multiply-add in a product, and to copy one number into columns, in single-core ns. The model counts
// AVX-512 vectors on every processor, as those of the other ways do. Measured with 1 to 256 channels on AMD EPYC.
constexpr int64_t im2col_lanes = 16;
constexpr double vectors_fma_of_gemm = 0.4, ns_per_im2col_element = 0.4;
// The same for 1x1 kernels, whose im2col matrix is the data in place. Measured on AMD EPYC (Zen 3) with AVX2.
constexpr double vectors_fma_in_place = 0.37;

// Units of work below which the channels of the result are divided too, and the fewest channels of a part. Each part
// reads all columns, so a part with few channels reads more than it computes.
constexpr int64_t enough_units = 8, fewest_channels = 64;

double convolution_ns(const Convolution& c) {
  const double windows = static_cast<double>(c.batch * c.groups) * static_cast<double>(output_size(c.axes));
  const double depth = static_cast<double>(c.cin * kernel_size(c.axes));
  return windows * depth * (static_cast<double>(c.cout) / 40.0 + 0.4);
}

/// Finishes `n` sums of each channel, and stores them in planes. Channels are `stride` numbers apart, and planes begin
/// at number `place` of the result.
template <class T>
void give(const Buffers& b, const Convolution& c, bool bias, int64_t first, int64_t channels, int64_t n, const T* from,
          int64_t stride, int64_t place, int64_t plane) {
  T* const to = b.output<T>(0) + place;
  if constexpr (std::is_same_v<T, float>)
    return packed().finish(finish_of(b, c, bias).from(first, place), channels, n, from, stride, to, plane);
  for (int64_t k = 0; k < channels; ++k)
    for (int64_t i = 0; i < n; ++i)
      to[k * plane + i] = bias ? from[k * stride + i] + b.input<T>(2)[first + k] : from[k * stride + i];
}

/// The kernel of a convolution whose sums have no terms.
template <class T>
Kernel without_terms(const Convolution& c, int64_t channels, int64_t plane, bool bias) {
  const auto part = [=](const Buffers& b, int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      T* const sums = std::fill_n(b.output<T>(0) + p * plane, plane, T(0)) - plane;
      give<T>(b, c, bias, p % channels, 1, plane, sums, plane, p * plane, plane);
    }
  };
  return Kernel::parallel(c.batch * channels, 1, static_cast<double>(c.batch * channels * plane), part);
}

template <class T>
Kernel forward(const Convolution& c, bool bias) {
  const int64_t depth = c.cin * kernel_size(c.axes);
  if (c.batch * c.groups * c.cout * output_size(c.axes) == 0 || depth == 0)
    return without_terms<T>(c, c.groups * c.cout, output_size(c.axes), bias);
  const Tiling t(c, depth);
  const int64_t blocks =
      std::clamp<int64_t>(div_up(enough_units, t.tiles * c.groups), 1, std::max<int64_t>(1, c.cout / fewest_channels));
  WorkspaceLayout workspace;
  const auto packed = column_buffer<T>(workspace, c, t, c.cin), results = result_buffer<T>(workspace, c, t);
  const auto memory = workspace.per_thread<float>(gemm_memory(c.cout));
  struct Unit {
    Tile tile;
    int64_t g, first, channels;
  };
  const auto unit = [=](int64_t u) {
    const int64_t first = c.cout * (u % blocks) / blocks;
    return Unit{tile_at(c, t, u / blocks / c.groups), u / blocks % c.groups, first,
                c.cout * (u % blocks + 1) / blocks - first};
  };
  const auto part = [=](const Buffers& b, int64_t begin, int64_t end) {
    Im2colRows<const T> columns{};
    for (int64_t u = begin; u < end; ++u) {
      const Unit at = unit(u);
      const Tile& tile = at.tile;
      const int64_t g = at.g, first = at.first, channels = at.channels;
      if (u == begin || first == 0) columns = columns_of(c, t, tile, b.input<T>(0), g, 0, c.cin, b.workspace(packed));
      const bool whole = tile.samples == 1;
      const Im2colRows<T> y =
          whole ? in_place(c, t, tile, b.output<T>(0), g) : Im2colRows<T>{b.workspace(results), tile.columns};
      T* to = y.data + first * y.stride;
      const auto multiply = [&](const auto&... finish) {
        gemm_one_thread(false, false, channels, tile.columns, depth, b.input<T>(1) + (g * c.cout + first) * depth,
                        depth, columns.data, columns.stride, to, y.stride, b.workspace(memory), finish...);
      };
      const int64_t channel = g * c.cout + first;
      if constexpr (std::is_same_v<T, float>)
        multiply(whole ? finish_of(b, c, bias).from(channel, to - b.output<T>(0)) : Finish{});
      else
        multiply();
      for (int64_t s = 0; !(whole && (std::is_same_v<T, float> || !bias)) && s < tile.samples; ++s) {
        const int64_t place = ((tile.sample + s) * c.groups * c.cout + channel) * t.windows + tile.row * c.axes[2].out;
        give<T>(b, c, bias, channel, channels, tile.columns / tile.samples, to + s * t.windows, y.stride, place,
                t.windows);
      }
    }
  };
  const auto complete = [=](int64_t u, const ResultParts::Take& f) {
    const Unit at = unit(u);
    each_part(c, at.tile, at.g, at.first, at.channels, f);
  };
  return Kernel::parallel(t.tiles * c.groups * blocks, 1, convolution_ns(c), part)
      .with_workspace(workspace)
      .with_result_parts({output_size(c.axes), t.direct ? 1 : blocks, complete});
}

template <class T>
Kernel data_gradient(const Convolution& c, bool bias) {
  const int64_t kernel = kernel_size(c.axes), plane = input_size(c.axes);
  if (c.batch * c.groups * c.cin * plane == 0 || c.cout == 0 || output_size(c.axes) == 0 || kernel == 0)
    return without_terms<T>(c, c.groups * c.cin, plane, bias);
  // An iteration owns some channels of one sample (or of several samples), and adds the tiles to them one after
  // another.
  const int64_t windows = output_size(c.axes);
  const int64_t channels =
      std::clamp<int64_t>(tile_elements / std::max<int64_t>(1, kernel * std::min(windows, good_columns)), 1, c.cin);
  const int64_t blocks = (c.cin + channels - 1) / channels;
  const Tiling t(c, channels * kernel);
  const int64_t sample_units = (c.batch + t.samples_per_tile - 1) / t.samples_per_tile;
  const int64_t depth = c.cin * kernel;
  WorkspaceLayout workspace;
  const auto packed = column_buffer<T>(workspace, c, t, channels), results = result_buffer<T>(workspace, c, t);
  const auto memory = workspace.per_thread<float>(gemm_memory(channels * kernel));
  return Kernel::parallel(
             sample_units * c.groups * blocks, 1, convolution_ns(c),
             [=](const Buffers& b, int64_t begin, int64_t end) {
               for (int64_t u = begin; u < end; ++u) {
                 const int64_t block = u % blocks, g = u / blocks % c.groups, unit = u / blocks / c.groups;
                 const int64_t c0 = block * channels, c1 = std::min(c0 + channels, c.cin), deep = (c1 - c0) * kernel;
                 T* dx = b.output<T>(0);
                 const int64_t first = unit * t.samples_per_tile, last = std::min(first + t.samples_per_tile, c.batch);
                 const bool direct = t.direct && t.samples_per_tile == 1;
                 if (!direct)
                   for (int64_t s = first; s < last; ++s) {
                     T* at = dx + ((s * c.groups + g) * c.cin + c0) * plane;
                     std::fill(at, at + (c1 - c0) * plane, T(0));
                   }
                 for (int64_t i = 0; i < t.tiles_per_sample; ++i) {
                   const Tile tile = tile_at(c, t, unit * t.tiles_per_sample + i);
                   const Im2colRows<const T> dy = gradient_rows(c, t, tile, b.input<T>(0), g, b.workspace(results));
                   const Im2colRows<T> columns =
                       direct ? Im2colRows<T>{dx + ((first * c.groups + g) * c.cin + c0) * plane +
                                                  tile.row * c.axes[2].out,
                                              plane}
                              : Im2colRows<T>{b.workspace(packed), tile.columns};
                   gemm_one_thread(true, false, deep, tile.columns, c.cout,
                                   b.input<T>(1) + g * c.cout * depth + c0 * kernel, depth, dy.data, dy.stride,
                                   columns.data, columns.stride, b.workspace(memory));
                   if (!direct) add_back<T>(c, t, tile, columns.data, g, c0, c1, dx);
                 }
                 const int64_t channel = g * c.cin + c0;
                 for (int64_t s = first; bias && s < last; ++s) {
                   const int64_t place = (s * c.groups * c.cin + channel) * plane;
                   give<T>(b, c, bias, channel, c1 - c0, plane, dx + place, plane, place, plane);
                 }
               }
             })
      .with_workspace(workspace);
}

template <class T>
Kernel weights_gradient(const Convolution& c) {
  const int64_t depth = c.cin * kernel_size(c.axes), per_group = c.cout * depth, size = c.groups * per_group;
  if (size == 0 || c.batch == 0 || output_size(c.axes) == 0)
    return Kernel::parallel(size, 4096, static_cast<double>(size), [](const Buffers& b, int64_t begin, int64_t end) {
      std::fill_n(b.output<T>(0) + begin, end - begin, T(0));
    });
  const Tiling t(c, depth);
  const int64_t parts = std::min(t.tiles, max_partial_results(size));
  WorkspaceLayout workspace;
  const auto partial = workspace.per_call<T>(parts > 1 ? parts * size : 0);
  const auto packed = column_buffer<T>(workspace, c, t, c.cin), results = result_buffer<T>(workspace, c, t);
  const auto product = workspace.per_thread<T>(t.tiles > parts ? per_group : 0);
  const auto memory = workspace.per_thread<float>(gemm_memory(c.cout));
  std::vector<Phase> phases;
  phases.push_back({parts * c.groups, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                      for (int64_t u = begin; u < end; ++u) {
                        const int64_t part = u / c.groups, g = u % c.groups;
                        T* sums = (parts > 1 ? b.workspace(partial) + part * size : b.output<T>(0)) + g * per_group;
                        const int64_t first = t.tiles * part / parts, last = t.tiles * (part + 1) / parts;
                        for (int64_t i = first; i < last; ++i) {
                          const Tile tile = tile_at(c, t, i);
                          const Im2colRows<const T> columns =
                              columns_of(c, t, tile, b.input<T>(1), g, 0, c.cin, b.workspace(packed));
                          const Im2colRows<const T> dy =
                              gradient_rows(c, t, tile, b.input<T>(0), g, b.workspace(results));
                          T* to = i == first ? sums : b.workspace(product);
                          gemm_one_thread(false, true, c.cout, depth, tile.columns, dy.data, dy.stride, columns.data,
                                          columns.stride, to, depth, b.workspace(memory));
                          if (to != sums) add_numbers(to, per_group, sums);
                        }
                      }
                    }});
  if (parts > 1) phases.push_back(partial_sums_phase(partial, parts, size));
  return Kernel::parallel(std::move(phases), convolution_ns(c)).with_workspace(workspace);
}

int64_t data_size(const Convolution& c) { return c.batch * c.groups * c.cin * input_size(c.axes); }
int64_t weights_size(const Convolution& c) { return c.groups * c.cout * c.cin * kernel_size(c.axes); }
int64_t result_size(const Convolution& c) { return c.batch * c.groups * c.cout * output_size(c.axes); }

/// A kernel that does not tell its parts has completed none of them before its end.
Kernel in_parts(Kernel kernel) { return kernel.result_parts() ? kernel : std::move(kernel).with_result_parts({}); }

/// A float32 kernel for operands with these sizes, applied to a dtype that computes in float32.
Kernel rounded_once(DType dtype, const Kernel& kernel, std::initializer_list<int64_t> sizes, int64_t results) {
  if (!is_narrow(dtype)) return kernel;
  std::vector<NarrowOperand> operands;
  for (const int64_t size : sizes)
    if (size > 0 || operands.size() < 2) operands.push_back({size, dtype});  // a bias may be absent
  return through_float(kernel, operands, {results, dtype});
}

/// `lanes`: lanes that compute for each lane that is needed.
double im2col_ns(const Convolution& c, double lanes) {
  const double windows = static_cast<double>(output_size(c.axes)),
               depth = static_cast<double>(c.cin * kernel_size(c.axes));
  const Tiling tiling(c, c.cin * kernel_size(c.axes));
  const bool in_place = tiling.direct && tiling.samples_per_tile == 1;
  const double fma = (in_place ? vectors_fma_in_place : vectors_fma_of_gemm) / static_cast<double>(im2col_lanes);
  const double copied = in_place ? 0 : tiling.samples_per_tile == 1 ? depth : depth + static_cast<double>(c.cout);
  return windows * (depth * static_cast<double>(c.cout) * fma * lanes + copied * ns_per_im2col_element);
}

}  // namespace

double im2col_outputs_ns(const Convolution& c) {
  const Tiling tiling(c, c.cin * kernel_size(c.axes));
  const int64_t columns = tiling.max_columns(c), vectors = div_up(columns, im2col_lanes);
  // Products in place read columns in vectors, of which the last may be partly filled.
  const bool in_place = tiling.direct && tiling.samples_per_tile == 1 && columns > 0;
  return im2col_ns(c, in_place ? static_cast<double>(vectors * im2col_lanes) / static_cast<double>(columns) : 1);
}
double im2col_data_grad_ns(const Convolution& c) { return im2col_outputs_ns(c); }
// Adds the library's packing for a small product, and the partial sums.
double im2col_weights_grad_ns(const Convolution& c) {
  const double windows = static_cast<double>(output_size(c.axes)),
               batch = static_cast<double>(std::max<int64_t>(1, c.batch * c.groups));
  const int64_t depth = c.cin * kernel_size(c.axes), size = c.groups * c.cout * depth;
  const Tiling tiling(c, depth);
  const double partial = static_cast<double>(std::min(tiling.tiles, max_partial_results(size)) * size);
  const double packed =
      tiling.direct && tiling.samples_per_tile == 1 ? ns_per_packed_number_in_place : ns_per_packed_number;
  return im2col_ns(c, 1) + windows * static_cast<double>(c.cout + depth) * packed +
         partial * ns_per_partial_number / batch;
}

std::optional<Kernel> im2col_convolution_kernel(const Convolution& c, bool bias) { return forward<float>(c, bias); }
std::optional<Kernel> im2col_data_grad_kernel(const Convolution& c, bool bias) { return data_gradient<float>(c, bias); }
std::optional<Kernel> im2col_weights_grad_kernel(const Convolution& c) { return weights_gradient<float>(c); }

Kernel convolution_kernel(DType dtype, const Convolution& c, bool bias) {
  if (dtype == DType::float64) return in_parts(forward<double>(c, bias));
  if (dtype == DType::float32)
    return in_parts(fastest_kernel(&ConvolutionWay::outputs, c, bias)).with_finishes([c, bias](const SumFinish& f) {
      Convolution finished = c;
      finished.finish = f;
      return in_parts(fastest_kernel(&ConvolutionWay::outputs, finished, bias));
    });
  return rounded_once(dtype, fastest_kernel(&ConvolutionWay::outputs, c, bias),
                      {data_size(c), weights_size(c), bias ? c.groups * c.cout : 0}, result_size(c));
}

Kernel convolution_data_grad_kernel(DType dtype, const Convolution& c, bool bias) {
  if (dtype == DType::float64) return in_parts(data_gradient<double>(c, bias));
  if (dtype == DType::float32) return in_parts(fastest_kernel(&ConvolutionWay::data_grad, c, bias));
  return rounded_once(dtype, fastest_kernel(&ConvolutionWay::data_grad, c, bias),
                      {result_size(c), weights_size(c), bias ? c.groups * c.cin : 0}, data_size(c));
}

Kernel convolution_float8_kernel(DType x, DType weight, const Convolution& c) {
  return through_float(fastest_kernel(&ConvolutionWay::outputs, c), {{data_size(c), x}, {weights_size(c), weight}},
                       {result_size(c), DType::float16}, 2, 2);
}

Kernel convolution_data_grad_float8_kernel(DType dy, DType weight, const Convolution& c) {
  return through_float(fastest_kernel(&ConvolutionWay::data_grad, c), {{result_size(c), dy}, {weights_size(c), weight}},
                       {data_size(c), DType::float16}, 2, 2);
}

Kernel convolution_weights_grad_kernel(DType dtype, const Convolution& c) {
  if (dtype == DType::float64) return weights_gradient<double>(c);
  return rounded_once(dtype, fastest_kernel(&ConvolutionWay::weights_grad, c), {result_size(c), data_size(c)},
                      weights_size(c));
}

}  // namespace pxl
