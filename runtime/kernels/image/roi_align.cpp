// ROI align (resample.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/image/resample.hpp"
#include "runtime/kernels/indexing/index.hpp"
#include "runtime/kernels/through_float.hpp"

namespace pxl {
namespace {

/// Bilinear interpolation: up to four pixels with their weights.
template <class T>
struct Corners {
  int64_t at[4] = {};
  T weight[4] = {};
};

/// No pixels for positions more than one pixel outside the image. Other positions are clamped to the edge.
template <class T>
Corners<T> corners(const RoiAlign& r, T y, T x) {
  Corners<T> c;
  if (!(y >= -1 && y <= static_cast<T>(r.height) && x >= -1 && x <= static_cast<T>(r.width))) return c;
  const auto split = [](T place, int64_t extent, int64_t& low, int64_t& high) {
    place = std::max(place, T(0));
    low = static_cast<int64_t>(place);
    if (low >= extent - 1) {
      low = high = extent - 1;
      return T(0);
    }
    high = low + 1;
    return place - static_cast<T>(low);
  };
  int64_t y0 = 0, y1 = 0, x0 = 0, x1 = 0;
  const T ly = split(y, r.height, y0, y1), lx = split(x, r.width, x0, x1);
  const int64_t at[] = {y0 * r.width + x0, y0 * r.width + x1, y1 * r.width + x0, y1 * r.width + x1};
  const T weight[] = {(1 - ly) * (1 - lx), (1 - ly) * lx, ly * (1 - lx), ly * lx};
  std::copy(at, at + 4, c.at);
  std::copy(weight, weight + 4, c.weight);
  return c;
}

/// One region's sample grid.
template <class T>
struct Region {
  T y, x, cell_h, cell_w;
  int64_t rows, columns;  ///< samples in a cell

  Region(const RoiAlign& r, const T* roi) {
    const T s = static_cast<T>(r.scale);
    x = roi[0] * s;
    y = roi[1] * s;
    const T h = std::max(roi[3] * s - y, T(1)), w = std::max(roi[2] * s - x, T(1));
    cell_h = h / static_cast<T>(r.out[0]);
    cell_w = w / static_cast<T>(r.out[1]);
    // More samples per cell than the image has pixels would gain nothing.
    const auto samples = [&](T cell, int64_t extent) {
      if (r.sampling > 0) return r.sampling;
      const T wanted = std::ceil(cell);
      return wanted < static_cast<T>(16 * extent + 16) ? static_cast<int64_t>(wanted) : 16 * extent + 16;
    };
    rows = samples(cell_h, r.height);
    columns = samples(cell_w, r.width);
  }
  /// Calls f(corners) for the samples of cell (i, j).
  template <class F>
  void each(const RoiAlign& r, int64_t i, int64_t j, F&& f) const {
    for (int64_t a = 0; a < rows; ++a)
      for (int64_t b = 0; b < columns; ++b)
        f(corners<T>(r, y + static_cast<T>(i) * cell_h + (static_cast<T>(a) + T(0.5)) * cell_h / static_cast<T>(rows),
                     x + static_cast<T>(j) * cell_w + (static_cast<T>(b) + T(0.5)) * cell_w / static_cast<T>(columns)));
  }
  T count() const { return static_cast<T>(std::max<int64_t>(rows * columns, 1)); }
};

/// The image of a region.
int64_t image_of(const RoiAlign& r, const Buffers& b, int64_t roi) {
  int64_t index = 0;
  read_indices(r.index, b.in[2] + roi * static_cast<int64_t>(size_of(r.index)), 1, &index);
  return index;
}

/// First phase, with one iteration, which may throw: checks the image of every region.
Phase check(const RoiAlign& r) {
  return {1, 1, [r](const Buffers& b, int64_t, int64_t) {
            for (int64_t i = 0; i < r.rois; ++i) check_region(image_of(r, b, i), i, r.batch);
          }};
}

double roi_ns(const RoiAlign& r) {
  const double samples = r.sampling > 0 ? static_cast<double>(r.sampling * r.sampling) : 4.0;
  return static_cast<double>(r.rois * r.channels) * static_cast<double>(r.out[0] * r.out[1]) * samples * 8.0;
}

template <class T>
Kernel forward(const RoiAlign& r) {
  Phase all{r.rois, 1, [r](const Buffers& b, int64_t begin, int64_t end) {
              const int64_t plane = r.height * r.width;
              T* y = b.output<T>(0) + begin * r.channels * r.out[0] * r.out[1];
              for (int64_t n = begin; n < end; ++n) {
                const Region<T> region(r, b.input<T>(1) + 4 * n);
                const T* image = b.input<T>(0) + image_of(r, b, n) * r.channels * plane;
                for (int64_t c = 0; c < r.channels; ++c, image += plane)
                  for (int64_t i = 0; i < r.out[0]; ++i)
                    for (int64_t j = 0; j < r.out[1]; ++j) {
                      T sum = 0;
                      region.each(r, i, j, [&](const Corners<T>& at) {
                        for (int k = 0; k < 4; ++k) sum += at.weight[k] * image[at.at[k]];
                      });
                      *y++ = sum / region.count();
                    }
              }
            }};
  return Kernel::parallel({check(r), std::move(all)}, roi_ns(r));
}

// An iteration owns one channel in all images. Regions add to it in order.
template <class T>
Kernel backward(const RoiAlign& r) {
  Phase all{r.channels, 1, [r](const Buffers& b, int64_t begin, int64_t end) {
              const int64_t plane = r.height * r.width, cells = r.out[0] * r.out[1];
              for (int64_t c = begin; c < end; ++c) {
                for (int64_t n = 0; n < r.batch; ++n) {
                  T* image = b.output<T>(0) + (n * r.channels + c) * plane;
                  std::fill(image, image + plane, T(0));
                }
                for (int64_t n = 0; n < r.rois; ++n) {
                  const Region<T> region(r, b.input<T>(1) + 4 * n);
                  T* image = b.output<T>(0) + (image_of(r, b, n) * r.channels + c) * plane;
                  const T* g = b.input<T>(0) + (n * r.channels + c) * cells;
                  for (int64_t i = 0; i < r.out[0]; ++i)
                    for (int64_t j = 0; j < r.out[1]; ++j) {
                      const T share = *g++ / region.count();
                      region.each(r, i, j, [&](const Corners<T>& at) {
                        for (int k = 0; k < 4; ++k) image[at.at[k]] += at.weight[k] * share;
                      });
                    }
                }
              }
            }};
  return Kernel::parallel({check(r), std::move(all)}, roi_ns(r));
}

int64_t data_size(const RoiAlign& r) { return r.batch * r.channels * r.height * r.width; }
int64_t result_size(const RoiAlign& r) { return r.rois * r.channels * r.out[0] * r.out[1]; }

}  // namespace

void check_region(int64_t image, int64_t region, int64_t batch) {
  if (image < 0 || image >= batch)
    throw run_error(fmt::format("roi_align: batch index {} of region {} is out of range for a batch of {}",
                                index_text(image), region, batch))
        .as(codes::index);
}

Kernel roi_align_kernel(DType dtype, const RoiAlign& r) {
  if (dtype == DType::float64) return forward<double>(r);
  if (dtype == DType::float32) return forward<float>(r);
  return through_float(forward<float>(r), {{data_size(r), dtype}, {4 * r.rois, dtype}}, {result_size(r), dtype}, 3);
}

Kernel roi_align_grad_kernel(DType dtype, const RoiAlign& r) {
  if (dtype == DType::float64) return backward<double>(r);
  if (dtype == DType::float32) return backward<float>(r);
  return through_float(backward<float>(r), {{result_size(r), dtype}, {4 * r.rois, dtype}}, {data_size(r), dtype}, 3);
}

}  // namespace pxl
