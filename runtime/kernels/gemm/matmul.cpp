// Matrix products by single-threaded GEMMs.
#include "runtime/kernels/gemm/matmul.hpp"

#include <algorithm>
#include <climits>
#include <cstring>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/block/block_integer.hpp"
#include "runtime/kernels/elementwise/broadcast.hpp"
#include "runtime/kernels/elementwise/elementwise.hpp"
#include "runtime/kernels/gemm/gemm.hpp"
#include "runtime/kernels/gemm/narrow_product.hpp"
#include "runtime/kernels/gemm/packed.hpp"
#include "runtime/kernels/gemm/product.hpp"
#include "runtime/kernels/through_float.hpp"

namespace pxl {
namespace {

template <class T>
requires std::is_floating_point_v<T>
void gemm(const GemmShape& p, T alpha, const T* a, const T* b, T beta, T* c, T* product, float* memory) {
  gemm_scaled({p.ta, p.tb, p.m, p.n, p.k, a, p.ta ? p.m : p.k, b, p.tb ? p.k : p.n}, alpha, beta, c, p.n, product,
              memory);
}
/// Wrapping integer GEMM. It sums rows of the result while it reads a row of b, or computes dot products if b is
/// transposed.
template <class T>
requires std::is_integral_v<T>
void gemm(const GemmShape& p, T alpha, const T* a, const T* b, T beta, T* c, T*, float*) {
  using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const auto u = [](const T* x) { return reinterpret_cast<const U*>(x); };
  for (int64_t i = 0; i < p.m; ++i) {
    U* row = reinterpret_cast<U*>(c) + i * p.n;
    const auto left = [&](int64_t l) { return static_cast<U>(alpha) * u(a)[p.ta ? l * p.m + i : i * p.k + l]; };
    for (int64_t j = 0; j < p.n; ++j) row[j] = beta == 0 ? 0 : static_cast<U>(beta) * row[j];
    if (p.tb) {
      for (int64_t j = 0; j < p.n; ++j)
        for (int64_t l = 0; l < p.k; ++l) row[j] += left(l) * u(b)[j * p.k + l];
      continue;
    }
    constexpr int64_t block = 64;
    U factors[block];
    for (int64_t l = 0; l < p.k; l += block) {
      const int64_t rows = std::min(block, p.k - l);
      for (int64_t r = 0; r < rows; ++r) factors[r] = left(l + r);
      if constexpr (sizeof(U) == 4)
        integer_blocks().add_multiples32(factors, rows, u(b) + l * p.n, p.n, row, p.n);
      else
        integer_blocks().add_multiples64(factors, rows, u(b) + l * p.n, p.n, row, p.n);
    }
  }
}

/// The operand as T: itself, or converted into `buffer`.
template <class T>
const T* operand(const std::byte* data, DType dtype, int64_t n, T* buffer) {
  if (dtype == dtype_of<T>()) return reinterpret_cast<const T*>(data);
  convert(dtype, data, dtype_of<T>(), reinterpret_cast<std::byte*>(buffer), n);
  return buffer;
}

template <class T>
Kernel product(GemmShape plan, const TensorSpec& a, const TensorSpec& b, DType out, double alpha, double beta) {
  LoopNest nest = make_loop_nest(plan.batch, {plan.a_strides, plan.b_strides});
  const int64_t a_size = a.size(), b_size = b.size(), out_size = element_count(plan.out);
  constexpr DType dtype = dtype_of<T>();
  WorkspaceLayout workspace;
  const auto wide_a = workspace.per_call<T>(a.dtype == dtype ? 0 : a_size);
  const auto wide_b = workspace.per_call<T>(b.dtype == dtype ? 0 : b_size);
  const auto wide_out = workspace.per_call<T>(out == dtype ? 0 : out_size);
  int64_t product_size = 0, packed_size = 0;
  if constexpr (std::is_floating_point_v<T>) product_size = gemm_product_memory<T>(plan.m, plan.n);
  if constexpr (std::is_same_v<T, float>) packed_size = gemm_scaled_memory(plan.m);
  const auto one_product = workspace.per_call<T>(product_size);
  const auto packed = workspace.per_call<float>(packed_size);
  return Kernel([=, plan = std::move(plan), nest = std::move(nest), a_dtype = a.dtype,
                 b_dtype = b.dtype](const Buffers& buffers) {
           if (out_size == 0) return;
           const T* x = operand(buffers.in[0], a_dtype, a_size, buffers.workspace(wide_a));
           const T* y = operand(buffers.in[1], b_dtype, b_size, buffers.workspace(wide_b));
           T* z = out == dtype ? buffers.output<T>(0) : buffers.workspace(wide_out);
           if (beta != 0) convert(out, buffers.in[2], dtype, reinterpret_cast<std::byte*>(z), out_size);
           const T scale = static_cast<T>(alpha), keep = static_cast<T>(beta);
           if (plan.k == 0) {
             for (int64_t i = 0; i < out_size; ++i) z[i] = beta != 0 ? static_cast<T>(keep * z[i]) : T(0);
           } else {
             T* c = z;
             for_each_run<2>(nest, [&](const auto& at, int64_t n) {
               for (int64_t i = 0; i < n; ++i, c += plan.m * plan.n) {
                 gemm(plan, scale, x + at[0] + i * nest.inner_stride(0), y + at[1] + i * nest.inner_stride(1), keep, c,
                      buffers.workspace(one_product), buffers.workspace(packed));
               }
             });
           }
           if (out != dtype) convert(dtype, reinterpret_cast<const std::byte*>(z), out, buffers.out[0], out_size);
         })
      .with_workspace(workspace);
}

/// Products with so few terms that dividing one gains nothing. Batches of them are parallelised.
Kernel products_in_place(const GemmShape& plan) {
  LoopNest nest = make_loop_nest(plan.batch, {plan.a_strides, plan.b_strides});
  const int64_t products = element_count(plan.batch), outer = nest.extents[0], size = plan.m * plan.n;
  // Measured on AMD EPYC with AVX-512: 10 ns for 4 x 4 x 4, 25 ns for 8 x 8 x 8.
  constexpr double ns_per_product = 10, ns_per_mac = 0.03;
  const double ns = ns_per_product + ns_per_mac * static_cast<double>(size * plan.k);
  WorkspaceLayout workspace;
  const auto memory = workspace.per_thread<float>(plan.tb ? packed().strip : 0);
  return Kernel::parallel(
             outer, 1, ns * static_cast<double>(products),
             [=, nest = std::move(nest)](const Buffers& b, int64_t begin, int64_t end) {
               float* out = b.output<float>(0) + begin * (products / outer) * size;
               for_each_run<2>(nest, begin, end, [&](const auto& at, int64_t n) {
                 packed().products_in_place({b.input<float>(0) + at[0], b.input<float>(1) + at[1], out, n,
                                             nest.inner_stride(0), nest.inner_stride(1), size, plan.ta, plan.tb, plan.m,
                                             plan.n, plan.k, plan.lda, plan.ldb, plan.ldc, b.workspace(memory)});
                 out += n * size;
               });
             })
      .with_workspace(workspace);
}

}  // namespace

GemmShape gemm_shape(const Shape& a, bool ta, const Shape& b, bool tb) {
  if (a.empty() || b.empty()) {
    throw Error(std::string("a matrix product takes no scalars: the ") + (a.empty() ? "left" : "right") +
                    " operand has shape []",
                {"use * to scale"})
        .as(codes::shape);
  }
  GemmShape p;
  const size_t ra = a.size(), rb = b.size();
  p.ta = ta && ra >= 2;
  p.tb = tb && rb >= 2;
  p.m = ra == 1 ? 1 : (p.ta ? a[ra - 1] : a[ra - 2]);
  p.k = p.ta ? a[ra - 2] : a[ra - 1];
  p.n = rb == 1 ? 1 : (p.tb ? b[rb - 2] : b[rb - 1]);
  const int64_t kb = rb == 1 ? b[0] : (p.tb ? b[rb - 1] : b[rb - 2]);
  if (p.k != kb) {
    throw Error("the inner extents of a matrix product differ: " + std::to_string(p.k) + " of " + bracket_text(a) +
                (p.ta ? " transposed" : "") + " and " + std::to_string(kb) + " of " + bracket_text(b) +
                (p.tb ? " transposed" : ""))
        .as(codes::shape);
  }
  const Shape batch_a(a.begin(), ra >= 2 ? a.end() - 2 : a.begin()),
      batch_b(b.begin(), rb >= 2 ? b.end() - 2 : b.begin());
  p.batch = broadcast(batch_a, batch_b);
  p.a_strides = broadcast_strides(batch_a, p.batch);
  p.b_strides = broadcast_strides(batch_b, p.batch);
  for (int64_t& s : p.a_strides) s *= p.m * p.k;
  for (int64_t& s : p.b_strides) s *= p.k * p.n;
  p.lda = p.ta ? p.m : p.k;
  p.ldb = p.tb ? p.k : p.n;
  p.ldc = p.n;
  p.out = p.batch;
  if (ra >= 2) p.out.push_back(p.m);
  if (rb >= 2) p.out.push_back(p.n);
  static_cast<void>(element_count(p.out));
  // All batches share B: their rows form one tall matrix.
  if (!p.batch.empty() && !p.ta && batch_a == p.batch && element_count(batch_b) == 1) {
    p.m *= element_count(p.batch);
    p.lda = p.k;
    p.batch.clear();
    p.a_strides.clear();
    p.b_strides.clear();
  }
  if (std::max({p.m, p.n, p.k}) > INT_MAX)
    throw Error("a matrix product of extents beyond 2^31 is not supported").as(codes::shape);
  return p;
}

Kernel matmul_kernel(const TensorSpec& a, bool ta, const TensorSpec& b, bool tb, const TensorSpec& out, double alpha,
                     double beta) {
  GemmShape plan = gemm_shape(a.shape, ta, b.shape, tb);
  if (plan.out != out.shape)
    throw Error("a matrix product of shape " + bracket_text(plan.out) + " into " + bracket_text(out.shape))
        .as(codes::shape);
  ProductOptions options;
  options.dtype = out.dtype;
  if (alpha == 1.0 && beta == 0.0 && product_supports(a, b, out, plan)) return product_kernel(plan, options);
  const auto all_float = a.dtype == DType::float32 && b.dtype == DType::float32 && out.dtype == DType::float32;
  if (all_float && alpha == 1.0 && beta == 0.0 && plan.k > 0 && out.size() > 0 &&
      product_way(plan.ta, plan.tb, plan.m, plan.n, plan.k, plan.lda, plan.ldb) != ProductWay::library) {
    return products_in_place(plan);
  }
  const bool narrow = is_narrow(out.dtype) && a.dtype == out.dtype && b.dtype == out.dtype;
  if (narrow && alpha == 1.0 && beta == 0.0 && plan.k > 0 && out.size() > 0)
    return narrow_product_kernel(plan, options);
  const auto any = [&](auto f) { return f(a.dtype) || f(b.dtype) || f(out.dtype); };
  if (any([](DType d) { return d == DType::float64; }))
    return product<double>(std::move(plan), a, b, out.dtype, alpha, beta);
  if (any(is_floating)) return product<float>(std::move(plan), a, b, out.dtype, alpha, beta);
  // The low bits of a result depend on the low bits of the operands only.
  if (is_integer(out.dtype) && size_of(out.dtype) <= sizeof(int32_t))
    return product<int32_t>(std::move(plan), a, b, out.dtype, alpha, beta);
  return product<int64_t>(std::move(plan), a, b, out.dtype, alpha, beta);
}

Kernel matmul_float8_kernel(const TensorSpec& a, const TensorSpec& b, const TensorSpec& out) {
  // 1-D operands become matrices with one row or one column, which have the same elements.
  const auto wide = [](Shape shape, bool left) {
    if (shape.size() == 1) shape.insert(left ? shape.begin() : shape.end(), 1);
    return TensorSpec{std::move(shape), DType::float32, {}};
  };
  const TensorSpec x = wide(a.shape, true), y = wide(b.shape, false);
  const TensorSpec z{matmul_shape(x.shape, false, y.shape, false), DType::float32, {}};
  if (const GemmShape plan = gemm_shape(x.shape, false, y.shape, false);
      is_skinny_product(plan) && product_supports(x, y, z, plan)) {
    ProductOptions options;
    options.right.compute = [widen = b.dtype == DType::float8_143 ? bulk().float8_143_to_float
                                                                  : bulk().float8_152_to_float](
                                const Buffers& buffers, float* to, int64_t begin, int64_t end, std::byte*) {
      widen(buffers.input<uint8_t>(1) + begin, to, end - begin);
    };
    options.right.narrow = NarrowSource{.format = *narrow_format(b.dtype), .slot = 1};
    return through_float(product_kernel(plan, options), {{a.size(), a.dtype}}, {out.size(), out.dtype}, 3, 2);
  }
  Kernel product = matmul_kernel(x, false, y, false, z);
  if (product.phases().empty()) {
    const WorkspaceLayout workspace(product.workspace());
    product = Kernel::parallel(1, 1, 0, [whole = product](const Buffers& buffers, int64_t, int64_t) {
                whole(buffers);
              }).with_workspace(workspace);
  }
  return through_float(product, {{a.size(), a.dtype}, {b.size(), b.dtype}}, {out.size(), out.dtype}, 2, 2);
}

}  // namespace pxl
