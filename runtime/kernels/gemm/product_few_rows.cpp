// Products with few rows: each weight is read once, row by row.
#include <algorithm>

#include "runtime/kernels/gemm/product_parts.hpp"
#include "runtime/kernels/gemm/skinny.hpp"

namespace pxl {
namespace {

// Columns of the chunks into which threads divide streamed rows, and of the chunks that they read in panels.
constexpr int64_t streamed_columns = 1024, sum_columns = 2 * skinny_panel;

// Maximum weight rows per slice, beyond which there are more slices: the sums of a slice are float32.
constexpr int64_t max_slice = 1 << 14;

/// Partial sums of x[m, k] @ w[k, n] over `slices` slices of w's rows, by panels. A product with one slice is
/// partitioned by columns of w instead.
std::vector<Phase> blocked_sums(const GemmShape& p, const ProductOptions& o, int64_t slices, PerCall<float> partial,
                                WorkspaceLayout& workspace) {
  const int64_t m = p.m, n = p.n, k = p.k, size = skinny_panels_size(m, n);
  const RightRows rows(o, n, workspace);
  const auto slice = [=](const Buffers& b, int64_t s, int64_t first, int64_t last) {
    SkinnyForward f;
    f.x = left_of(o, b);
    f.ldx = k;
    f.m = m;
    f.n = last - first;
    f.out = b.workspace(partial) + s * size + first * m;
    rows.each(b, k * s / slices, k * (s + 1) / slices, first, last,
              [&](const float* w, int64_t ldw, int64_t begin, int64_t end) {
                f.w = w;
                f.ldw = ldw;
                f.k0 = begin;
                f.k1 = end;
                skinny().forward(f);
                f.add = true;
              });
  };
  if (slices == 1)
    return {{n, skinny_panel, [=](const Buffers& b, int64_t begin, int64_t end) {
               if (begin < end) slice(b, 0, begin, end);
             }}};
  const int64_t blocks = (n + sum_columns - 1) / sum_columns;
  return {{slices * blocks, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
             each_slice(begin, end, blocks, [&](int64_t s, int64_t first, int64_t last) {
               slice(b, s, first * sum_columns, std::min(n, last * sum_columns));
             });
           }}};
}

/// The same for narrow weights, or few rows. Threads read adjacent chunks of w's rows in the stored format, and widen
/// them in registers.
std::vector<Phase> streamed_sums(const GemmShape& p, const ProductOptions& o, int64_t slices, PerCall<float> partial) {
  const int64_t m = p.m, n = p.n, k = p.k, size = skinny_panels_size(m, n);
  const int64_t blocks = (n + streamed_columns - 1) / streamed_columns;
  const NarrowSource source = o.right.narrow.value_or(NarrowSource{.slot = o.b});
  const bool packed = source.format == NarrowFormat::int4;
  const auto width = static_cast<int64_t>(width_of(source.format));
  const auto slice = [=](const Buffers& b, int64_t s, int64_t first, int64_t last) {
    SkinnyStream f;
    f.x = left_of(o, b);
    f.ldx = k;
    f.format = source.format;
    f.w = b.in[source.slot] + first * width;
    f.ldw = n;
    if (source.scales >= 0) {
      const bool by_row = source.inner == n && source.outer_step != 0;
      f.scales = {b.input<float>(static_cast<size_t>(source.scales)) + first * source.inner_step,
                  by_row ? source.rows : INT64_MAX, by_row ? source.outer_step : 0, source.inner_step};
    }
    f.m = m;
    f.n = last - first;
    f.k0 = k * s / slices;
    f.k1 = k * (s + 1) / slices;
    if (packed) f.k0 -= f.k0 % 2, f.k1 -= f.k1 % 2;
    f.out = b.workspace(partial) + s * size + first * m;
    skinny().stream(f);
  };
  return {{slices * blocks, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
             each_slice(begin, end, blocks, [&](int64_t s, int64_t first, int64_t last) {
               slice(b, s, first * streamed_columns, std::min(n, last * streamed_columns));
             });
           }}};
}

}  // namespace

int64_t few_rows_slices(int64_t k) { return std::max<int64_t>(k >= 2048 ? 4 : k >= 256 ? 2 : 1, k / max_slice); }

// Split-k over slices of whole w rows, then a sum over the slices.
Kernel few_rows_product(const GemmShape& p, const ProductOptions& o) {
  const int64_t m = p.m, n = p.n, k = p.k;
  const int64_t slices = few_rows_slices(k);
  const int64_t size = skinny_panels_size(m, n);
  WorkspaceLayout workspace(o.epilogue_workspace);
  const auto partial = workspace.per_call<float>(slices * size);
  const bool streamed = n > skinny_panel && (o.right.narrow || (!o.right.compute && m <= max_streamed_rows));
  const std::vector<Phase> sums =
      streamed ? streamed_sums(p, o, slices, partial) : blocked_sums(p, o, slices, partial, workspace);
  std::vector<Phase> phases(sums);
  // Partitioned by columns: the next kernel has the same partition, and finds its operands in the same core's cache.
  const auto result = workspace.per_call<float>(o.out >= 0 ? 0 : m * n);
  phases.push_back({n, skinny_panel, [=](const Buffers& b, int64_t begin, int64_t end) {
                      float* to = o.out >= 0 ? b.output<float>(static_cast<size_t>(o.out)) : b.workspace(result);
                      if (begin >= end) return;
                      skinny().join({b.workspace(partial), slices, size, m, n, begin, end, to});
                      if (o.epilogue) run_epilogue_on_columns(o.epilogue, b, to, m, n, begin, end);
                    }});
  return Kernel::parallel(std::move(phases), product_ns(p)).with_workspace(workspace);
}

}  // namespace pxl
