// Dilated convolutions and their gradients, by Winograd's transforms (winograd_convolution.cpp). Outputs with equal
// position modulo the dilation read only inputs of that residue class: each class is a convolution without dilation.
// Inputs are split into classes, as samples of the batch, and results are interleaved. Strides are 1,
// and padding is a multiple of the dilation.
#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "runtime/base/div_up.hpp"
#include "runtime/kernels/convolution/ways.hpp"
#include "runtime/kernels/prepared.hpp"

namespace pxl {
namespace {

// Time to move one element into or out of its residue class, in single-core ns. Measured with planes of 16 x 16 to 33 x
// 33 elements on AMD EPYC (Zen 3) with AVX2.
constexpr double ns_per_parted_element = 0.9;

/// The convolution of the residue classes. Its batch has `rows` x `columns` classes for each sample. Classes have equal
/// sizes; zeros fill the ends of smaller ones.
struct Parted {
  int64_t rows, columns;
  Convolution convolution;

  int64_t parts() const { return rows * columns; }
};

std::optional<Parted> parted(const Convolution& c) {
  if (!is_planar(c)) return {};
  Parted p{c.axes[1].dilation, c.axes[2].dilation, c};
  if (p.parts() == 1) return {};
  for (size_t i = 1; i < c.axes.size(); ++i) {
    WindowAxis& a = p.convolution.axes[i];
    if (a.stride != 1 || a.padding_before < 0 || a.padding_before % a.dilation != 0) return {};
    a.in = div_up(a.in, a.dilation), a.out = div_up(a.out, a.dilation);
    a.padding_before /= a.dilation;
    a.dilation = 1;
  }
  p.convolution.batch *= p.parts();
  return p;
}

/// The planes of a tensor, whole and split into residue classes.
struct PartedPlanes {
  int64_t samples, channels, rows, columns;        ///< extents of the tensor
  int64_t row_parts, column_parts, height, width;  ///< parts of a plane, and their sizes

  int64_t planes() const { return samples * channels; }
  int64_t floats() const { return planes() * row_parts * column_parts * height * width; }

  /// Calls f(row, places, part) for each row of a class in plane i. The row has `places` elements, column_parts apart,
  /// from element `row` of the tensor. They are adjacent in the split tensor, from element `part`.
  template <class F>
  void each_row(int64_t i, F&& f) const {
    for (int64_t a = 0; a < row_parts; ++a)
      for (int64_t b = 0; b < column_parts; ++b) {
        const int64_t sample = (i / channels * row_parts + a) * column_parts + b;
        const int64_t part = (sample * channels + i % channels) * height * width;
        for (int64_t r = 0; r < height; ++r) {
          const int64_t row = r * row_parts + a, there = row < rows ? div_up(columns - b, column_parts) : 0;
          f((i * rows + row) * columns + b, std::max<int64_t>(0, there), part + r * width);
        }
      }
  }
  void take_apart(int64_t i, const float* from, float* to) const {
    each_row(i, [&](int64_t row, int64_t places, int64_t part) {
      for (int64_t k = 0; k < places; ++k) to[part + k] = from[row + k * column_parts];
      for (int64_t k = places; k < width; ++k) to[part + k] = 0;
    });
  }
  void put_together(int64_t i, const float* from, float* to) const {
    each_row(i, [&](int64_t row, int64_t places, int64_t part) {
      for (int64_t k = 0; k < places; ++k) to[row + k * column_parts] = from[part + k];
    });
  }
};

PartedPlanes inputs_of(const Convolution& c, const Parted& p) {
  const WindowAxes &whole = c.axes, &part = p.convolution.axes;
  return {c.batch, c.groups * c.cin, whole[1].in, whole[2].in, p.rows, p.columns, part[1].in, part[2].in};
}
PartedPlanes outputs_of(const Convolution& c, const Parted& p) {
  const WindowAxes &whole = c.axes, &part = p.convolution.axes;
  return {c.batch, c.groups * c.cout, whole[1].out, whole[2].out, p.rows, p.columns, part[1].out, part[2].out};
}

/// Runs `inner` on split tensors: the operands that `in` has, and the result unless it has none.
Kernel of_parts(const Kernel& inner, const std::vector<std::optional<PartedPlanes>>& in,
                const std::optional<PartedPlanes>& out) {
  const auto form = [](const PartedPlanes& p, auto move) {
    const Kernel make = Kernel::parallel(p.planes(), 1, static_cast<double>(p.floats()) * ns_per_parted_element,
                                         [=](const Buffers& b, int64_t begin, int64_t end) {
                                           for (int64_t k = begin; k < end; ++k)
                                             (p.*move)(k, b.input<float>(0), b.output<float>(0));
                                         });
    return OtherForm{p.floats() * static_cast<int64_t>(sizeof(float)), make};
  };
  std::vector<OtherForm> forms(in.size());
  for (size_t i = 0; i < in.size(); ++i)
    if (in[i]) forms[i] = form(*in[i], &PartedPlanes::take_apart);
  return on_forms(inner, forms, out ? form(*out, &PartedPlanes::put_together) : OtherForm{});
}

/// Time of the split convolution for one sample and group.
template <class F>
double parted_ns(const Convolution& c, F&& ns_of_part) {
  const std::optional<Parted> p = parted(c);
  if (!p) return std::numeric_limits<double>::infinity();
  const double elements = static_cast<double>(inputs_of(c, *p).floats() + outputs_of(c, *p).floats()) /
                          static_cast<double>(c.batch * c.groups);
  return static_cast<double>(p->parts()) * ns_of_part(p->convolution) + elements * ns_per_parted_element;
}

}  // namespace

double dilated_outputs_ns(const Convolution& c) { return parted_ns(c, winograd_outputs_ns); }
double dilated_data_grad_ns(const Convolution& c) { return parted_ns(c, winograd_data_grad_ns); }
double dilated_weights_grad_ns(const Convolution& c) { return parted_ns(c, winograd_weights_grad_ns); }

std::optional<Kernel> dilated_convolution_kernel(const Convolution& c, bool bias) {
  const Parted p = *parted(c);
  std::vector<std::optional<PartedPlanes>> in(operands_of(c, bias));
  in[0] = inputs_of(c, p);
  if (c.finish.adds) in.back() = outputs_of(c, p);
  return of_parts(*winograd_convolution_kernel(p.convolution, bias), in, outputs_of(c, p));
}
std::optional<Kernel> dilated_data_grad_kernel(const Convolution& c, bool bias) {
  const Parted p = *parted(c);
  std::vector<std::optional<PartedPlanes>> in(operands_of(c, bias));
  in[0] = outputs_of(c, p);
  return of_parts(*winograd_data_grad_kernel(p.convolution, bias), in, inputs_of(c, p));
}
std::optional<Kernel> dilated_weights_grad_kernel(const Convolution& c) {
  const Parted p = *parted(c);
  return of_parts(*winograd_weights_grad_kernel(p.convolution), {outputs_of(c, p), inputs_of(c, p)}, {});
}

}  // namespace pxl
