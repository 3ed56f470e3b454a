#include "runtime/kernels/convolution.hpp"

#include <cstring>
#include <memory>
#include <vector>

#include "runtime/kernels/channel_bias.hpp"
#include "runtime/kernels/direct_convolution.hpp"
#include "runtime/kernels/gemm.hpp"
#include "runtime/kernels/partial_sums.hpp"
#include "runtime/kernels/primitive_convolution.hpp"
#include "runtime/kernels/through_float.hpp"
#include "runtime/kernels/winograd_convolution.hpp"

namespace pxl {
namespace {

// Elements of a tile's im2col matrix: 192 KiB of float32, so that it stays in L2 between packing and GEMM. Not
// measured.
constexpr int64_t tile_elements = 48 * 1024;
// Columns at which the GEMM reaches its full rate. Not measured.
constexpr int64_t good_columns = 128;

/// Partition of the windows into tiles: rows of windows of one sample, or several whole samples.
struct Tiling {
  int64_t windows = 0;                  ///< of one sample
  int64_t rows = 0, rows_per_tile = 0;  ///< rows of windows (all but the last axis) of one sample
  int64_t samples_per_tile = 1, tiles_per_sample = 1, tiles = 0;
  bool direct = false;  ///< the im2col matrix is the input in place
  /// For each kernel element of the last axis, the windows in which it is not padding.
  std::vector<WindowAxis::Range> inside;

  Tiling(const Convolution& c, int64_t depth) {
    const WindowAxis& last = c.axes[2];
    for (int64_t k = 0; k < last.kernel; ++k) inside.push_back(last.inside(k));
    windows = output_size(c.axes);
    rows = c.axes[0].out * c.axes[1].out;
    direct = true;
    for (const WindowAxis& a : c.axes)
      direct = direct && a.kernel == 1 && a.stride == 1 && a.padding_before == 0 && a.in == a.out;
    if (windows == 0 || c.batch == 0) return;
    const int64_t columns = std::max<int64_t>(good_columns, tile_elements / std::max<int64_t>(1, depth));
    rows_per_tile = std::clamp<int64_t>(columns / last.out, 1, rows);
    tiles_per_sample = (rows + rows_per_tile - 1) / rows_per_tile;
    // The results of several samples are not contiguous and have to be copied; worthwhile for few windows per sample.
    if (tiles_per_sample == 1 && windows < good_columns)
      samples_per_tile = std::clamp<int64_t>(columns / windows, 1, std::max<int64_t>(1, c.batch / 2));
    tiles = tiles_per_sample * ((c.batch + samples_per_tile - 1) / samples_per_tile);
  }
  int64_t max_columns(const Convolution& c) const { return samples_per_tile * rows_per_tile * c.axes[2].out; }
};

struct Tile {
  int64_t sample, samples, row, rows, columns;  ///< columns in all
};

Tile tile_at(const Convolution& c, const Tiling& t, int64_t index) {
  Tile tile{};
  tile.sample = index / t.tiles_per_sample * t.samples_per_tile;
  tile.samples = std::min(t.samples_per_tile, c.batch - tile.sample);
  tile.row = index % t.tiles_per_sample * t.rows_per_tile;
  tile.rows = std::min(t.rows_per_tile, t.rows - tile.row);
  tile.columns = tile.samples * tile.rows * c.axes[2].out;
  return tile;
}

/// Calls f(column, sample, od, oh) for each row of windows of a tile: `column` is its first column in the tile, od and
/// oh are the outer indices of its windows.
template <class F>
void each_window_row(const Convolution& c, const Tile& tile, F&& f) {
  const int64_t h = c.axes[1].out;
  int64_t column = 0;
  for (int64_t s = 0; s < tile.samples; ++s) {
    int64_t od = tile.row / h, oh = tile.row % h;
    for (int64_t r = 0; r < tile.rows; ++r, column += c.axes[2].out) {
      f(column, tile.sample + s, od, oh);
      if (++oh == h) oh = 0, ++od;
    }
  }
}

/// For kernel row (kd, kh) of channel ch, calls f(column, row) for each row of windows with the input row that it
/// reads; `row` is null in padding.
template <class T, class F>
void each_line(const Convolution& c, const Tile& tile, T* x, int64_t g, int64_t ch, int64_t kd, int64_t kh, F&& f) {
  const WindowAxis &d = c.axes[0], &h = c.axes[1];
  const int64_t plane = input_size(c.axes);
  each_window_row(c, tile, [&](int64_t column, int64_t sample, int64_t od, int64_t oh) {
    const int64_t id = d.place(od, kd), ih = h.place(oh, kh);
    if (id < 0 || id >= d.in || ih < 0 || ih >= h.in)
      f(column, static_cast<T*>(nullptr));
    else
      f(column, x + ((sample * c.groups + g) * c.cin + ch) * plane + (id * h.in + ih) * c.axes[2].in);
  });
}

// Plain loops: rows are short, and a call of memcpy costs more than the copy.
template <class T>
void copy_row(const WindowAxis& w, WindowAxis::Range range, const T* __restrict from, T* __restrict to) {
  for (int64_t o = 0; o < range.first; ++o) to[o] = 0;
  if (w.stride == 1)
    for (int64_t o = range.first; o < range.last; ++o) to[o] = from[o];
  else
    for (int64_t o = range.first; o < range.last; ++o) to[o] = from[o * w.stride];
  for (int64_t o = range.last; o < w.out; ++o) to[o] = 0;
}

template <class T>
void add_row(const WindowAxis& w, WindowAxis::Range range, const T* __restrict from, T* __restrict to) {
  if (w.stride == 1)
    for (int64_t o = range.first; o < range.last; ++o) to[o] += from[o];
  else
    for (int64_t o = range.first; o < range.last; ++o) to[o * w.stride] += from[o];
}

/// im2col of channels [c0, c1) of group g: a row per channel and kernel element, a column per window.
template <class T>
void lay_out(const Convolution& c, const Tiling& t, const Tile& tile, const T* x, int64_t g, int64_t c0, int64_t c1,
             T* columns) {
  const WindowAxis& w = c.axes[2];
  const WindowAxis::Range* ranges = t.inside.data();
  T* line = columns;
  for (int64_t ch = c0; ch < c1; ++ch)
    for (int64_t kd = 0; kd < c.axes[0].kernel; ++kd)
      for (int64_t kh = 0; kh < c.axes[1].kernel; ++kh, line += w.kernel * tile.columns)
        each_line(c, tile, x, g, ch, kd, kh, [&](int64_t column, const T* from) {
          T* to = line + column;
          for (int64_t k = 0; k < w.kernel; ++k, to += tile.columns) {
            if (from)
              copy_row(w, ranges[k], from + w.place(0, k), to);
            else
              std::fill(to, to + w.out, T(0));
          }
        });
}

/// col2im: adds the columns to the input elements that they stem from.
template <class T>
void add_back(const Convolution& c, const Tiling& t, const Tile& tile, const T* columns, int64_t g, int64_t c0,
              int64_t c1, T* x) {
  const WindowAxis& w = c.axes[2];
  const WindowAxis::Range* ranges = t.inside.data();
  const T* line = columns;
  for (int64_t ch = c0; ch < c1; ++ch)
    for (int64_t kd = 0; kd < c.axes[0].kernel; ++kd)
      for (int64_t kh = 0; kh < c.axes[1].kernel; ++kh, line += w.kernel * tile.columns)
        each_line(c, tile, x, g, ch, kd, kh, [&](int64_t column, T* to) {
          if (!to) return;
          for (int64_t k = 0; k < w.kernel; ++k)
            add_row(w, ranges[k], line + k * tile.columns + column, to + w.place(0, k));
        });
}

/// Channels [0, cout) of group g of y, as a matrix whose columns are those of the tile.
template <class T>
struct Im2colRows {
  T* data;
  int64_t stride;
};

// A tile of one sample is a strided matrix in y; one of several samples is not.
template <class T>
Im2colRows<T> in_place(const Convolution& c, const Tiling& t, const Tile& tile, T* y, int64_t g) {
  return {y + (tile.sample * c.groups + g) * c.cout * t.windows + tile.row * c.axes[2].out, t.windows};
}

template <class T>
void gather_rows(const Convolution& c, const Tiling& t, const Tile& tile, const T* y, int64_t g, T* matrix) {
  for (int64_t ch = 0; ch < c.cout; ++ch)
    for (int64_t s = 0; s < tile.samples; ++s)
      std::memcpy(matrix + ch * tile.columns + s * t.windows,
                  y + (((tile.sample + s) * c.groups + g) * c.cout + ch) * t.windows,
                  sizeof(T) * static_cast<size_t>(t.windows));
}

template <class T>
void scatter_rows(const Convolution& c, const Tiling& t, const Tile& tile, const T* matrix, int64_t g, T* y) {
  for (int64_t ch = 0; ch < c.cout; ++ch)
    for (int64_t s = 0; s < tile.samples; ++s)
      std::memcpy(y + (((tile.sample + s) * c.groups + g) * c.cout + ch) * t.windows,
                  matrix + ch * tile.columns + s * t.windows, sizeof(T) * static_cast<size_t>(t.windows));
}

/// A buffer for the results (or their gradient) of a tile: empty if all tiles are of one sample.
template <class T>
PerThread<T> result_buffer(WorkspaceLayout& w, const Convolution& c, const Tiling& t) {
  return w.per_thread<T>(t.samples_per_tile == 1 ? 0 : c.cout * t.max_columns(c));
}
/// A buffer for the columns of `channels` channels in a tile: empty if all columns are used in place.
template <class T>
PerThread<T> column_buffer(WorkspaceLayout& w, const Convolution& c, const Tiling& t, int64_t channels) {
  const bool in_place = t.direct && t.samples_per_tile == 1;
  return w.per_thread<T>(in_place ? 0 : channels * kernel_size(c.axes) * t.max_columns(c));
}

/// The gradient of y in the tile as a matrix, in place where it is one, else in `matrix`.
template <class T>
Im2colRows<const T> gradient_rows(const Convolution& c, const Tiling& t, const Tile& tile, const T* dy, int64_t g,
                                  T* matrix) {
  if (tile.samples == 1) return in_place(c, t, tile, dy, g);
  gather_rows(c, t, tile, dy, g, matrix);
  return {matrix, tile.columns};
}

/// The im2col matrix of channels [c0, c1): in place where possible, otherwise packed into `columns`.
template <class T>
Im2colRows<const T> columns_of(const Convolution& c, const Tiling& t, const Tile& tile, const T* x, int64_t g,
                               int64_t c0, int64_t c1, T* columns) {
  const int64_t plane = input_size(c.axes);
  if (t.direct && tile.samples == 1)
    return {x + ((tile.sample * c.groups + g) * c.cin + c0) * plane + tile.row * c.axes[2].out, plane};
  lay_out(c, t, tile, x, g, c0, c1, columns);
  return {columns, tile.columns};
}

double convolution_ns(const Convolution& c) {
  const double windows = static_cast<double>(c.batch * c.groups) * static_cast<double>(output_size(c.axes));
  const double depth = static_cast<double>(c.cin * kernel_size(c.axes));
  return windows * depth * (static_cast<double>(c.cout) / 40.0 + 0.4);
}

template <class T>
Phase zero(int64_t n) {
  return {n, 4096, [](const Buffers& b, int64_t begin, int64_t end) {
            std::fill(b.output<T>(0) + begin, b.output<T>(0) + end, T(0));
          }};
}

/// A result of sums without terms: zeros, or the biases of its channels.
template <class T>
Kernel without_terms(int64_t batch, int64_t channels, int64_t plane, bool bias) {
  const int64_t size = batch * channels * plane;
  if (!bias || size == 0) return Kernel::parallel({zero<T>(size)}, static_cast<double>(size));
  return Kernel::parallel(batch * channels, 1, static_cast<double>(size),
                          [=](const Buffers& b, int64_t begin, int64_t end) {
                            for (int64_t p = begin; p < end; ++p)
                              std::fill_n(b.output<T>(0) + p * plane, plane, b.input<T>(2)[p % channels]);
                          });
}

template <class T>
Kernel forward(const Convolution& c, bool bias) {
  const int64_t depth = c.cin * kernel_size(c.axes);
  if (c.batch * c.groups * c.cout * output_size(c.axes) == 0 || depth == 0)
    return without_terms<T>(c.batch, c.groups * c.cout, output_size(c.axes), bias);
  const Tiling t(c, depth);
  WorkspaceLayout workspace;
  const auto packed = column_buffer<T>(workspace, c, t, c.cin), results = result_buffer<T>(workspace, c, t);
  const auto memory = workspace.per_thread<float>(gemm_memory(c.cout));
  return Kernel::parallel(t.tiles * c.groups, 1, convolution_ns(c),
                          [=](const Buffers& b, int64_t begin, int64_t end) {
                            for (int64_t u = begin; u < end; ++u) {
                              const Tile tile = tile_at(c, t, u / c.groups);
                              const int64_t g = u % c.groups;
                              const T* weight = b.input<T>(1) + g * c.cout * depth;
                              const Im2colRows<const T> columns =
                                  columns_of(c, t, tile, b.input<T>(0), g, 0, c.cin, b.workspace(packed));
                              const bool whole = tile.samples == 1;
                              const Im2colRows<T> y = whole ? in_place(c, t, tile, b.output<T>(0), g)
                                                            : Im2colRows<T>{b.workspace(results), tile.columns};
                              gemm_one_thread(false, false, c.cout, tile.columns, depth, weight, depth, columns.data,
                                              columns.stride, y.data, y.stride, b.workspace(memory));
                              if (bias)
                                add_channel_bias(b.input<T>(2) + g * c.cout, c.cout, y.stride, tile.columns, y.data);
                              if (!whole) scatter_rows<T>(c, t, tile, y.data, g, b.output<T>(0));
                            }
                          })
      .with_workspace(workspace);
}

template <class T>
Kernel data_gradient(const Convolution& c, bool bias) {
  const int64_t kernel = kernel_size(c.axes), plane = input_size(c.axes);
  if (c.batch * c.groups * c.cin * plane == 0 || c.cout == 0 || output_size(c.axes) == 0 || kernel == 0)
    return without_terms<T>(c.batch, c.groups * c.cin, plane, bias);
  // An iteration owns some channels of a sample (or of several samples) and adds the tiles to them one after the other.
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
                 for (int64_t s = first; bias && s < last; ++s)
                   add_channel_bias(b.input<T>(2) + channel, c1 - c0, plane, plane,
                                    dx + (s * c.groups * c.cin + channel) * plane);
               }
             })
      .with_workspace(workspace);
}

template <class T>
Kernel weights_gradient(const Convolution& c) {
  const int64_t depth = c.cin * kernel_size(c.axes), per_group = c.cout * depth, size = c.groups * per_group;
  if (size == 0 || c.batch == 0 || output_size(c.axes) == 0)
    return Kernel::parallel({zero<T>(size)}, static_cast<double>(size));
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
                          if (to != sums)
                            for (int64_t k = 0; k < per_group; ++k) sums[k] += to[k];
                        }
                      }
                    }});
  if (parts > 1) phases.push_back(partial_sums_phase(partial, parts, size));
  return Kernel::parallel(std::move(phases), convolution_ns(c)).with_workspace(workspace);
}

// float32: by Winograd's transforms, a primitive of oneDNN, directly, or by im2col and GEMM, whichever is expected to
// take the least time.
Kernel float_forward(const Convolution& c, bool bias) {
  const double direct = direct_outputs_ns(c), gemm = im2col_ns(c), winograd = winograd_outputs_ns(c);
  if (const auto primitive = primitive_convolution_kernel(c, std::min({direct, gemm, winograd}), bias))
    return *primitive;
  if (winograd < std::min(direct, gemm)) return winograd_convolution_kernel(c, bias);
  return direct < gemm ? direct_convolution_kernel(c, bias) : forward<float>(c, bias);
}
Kernel float_data_gradient(const Convolution& c, bool bias) {
  const double direct = direct_data_grad_ns(c), gemm = im2col_ns(c), winograd = winograd_data_grad_ns(c);
  if (const auto primitive = primitive_data_grad_kernel(c, std::min({direct, gemm, winograd}), bias)) return *primitive;
  if (winograd < std::min(direct, gemm)) return winograd_data_grad_kernel(c, bias);
  return direct < gemm ? direct_data_grad_kernel(c, bias) : data_gradient<float>(c, bias);
}
Kernel float_weights_gradient(const Convolution& c) {
  const double direct = direct_weights_grad_ns(c), gemm = im2col_ns(c), winograd = winograd_weights_grad_ns(c);
  if (const auto primitive = primitive_weights_grad_kernel(c, std::min({direct, gemm, winograd}))) return *primitive;
  if (winograd < std::min(direct, gemm)) return winograd_weights_grad_kernel(c);
  return direct < gemm ? direct_weights_grad_kernel(c) : weights_gradient<float>(c);
}

int64_t data_size(const Convolution& c) { return c.batch * c.groups * c.cin * input_size(c.axes); }
int64_t weights_size(const Convolution& c) { return c.groups * c.cout * c.cin * kernel_size(c.axes); }
int64_t result_size(const Convolution& c) { return c.batch * c.groups * c.cout * output_size(c.axes); }

/// A kernel of float32 for operands of float32 or float16, of which the last are biases.
Kernel rounded_once(DType dtype, const Kernel& kernel, std::vector<NarrowOperand> operands, int64_t biases,
                    int64_t results) {
  if (dtype != DType::float16) return kernel;
  if (biases > 0) operands.emplace_back(biases);
  return through_float(kernel, operands, results);
}

}  // namespace

Kernel convolution_kernel(DType dtype, const Convolution& c, bool bias) {
  if (dtype == DType::float64) return forward<double>(c, bias);
  return rounded_once(dtype, float_forward(c, bias), {data_size(c), weights_size(c)}, bias ? c.groups * c.cout : 0,
                      result_size(c));
}

Kernel convolution_data_grad_kernel(DType dtype, const Convolution& c, bool bias) {
  if (dtype == DType::float64) return data_gradient<double>(c, bias);
  return rounded_once(dtype, float_data_gradient(c, bias), {result_size(c), weights_size(c)},
                      bias ? c.groups * c.cin : 0, data_size(c));
}

Kernel convolution_float8_kernel(DType x, DType weight, const Convolution& c) {
  return through_float(float_forward(c, false), {{data_size(c), x}, {weights_size(c), weight}}, result_size(c), 2, 2);
}

Kernel convolution_data_grad_float8_kernel(DType dy, DType weight, const Convolution& c) {
  return through_float(float_data_gradient(c, false), {{result_size(c), dy}, {weights_size(c), weight}}, data_size(c),
                       2, 2);
}

Kernel convolution_weights_grad_kernel(DType dtype, const Convolution& c) {
  if (dtype == DType::float64) return weights_gradient<double>(c);
  if (dtype == DType::float16)
    return through_float(float_weights_gradient(c), {result_size(c), data_size(c)}, weights_size(c));
  return float_weights_gradient(c);
}

}  // namespace pxl
