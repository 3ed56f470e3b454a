// Softmax and log-softmax along an axis, and their gradients.
#include <algorithm>

#include "runtime/base/codes.hpp"
#include "runtime/base/diagnostic.hpp"
#include "runtime/kernels/lines.hpp"
#include "runtime/kernels/normalise.hpp"
#include "runtime/kernels/scratch.hpp"

namespace pxl {

void refuse_dtype(std::string_view what, DType dtype) {
  throw Error(std::string(what) + " is not defined for " + std::string(name(dtype)),
              {"cast the operand to float32 first"})
      .as(codes::dtype);
}

namespace {

constexpr int64_t least_elements = 1024;  // of a piece of work: the grain
constexpr double nanoseconds = 1.5;       // an element of a softmax, measured with AVX2

/// The lines of a tensor along one axis: line l begins at element start(l), its elements are `inner` apart.
struct Axis {
  int64_t outer = 1, extent = 1, inner = 1;
  Axis(const Shape& shape, int64_t axis) {
    const int64_t a = normalise_axis(axis, static_cast<int64_t>(shape.size()));
    for (size_t d = 0; d < shape.size(); ++d) {
      (static_cast<int64_t>(d) < a ? outer : static_cast<int64_t>(d) == a ? extent : inner) *= shape[d];
    }
  }
  int64_t lines() const { return extent == 0 ? 0 : outer * inner; }
  int64_t start(int64_t line) const { return line / inner * extent * inner + line % inner; }
  int64_t grain() const { return std::max<int64_t>(1, least_elements / std::max<int64_t>(extent, 1)); }
  double work() const { return nanoseconds * static_cast<double>(lines()) * static_cast<double>(extent); }
};

/// One operand; `f` works on contiguous rows (RowFunctions).
template <class C>
using OneOperand = void (*RowFunctions<C>::*)(const C* x, C* out, int64_t rows, int64_t n);
template <class C>
using TwoOperands = void (*RowFunctions<C>::*)(const C* g, const C* y, C* out, int64_t rows, int64_t n);

template <class T, class C = compute_type<T>>
Kernel along(const Axis& axis, OneOperand<C> function) {
  const auto f = row_functions<C>().*function;
  return Kernel::divisible(axis.lines(), axis.grain(), axis.work(),
                           [axis, f](const Buffers& b, int64_t begin, int64_t end) {
                             const int64_t n = axis.extent;
                             if constexpr (std::is_same_v<T, C>) {
                               if (axis.inner == 1) {
                                 f(b.input<T>(0) + begin * n, b.output<T>(0) + begin * n, end - begin, n);
                                 return;
                               }
                             }
                             C* from = scratch<C, 0>(static_cast<size_t>(n));
                             C* to = scratch<C, 1>(static_cast<size_t>(n));
                             for (int64_t l = begin; l < end; ++l) {
                               const int64_t at = axis.start(l);
                               f(load_line(b.input<T>(0) + at, axis.inner, n, from), to, 1, n);
                               store_line<T>(to, b.output<T>(0) + at, axis.inner, n);
                             }
                           });
}

template <class T, class C = compute_type<T>>
Kernel along_two(const Axis& axis, TwoOperands<C> function) {
  const auto f = row_functions<C>().*function;
  return Kernel::divisible(
      axis.lines(), axis.grain(), axis.work(), [axis, f](const Buffers& b, int64_t begin, int64_t end) {
        const int64_t n = axis.extent;
        if constexpr (std::is_same_v<T, C>) {
          if (axis.inner == 1) {
            f(b.input<T>(0) + begin * n, b.input<T>(1) + begin * n, b.output<T>(0) + begin * n, end - begin, n);
            return;
          }
        }
        C* first = scratch<C, 0>(static_cast<size_t>(n));
        C* second = scratch<C, 1>(static_cast<size_t>(n));
        C* to = scratch<C, 2>(static_cast<size_t>(n));
        for (int64_t l = begin; l < end; ++l) {
          const int64_t at = axis.start(l);
          const C* g = load_line(b.input<T>(0) + at, axis.inner, n, first);
          const C* y = load_line(b.input<T>(1) + at, axis.inner, n, second);
          f(g, y, to, 1, n);
          store_line<T>(to, b.output<T>(0) + at, axis.inner, n);
        }
      });
}

template <class T>
using Rows = RowFunctions<compute_type<T>>;

}  // namespace

Kernel softmax_kernel(const TensorSpec& x, int64_t axis) {
  return with_floating("softmax", x.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return along<T>(Axis(x.shape, axis), &Rows<T>::softmax);
  });
}

Kernel log_softmax_kernel(const TensorSpec& x, int64_t axis) {
  return with_floating("log_softmax", x.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return along<T>(Axis(x.shape, axis), &Rows<T>::log_softmax);
  });
}

Kernel softmax_grad_kernel(const TensorSpec& y, int64_t axis) {
  return with_floating("softmax_grad", y.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return along_two<T>(Axis(y.shape, axis), &Rows<T>::softmax_grad);
  });
}

Kernel log_softmax_grad_kernel(const TensorSpec& y, int64_t axis) {
  return with_floating("log_softmax_grad", y.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return along_two<T>(Axis(y.shape, axis), &Rows<T>::log_softmax_grad);
  });
}

}  // namespace pxl
