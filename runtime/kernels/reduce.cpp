// Reductions in one pass over the input in memory order: an innermost run along a reduced axis goes to one accumulator,
// one along a kept axis to as many adjacent accumulators.
#include "runtime/kernels/reduce.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>

#include "runtime/base/codes.hpp"
#include "runtime/base/diagnostic.hpp"
#include "runtime/base/thread_pool.hpp"
#include "runtime/kernels/block.hpp"
#include "runtime/kernels/broadcast.hpp"

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
  static double product(const float* x, int64_t n) { return bulk().product32(x, n); }
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
  static double product(const double* x, int64_t n) { return bulk().product64(x, n); }
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
    case Reduction::prod: acc *= Bulk<T>::product(x, n); break;
    case Reduction::logsumexp: acc += sum_exp(x, shift, n); break;
    case Reduction::median: break;
  }
}

/// One run into adjacent accumulators.
template <class T>
void reduce_across(Reduction op, double* acc, const T* x, int64_t n, const double* shift) {
  switch (op) {
    case Reduction::sum:
    case Reduction::mean:
    case Reduction::logsum: Bulk<T>::add_to(acc, x, n); break;
    case Reduction::sumsquare:
    case Reduction::l2: Bulk<T>::add_square_to(acc, x, n); break;
    case Reduction::l1: row_functions<T>().absolute_to(acc, x, n); break;
    case Reduction::max: row_functions<T>().max_to(acc, x, n); break;
    case Reduction::min: row_functions<T>().min_to(acc, x, n); break;
    case Reduction::prod: row_functions<T>().multiply_to(acc, x, n); break;
    case Reduction::logsumexp:
      for (int64_t i = 0; i < n; ++i) acc[i] += std::exp(static_cast<double>(x[i]) - shift[i]);
      break;
    case Reduction::median: break;
  }
}

double identity_of(Reduction op) {
  return op == Reduction::max ? -infinity : op == Reduction::min ? infinity : op == Reduction::prod ? 1.0 : 0.0;
}

struct ReductionLoop {
  LoopNest nest;  ///< operand 0: the input, 1: the accumulators
  int64_t out_size = 0;
  int64_t count = 0;  ///< elements per result
  int kept = -1;      ///< the outermost loop over a kept axis; -1 if there is none

  /// The iterations [begin, end) of the kept loop; their results are contiguous.
  ReductionLoop part(int64_t begin, int64_t end) const {
    ReductionLoop p = *this;
    const auto k = static_cast<size_t>(kept);
    p.nest.extents[k] = end - begin;
    p.out_size = (end - begin) * nest.strides[1][k];
    return p;
  }
  int64_t input_offset(int64_t begin) const { return begin * nest.strides[0][static_cast<size_t>(kept)]; }
  int64_t output_offset(int64_t begin) const { return begin * nest.strides[1][static_cast<size_t>(kept)]; }
};

template <class T>
void accumulate(Reduction op, const ReductionLoop& plan, const std::byte* in, double* acc, const double* shift) {
  std::fill(acc, acc + plan.out_size, identity_of(op));
  const bool across = plan.nest.inner_stride(1) != 0;
  for_each_run<2>(plan.nest, [&](const auto& at, int64_t n) {
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

constexpr double reduce_element_ns = 0.15;  // per element; measured with AVX2, processor not recorded

/// Runs a reduction from `in` to `out`. `acc`, and for logsumexp `shift`, have one element per result.
template <class T>
void reduce_floating(Reduction op, const ReductionLoop& plan, DType out_type, const std::byte* in, std::byte* out,
                     double* acc, double* shift) {
  const size_t size = static_cast<size_t>(plan.out_size);
  if (op == Reduction::logsumexp) {
    accumulate<T>(Reduction::max, plan, in, shift, nullptr);
    for (size_t i = 0; i < size; ++i) {
      if (std::isinf(shift[i])) shift[i] = 0;
    }
    accumulate<T>(op, plan, in, acc, shift);
    for (size_t i = 0; i < size; ++i) acc[i] = std::log(acc[i]) + shift[i];
  } else {
    accumulate<T>(op, plan, in, acc, nullptr);
    const auto finish = [&](auto f) { std::transform(acc, acc + size, acc, f); };
    if (op == Reduction::mean) finish([count = static_cast<double>(plan.count)](double x) { return x / count; });
    if (op == Reduction::l2) finish([](double x) { return std::sqrt(x); });
    if (op == Reduction::logsum) finish([](double x) { return std::log(x); });
  }
  convert(DType::float64, reinterpret_cast<const std::byte*>(acc), out_type, out, plan.out_size);
}

/// Full reduction to one result: chunks, whose number depends on the size only, are reduced in parallel and then
/// combined in order.
template <class T>
Kernel reduce_all(Reduction op, const ReductionLoop& plan, DType out) {
  constexpr int64_t most = 64, piece_size = 4096;
  const int64_t n = plan.count, pieces = std::min(most, n / piece_size);
  WorkspaceLayout workspace;
  const auto partial = workspace.per_call<double>(most);
  std::vector<Phase> phases;
  phases.push_back({pieces, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                      for (int64_t p = begin; p < end; ++p) {
                        const ChunkRange share = chunk_range(n, static_cast<int>(p), static_cast<int>(pieces));
                        ReductionLoop part = plan;
                        part.nest.extents.back() = share.end - share.begin;
                        accumulate<T>(op, part, b.in[0] + share.begin * static_cast<int64_t>(sizeof(T)),
                                      b.workspace(partial) + p, nullptr);
                      }
                    }});
  phases.push_back({1, 1, [=](const Buffers& b, int64_t, int64_t) {
                      const double* sums = b.workspace(partial);
                      double total = sums[0];
                      for (int64_t p = 1; p < pieces; ++p) {
                        const double x = sums[p];
                        total = op == Reduction::max    ? larger(total, x)
                                : op == Reduction::min  ? smaller(total, x)
                                : op == Reduction::prod ? total * x
                                                        : total + x;
                      }
                      if (op == Reduction::mean) total /= static_cast<double>(n);
                      if (op == Reduction::l2) total = std::sqrt(total);
                      if (op == Reduction::logsum) total = std::log(total);
                      convert(DType::float64, reinterpret_cast<const std::byte*>(&total), out, b.out[0], 1);
                    }});
  return Kernel::parallel(std::move(phases), reduce_element_ns * static_cast<double>(n)).with_workspace(workspace);
}

/// Column sums or means (the gradient of a bias), each in a register.
template <class T>
Kernel sum_over_rows(const ReductionLoop& plan, double divisor) {
  const int64_t rows = plan.nest.extents[0], n = plan.nest.extents[1];
  WorkspaceLayout workspace;
  const auto sums = workspace.per_call<double>(rows > column_sum_row_block ? n : 0);
  return Kernel::element_producer(n, 64, reduce_element_ns * static_cast<double>(rows * n),
                                  [=](const Buffers& b, int64_t begin, int64_t end) {
                                    double* acc = rows > column_sum_row_block ? b.workspace(sums) + begin : nullptr;
                                    row_functions<T>().sum_rows(b.input<T>(0) + begin, rows, n, divisor, acc,
                                                                b.output<T>(0) + begin, end - begin);
                                  })
      .with_workspace(workspace);
}

template <class T>
Kernel floating(Reduction op, ReductionLoop plan, DType out) {
  if constexpr (!std::is_same_v<T, half>) {
    const bool rows = plan.nest.extents.size() == 2 && plan.kept == 1 && plan.out_size > 0 && plan.count > 0;
    if (rows && out == dtype_of<T>() && (op == Reduction::sum || op == Reduction::mean))
      return sum_over_rows<T>(plan, op == Reduction::mean ? static_cast<double>(plan.count) : 1.0);
  }
  if (plan.out_size == 1 && plan.nest.extents.size() == 1 && plan.count >= 16384 && op != Reduction::logsumexp)
    return reduce_all<T>(op, plan, out);
  WorkspaceLayout workspace;
  const auto sums = workspace.per_call<double>(plan.out_size);
  const auto shifts = workspace.per_call<double>(op == Reduction::logsumexp ? plan.out_size : 0);
  if (plan.kept < 0 || plan.out_size == 0) {
    return Kernel([=](const Buffers& b) {
             reduce_floating<T>(op, plan, out, b.in[0], b.out[0], b.workspace(sums), b.workspace(shifts));
           })
        .with_workspace(workspace);
  }
  const auto kept = static_cast<size_t>(plan.kept);
  const int64_t iterations = plan.nest.extents[kept], width = plan.nest.strides[1][kept];
  const double cost_ns = reduce_element_ns * static_cast<double>(plan.out_size * plan.count);
  const auto part = [=](const Buffers& b, int64_t begin, int64_t end) {
    const int64_t to = plan.output_offset(begin);
    double *acc = b.workspace(sums) + to, *shift = b.workspace(shifts) + to;
    if (begin == 0 && end == iterations) return reduce_floating<T>(op, plan, out, b.in[0], b.out[0], acc, shift);
    reduce_floating<T>(op, plan.part(begin, end), out, b.in[0] + plan.input_offset(begin) * int64_t{sizeof(T)},
                       b.out[0] + to * static_cast<int64_t>(size_of(out)), acc, shift);
  };
  // If an iteration is one result, elementwise kernels can be fused.
  if (width == 1) return Kernel::element_producer(iterations, 64, cost_ns, part).with_workspace(workspace);
  return Kernel::parallel(iterations, 1, cost_ns, part).with_workspace(workspace);
}

/// Integers and bool, in 64 bits; sums and products wrap, as unsigned.
template <class T>
Kernel integral(Reduction op, ReductionLoop plan, DType out) {
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  WorkspaceLayout workspace;
  const auto sums = workspace.per_call<Wide>(plan.out_size);
  return Kernel([=](const Buffers& b) {
           const size_t size = static_cast<size_t>(plan.out_size);
           Wide* acc = b.workspace(sums);
           const Wide first = op == Reduction::max    ? std::numeric_limits<Wide>::min()
                              : op == Reduction::min  ? std::numeric_limits<Wide>::max()
                              : op == Reduction::prod ? Wide(1)
                                                      : Wide(0);
           std::fill(acc, acc + size, first);
           const T* in = b.input<T>(0);
           const int64_t step = plan.nest.inner_stride(1);
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
           for_each_run<2>(plan.nest, [&](const auto& at, int64_t n) {
             for (int64_t i = 0; i < n; ++i) {
               Wide& a = acc[at[1] + i * step];
               a = combine(a, static_cast<Wide>(in[at[0] + i]));
             }
           });
           if (op == Reduction::mean) {
             for (size_t i = 0; i < size; ++i)
               acc[i] = plan.count == 0 ? Wide(0) : acc[i] / static_cast<Wide>(plan.count);
           }
           convert(dtype_of<Wide>(), reinterpret_cast<const std::byte*>(acc), out, b.out[0], plan.out_size);
         })
      .with_workspace(workspace);
}

std::vector<bool> reduced_flags(const Shape& in, const std::vector<int64_t>& axes) {
  std::vector<bool> reduced(in.size(), false);
  for (int64_t axis : axes) {
    const size_t a = static_cast<size_t>(normalise_axis(axis, static_cast<int64_t>(in.size())));
    if (reduced[a]) throw Error("axis " + std::to_string(axis) + " is given twice").as(codes::shape);
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
    Kernel kernel = median_kernel(in, axes);
    const WorkspaceLayout workspace(kernel.workspace());
    return Kernel([median = std::move(kernel)](const Buffers& b) {
             std::byte* outputs[] = {b.out[0], nullptr};
             median(b.with(b.in, outputs));
           })
        .with_workspace(workspace);
  }
  const std::vector<bool> reduced = reduced_flags(in.shape, axes);
  const Shape kept = reduced_shape(in.shape, axes, true);
  Shape out_strides = strides_of(kept);
  for (size_t i = 0; i < reduced.size(); ++i) {
    if (reduced[i] || in.shape[i] == 1) out_strides[i] = 0;
  }
  ReductionLoop plan{make_loop_nest(in.shape, {strides_of(in.shape), out_strides}), element_count(kept), 0, -1};
  for (size_t d = 0; d < plan.nest.extents.size() && plan.kept < 0; ++d)
    if (plan.nest.strides[1][d] != 0) plan.kept = static_cast<int>(d);
  plan.count = 1;
  for (size_t i = 0; i < reduced.size(); ++i) plan.count *= reduced[i] ? in.shape[i] : 1;
  if (plan.count == 0 && plan.out_size > 0 && (op == Reduction::max || op == Reduction::min)) {
    throw Error(std::string(name(op)) + " of no elements (shape " + bracket_text(in.shape) + ")").as(codes::shape);
  }
  if (!is_floating(in.dtype) && (op == Reduction::l2 || op == Reduction::logsum || op == Reduction::logsumexp)) {
    throw Error(std::string(name(op)) + " is not defined for " + std::string(name(in.dtype)), {"cast to float32 first"})
        .as(codes::dtype);
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
