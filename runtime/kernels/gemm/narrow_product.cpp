#include "runtime/kernels/gemm/narrow_product.hpp"

#include <algorithm>

#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/elementwise/broadcast.hpp"
#include "runtime/kernels/gemm/packed.hpp"

namespace pxl {
namespace {

// Maximum elements of B that are packed at a time: 32 MiB of float32.
constexpr int64_t max_packed = int64_t{1} << 23;
// Register tiles per row chunk: a compromise between reuse of packed B and parallelism.
constexpr int64_t part_tiles = 4;
// Minimum batch size at which every chunk packs a separate B.
constexpr int64_t min_batch_of_own_columns = 8;

/// State that the chunks of a product share.
struct Parts {
  GemmShape p;
  ProductOptions o;
  const NarrowFunctions* narrow = nullptr;
  int64_t per_matrix = 1;
  std::vector<int64_t> at_a, at_b;  ///< offsets of the operands' matrices
  WorkspaceLayout workspace;
  PerThread<float> sums, packed_a;
  PerThread<uint16_t> rounded;

  /// Declares what `multiply` needs for results of up to `columns` columns.
  void declare(int64_t columns) {
    workspace = WorkspaceLayout(o.epilogue_workspace);
    sums = workspace.per_thread<float>((p.m + per_matrix - 1) / per_matrix * columns);
    packed_a = workspace.per_thread<float>(packed().packed_a_size);
    rounded = workspace.per_thread<uint16_t>(o.out >= 0 ? 0 : epilogue_block);
  }

  MatrixView left(const Buffers& b, int64_t i) const {
    return MatrixView{b.in[o.a], p.ta ? p.m : p.k, narrow}.at(0, at_a[static_cast<size_t>(i)]);
  }
  MatrixView right(const Buffers& b, int64_t i) const {
    return MatrixView{b.in[o.b], p.tb ? p.k : p.n, narrow}.at(0, at_b[static_cast<size_t>(i)]);
  }

  /// Packs micro-panels [first, last) from columns [column, column + columns) of matrix i.
  void pack(const Buffers& b, int64_t i, int64_t column, int64_t columns, int64_t first, int64_t last,
            float* to) const {
    const MatrixView from = right(b, i);
    packed().pack({p.tb ? from.at(column, 0) : from.at(0, column), p.tb, p.k, columns, first, last, to});
  }

  /// Multiplies row chunk `u` of matrix i with the packed columns.
  void multiply(const Buffers& b, int64_t i, int64_t u, int64_t column, int64_t columns, const float* packed_b) const {
    const int64_t r0 = p.m * u / per_matrix, r1 = p.m * (u + 1) / per_matrix;
    float* to = b.workspace(sums);
    const MatrixView a = left(b, i);
    packed().multiply({.a = p.ta ? a.at(0, r0) : a.at(r0, 0),
                       .transposed = p.ta,
                       .m = r1 - r0,
                       .n = columns,
                       .k = p.k,
                       .b = packed_b,
                       .out = to,
                       .ldo = columns,
                       .packed_a = b.workspace(packed_a)});
    // Whole rows are contiguous, parts of rows are not.
    const int64_t runs = columns == p.n ? 1 : r1 - r0, length = (r1 - r0) * columns / runs;
    for (int64_t r = 0; r < runs; ++r) round(b, to + r * length, (i * p.m + r0 + r) * p.n + column, length);
  }

  /// Rounds n elements of the result, starting at `first`, stores them and runs the epilogue.
  void round(const Buffers& b, const float* from, int64_t first, int64_t n) const {
    uint16_t* stored = o.out >= 0 ? b.output<uint16_t>(static_cast<size_t>(o.out)) + first : nullptr;
    for (int64_t i = 0; i < n; i += epilogue_block) {
      const int64_t count = std::min(epilogue_block, n - i);
      uint16_t* to = stored ? stored + i : b.workspace(rounded);
      narrow->round(from + i, to, count);
      if (o.epilogue) o.epilogue(b, reinterpret_cast<std::byte*>(to), first + i, first + i + count);
    }
  }
};

/// Large batches: every chunk packs a separate B.
Kernel many(const std::shared_ptr<Parts>& shared, double cost_ns) {
  shared->declare(shared->p.n);
  const auto packed_b = shared->workspace.per_thread<float>(packed().packed_size(shared->p.n, shared->p.k));
  const std::shared_ptr<const Parts> parts = shared;
  const auto run = [parts, packed_b](const Buffers& b, int64_t begin, int64_t end) {
    const GemmShape& p = parts->p;
    float* right = b.workspace(packed_b);
    int64_t laid_out = -1;
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t i = unit / parts->per_matrix;
      if (i != laid_out) parts->pack(b, i, 0, p.n, 0, packed().strips(p.n), right);
      laid_out = i;
      parts->multiply(b, i, unit % parts->per_matrix, 0, p.n, right);
    }
  };
  return Kernel::parallel(std::ssize(parts->at_a) * parts->per_matrix, 1, cost_ns, run)
      .with_workspace(parts->workspace);
}

/// Small batches: the threads pack B together, as many columns as fit, and share it.
Kernel few(const std::shared_ptr<Parts>& shared, int64_t max_columns, double cost_ns) {
  const GemmShape& p = shared->p;
  const int64_t widest = std::min(p.n, max_columns);
  shared->declare(widest);
  const auto packed_b = shared->workspace.per_call<float>(packed().packed_size(widest, p.k));
  const std::shared_ptr<const Parts> parts = shared;
  std::vector<Phase> phases;
  for (int64_t i = 0; i < std::ssize(parts->at_a); ++i) {
    for (int64_t column = 0; column < p.n; column += max_columns) {
      const int64_t columns = std::min(max_columns, p.n - column);
      phases.push_back({packed().strips(columns), 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                          parts->pack(b, i, column, columns, begin, end, b.workspace(packed_b));
                        }});
      phases.push_back({parts->per_matrix, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                          for (int64_t u = begin; u < end; ++u)
                            parts->multiply(b, i, u, column, columns, b.workspace(packed_b));
                        }});
    }
  }
  return Kernel::parallel(std::move(phases), cost_ns).with_workspace(parts->workspace);
}

/// Few rows: the float32 kernel reads B once, in order, and widens it block by block.
Kernel narrow_skinny(const GemmShape& p, const ProductOptions& o) {
  const NarrowFunctions* narrow = narrow_functions(o.dtype);
  WorkspaceLayout workspace(o.epilogue_workspace);
  const auto left = workspace.per_call<float>(p.m * p.k);
  const auto rounded = workspace.per_thread<uint16_t>(o.out >= 0 ? 0 : epilogue_block);
  ProductOptions wide;
  wide.epilogue_workspace = workspace.size();
  wide.left = left;
  wide.right = o.right;
  if (!wide.right.compute) {
    wide.right.narrow = NarrowSource{.format = *narrow_format(o.dtype), .slot = o.b};
    wide.right.compute = [slot = o.b, narrow](const Buffers& b, float* to, int64_t begin, int64_t end, std::byte*) {
      narrow->widen(b.input<uint16_t>(slot) + begin, to, end - begin);
    };
  }
  wide.out = -1;
  wide.epilogue = [=](const Buffers& b, std::byte* values, int64_t begin, int64_t end) {
    uint16_t* to = o.out >= 0 ? b.output<uint16_t>(static_cast<size_t>(o.out)) + begin : b.workspace(rounded);
    narrow->round(reinterpret_cast<const float*>(values), to, end - begin);
    if (o.epilogue) o.epilogue(b, reinterpret_cast<std::byte*>(to), begin, end);
  };
  const Kernel product = product_kernel(p, std::move(wide));
  std::vector<Phase> phases = product.phases();
  phases.insert(phases.begin(), {p.m * p.k, 1024, [=](const Buffers& b, int64_t begin, int64_t end) {
                                   narrow->widen(b.input<uint16_t>(o.a) + begin, b.workspace(left) + begin,
                                                 end - begin);
                                 }});
  return Kernel::parallel(std::move(phases), product.cost_ns() + 0.3 * static_cast<double>(p.m * (p.k + p.n)))
      .with_workspace(WorkspaceLayout(product.workspace()));
}

}  // namespace

Kernel narrow_product_kernel(const GemmShape& p, const ProductOptions& o) {
  if (is_skinny_product(p) && o.add_to < 0) return narrow_skinny(p, o);
  const auto parts = std::make_shared<Parts>(Parts{p, o, narrow_functions(o.dtype), 1, {}, {}, {}, {}, {}, {}});
  const LoopNest nest = make_loop_nest(p.batch, {p.a_strides, p.b_strides});
  for_each_run<2>(nest, [&](const auto& at, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      parts->at_a.push_back(at[0] + i * nest.inner_stride(0));
      parts->at_b.push_back(at[1] + i * nest.inner_stride(1));
    }
  });
  // ns at 50 GF/s, plus 1 us of overhead. AMD EPYC with AVX-512 reaches 75 to 100 (`bench_runtime`, matmul/float16).
  const double cost_ns = 0.04 * static_cast<double>(p.m * p.n) * static_cast<double>(p.k);
  const auto matrices = std::ssize(parts->at_a);
  const int64_t tiles = (p.m + packed().mr - 1) / packed().mr;
  const int64_t strip = packed().nr;
  const int64_t max_columns = std::max<int64_t>(1, max_packed / (p.k * strip)) * strip;
  if (matrices >= min_batch_of_own_columns && max_columns >= p.n) {
    parts->per_matrix = std::max<int64_t>(1, tiles / (4 * part_tiles));
    return many(parts, cost_ns * static_cast<double>(matrices) + 1000);
  }
  parts->per_matrix = (tiles + part_tiles - 1) / part_tiles;
  if (tiles > 1) parts->per_matrix += parts->per_matrix % 2;
  return few(parts, max_columns, cost_ns * static_cast<double>(matrices) + 1000);
}

}  // namespace pxl
