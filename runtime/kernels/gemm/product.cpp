#include "runtime/kernels/gemm/product.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/div_up.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/elementwise/broadcast.hpp"
#include "runtime/kernels/gemm/gemm.hpp"
#include "runtime/kernels/gemm/narrow_product.hpp"
#include "runtime/kernels/gemm/product_panels.hpp"
#include "runtime/kernels/gemm/product_parts.hpp"
#include "runtime/kernels/gemm/skinny.hpp"

namespace pxl {
namespace {

// Weight rows between two calls of the epilogue on their columns of the result.
constexpr int64_t dgrad_wgrad_row_block = 256;

// Maximum rows of a product that reads a transposed right operand in place: packing it would take longer than the
// product. More than max_skinny_dim rows are read in place only if a group's rows fit L1 beside the operand; the limit
// is in floats. Measured with 17 to 128 rows, 256 to 1,024 columns and 250 to 3,000 terms on AMD EPYC with AVX-512: up
// to 512 terms 0.9 to 1.4 times the rate of panels, with more terms 0.5 to 0.7.
constexpr int64_t max_transposed_rows = 128, max_transposed_group = 1 << 13;

// Rows whose distance is a multiple of this many floats, 1 KiB, compete for the same lines of L1. A copy stores such
// rows `stride_padding` floats further apart.
constexpr int64_t conflicting_stride = 256, stride_padding = 16;

// Panel rows between the row that the epilogue changes and the row that is prefetched.
constexpr int64_t fetched_ahead = 2;

// Minimum multiply-accumulates for threads or an epilogue: 20 ns of work at 100 GF/s.
constexpr int64_t min_parallel_macs = 1024;

/// The backward products of a layer x[m, k] @ w[k, n] with dense operands.
SkinnyBackward dense_backward(int64_t m, int64_t n, int64_t k, const float* dy) {
  SkinnyBackward f;
  f.m = m;
  f.n = n;
  f.dy = dy;
  f.lddy = f.ldw = f.ldu = n;
  f.ldx = f.lddx = k;
  return f;
}

/// The products for at most max_skinny_dim rows, or the input gradient for more rows, in groups that reuse w from
/// cache.
void skinny_backward(SkinnyBackward f) {
  const int64_t m = f.m, groups = (m + max_skinny_dim - 1) / max_skinny_dim;
  const float* dy = f.dy;
  float* dx = f.dx;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t row = m * g / groups;
    f.m = m * (g + 1) / groups - row;
    f.dy = dy + row * f.lddy;
    f.dx = dx + row * f.lddx;
    skinny().backward(f);
  }
}

/// Rows [begin, end) of w: the corresponding columns of dx, with their epilogue, and the weight gradient, if there is
/// one.
void run_backward(SkinnyBackward f, const Epilogue& epilogue, const Buffers& b, int64_t begin, int64_t end) {
  const int64_t block = f.m > max_skinny_dim ? std::max<int64_t>(16, right_block / f.n) : dgrad_wgrad_row_block;
  for (int64_t r = begin; r < end; r += block) {
    f.k0 = r;
    f.k1 = std::min(r + block, end);
    skinny_backward(f);
    if (epilogue) run_epilogue_on_columns(epilogue, b, f.dx, f.m, f.lddx, r, f.k1);
  }
}

bool reads_transpose_in_place(const GemmShape& p) {
  if (p.m <= 0 || p.k <= 0 || p.m > max_transposed_rows) return false;
  return p.m <= max_skinny_dim || max_skinny_dim * p.k <= max_transposed_group;
}

/// dy[m, k] @ w[n, k]^T with m <= max_transposed_rows: each row of w yields one result column.
Kernel few_rows_transposed(const GemmShape& p, const ProductOptions& o) {
  const int64_t m = p.m, n = p.n, k = p.k;
  WorkspaceLayout workspace(o.epilogue_workspace);
  const auto result = workspace.per_call<float>(o.out >= 0 ? 0 : m * n);
  const int64_t stride = k % conflicting_stride == 0 ? k + stride_padding : k;
  const auto padded = workspace.per_thread<float>(stride == k ? 0 : m * stride);
  const RightRows rows(o, k, workspace);
  return Kernel::parallel(n, 16, product_ns(p),
                          [=](const Buffers& b, int64_t begin, int64_t end) {
                            SkinnyBackward f = dense_backward(m, k, n, left_of(o, b));
                            if (stride != k && begin < end) {
                              float* to = b.workspace(padded);
                              for (int64_t i = 0; i < m; ++i) std::copy_n(f.dy + i * k, k, to + i * stride);
                              f.dy = to;
                              f.lddy = stride;
                            }
                            f.dx = o.out >= 0 ? b.output<float>(static_cast<size_t>(o.out)) : b.workspace(result);
                            rows.each(b, begin, end, 0, k, [&](const float* w, int64_t, int64_t first, int64_t last) {
                              f.w = w;
                              run_backward(f, o.epilogue, b, first, last);
                            });
                          })
      .with_workspace(workspace);
}

/// Binds the epilogue of a weight gradient [., n] to a backward call: axpy, fused update, or general.
class GradientUse {
 public:
  /// Floats that the constructor's `memory` holds.
  static int64_t memory_size(int64_t n) { return std::max(2 * n, skinny_sink_elements); }

  GradientUse(const ProductOptions& options, const Buffers& buffers, SkinnyBackward& f, float* memory)
      : options_(options), buffers_(buffers), n_(f.n) {
    const auto at = [&](int slot) {
      return slot < 0 ? nullptr
                      : const_cast<float*>(buffers.input<float>(static_cast<size_t>(slot)));  // updated in place
    };
    if (options.add_to >= 0) {
      f.u = at(options.add_to);
      f.alpha = options.alpha;
      f.add = true;
    } else if (options.update.row >= 0 && options.update.constants(buffers, constants_.data())) {
      std::transform(options.update.slots.begin(), options.update.slots.end(), registers_.begin(), at);
      f.update = {options.update.row, registers_.data(), constants_.data()};
    } else {
      f.sink = [](void* self, int64_t row, int64_t rows, float* g) {
        static_cast<const GradientUse*>(self)->use(row, rows, g);
      };
      f.context = this;
      f.memory = memory;
    }
  }
  GradientUse(const GradientUse&) = delete;
  GradientUse& operator=(const GradientUse&) = delete;

 private:
  void use(int64_t row, int64_t rows, float* g) const {
    run_epilogue(options_.epilogue, buffers_, g, row * n_, (row + rows) * n_);
  }

  const ProductOptions& options_;
  const Buffers& buffers_;
  int64_t n_;
  std::array<float*, max_registers> registers_{};
  FusedUpdateConstants constants_{};
};

/// x[k, m]^T @ dy[k, n] with small k. It computes one or two rows of the result at a time, with a fused weight update.
Kernel skinny_k(const GemmShape& p, const ProductOptions& o) {
  const int64_t m = p.m, n = p.n, k = p.k;
  WorkspaceLayout workspace(o.epilogue_workspace);
  const auto gradient = workspace.per_thread<float>(GradientUse::memory_size(n));
  return Kernel::parallel(m, 2, product_ns(p),
                          [=](const Buffers& b, int64_t begin, int64_t end) {
                            SkinnyBackward f = dense_backward(k, n, m, b.input<float>(o.b));
                            f.x = b.input<float>(o.a);
                            f.k0 = begin;
                            f.k1 = end;
                            if (o.add_to >= 0 || o.out < 0) {
                              const GradientUse use(o, b, f, b.workspace(gradient));
                              skinny().backward(f);
                              return;
                            }
                            f.u = b.output<float>(static_cast<size_t>(o.out));
                            const int64_t rows =
                                o.epilogue
                                    ? std::max<int64_t>(2, epilogue_block / std::max<int64_t>(n, 1) & ~int64_t{1})
                                    : end - begin;
                            for (int64_t r = begin; r < end; r += rows) {
                              f.k0 = r;
                              f.k1 = std::min(r + rows, end);
                              skinny().backward(f);
                              if (o.epilogue) run_epilogue(o.epilogue, b, f.u + f.k0 * n, f.k0 * n, f.k1 * n);
                            }
                          })
      .with_workspace(workspace);
}

/// dy[m, n] @ w[k, n]^T and x[m, k]^T @ dy[m, n], which updates w: see dgrad_wgrad_kernel.
struct Pair {
  ProductOptions dx, dw;
  size_t dw_in, dw_out;  ///< index of the first operand and result of dw
  int64_t m, n, k;
  WorkspaceLayout workspace;
  PerCall<float> dx_values;
  PerThread<float> gradient;

  Pair(const GemmCall& first, const GemmCall& second, size_t in, size_t out)
      : dx(first.options),
        dw(second.options),
        dw_in(in),
        dw_out(out),
        m(first.plan.m),
        n(first.plan.k),
        k(first.plan.n),
        workspace(interleaved(dx.epilogue_workspace, dw.epilogue_workspace)),
        dx_values(workspace.per_call<float>(dx.out >= 0 ? 0 : m * k)),
        gradient(workspace.per_thread<float>(GradientUse::memory_size(n))) {}

  void part(const Buffers& b, int64_t begin, int64_t end) const {
    const Buffers update = b.with(b.in + dw_in, b.out + dw_out).after({dx.epilogue_workspace.per_call, 0});
    SkinnyBackward f = dense_backward(m, n, k, b.input<float>(dx.a));
    f.x = update.input<float>(dw.a);
    f.w = b.input<float>(dx.b);
    f.dx = dx.out >= 0 ? b.output<float>(static_cast<size_t>(dx.out)) : b.workspace(dx_values);
    const GradientUse use(dw, update, f, b.workspace(gradient));
    run_backward(f, dx.epilogue, b, begin, end);
  }
};

/// Consumes `n` elements of the result from `first`. An addition to a matrix changes them.
void run_epilogue(const ProductOptions& o, const Buffers& b, float* from, int64_t first, int64_t n) {
  if (o.add_to >= 0)
    add_scaled(o, b, from, first, n);
  else if (o.epilogue)
    run_epilogue(o.epilogue, b, from, first, first + n);
}

/// Prefetches the elements that the epilogue changes, `n` from `first`. A panel holds only parts of a matrix's rows,
/// which hardware prefetchers miss.
void fetch_updated(const ProductOptions& o, const Buffers& b, int64_t first, int64_t n) {
  constexpr int64_t cache_line = 16;
  const auto fetch = [&](int slot) {
    if (slot < 0) return;
    const float* at = b.input<float>(static_cast<size_t>(slot)) + first;
    for (int64_t i = 0; i < n; i += cache_line) __builtin_prefetch(at + i, 1);
  };
  fetch(o.add_to);
  if (o.update.row >= 0)
    for (const int slot : o.update.slots) fetch(slot);
}

/// General float32 GEMM: a library computes row panels for each matrix of the batch.
Kernel panels(const GemmShape& p, const ProductOptions& o) {
  const int64_t m = p.m, n = p.n, k = p.k;
  const MatrixOffsets at = matrix_offsets(p);
  const auto matrices = std::ssize(at.a);
  const PanelGrid grid = panel_grid(m, n, k, std::max<int64_t>(matrices, 1), p.tb);
  const int64_t down = grid.down, across = grid.across;
  const bool ta = p.ta, tb = p.tb;
  const bool stored = o.out >= 0 && o.add_to < 0;
  WorkspaceLayout workspace(o.epilogue_workspace);
  const auto values = workspace.per_thread<float>(stored ? 0 : max_panel_elements(m, n, grid));
  const auto packed = workspace.per_thread<float>(gemm_memory(div_up(m, down)));
  const int64_t lda = p.lda, ldb = p.ldb, ldc = p.ldc;
  const auto panel = [=](const Buffers& b, int64_t matrix, int64_t row, int64_t column) {
    const int64_t r0 = m * row / down, rows = m * (row + 1) / down - r0;
    const int64_t c0 = n * column / across, columns = n * (column + 1) / across - c0;
    const float* x = b.input<float>(o.a) + at.a[static_cast<size_t>(matrix)] + (ta ? r0 : r0 * lda);
    const float* y = b.input<float>(o.b) + at.b[static_cast<size_t>(matrix)] + (tb ? c0 * ldb : c0);
    const int64_t first = at.c[static_cast<size_t>(matrix)] + r0 * ldc + c0, ldo = stored ? ldc : columns;
    float* to = stored ? b.output<float>(static_cast<size_t>(o.out)) + first : b.workspace(values);
    gemm_one_thread(ta, tb, rows, columns, k, x, lda, y, ldb, to, ldo, b.workspace(packed));
    // Whole rows are contiguous, parts of rows are not.
    const int64_t runs = columns == n ? 1 : rows, length = rows * columns / runs;
    for (int64_t r = 0; r < runs; ++r) {
      if (r + fetched_ahead < runs) fetch_updated(o, b, first + (r + fetched_ahead) * n, length);
      run_epilogue(o, b, to + r * ldo, first + r * n, length);
    }
  };
  return Kernel::parallel(matrices * down * across, 1, product_ns(p) * static_cast<double>(matrices),
                          [=](const Buffers& b, int64_t begin, int64_t end) {
                            for (int64_t u = begin; u < end; ++u)
                              panel(b, u / across / down, u / across % down, u % across);
                          })
      .with_workspace(workspace);
}

}  // namespace

MatrixOffsets matrix_offsets(const GemmShape& p) {
  MatrixOffsets offsets;
  Shape dense = strides_of(p.batch);
  for (int64_t& stride : dense) stride *= p.m * p.n;
  const LoopNest nest = make_loop_nest(p.batch, {p.a_strides, p.b_strides, p.c_strides.empty() ? dense : p.c_strides});
  for_each_run<3>(nest, [&](const auto& at, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      offsets.a.push_back(p.a_offset + at[0] + i * nest.inner_stride(0));
      offsets.b.push_back(p.b_offset + at[1] + i * nest.inner_stride(1));
      offsets.c.push_back(at[2] + i * nest.inner_stride(2));
    }
  });
  return offsets;
}

void add_scaled(const ProductOptions& o, const Buffers& b, float* values, int64_t first, int64_t n) {
  static const BinaryBlock scale = binary_block(Binary::mul, DType::float32),
                           add = binary_block(Binary::add, DType::float32);
  float* c = const_cast<float*>(b.input<float>(static_cast<size_t>(o.add_to))) + first;  // updated in place
  for (int64_t i = 0; i < n; i += epilogue_block) {
    const int64_t count = std::min(epilogue_block, n - i);
    scale.vs(values + i, &o.alpha, values + i, count);
    add.vv(c + i, values + i, c + i, count);
  }
}

bool product_supports(const TensorSpec& a, const TensorSpec& b, const TensorSpec& out, const GemmShape& plan) {
  const auto all = [&](DType d) { return a.dtype == d && b.dtype == d && out.dtype == d; };
  const bool matrices = a.shape.size() >= 2 && b.shape.size() >= 2;
  return (all(DType::float32) || (is_narrow(a.dtype) && all(a.dtype))) && (matrices || plan.batch.empty()) &&
         plan.m > 0 && plan.m * plan.n * plan.k >= min_parallel_macs && element_count(plan.batch) > 0 &&
         element_count(plan.batch) <= (1 << 20);
}

bool is_skinny_product(const GemmShape& p) {
  return p.batch.empty() && p.m > 0 && p.m <= max_skinny_dim && p.k > 0 && !p.ta;
}

Kernel product_kernel(const GemmShape& p, ProductOptions o) {
  if (const std::optional<GemmCall> row = as_row_product(p, o)) return product_kernel(row->plan, row->options);
  if (is_narrow(o.dtype)) return narrow_product_kernel(p, o);
  if (is_batch_of_rows(p, o)) return batch_of_rows(p, o);
  const bool one = p.batch.empty();
  if (one && p.tb && !p.ta && reads_transpose_in_place(p) && o.add_to < 0) return few_rows_transposed(p, o);
  if (is_skinny_product(p) && o.add_to < 0) return few_rows_product(p, o);
  if (o.right.compute) throw Error("a product that needs its right operand in memory", {}, Fault::internal);
  if (one && p.k <= max_skinny_dim && p.ta && !p.tb && p.m > max_skinny_dim) return skinny_k(p, o);
  return panels(p, o);
}

bool can_fuse_dgrad_wgrad(const GemmCall& dx, const GemmCall& dw) {
  const GemmShape &a = dx.plan, &b = dw.plan;
  const bool shapes = a.batch.empty() && b.batch.empty() && !a.ta && a.tb && b.ta && !b.tb && a.m == b.k &&
                      a.n == b.m && a.k == b.n && a.m <= max_skinny_dim && b.m > max_skinny_dim;
  return shapes && dx.options.dtype == DType::float32 && dw.options.dtype == DType::float32 && dx.options.add_to < 0 &&
         (dw.options.add_to >= 0 || dw.options.out < 0);
}

Kernel dgrad_wgrad_kernel(const GemmCall& dx, const GemmCall& dw, size_t dw_in, size_t dw_out) {
  const GemmShape& p = dx.plan;
  const Pair pair(dx, dw, dw_in, dw_out);
  return Kernel::parallel(p.n, 16, product_ns(p) + product_ns(dw.plan),
                          [pair](const Buffers& b, int64_t begin, int64_t end) {
                            if (begin < end) pair.part(b, begin, end);
                          })
      .with_workspace(pair.workspace);
}

}  // namespace pxl
