// Reductions: the input is walked once in memory order; a run whose axis is reduced adds to one accumulator, a run
// whose axis is kept adds to as many accumulators side by side.
#include "runtime/kernels/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/base/diagnostic.hpp"
#include "runtime/kernels/block.hpp"
#include "runtime/kernels/broadcast.hpp"
#include "runtime/kernels/scratch.hpp"

namespace pxl {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::string_view names[] = {"sum", "mean",      "max",    "min",       "prod",  "l1",
                                      "l2",  "sumsquare", "logsum", "logsumexp", "median"};

double larger(double a, double b) { return a != a ? a : (b != b ? b : (a > b ? a : b)); }
double smaller(double a, double b) { return a != a ? a : (b != b ? b : (a < b ? a : b)); }

template <class T>
struct Bulk;
template <>
struct Bulk<float> {
  static double sum(const float* x, int64_t n) { return bulk().sum32(x, n); }
  static double dot(const float* x, const float* y, int64_t n) { return bulk().dot32(x, y, n); }
  static double absolute(const float* x, int64_t n) { return bulk().abs32(x, n); }
  static double max(const float* x, int64_t n) { return bulk().max32(x, n); }
  static double min(const float* x, int64_t n) { return bulk().min32(x, n); }
  static void add_to(double* acc, const float* x, int64_t n) { bulk().add_to32(acc, x, n); }
  static void add_square_to(double* acc, const float* x, int64_t n) { bulk().add_product_to32(acc, x, x, n); }
};
template <>
struct Bulk<double> {
  static double sum(const double* x, int64_t n) { return bulk().sum64(x, n); }
  static double dot(const double* x, const double* y, int64_t n) { return bulk().dot64(x, y, n); }
  static double absolute(const double* x, int64_t n) { return bulk().abs64(x, n); }
  static double max(const double* x, int64_t n) { return bulk().max64(x, n); }
  static double min(const double* x, int64_t n) { return bulk().min64(x, n); }
  static void add_to(double* acc, const double* x, int64_t n) { bulk().add_to64(acc, x, n); }
  static void add_square_to(double* acc, const double* x, int64_t n) { bulk().add_product_to64(acc, x, x, n); }
};

/// Sum of e^(x - shift).
template <class T>
double sum_exp(const T* x, double shift, int64_t n) {
  T buffer[block_size];
  const T s = static_cast<T>(shift);
  const BinaryFn sub = binary_block(Binary::sub, dtype_of<T>()).vs;
  const UnaryBlock exp = unary_block(Unary::exp, dtype_of<T>());
  double total = 0;
  for (int64_t i = 0; i < n; i += block_size) {
    const int64_t m = std::min(block_size, n - i);
    sub(x + i, &s, buffer, m);
    exp(buffer, buffer, m);
    total += Bulk<T>::sum(buffer, m);
  }
  return total;
}

/// One run into one accumulator. `shift`: of logsumexp's second pass.
template <class T>
void reduce_run(Reduction op, double& acc, const T* x, int64_t n, double shift) {
  switch (op) {
    case Reduction::sum:
    case Reduction::mean:
    case Reduction::logsum: acc += Bulk<T>::sum(x, n); break;
    case Reduction::sumsquare:
    case Reduction::l2: acc += Bulk<T>::dot(x, x, n); break;
    case Reduction::l1: acc += Bulk<T>::absolute(x, n); break;
    case Reduction::max: acc = larger(acc, Bulk<T>::max(x, n)); break;
    case Reduction::min: acc = smaller(acc, Bulk<T>::min(x, n)); break;
    case Reduction::prod:
      for (int64_t i = 0; i < n; ++i) acc *= static_cast<double>(x[i]);
      break;
    case Reduction::logsumexp: acc += sum_exp(x, shift, n); break;
    case Reduction::median: break;
  }
}

/// One run into accumulators side by side.
template <class T>
void reduce_across(Reduction op, double* acc, const T* x, int64_t n, const double* shift) {
  const auto each = [&](auto f) {
    for (int64_t i = 0; i < n; ++i) acc[i] = f(acc[i], static_cast<double>(x[i]));
  };
  switch (op) {
    case Reduction::sum:
    case Reduction::mean:
    case Reduction::logsum: Bulk<T>::add_to(acc, x, n); break;
    case Reduction::sumsquare:
    case Reduction::l2: Bulk<T>::add_square_to(acc, x, n); break;
    case Reduction::l1: each([](double a, double v) { return a + std::fabs(v); }); break;
    case Reduction::max: each(larger); break;
    case Reduction::min: each(smaller); break;
    case Reduction::prod: each([](double a, double v) { return a * v; }); break;
    case Reduction::logsumexp:
      for (int64_t i = 0; i < n; ++i) acc[i] += std::exp(static_cast<double>(x[i]) - shift[i]);
      break;
    case Reduction::median: break;
  }
}

double identity_of(Reduction op) {
  return op == Reduction::max ? -infinity : op == Reduction::min ? infinity : op == Reduction::prod ? 1.0 : 0.0;
}

struct Plan {
  Walk walk;  ///< operand 0: the input, 1: the accumulators
  int64_t out_size = 0;
  int64_t count = 0;  ///< elements per result
};

template <class T>
void accumulate(Reduction op, const Plan& plan, const std::byte* in, double* acc, const double* shift) {
  std::fill(acc, acc + plan.out_size, identity_of(op));
  const bool across = plan.walk.inner_stride(1) != 0;
  for_each_run<2>(plan.walk, [&](const auto& at, int64_t n) {
    const auto run = [&](const auto* x, int64_t to, int64_t m) {
      if (across)
        reduce_across(op, acc + to, x, m, shift ? shift + to : nullptr);
      else
        reduce_run(op, acc[to], x, m, shift ? shift[to] : 0.0);
    };
    if constexpr (std::is_same_v<T, half>) {
      float buffer[block_size];
      for (int64_t i = 0; i < n; i += block_size) {
        const int64_t m = std::min(block_size, n - i);
        bulk().half_to_float(reinterpret_cast<const uint16_t*>(in) + at[0] + i, buffer, m);
        run(buffer, across ? at[1] + i : at[1], m);
      }
    } else {
      run(reinterpret_cast<const T*>(in) + at[0], at[1], n);
    }
  });
}

template <class T>
Kernel floating(Reduction op, Plan plan, DType out) {
  return [op, plan = std::move(plan), out](const Buffers& b) {
    const size_t size = static_cast<size_t>(plan.out_size);
    double* acc = scratch<double, 0>(size);
    if (op == Reduction::logsumexp) {
      double* shift = scratch<double, 1>(size);
      accumulate<T>(Reduction::max, plan, b.in[0], shift, nullptr);
      for (size_t i = 0; i < size; ++i) {
        if (std::isinf(shift[i])) shift[i] = 0;
      }
      accumulate<T>(op, plan, b.in[0], acc, shift);
      for (size_t i = 0; i < size; ++i) acc[i] = std::log(acc[i]) + shift[i];
    } else {
      accumulate<T>(op, plan, b.in[0], acc, nullptr);
      for (size_t i = 0; i < size; ++i) {
        if (op == Reduction::mean) acc[i] /= static_cast<double>(plan.count);
        if (op == Reduction::l2) acc[i] = std::sqrt(acc[i]);
        if (op == Reduction::logsum) acc[i] = std::log(acc[i]);
      }
    }
    convert(DType::float64, reinterpret_cast<const std::byte*>(acc), out, b.out[0], plan.out_size);
  };
}

/// Integers and bool, in 64 bits: sums and products wrap, done unsigned.
template <class T>
Kernel integral(Reduction op, Plan plan, DType out) {
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  return [op, plan = std::move(plan), out](const Buffers& b) {
    const size_t size = static_cast<size_t>(plan.out_size);
    Wide* acc = scratch<Wide, 0>(size);
    const Wide first = op == Reduction::max    ? std::numeric_limits<Wide>::min()
                       : op == Reduction::min  ? std::numeric_limits<Wide>::max()
                       : op == Reduction::prod ? Wide(1)
                                               : Wide(0);
    std::fill(acc, acc + size, first);
    const T* in = b.input<T>(0);
    const int64_t step = plan.walk.inner_stride(1);
    const auto combine = [op](Wide a, Wide v) {
      const uint64_t ua = static_cast<uint64_t>(a), uv = static_cast<uint64_t>(v);
      switch (op) {
        case Reduction::max: return std::max(a, v);
        case Reduction::min: return std::min(a, v);
        case Reduction::prod: return static_cast<Wide>(ua * uv);
        case Reduction::l1: return static_cast<Wide>(ua + (v < 0 ? 0 - uv : uv));
        case Reduction::sumsquare: return static_cast<Wide>(ua + uv * uv);
        default: return static_cast<Wide>(ua + uv);
      }
    };
    for_each_run<2>(plan.walk, [&](const auto& at, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        Wide& a = acc[at[1] + i * step];
        a = combine(a, static_cast<Wide>(in[at[0] + i]));
      }
    });
    if (op == Reduction::mean) {
      for (size_t i = 0; i < size; ++i) acc[i] = plan.count == 0 ? Wide(0) : acc[i] / static_cast<Wide>(plan.count);
    }
    convert(dtype_of<Wide>(), reinterpret_cast<const std::byte*>(acc), out, b.out[0], plan.out_size);
  };
}

std::vector<bool> reduced_flags(const Shape& in, const std::vector<int64_t>& axes) {
  std::vector<bool> reduced(in.size(), false);
  for (int64_t axis : axes) {
    const size_t a = static_cast<size_t>(normalise_axis(axis, static_cast<int64_t>(in.size())));
    if (reduced[a]) throw Error("axis " + std::to_string(axis) + " is given twice");
    reduced[a] = true;
  }
  return reduced;
}

}  // namespace

std::string_view name(Reduction op) { return names[static_cast<size_t>(op)]; }

Shape reduced_shape(const Shape& in, const std::vector<int64_t>& axes, bool keepdims) {
  const std::vector<bool> reduced = reduced_flags(in, axes);
  Shape out;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!reduced[i])
      out.push_back(in[i]);
    else if (keepdims)
      out.push_back(1);
  }
  return out;
}

Kernel reduce_kernel(Reduction op, const TensorSpec& in, const std::vector<int64_t>& axes, DType out) {
  if (op == Reduction::median) {
    return [median = median_kernel(in, axes)](const Buffers& b) {
      std::byte* outputs[] = {b.out[0], nullptr};
      median({b.in, outputs});
    };
  }
  const std::vector<bool> reduced = reduced_flags(in.shape, axes);
  const Shape kept = reduced_shape(in.shape, axes, true);
  Shape out_strides = strides_of(kept);
  for (size_t i = 0; i < reduced.size(); ++i) {
    if (reduced[i] || in.shape[i] == 1) out_strides[i] = 0;
  }
  Plan plan{make_walk(in.shape, {strides_of(in.shape), out_strides}), element_count(kept), 0};
  plan.count = 1;
  for (size_t i = 0; i < reduced.size(); ++i) plan.count *= reduced[i] ? in.shape[i] : 1;
  if (plan.count == 0 && plan.out_size > 0 && (op == Reduction::max || op == Reduction::min)) {
    throw Error(std::string(name(op)) + " of no elements (shape " + bracket_text(in.shape) + ")");
  }
  if (!is_floating(in.dtype) && (op == Reduction::l2 || op == Reduction::logsum || op == Reduction::logsumexp)) {
    throw Error(std::string(name(op)) + " is not defined for " + std::string(name(in.dtype)),
                {"cast to float32 first"});
  }
  return with_type(in.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>)
      return integral<T>(op, std::move(plan), out);
    else
      return floating<T>(op, std::move(plan), out);
  });
}

}  // namespace pxl
