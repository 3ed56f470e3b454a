// Softmax and log-softmax along an axis, and their gradients.
#include <cmath>

#include "runtime/base/diagnostic.hpp"
#include "runtime/kernels/lines.hpp"
#include "runtime/kernels/normalise.hpp"
#include "runtime/kernels/scratch.hpp"

namespace pxl {

void refuse_dtype(std::string_view what, DType dtype) {
  throw Error(std::string(what) + " is not defined for " + std::string(name(dtype)),
              {"cast the operand to float32 first"});
}

namespace {

struct Axis {
  int64_t outer = 1, extent = 1, inner = 1;
  Axis(const Shape& shape, int64_t axis) {
    const int64_t a = normalise_axis(axis, static_cast<int64_t>(shape.size()));
    for (size_t d = 0; d < shape.size(); ++d) {
      (static_cast<int64_t>(d) < a ? outer : static_cast<int64_t>(d) == a ? extent : inner) *= shape[d];
    }
  }
  template <class F>
  void each(F&& f) const {
    if (extent == 0) return;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) f(o * extent * inner + i);
    }
  }
};

template <class C>
struct Functions {
  BinaryBlock sub = binary_block(Binary::sub, dtype_of<C>()), mul = binary_block(Binary::mul, dtype_of<C>()),
              div = binary_block(Binary::div, dtype_of<C>());
  UnaryBlock exp = unary_block(Unary::exp, dtype_of<C>());
};

/// One operand: f(line, result, n, functions), where result may be line.
template <class F>
Kernel along(std::string_view what, const TensorSpec& x, int64_t axis, F f) {
  const Axis lines(x.shape, axis);
  return with_floating(what, x.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    return [lines, f, fns = Functions<C>()](const Buffers& b) {
      C* from = scratch<C, 0>(static_cast<size_t>(lines.extent));
      C* to = scratch<C, 1>(static_cast<size_t>(lines.extent));
      const bool direct = lines.inner == 1 && std::is_same_v<T, C>;
      lines.each([&](int64_t at) {
        const C* line = load_line(b.input<T>(0) + at, lines.inner, lines.extent, from);
        T* out = b.output<T>(0) + at;
        C* result = direct ? reinterpret_cast<C*>(out) : to;
        f(line, result, lines.extent, fns);
        store_line<T>(result, out, lines.inner, lines.extent);
      });
    };
  });
}

/// Two operands, g and y: f(g, y, result, n, functions), where result may be either.
template <class F>
Kernel along_two(std::string_view what, const TensorSpec& y, int64_t axis, F f) {
  const Axis lines(y.shape, axis);
  return with_floating(what, y.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    return [lines, f, fns = Functions<C>()](const Buffers& b) {
      C* first = scratch<C, 0>(static_cast<size_t>(lines.extent));
      C* second = scratch<C, 1>(static_cast<size_t>(lines.extent));
      C* to = scratch<C, 2>(static_cast<size_t>(lines.extent));
      lines.each([&](int64_t at) {
        const C* g = load_line(b.input<T>(0) + at, lines.inner, lines.extent, first);
        const C* v = load_line(b.input<T>(1) + at, lines.inner, lines.extent, second);
        f(g, v, to, lines.extent, fns);
        store_line<T>(to, b.output<T>(0) + at, lines.inner, lines.extent);
      });
    };
  });
}

}  // namespace

Kernel softmax_kernel(const TensorSpec& x, int64_t axis) {
  return along("softmax", x, axis, []<class C>(const C* line, C* out, int64_t n, const Functions<C>& fns) {
    const C max = line_max(line, n);
    fns.sub.vs(line, &max, out, n);
    fns.exp(out, out, n);
    const C sum = static_cast<C>(line_sum(out, n));
    fns.div.vs(out, &sum, out, n);
  });
}

Kernel log_softmax_kernel(const TensorSpec& x, int64_t axis) {
  return along("log_softmax", x, axis, []<class C>(const C* line, C* out, int64_t n, const Functions<C>& fns) {
    const C max = line_max(line, n);
    C buffer[block_size];
    double sum = 0;
    for (int64_t i = 0; i < n; i += block_size) {
      const int64_t m = n - i < block_size ? n - i : block_size;
      fns.sub.vs(line + i, &max, buffer, m);
      fns.exp(buffer, buffer, m);
      sum += line_sum(buffer, m);
    }
    const C log_sum = static_cast<C>(std::log(sum));
    fns.sub.vs(line, &max, out, n);
    fns.sub.vs(out, &log_sum, out, n);
  });
}

Kernel softmax_grad_kernel(const TensorSpec& y, int64_t axis) {
  return along_two("softmax_grad", y, axis,
                   []<class C>(const C* g, const C* v, C* out, int64_t n, const Functions<C>& fns) {
                     const C dot = static_cast<C>(line_dot(g, v, n));
                     fns.sub.vs(g, &dot, out, n);
                     fns.mul.vv(out, v, out, n);
                   });
}

Kernel log_softmax_grad_kernel(const TensorSpec& y, int64_t axis) {
  return along_two("log_softmax_grad", y, axis,
                   []<class C>(const C* g, const C* v, C* out, int64_t n, const Functions<C>& fns) {
                     const C sum = static_cast<C>(line_sum(g, n));
                     fns.exp(v, out, n);
                     fns.mul.vs(out, &sum, out, n);
                     fns.sub.vv(g, out, out, n);
                   });
}

}  // namespace pxl
