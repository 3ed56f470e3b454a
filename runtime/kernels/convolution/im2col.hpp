// im2col: the windows of a convolution as matrix columns, in tiles that stay in L2.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/kernels/convolution/convolution.hpp"

namespace pxl::im2col {

/// Elements in a tile's im2col matrix: 192 KiB of float32, so that it stays in L2 between packing and GEMM.
inline constexpr int64_t tile_elements = 48 * 1024;
/// Minimum columns in a tile, where there are as many: a part of the GEMM (part_columns, gemm/packed_product.cpp).
inline constexpr int64_t good_columns = 128;

/// Partition of the windows into tiles: window rows of one sample, or several whole samples.
struct Tiling {
  int64_t windows = 0;                  ///< per sample
  int64_t rows = 0, rows_per_tile = 0;  ///< window rows (all but the last axis) of one sample
  int64_t samples_per_tile = 1, tiles_per_sample = 1, tiles = 0;
  bool direct = false;  ///< the im2col matrix is the input in place
  /// The windows in which each kernel element of the last axis is not padding.
  std::vector<WindowAxis::Range> inside;

  Tiling(const Convolution& c, int64_t depth) {
    const WindowAxis& last = c.axes[2];
    for (int64_t k = 0; k < last.kernel; ++k) inside.push_back(last.inside(k));
    windows = output_size(c.axes);
    rows = c.axes[0].out * c.axes[1].out;
    direct = is_pointwise(c);
    if (windows == 0 || c.batch == 0) return;
    const int64_t columns = std::max<int64_t>(good_columns, tile_elements / std::max<int64_t>(1, depth));
    rows_per_tile = std::clamp<int64_t>(columns / last.out, 1, rows);
    tiles_per_sample = (rows + rows_per_tile - 1) / rows_per_tile;
    // The results of several samples are not contiguous and must be copied, which pays off for few windows per sample.
    if (tiles_per_sample == 1 && windows < good_columns)
      samples_per_tile = std::clamp<int64_t>(columns / windows, 1, std::max<int64_t>(1, c.batch / 2));
    tiles = tiles_per_sample * ((c.batch + samples_per_tile - 1) / samples_per_tile);
  }
  int64_t max_columns(const Convolution& c) const { return samples_per_tile * rows_per_tile * c.axes[2].out; }
};

struct Tile {
  int64_t sample, samples, row, rows, columns;  ///< columns in all
};

inline Tile tile_at(const Convolution& c, const Tiling& t, int64_t index) {
  Tile tile{};
  tile.sample = index / t.tiles_per_sample * t.samples_per_tile;
  tile.samples = std::min(t.samples_per_tile, c.batch - tile.sample);
  tile.row = index % t.tiles_per_sample * t.rows_per_tile;
  tile.rows = std::min(t.rows_per_tile, t.rows - tile.row);
  tile.columns = tile.samples * tile.rows * c.axes[2].out;
  return tile;
}

/// Calls f(column, sample, od, oh) for each row of windows in a tile. `column` is the row's first column in the tile;
/// od and oh are its outer indices.
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

/// Calls f(column, row) for each row of windows, with the input row that kernel row (kd, kh) of channel ch reads. `row`
/// is null in padding.
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

// Plain loops: rows are short, and a call to memcpy costs more than the copy.
template <class T>
void copy_row(const WindowAxis& w, WindowAxis::Range range, const T* __restrict from, T pad, T* __restrict to) {
  for (int64_t o = 0; o < range.first; ++o) to[o] = pad;
  if (w.stride == 1)
    for (int64_t o = range.first; o < range.last; ++o) to[o] = from[o];
  else
    for (int64_t o = range.first; o < range.last; ++o) to[o] = from[o * w.stride];
  for (int64_t o = range.last; o < w.out; ++o) to[o] = pad;
}

template <class T>
void add_row(const WindowAxis& w, WindowAxis::Range range, const T* __restrict from, T* __restrict to) {
  if (w.stride == 1)
    for (int64_t o = range.first; o < range.last; ++o) to[o] += from[o];
  else
    for (int64_t o = range.first; o < range.last; ++o) to[o * w.stride] += from[o];
}

/// Like each_line, for runs of window rows whose input rows are adjacent: f(column, first row, rows).
template <class T, class F>
void each_run(const Convolution& c, const Tile& tile, T* x, int64_t g, int64_t ch, int64_t kd, int64_t kh, F&& f) {
  int64_t first = 0, rows = 0;
  T* start = nullptr;
  each_line(c, tile, x, g, ch, kd, kh, [&](int64_t column, T* row) {
    if (rows > 0 && row != (start ? start + rows * c.axes[2].in : nullptr)) {
      f(first, start, rows);
      rows = 0;
    }
    if (rows++ == 0) first = column, start = row;
  });
  if (rows > 0) f(first, start, rows);
}

/// Copies one kernel element for window rows that read adjacent input rows from `from`. If a window row is as long as
/// an input row, one copy covers all rows, and the padding is written afterwards.
template <class T>
void copy_rows(const WindowAxis& w, WindowAxis::Range range, int64_t rows, const T* from, int64_t shift, T pad, T* to) {
  if (w.stride != 1 || w.in != w.out || rows == 1 || range.first >= range.last) {
    for (int64_t r = 0; r < rows; ++r) copy_row(w, range, from + r * w.in + shift, pad, to + r * w.out);
    return;
  }
  const int64_t after = w.out - range.last;
  std::memcpy(to + range.first, from + shift + range.first,
              sizeof(T) * static_cast<size_t>(rows * w.out - range.first - after));
  for (int64_t r = 0; r < rows; ++r, to += w.out) {
    for (int64_t o = 0; o < range.first; ++o) to[o] = pad;
    for (int64_t o = range.last; o < w.out; ++o) to[o] = pad;
  }
}

/// im2col of channels [c0, c1) of group g: a row per channel and kernel element, a column per window.
template <class T>
void lay_out(const Convolution& c, const Tiling& t, const Tile& tile, const T* x, int64_t g, int64_t c0, int64_t c1,
             T* columns, T pad = T(0)) {
  const WindowAxis& w = c.axes[2];
  const WindowAxis::Range* ranges = t.inside.data();
  T* line = columns;
  for (int64_t ch = c0; ch < c1; ++ch)
    for (int64_t kd = 0; kd < c.axes[0].kernel; ++kd)
      for (int64_t kh = 0; kh < c.axes[1].kernel; ++kh, line += w.kernel * tile.columns)
        each_run(c, tile, x, g, ch, kd, kh, [&](int64_t column, const T* from, int64_t rows) {
          T* to = line + column;
          for (int64_t k = 0; k < w.kernel; ++k, to += tile.columns) {
            if (from)
              copy_rows(w, ranges[k], rows, from, w.place(0, k), pad, to);
            else
              std::fill(to, to + rows * w.out, pad);
          }
        });
}

/// col2im: adds each column to the input elements that it was copied from.
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

/// Channels [0, cout) of group g in y, as a matrix with the columns of the tile.
template <class T>
struct Im2colRows {
  T* data;
  int64_t stride;
};

// A tile within one sample is a strided matrix in y; a tile with several samples is not.
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

/// The columns of channels [first, first + count).
template <class T>
void scatter_rows(const Convolution& c, const Tiling& t, const Tile& tile, int64_t first, int64_t count,
                  const T* matrix, int64_t g, T* y) {
  for (int64_t ch = first; ch < first + count; ++ch)
    for (int64_t s = 0; s < tile.samples; ++s)
      std::memcpy(y + (((tile.sample + s) * c.groups + g) * c.cout + ch) * t.windows,
                  matrix + ch * tile.columns + s * t.windows, sizeof(T) * static_cast<size_t>(t.windows));
}

/// Calls f(first plane, planes, begin, end) for what a tile computes of channels [first, first + count) of group g.
template <class F>
void each_part(const Convolution& c, const Tile& tile, int64_t g, int64_t first, int64_t count, const F& f) {
  const int64_t across = c.axes[2].out;
  for (int64_t s = 0; s < tile.samples; ++s)
    f(((tile.sample + s) * c.groups + g) * c.cout + first, count, tile.row * across, (tile.row + tile.rows) * across);
}

/// A buffer for the results (or their gradient) of a tile; empty if every tile is within one sample.
template <class T>
PerThread<T> result_buffer(WorkspaceLayout& w, const Convolution& c, const Tiling& t) {
  return w.per_thread<T>(t.samples_per_tile == 1 ? 0 : c.cout * t.max_columns(c));
}
/// A buffer for a tile's columns in `channels` channels; empty if all columns are used in place.
template <class T>
PerThread<T> column_buffer(WorkspaceLayout& w, const Convolution& c, const Tiling& t, int64_t channels) {
  const bool in_place = t.direct && t.samples_per_tile == 1;
  return w.per_thread<T>(in_place ? 0 : channels * kernel_size(c.axes) * t.max_columns(c));
}

/// The gradient of y in the tile, as a matrix: in place if possible, else in `matrix`.
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
                               int64_t c0, int64_t c1, T* columns, T pad = T(0)) {
  const int64_t plane = input_size(c.axes);
  if (t.direct && tile.samples == 1)
    return {x + ((tile.sample * c.groups + g) * c.cin + c0) * plane + tile.row * c.axes[2].out, plane};
  lay_out(c, t, tile, x, g, c0, c1, columns, pad);
  return {columns, tile.columns};
}

}  // namespace pxl::im2col
