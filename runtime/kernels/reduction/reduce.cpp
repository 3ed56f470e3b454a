// Reductions in one pass over the input in memory order. An innermost run along a reduced axis goes to one accumulator;
// a run along a kept axis goes to as many adjacent accumulators.
#include "runtime/kernels/reduction/reduce.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/threads/thread_pool.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/block/block_integer.hpp"
#include "runtime/kernels/block/extremes.hpp"
#include "runtime/kernels/elementwise/broadcast.hpp"

namespace pxl {
namespace {

#include "runtime/kernels/reduction/reduction_terms.inc"

template <class R>
constexpr bool takes_integers = !std::is_same_v<decltype(R::integer_finish(int64_t(), int64_t())), None>;

/// The properties of a row that are the same for all dtypes.
struct ReductionInfo {
  std::string_view name;
  bool needs_elements;  ///< undefined without elements
  bool shifted;         ///< needs the maximum or the mean, from a first pass
  bool centred;         ///< needs the mean
  bool integers;        ///< defined for integers
  int direction;        ///< the monoid's direction
  double (*divisor)(double count);
  ColumnTotals<float> (*columns32)();
  ColumnTotals<double> (*columns64)();
};
constexpr ReductionInfo infos[] = {
#define PXL_REDUCTION(NAME, ...)     \
  {#NAME,                            \
   NAME##_reduction::needs_elements, \
   NAME##_reduction::shifted,        \
   NAME##_reduction::centred,        \
   takes_integers<NAME##_reduction>, \
   NAME##_reduction::direction,      \
   NAME##_reduction::divisor,        \
   NAME##_reduction::columns<float>, \
   NAME##_reduction::columns<double>},
#include "runtime/kernels/reduction/reduction_table.inc"
};
constexpr const ReductionInfo& info(Reduction op) { return infos[static_cast<size_t>(op)]; }

struct ReductionLoop {
  LoopNest nest;  ///< operand 0: the input, 1: the accumulators
  LoopNest rows;  ///< the loops around the innermost one
  int64_t out_size = 0;
  int64_t count = 0;  ///< elements per result
  int kept = -1;      ///< the outermost loop over a kept axis; -1 if there is none

  /// The iterations [begin, end) of the kept loop. Their results are contiguous.
  ReductionLoop part(int64_t begin, int64_t end) const {
    ReductionLoop p = *this;
    const auto k = static_cast<size_t>(kept);
    p.nest.extents[k] = end - begin;
    if (k < p.rows.extents.size()) p.rows.extents[k] = end - begin;
    p.out_size = (end - begin) * nest.strides[1][k];
    return p;
  }
  int64_t input_offset(int64_t begin) const { return begin * nest.strides[0][static_cast<size_t>(kept)]; }
  int64_t output_offset(int64_t begin) const { return begin * nest.strides[1][static_cast<size_t>(kept)]; }
};

#include "runtime/kernels/reduction/reduction_loops.inc"

template <class R, class A>
void finish(void* of, int64_t n, int64_t count, [[maybe_unused]] const double* shift) {
  A* totals = static_cast<A*>(of);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_integral_v<A>)
      totals[i] = R::integer_finish(totals[i], static_cast<A>(count));
    else
      totals[i] = R::finish(totals[i], static_cast<double>(count), R::shifted ? shift[i] : 0.0);
  }
}

template <class R, class A>
void join(void* total, const void* other) {
  *static_cast<A*>(total) = R::join(*static_cast<const A*>(total), *static_cast<const A*>(other));
}

/// A row for elements of one dtype. Totals have 8 bytes: float64, or 64-bit integers.
struct ReductionKernels {
  void (*accumulate)(const ReductionLoop& plan, const std::byte* in, void* totals, const double* shift);
  void (*total_of)(const std::byte* in, int64_t n, void* total, const double* shift);
  void (*finish)(void* totals, int64_t n, int64_t count, const double* shift);
  void (*join)(void* total, const void* other);
};
constexpr int64_t total_bytes = 8;
template <class R, class T>
constexpr ReductionKernels kernels_of() {
  static_assert(sizeof(total_type<T>) == total_bytes);
  if constexpr (std::is_integral_v<T> && !takes_integers<R>)
    return {};
  else
    return {accumulate<typename R::Terms, T>, total_of<typename R::Terms, T>, finish<R, total_type<T>>,
            join<typename R::Terms, total_type<T>>};
}
template <class T>
constexpr ReductionKernels kernels[] = {
#define PXL_REDUCTION(NAME, ...) kernels_of<NAME##_reduction, T>(),
#include "runtime/kernels/reduction/reduction_table.inc"
};

/// A reduction over elements of one dtype.
struct TypedReduction {
  Reduction op;
  DType in, total, out;
  ReductionKernels row, first;

  TypedReduction(Reduction of, DType from, DType to) : op(of), in(from), out(to) {
    with_type(from, [&](auto tag) {
      using T = typename decltype(tag)::type;
      total = dtype_of<total_type<T>>();
      row = kernels<T>[static_cast<size_t>(op)];
      first = kernels<T>[static_cast<size_t>(info(op).centred ? Reduction::sum : Reduction::max)];
    });
  }
};

constexpr double reduce_element_ns = 0.15;  // per element; measured with AVX2, processor not recorded

/// Runs a reduction from `in` to `out`. `totals`, and for ShiftedSum `shift`, have one element per result.
void run_reduction(const TypedReduction& r, const ReductionLoop& plan, const std::byte* in, std::byte* out,
                   std::byte* totals, double* shift) {
  const bool shifted = info(r.op).shifted, centred = info(r.op).centred;
  if (shifted) {
    r.first.accumulate(plan, in, shift, nullptr);
    for (int64_t i = 0; i < plan.out_size; ++i)
      shift[i] = centred ? shift[i] / static_cast<double>(plan.count) : std::isinf(shift[i]) ? 0 : shift[i];
  }
  r.row.accumulate(plan, in, totals, shifted ? shift : nullptr);
  r.row.finish(totals, plan.out_size, plan.count, shift);
  convert(r.total, totals, r.out, out, plan.out_size);
}

/// Full reduction to one result. Chunks are reduced in parallel and then combined in order; their number depends on the
/// size only.
Kernel reduce_all(const TypedReduction& r, int64_t n) {
  constexpr int64_t most = 64, piece_size = 4096;
  const int64_t pieces = std::min(most, n / piece_size);
  const auto width = static_cast<int64_t>(size_of(r.in));
  WorkspaceLayout workspace;
  const auto partial = workspace.per_call<std::byte>(most * total_bytes);
  const auto mean = workspace.per_call<double>(1);
  std::vector<Phase> phases;
  const auto add = [&](const ReductionKernels& row, auto&& whole) {
    phases.push_back({pieces, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                        for (int64_t p = begin; p < end; ++p) {
                          const ChunkRange share = chunk_range(n, static_cast<int>(p), static_cast<int>(pieces));
                          row.total_of(b.in[0] + share.begin * width, share.end - share.begin,
                                       b.workspace(partial) + p * total_bytes, b.workspace(mean));
                        }
                      }});
    phases.push_back({1, 1, [=](const Buffers& b, int64_t, int64_t) {
                        std::byte* total = b.workspace(partial);
                        for (int64_t p = 1; p < pieces; ++p) row.join(total, total + p * total_bytes);
                        whole(b, total);
                      }});
  };
  const bool centred = info(r.op).centred;
  if (centred)
    add(r.first, [=](const Buffers& b, const std::byte* total) {
      std::memcpy(b.workspace(mean), total, sizeof(double));
      *b.workspace(mean) /= static_cast<double>(n);
    });
  add(r.row, [=](const Buffers& b, std::byte* total) {
    r.row.finish(total, 1, n, b.workspace(mean));
    convert(r.total, total, r.out, b.out[0], 1);
  });
  return Kernel::parallel(std::move(phases), (centred ? 2 : 1) * reduce_element_ns * static_cast<double>(n))
      .with_workspace(workspace);
}

/// A reduction over the middle axis of [outer, rows, n], for adjacent columns.
struct ColumnLoop {
  int64_t outer, rows, n;

  /// nullopt for loops of another form. The innermost loop runs over a kept axis.
  static std::optional<ColumnLoop> of(const ReductionLoop& plan) {
    const Shape &extents = plan.nest.extents, &to = plan.nest.strides[1];
    const size_t loops = extents.size();
    if (plan.out_size == 0 || plan.count == 0 || loops < 2 || loops > 3) return std::nullopt;
    if (to[loops - 2] != 0 || to[loops - 1] == 0 || (loops == 3 && to[0] == 0)) return std::nullopt;
    return ColumnLoop{loops == 3 ? extents[0] : 1, extents[loops - 2], extents[loops - 1]};
  }
  /// Calls f(index of the first element, index of the first result, results) for each run of results in [begin, end).
  template <class F>
  void each(int64_t begin, int64_t end, F&& f) const {
    for (int64_t i = begin; i < end;) {
      const int64_t o = i / n, c = i % n, m = std::min(n - c, end - i);
      f(o * rows * n + c, i, m);
      i += m;
    }
  }
  double cost_ns() const { return reduce_element_ns * static_cast<double>(outer * rows) * static_cast<double>(n); }
};

/// Column totals, each in a register. The gradient of a bias is such a sum.
template <class T>
Kernel total_of_columns(const ColumnLoop& loop, ColumnTotals<T> totals, double divisor) {
  WorkspaceLayout workspace;
  const bool in_memory = loop.rows > column_sum_row_block;
  const auto sums = workspace.per_call<double>(in_memory ? loop.outer * loop.n : 0);
  return Kernel::element_producer(loop.outer * loop.n, 64, loop.cost_ns(),
                                  [=](const Buffers& b, int64_t begin, int64_t end) {
                                    loop.each(begin, end, [&](int64_t from, int64_t to, int64_t m) {
                                      double* acc = in_memory ? b.workspace(sums) + to : nullptr;
                                      totals(b.input<T>(0) + from, loop.rows, loop.n, divisor, acc, b.output<T>(0) + to,
                                             m);
                                    });
                                  })
      .with_workspace(workspace);
}

/// The largest or the smallest element of each column, which is the result itself.
template <class T>
Kernel extreme_of_columns(const ColumnLoop& loop, bool largest) {
  const auto rows = largest ? row_functions<T>().max_rows : row_functions<T>().min_rows;
  return Kernel::element_producer(loop.outer * loop.n, 64, loop.cost_ns(),
                                  [=](const Buffers& b, int64_t begin, int64_t end) {
                                    loop.each(begin, end, [&](int64_t from, int64_t to, int64_t m) {
                                      rows(b.input<T>(0) + from, loop.rows, loop.n, b.output<T>(0) + to, m);
                                    });
                                  });
}

/// The largest or the smallest integer of each column.
Kernel integer_extreme_of_columns(const ColumnLoop& loop, bool largest, DType dtype) {
  const BinaryFn join = binary_block(largest ? Binary::maximum : Binary::minimum, dtype).vv;
  const auto width = static_cast<int64_t>(size_of(dtype));
  return Kernel::element_producer(loop.outer * loop.n, 64, loop.cost_ns(),
                                  [=](const Buffers& b, int64_t begin, int64_t end) {
                                    loop.each(begin, end, [&](int64_t from, int64_t to, int64_t m) {
                                      const std::byte* x = b.in[0] + from * width;
                                      std::byte* out = b.out[0] + to * width;
                                      std::memcpy(out, x, static_cast<size_t>(m * width));
                                      for (int64_t r = 1; r < loop.rows; ++r) join(out, x + r * loop.n * width, out, m);
                                    });
                                  });
}

/// ln(sum e^x) of columns, whose exponentials stay in L1.
template <class T>
Kernel log_sum_exp_of_columns(const ColumnLoop& loop) {
  constexpr double exponential_ns = 0.7;  // as for the elementwise function
  const double cost_ns = exponential_ns / reduce_element_ns * loop.cost_ns();
  return Kernel::element_producer(loop.outer * loop.n, 64, cost_ns, [=](const Buffers& b, int64_t begin, int64_t end) {
    loop.each(begin, end, [&](int64_t from, int64_t to, int64_t m) {
      for (int64_t i = 0; i < m; i += column_block)
        row_functions<T>().log_sum_exp_columns(b.input<T>(0) + from + i, b.output<T>(0) + to + i, loop.rows,
                                               std::min(column_block, m - i), loop.n);
    });
  });
}

/// Whether a first pass finds the maximum.
bool is_of_powers(Reduction op) { return info(op).shifted && !info(op).centred; }

/// Whether reduction_of_columns computes columns of a dtype.
bool has_columns(Reduction op, DType dtype) {
  const bool other = is_of_powers(op) || info(op).direction != 0;
  if (dtype == DType::float32) return info(op).columns32() || other;
  if (dtype == DType::float64) return info(op).columns64() || other;
  return is_integer(dtype) && info(op).direction != 0;
}

/// Column totals that have a function, ln(sum e^x) and extremes of columns; nullopt for other reductions.
std::optional<Kernel> reduction_of_columns(Reduction op, const ReductionLoop& plan, DType dtype) {
  const std::optional<ColumnLoop> columns = ColumnLoop::of(plan);
  if (!columns || !has_columns(op, dtype)) return std::nullopt;
  const double divisor = info(op).divisor(static_cast<double>(plan.count));
  const int direction = info(op).direction;
  if (dtype == DType::float32) {
    if (const auto totals = info(op).columns32()) return total_of_columns<float>(*columns, totals, divisor);
    if (is_of_powers(op)) return log_sum_exp_of_columns<float>(*columns);
    if (direction != 0) return extreme_of_columns<float>(*columns, direction > 0);
  } else if (dtype == DType::float64) {
    if (const auto totals = info(op).columns64()) return total_of_columns<double>(*columns, totals, divisor);
    if (is_of_powers(op)) return log_sum_exp_of_columns<double>(*columns);
    if (direction != 0) return extreme_of_columns<double>(*columns, direction > 0);
  } else if (is_integer(dtype) && direction != 0) {
    return integer_extreme_of_columns(*columns, direction > 0, dtype);
  }
  return std::nullopt;
}

/// The loops of a reduction.
ReductionLoop loops_of(const TensorSpec& in, const std::vector<bool>& reduced) {
  Shape kept = in.shape;
  for (size_t i = 0; i < reduced.size(); ++i)
    if (reduced[i]) kept[i] = 1;
  Shape out_strides = strides_of(kept);
  for (size_t i = 0; i < reduced.size(); ++i)
    if (reduced[i] || in.shape[i] == 1) out_strides[i] = 0;
  ReductionLoop plan{make_loop_nest(in.shape, {strides_of(in.shape), out_strides}), {}, element_count(kept), 0, -1};
  plan.rows = without_innermost(plan.nest);
  for (size_t d = 0; d < plan.nest.extents.size() && plan.kept < 0; ++d)
    if (plan.nest.strides[1][d] != 0) plan.kept = static_cast<int>(d);
  plan.count = 1;
  for (size_t i = 0; i < reduced.size(); ++i) plan.count *= reduced[i] ? in.shape[i] : 1;
  return plan;
}

/// Whether reduce_all computes the reduction.
bool is_one_total(Reduction op, const ReductionLoop& plan) {
  return plan.out_size == 1 && plan.nest.extents.size() == 1 && plan.count >= 16384 && !is_of_powers(op);
}

/// Integers and bool accumulate in 64 bits; sums and products wrap, as unsigned.
Kernel reduction_of(Reduction op, ReductionLoop plan, DType in, DType out) {
  if (in == out)
    if (std::optional<Kernel> columns = reduction_of_columns(op, plan, in)) return *std::move(columns);
  const TypedReduction r(op, in, out);
  const bool shifted = info(op).shifted;
  if (is_one_total(op, plan)) return reduce_all(r, plan.count);
  WorkspaceLayout workspace;
  const auto sums = workspace.per_call<std::byte>(plan.out_size * total_bytes);
  const auto shifts = workspace.per_call<double>(shifted ? plan.out_size : 0);
  if (plan.kept < 0 || plan.out_size == 0) {
    return Kernel([=](const Buffers& b) {
             run_reduction(r, plan, b.in[0], b.out[0], b.workspace(sums), b.workspace(shifts));
           })
        .with_workspace(workspace);
  }
  const auto kept = static_cast<size_t>(plan.kept);
  const int64_t iterations = plan.nest.extents[kept], width = plan.nest.strides[1][kept];
  const double cost_ns = reduce_element_ns * static_cast<double>(plan.out_size * plan.count);
  const auto part = [=](const Buffers& b, int64_t begin, int64_t end) {
    const int64_t to = plan.output_offset(begin);
    std::byte* totals = b.workspace(sums) + to * total_bytes;
    double* shift = b.workspace(shifts) + to;
    if (begin == 0 && end == iterations) return run_reduction(r, plan, b.in[0], b.out[0], totals, shift);
    run_reduction(r, plan.part(begin, end), b.in[0] + plan.input_offset(begin) * static_cast<int64_t>(size_of(in)),
                  b.out[0] + to * static_cast<int64_t>(size_of(out)), totals, shift);
  };
  // If an iteration is one result, elementwise kernels can be fused.
  if (width == 1) return Kernel::element_producer(iterations, 64, cost_ns, part).with_workspace(workspace);
  return Kernel::parallel(iterations, 1, cost_ns, part).with_workspace(workspace);
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

std::string_view name(Reduction op) { return info(op).name; }

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
  const std::vector<bool> reduced = reduced_flags(in.shape, axes);
  ReductionLoop plan = loops_of(in, reduced);
  if (plan.count == 0 && plan.out_size > 0 && info(op).needs_elements) {
    throw Error(std::string(name(op)) + " of no elements (shape " + bracket_text(in.shape) + ")").as(codes::shape);
  }
  if (!is_floating(in.dtype) && !info(op).integers) {
    throw Error(std::string(name(op)) + " is not defined for " + std::string(name(in.dtype)), {"cast to float32 first"})
        .as(codes::dtype);
  }
  return reduction_of(op, std::move(plan), in.dtype, out);
}

bool reduces_in_order(Reduction op, const TensorSpec& in, const std::vector<int64_t>& axes, DType out) {
  const ReductionLoop plan = loops_of(in, reduced_flags(in.shape, axes));
  if (in.dtype == out && has_columns(op, in.dtype) && ColumnLoop::of(plan)) return true;
  return !is_one_total(op, plan) && plan.kept >= 0 && plan.out_size > 0 &&
         plan.nest.strides[1][static_cast<size_t>(plan.kept)] == 1;
}

}  // namespace pxl
