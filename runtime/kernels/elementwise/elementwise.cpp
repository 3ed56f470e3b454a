// The broadcast driver for elementwise kernels, which runs the block functions.
#include "runtime/kernels/elementwise/elementwise.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/block/block_integer.hpp"
#include "runtime/kernels/elementwise/broadcast.hpp"
#include "runtime/kernels/elementwise/broadcast_rows.hpp"
#include "runtime/kernels/elementwise/value_and_derivative.hpp"
#include "runtime/kernels/gemm/narrow.hpp"
#include "runtime/kernels/update/fused_update.hpp"

namespace pxl {
namespace {

/// The columns of elementwise_table.inc that all variants of a function have in common.
struct FunctionInfo {
  std::string_view name;
  bool predicate;
  double cost_ns;
};
constexpr bool same = false, predicate = true;
constexpr FunctionInfo unary_info[] = {
#define PXL_UNARY(NAME, RESULT, COST, ...) {#NAME, RESULT, COST},
#include "runtime/kernels/elementwise/elementwise_table.inc"
};
constexpr FunctionInfo binary_info[] = {
#define PXL_BINARY(NAME, RESULT, COST, ...) {#NAME, RESULT, COST},
#define PXL_DERIVATIVE(NAME, FUNCTION, COST, ...) {#NAME, same, COST},
#include "runtime/kernels/elementwise/elementwise_table.inc"
};
constexpr FunctionInfo parametric_info[] = {
#define PXL_PARAMETRIC(NAME, COST, ...) {#NAME, same, COST},
#include "runtime/kernels/elementwise/elementwise_table.inc"
};
constexpr const FunctionInfo& info(Unary op) { return unary_info[static_cast<size_t>(op)]; }
constexpr const FunctionInfo& info(Binary op) { return binary_info[static_cast<size_t>(op)]; }
constexpr const FunctionInfo& info(Parametric op) { return parametric_info[static_cast<size_t>(op)]; }

[[noreturn]] void refuse(std::string_view op, DType dtype) {
  throw Error(std::string(op) + " is not defined for " + std::string(name(dtype)),
              {"cast the operand to a dtype that it takes, such as float32"})
      .as(codes::dtype);
}
UnaryBlock need_unary(Unary op, DType dtype) {
  const UnaryBlock f = unary_block(op, dtype);
  if (!f) refuse(name(op), dtype);
  return f;
}
BinaryBlock need_binary(Binary op, DType dtype) {
  const BinaryBlock f = binary_block(op, dtype);
  if (!f) refuse(name(op), dtype);
  return f;
}

/// Runs fns over the loop nest. Operand elements have `width` bytes, result elements `out_width` bytes.
void run_binary(const LoopNest& nest, const BinaryBlock& fns, const std::byte* a, const std::byte* b, std::byte* out,
                size_t width, size_t out_width) {
  const BinaryFn fn = form_of(fns, nest.inner_stride(0), nest.inner_stride(1));
  // If neither operand has a stride, compute one element and copy it.
  const bool constant = nest.inner_stride(0) == 0 && nest.inner_stride(1) == 0;
  for_each_run<2>(nest, [&](const auto& offset, int64_t n) {
    const std::byte* x = a + static_cast<size_t>(offset[0]) * width;
    const std::byte* y = b + static_cast<size_t>(offset[1]) * width;
    fn(x, y, out, constant ? 1 : n);
    if (constant) {
      for (int64_t i = 1; i < n; ++i) std::memcpy(out + static_cast<size_t>(i) * out_width, out, out_width);
    }
    out += static_cast<size_t>(n) * out_width;
  });
}

template <class T>
void select_run(const bool* c, int64_t sc, const T* a, int64_t sa, const T* b, int64_t sb, T* out, int64_t n) {
  if (sc == 1 && sa <= 1 && sb <= 1) return integer_blocks().select(sizeof(T), sa == 1, sb == 1)(c, a, b, out, n);
  for (int64_t i = 0; i < n; ++i) out[i] = c[i * sc] ? a[i * sa] : b[i * sb];
}

/// Selects against both bounds in one pass.
template <class T>
Kernel clip_of(const Element& lowest, const Element& highest, int64_t n, double cost_ns) {
  T low, high;
  std::memcpy(&low, lowest.bytes, sizeof low);
  std::memcpy(&high, highest.bytes, sizeof high);
  return Kernel::elementwise(n, cost_ns, [=](const Buffers& b, int64_t begin, int64_t end) {
    row_functions<T>().clip(b.input<T>(0) + begin, low, high, b.output<T>(0) + begin, end - begin);
  });
}

template <class T>
Kernel where_of(LoopNest nest) {
  if (nest.extents.size() == 1)
    return Kernel::elementwise(nest.inner(), 0.3 * static_cast<double>(nest.inner()),
                               [sc = nest.inner_stride(0), sa = nest.inner_stride(1), sb = nest.inner_stride(2)](
                                   const Buffers& b, int64_t begin, int64_t end) {
                                 select_run(b.input<bool>(0) + begin * sc, sc, b.input<T>(1) + begin * sa, sa,
                                            b.input<T>(2) + begin * sb, sb, b.output<T>(0) + begin, end - begin);
                               });
  // The outermost loop is divided; results are dense, in the order of the loops.
  const int64_t outermost = nest.extents[0], each = outermost == 0 ? 0 : nest.size() / outermost;
  return Kernel::parallel(outermost, 1, 0.3 * static_cast<double>(nest.size()),
                          [nest = std::move(nest), each](const Buffers& buffers, int64_t begin, int64_t end) {
                            const bool* c = buffers.input<bool>(0);
                            const T* a = buffers.input<T>(1);
                            const T* b = buffers.input<T>(2);
                            T* out = buffers.output<T>(0) + begin * each;
                            for_each_run<3>(nest, begin, end, [&](const auto& at, int64_t n) {
                              select_run(c + at[0], nest.inner_stride(0), a + at[1], nest.inner_stride(1), b + at[2],
                                         nest.inner_stride(2), out, n);
                              out += n;
                            });
                          });
}

}  // namespace

Element::Element(DType d, double value) : Element(Array::scalar(value).cast(d)) {}
Element::Element(const Array& scalar) : dtype(scalar.dtype()) { std::memcpy(bytes, scalar.raw(), size_of(dtype)); }

std::string_view name(Unary op) { return info(op).name; }
std::string_view name(Binary op) { return info(op).name; }
std::string_view name(Parametric op) { return info(op).name; }
bool takes(Unary op, DType dtype) { return unary_block(op, dtype) != nullptr; }
bool takes(Binary op, DType dtype) { return static_cast<bool>(binary_block(op, dtype)); }
DType result_dtype(Unary op, DType in) { return info(op).predicate ? DType::boolean : in; }
DType result_dtype(Binary op, DType in) { return info(op).predicate ? DType::boolean : in; }

Kernel unary_kernel(Unary op, DType in, int64_t n) {
  const UnaryBlock fn = need_unary(op, in);
  if (n == 0) return [](const Buffers&) {};
  const int64_t width = static_cast<int64_t>(size_of(in)),
                out_width = static_cast<int64_t>(size_of(result_dtype(op, in)));
  Kernel kernel = Kernel::elementwise(n, info(op).cost_ns * static_cast<double>(n),
                                      [=](const Buffers& b, int64_t begin, int64_t end) {
                                        if (begin < end)
                                          fn(b.in[0] + begin * width, b.out[0] + begin * out_width, end - begin);
                                      });
  if (in == DType::float32 && has_derivative(op))
    kernel.set_update_op({UpdateOpKind::function, {0}, {}, static_cast<int>(op)});
  return kernel;
}

Kernel parametric_kernel(Parametric op, DType dtype, double p, double q, int64_t n) {
  const ParametricBlock fn = parametric_block(op, dtype);
  if (!fn) refuse(name(op), dtype);
  if (n == 0) return [](const Buffers&) {};
  return Kernel::elementwise(
      n, info(op).cost_ns * static_cast<double>(n),
      [=, width = static_cast<int64_t>(size_of(dtype))](const Buffers& b, int64_t begin, int64_t end) {
        if (begin < end) fn(b.in[0] + begin * width, p, q, b.out[0] + begin * width, end - begin);
      });
}

Kernel binary_kernel(Binary op, DType in, const Shape& a, const Shape& b, const Shape& out) {
  const BinaryBlock fns = need_binary(op, in);
  LoopNest nest = broadcast_loop_nest({a, b}, out);
  const size_t width = size_of(in), out_width = size_of(result_dtype(op, in));
  if (nest.size() == 0) return [](const Buffers&) {};
  if (nest.extents.size() == 1 && (nest.inner_stride(0) != 0 || nest.inner_stride(1) != 0)) {
    const BinaryFn fn = form_of(fns, nest.inner_stride(0), nest.inner_stride(1));
    const size_t step_a = nest.inner_stride(0) != 0 ? width : 0, step_b = nest.inner_stride(1) != 0 ? width : 0;
    const int64_t n = nest.inner();
    Kernel kernel = Kernel::elementwise(
        n, info(op).cost_ns * static_cast<double>(n), [=](const Buffers& x, int64_t begin, int64_t end) {
          const auto at = static_cast<size_t>(begin);
          if (begin < end) fn(x.in[0] + at * step_a, x.in[1] + at * step_b, x.out[0] + at * out_width, end - begin);
        });
    const std::optional<Unary> function = derivative_of(op);
    if (function && in == DType::float32 && step_a != 0 && step_b != 0)
      kernel.set_update_op({UpdateOpKind::derivative, {0, 1}, {}, static_cast<int>(*function)});
    return kernel;
  }
  if (nest.extents.size() == 2 && (nest.inner_stride(0) != 0 || nest.inner_stride(1) != 0)) {
    const BroadcastRows rows{
        nest.inner(), {nest.strides[0][0], nest.strides[1][0]}, {nest.inner_stride(0), nest.inner_stride(1)}};
    const int64_t n = nest.size();
    return Kernel::elementwise(n, info(op).cost_ns * static_cast<double>(n),
                               [=](const Buffers& x, int64_t begin, int64_t end) {
                                 run_rows(rows, fns, x.in[0], x.in[1], x.out[0], width, out_width, begin, end);
                               });
  }
  return [nest = std::move(nest), fns, width, out_width](const Buffers& x) {
    run_binary(nest, fns, x.in[0], x.in[1], x.out[0], width, out_width);
  };
}

namespace {

/// The operand that the other one scales, if there is one. It is as large as the result, and the scales are one number,
/// or repeat by rows or columns.
std::optional<NarrowSource> scaled_operand(const LoopNest& nest) {
  const size_t loops = nest.extents.size();
  if (loops > 2) return std::nullopt;
  for (size_t k : {size_t{0}, size_t{1}}) {
    const size_t other = 1 - k;
    const bool whole = nest.inner_stride(k) == 1 && (loops == 1 || nest.strides[k][0] == nest.inner());
    if (!whole || (loops == 1 && nest.inner_stride(other) != 0)) continue;
    return NarrowSource{.slot = k,
                        .scales = static_cast<int>(other),
                        .inner = nest.inner(),
                        .outer_step = loops == 1 ? 0 : nest.strides[other][0],
                        .inner_step = nest.inner_stride(other)};
  }
  return std::nullopt;
}

}  // namespace

Kernel multiply_kernel(DType in, const Shape& a, const Shape& b, const Shape& out) {
  Kernel kernel = binary_kernel(Binary::mul, in, a, b, out);
  if (in != DType::float32 || !kernel.is_fusion_consumer()) return kernel;
  if (const std::optional<NarrowSource> source = scaled_operand(broadcast_loop_nest({a, b}, out)))
    kernel.set_narrow_source(*source);
  return kernel;
}

Kernel nary_kernel(Binary op, DType dtype, const std::vector<Shape>& inputs, const Shape& out) {
  if (inputs.empty()) throw Error(std::string(name(op)) + " needs at least one operand");
  const BinaryBlock fns = need_binary(op, dtype);
  const size_t width = size_of(dtype);
  if (element_count(out) == 0) return [](const Buffers&) {};
  if (inputs.size() == 1) {
    LoopNest nest = broadcast_loop_nest({inputs[0], inputs[0]}, out);
    return [nest = std::move(nest), width](const Buffers& b) {
      std::byte* to = b.out[0];
      for_each_run<1>(nest, [&](const auto& at, int64_t n) {
        const std::byte* from = b.in[0] + static_cast<size_t>(at[0]) * width;
        if (nest.inner_stride(0) == 1) {
          std::memmove(to, from, static_cast<size_t>(n) * width);
        } else {
          for (int64_t i = 0; i < n; ++i) std::memcpy(to + static_cast<size_t>(i) * width, from, width);
        }
        to += static_cast<size_t>(n) * width;
      });
    };
  }
  if (inputs.size() == 2) return binary_kernel(op, dtype, inputs[0], inputs[1], out);
  const int64_t n = element_count(out);
  if (std::all_of(inputs.begin(), inputs.end(), [&](const Shape& shape) { return shape == out; })) {
    const double cost_ns = info(op).cost_ns * static_cast<double>(n) * static_cast<double>(inputs.size() - 1);
    return Kernel::elementwise(
        n, cost_ns, [vv = fns.vv, width, count = inputs.size()](const Buffers& b, int64_t begin, int64_t end) {
          if (begin >= end) return;
          const size_t at = static_cast<size_t>(begin) * width;
          vv(b.in[0] + at, b.in[1] + at, b.out[0] + at, end - begin);
          for (size_t i = 2; i < count; ++i) vv(b.out[0] + at, b.in[i] + at, b.out[0] + at, end - begin);
        });
  }
  std::vector<LoopNest> walks{broadcast_loop_nest({inputs[0], inputs[1]}, out)};
  for (size_t i = 2; i < inputs.size(); ++i) walks.push_back(broadcast_loop_nest({out, inputs[i]}, out));
  return [walks = std::move(walks), fns, width](const Buffers& b) {
    run_binary(walks[0], fns, b.in[0], b.in[1], b.out[0], width, width);
    for (size_t i = 1; i < walks.size(); ++i) run_binary(walks[i], fns, b.out[0], b.in[i + 1], b.out[0], width, width);
  };
}

Kernel where_kernel(DType dtype, const Shape& condition, const Shape& a, const Shape& b, const Shape& out) {
  LoopNest nest = broadcast_loop_nest({condition, a, b}, out);
  switch (size_of(dtype)) {
    case 1: return where_of<uint8_t>(std::move(nest));
    case 2: return where_of<uint16_t>(std::move(nest));
    case 4: return where_of<uint32_t>(std::move(nest));
    default: return where_of<uint64_t>(std::move(nest));
  }
}

Kernel clip_kernel(const Element& lowest, const Element& highest, int64_t n) {
  const DType dtype = lowest.dtype;
  const BinaryFn at_least = need_binary(Binary::maximum, dtype).vs, at_most = need_binary(Binary::minimum, dtype).vs;
  if (n == 0) return [](const Buffers&) {};
  const double cost_ns = 0.2 * static_cast<double>(n);
  if (dtype == DType::float32) return clip_of<float>(lowest, highest, n, cost_ns);
  if (dtype == DType::float64) return clip_of<double>(lowest, highest, n, cost_ns);
  return Kernel::elementwise(
      n, cost_ns, [=, width = static_cast<int64_t>(size_of(dtype))](const Buffers& b, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i += block_size) {
          const int64_t m = std::min(block_size, end - i);
          at_least(b.in[0] + i * width, lowest.bytes, b.out[0] + i * width, m);
          at_most(b.out[0] + i * width, highest.bytes, b.out[0] + i * width, m);
        }
      });
}

Kernel clip_grad_kernel(const Element& lowest, const Element& highest, int64_t n) {
  const DType dtype = lowest.dtype;
  if (!is_floating(dtype)) refuse("clip_grad", dtype);
  const BinaryFn at_least = need_binary(Binary::greater_equal, dtype).vs;
  const BinaryFn at_most = need_binary(Binary::less_equal, dtype).vs;
  const auto select = [&]<class T>(T) {
    return Kernel::elementwise(n, 0.4 * static_cast<double>(n), [=](const Buffers& b, int64_t begin, int64_t end) {
      bool from_low[block_size], to_high[block_size];
      for (int64_t i = begin; i < end; i += block_size) {
        const int64_t m = std::min(block_size, end - i);
        const T *dy = b.input<T>(0) + i, *x = b.input<T>(1) + i;
        at_least(x, lowest.bytes, from_low, m);
        at_most(x, highest.bytes, to_high, m);
        for (int64_t j = 0; j < m; ++j) from_low[j] &= to_high[j];
        const T zero = 0;
        select_run(from_low, 1, dy, 1, &zero, 0, b.output<T>(0) + i, m);
      }
    });
  };
  if (n == 0) return [](const Buffers&) {};
  switch (size_of(dtype)) {
    case 2: return select(uint16_t{});
    case 4: return select(uint32_t{});
    default: return select(uint64_t{});
  }
}

Kernel gate_grad_kernel(DType dtype, double low, double high, double inside, double outside, int64_t n) {
  if (!is_floating(dtype)) refuse("gate_grad", dtype);
  if (n == 0) return [](const Buffers&) {};
  const double cost_ns = 0.2 * static_cast<double>(n);
  const auto run = [=]<class T>(const T* g, const T* x, T* out, int64_t count) {
    row_functions<T>().gate(g, x, static_cast<T>(low), static_cast<T>(high), static_cast<T>(inside),
                            static_cast<T>(outside), out, count);
  };
  const auto of = [&]<class T>(T) {
    return Kernel::elementwise(n, cost_ns, [=](const Buffers& b, int64_t begin, int64_t end) {
      run(b.input<T>(0) + begin, b.input<T>(1) + begin, b.output<T>(0) + begin, end - begin);
    });
  };
  if (dtype == DType::float32) return of(float{});
  if (dtype == DType::float64) return of(double{});
  return Kernel::elementwise(n, cost_ns,
                             [=, narrow = narrow_functions(dtype)](const Buffers& b, int64_t begin, int64_t end) {
                               float g[block_size], x[block_size];
                               for (int64_t i = begin; i < end; i += block_size) {
                                 const int64_t m = std::min(block_size, end - i);
                                 narrow->widen(b.input<uint16_t>(0) + i, g, m);
                                 narrow->widen(b.input<uint16_t>(1) + i, x, m);
                                 run(g, x, g, m);
                                 narrow->round(g, b.output<uint16_t>(0) + i, m);
                               }
                             });
}

Kernel increment_mod_kernel(const Element& step, const Element& limit, int64_t n) {
  const DType dtype = step.dtype;
  const BinaryFn add = need_binary(Binary::add, dtype).vs, mod = need_binary(Binary::fmod, dtype).vs;
  const bool zero = read_number(dtype, limit.bytes) == 0;
  return [=, width = static_cast<int64_t>(size_of(dtype))](const Buffers& b) {
    for (int64_t i = 0; i < n; i += block_size) {
      const int64_t m = std::min(block_size, n - i);
      add(b.in[0] + i * width, step.bytes, b.out[0] + i * width, m);
      if (!zero)
        mod(b.out[0] + i * width, limit.bytes, b.out[0] + i * width, m);
      else
        std::memset(b.out[0] + i * width, 0, static_cast<size_t>(m * width));
    }
  };
}

Kernel fill_kernel(const Element& element, int64_t n) {
  const auto width = static_cast<int64_t>(size_of(element.dtype));
  return Kernel::parallel(n, 64, 0.1 * static_cast<double>(n * width),
                          [element, width, fill = integer_blocks().fill(size_of(element.dtype))](
                              const Buffers& b, int64_t begin, int64_t end) {
                            if (begin < end) fill(element.bytes, b.out[0] + begin * width, end - begin);
                          });
}

}  // namespace pxl
