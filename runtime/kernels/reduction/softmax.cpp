// Softmax and log-softmax along an axis, and their gradients.
#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/reduction/axis_slices.hpp"
#include "runtime/kernels/reduction/normalise.hpp"

namespace pxl {

void refuse_dtype(std::string_view what, DType dtype) {
  throw Error(std::string(what) + " is not defined for " + std::string(name(dtype)),
              {"cast the operand to float32 first"})
      .as(codes::dtype);
}

namespace {

constexpr double nanoseconds = 1.5;  // per element; measured with AVX2, processor not recorded

/// 1-D slices along an axis: slice l begins at element start(l) and has stride `inner`.
struct SoftmaxAxis {
  int64_t outer = 1, extent = 1, inner = 1;
  SoftmaxAxis(const Shape& shape, int64_t axis) {
    const int64_t a = normalise_axis(axis, static_cast<int64_t>(shape.size()));
    for (size_t d = 0; d < shape.size(); ++d) {
      (static_cast<int64_t>(d) < a ? outer : static_cast<int64_t>(d) == a ? extent : inner) *= shape[d];
    }
  }
  int64_t lines() const { return extent == 0 ? 0 : outer * inner; }
  int64_t start(int64_t line) const { return line / inner * extent * inner + line % inner; }
  int64_t grain() const {
    const int64_t lines_side_by_side = inner >= 64 ? 64 : 1;
    return std::max(lines_side_by_side, min_elements / std::max<int64_t>(extent, 1));
  }
  double cost_ns() const { return nanoseconds * static_cast<double>(lines()) * static_cast<double>(extent); }
};

/// The functions of an op, on contiguous rows and on adjacent columns.
template <class C>
struct OneOperand {
  void (*rows)(const C* x, C* out, int64_t rows, int64_t n);
  void (*columns)(const C* x, C* out, int64_t n, int64_t width, int64_t stride);
};
template <class C>
struct TwoOperands {
  void (*rows)(const C* g, const C* y, C* out, int64_t rows, int64_t n);
  void (*columns)(const C* g, const C* y, C* out, int64_t n, int64_t width, int64_t stride);
};

// Minimum number of adjacent columns that are processed together; below it, slices are gathered.
constexpr int64_t min_inner = 8;

/// Calls f(offset of the first element, columns) for slices [begin, end) as blocks of adjacent columns.
template <class F>
void for_columns(const SoftmaxAxis& axis, int64_t begin, int64_t end, F f) {
  for (int64_t l = begin; l < end;) {
    const int64_t width = std::min({end - l, axis.inner - l % axis.inner, column_block});
    f(axis.start(l), width);
    l += width;
  }
}

/// Widens n rows with `width` elements, at this stride, into contiguous rows.
template <class T>
const float* load_columns(const T* x, int64_t n, int64_t width, int64_t stride, float* buffer) {
  for (int64_t i = 0; i < n; ++i) widen(x + i * stride, buffer + i * width, width);
  return buffer;
}
template <class T>
void store_columns(const float* from, T* x, int64_t n, int64_t width, int64_t stride) {
  for (int64_t i = 0; i < n; ++i) round_to(from + i * width, x + i * stride, width);
}

/// A buffer for the slices that a thread holds, for one operand or result. Adjacent narrow columns are widened
/// together. Slices of other dtypes need a buffer if their elements are not adjacent.
template <class T>
PerThread<compute_type<T>> slice_buffer(WorkspaceLayout& w, const SoftmaxAxis& axis) {
  constexpr bool narrow = !std::is_same_v<T, compute_type<T>>;
  const bool columns = axis.inner >= min_inner;
  const int64_t slices = columns ? (narrow ? std::min(axis.inner, column_block) : 0) : (narrow || axis.inner > 1);
  return w.per_thread<compute_type<T>>(slices * axis.extent);
}

template <class T, class C = compute_type<T>>
Kernel along(const SoftmaxAxis& axis, OneOperand<C> f) {
  WorkspaceLayout workspace;
  const auto loaded = slice_buffer<T>(workspace, axis), computed = slice_buffer<T>(workspace, axis);
  return Kernel::parallel(axis.lines(), axis.grain(), axis.cost_ns(),
                          [=](const Buffers& b, int64_t begin, int64_t end) {
                            const int64_t n = axis.extent;
                            const T* x = b.input<T>(0);
                            T* out = b.output<T>(0);
                            if (axis.inner >= min_inner) {
                              for_columns(axis, begin, end, [&](int64_t at, int64_t width) {
                                if constexpr (std::is_same_v<T, C>) {
                                  f.columns(x + at, out + at, n, width, axis.inner);
                                } else {
                                  C* wide = b.workspace(loaded);
                                  load_columns(x + at, n, width, axis.inner, wide);
                                  f.columns(wide, wide, n, width, width);
                                  store_columns(wide, out + at, n, width, axis.inner);
                                }
                              });
                              return;
                            }
                            if constexpr (std::is_same_v<T, C>) {
                              if (axis.inner == 1) {
                                f.rows(x + begin * n, out + begin * n, end - begin, n);
                                return;
                              }
                            }
                            C *from = b.workspace(loaded), *to = b.workspace(computed);
                            for (int64_t l = begin; l < end; ++l) {
                              const int64_t at = axis.start(l);
                              f.rows(load_line(x + at, axis.inner, n, from), to, 1, n);
                              store_line<T>(to, out + at, axis.inner, n);
                            }
                          })
      .with_workspace(workspace);
}

template <class T, class C = compute_type<T>>
Kernel along_two(const SoftmaxAxis& axis, TwoOperands<C> f) {
  WorkspaceLayout workspace;
  const auto loaded_g = slice_buffer<T>(workspace, axis), loaded_y = slice_buffer<T>(workspace, axis),
             computed = slice_buffer<T>(workspace, axis);
  return Kernel::parallel(axis.lines(), axis.grain(), axis.cost_ns(),
                          [=](const Buffers& b, int64_t begin, int64_t end) {
                            const int64_t n = axis.extent;
                            const T *dy = b.input<T>(0), *forward = b.input<T>(1);
                            T* out = b.output<T>(0);
                            if (axis.inner >= min_inner) {
                              for_columns(axis, begin, end, [&](int64_t at, int64_t width) {
                                if constexpr (std::is_same_v<T, C>) {
                                  f.columns(dy + at, forward + at, out + at, n, width, axis.inner);
                                } else {
                                  C *g = b.workspace(loaded_g), *y = b.workspace(loaded_y);
                                  load_columns(dy + at, n, width, axis.inner, g);
                                  load_columns(forward + at, n, width, axis.inner, y);
                                  f.columns(g, y, g, n, width, width);
                                  store_columns(g, out + at, n, width, axis.inner);
                                }
                              });
                              return;
                            }
                            if constexpr (std::is_same_v<T, C>) {
                              if (axis.inner == 1) {
                                f.rows(dy + begin * n, forward + begin * n, out + begin * n, end - begin, n);
                                return;
                              }
                            }
                            C *first = b.workspace(loaded_g), *second = b.workspace(loaded_y),
                              *to = b.workspace(computed);
                            for (int64_t l = begin; l < end; ++l) {
                              const int64_t at = axis.start(l);
                              const C* g = load_line(dy + at, axis.inner, n, first);
                              const C* y = load_line(forward + at, axis.inner, n, second);
                              f.rows(g, y, to, 1, n);
                              store_line<T>(to, out + at, axis.inner, n);
                            }
                          })
      .with_workspace(workspace);
}

template <class T>
const RowFunctions<compute_type<T>>& functions() {
  return row_functions<compute_type<T>>();
}

}  // namespace

Kernel softmax_kernel(const TensorSpec& x, int64_t axis) {
  return with_floating("softmax", x.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return along<T>(SoftmaxAxis(x.shape, axis), {functions<T>().softmax, functions<T>().softmax_columns});
  });
}

Kernel log_softmax_kernel(const TensorSpec& x, int64_t axis) {
  return with_floating("log_softmax", x.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return along<T>(SoftmaxAxis(x.shape, axis), {functions<T>().log_softmax, functions<T>().log_softmax_columns});
  });
}

Kernel softmax_grad_kernel(const TensorSpec& y, int64_t axis) {
  return with_floating("softmax_grad", y.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return along_two<T>(SoftmaxAxis(y.shape, axis), {functions<T>().softmax_grad, functions<T>().softmax_grad_columns});
  });
}

Kernel log_softmax_grad_kernel(const TensorSpec& y, int64_t axis) {
  return with_floating("log_softmax_grad", y.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return along_two<T>(SoftmaxAxis(y.shape, axis),
                        {functions<T>().log_softmax_grad, functions<T>().log_softmax_grad_columns});
  });
}

}  // namespace pxl
