#include "runtime/kernels/gemm/quantised_product.hpp"

#include <algorithm>

#include "built_sets.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/gemm/product_parts.hpp"
#include "runtime/kernels/gemm/quantised_product_table.hpp"
#include "runtime/kernels/gemm/skinny.hpp"

namespace pxl {

PXL_VARIANTS(QuantisedProductFunctions, quantised_product)

const QuantisedProductFunctions& quantised_product() {
  static const QuantisedProductFunctions& chosen = variant_for(instruction_set(), quantised_product_variants());
  return chosen;
}

namespace {

// Columns that a thread multiplies at a time, as for streamed rows (product_few_rows.cpp).
constexpr int64_t quantised_columns = 1024;
// Maximum rows of x for which threads divide the row groups, and sums are then added. More rows have enough columns for
// all threads, or enough work.
constexpr int64_t max_divided_rows = 16;

}  // namespace

Kernel quantised_matmul_kernel(const TensorSpec& x, const TensorSpec& weights, bool packed, int64_t group) {
  const int64_t k = x.shape.back(), n = weights.shape[1], m = element_count(Shape(x.shape.begin(), x.shape.end() - 1));
  if (m * n * k == 0) return [=](const Buffers& b) { std::fill_n(b.output<float>(0), m * n, 0.0f); };
  group = std::min(group, k + k % 2);
  const int64_t groups = (k + group - 1) / group;
  const int64_t slices = m <= max_divided_rows ? std::min(groups, few_rows_slices(k)) : 1;
  const int64_t size = skinny_panels_size(m, n), blocks = (n + quantised_columns - 1) / quantised_columns;
  WorkspaceLayout workspace;
  const auto partial = workspace.per_call<float>(slices * size);
  const auto part = [=](const Buffers& b, int64_t s, int64_t first, int64_t last) {
    QuantisedProduct p;
    p.x = b.input<int8_t>(0);
    p.ldx = k;
    p.x_scales = b.input<float>(2);
    p.x_groups = groups;
    p.packed = packed;
    p.w = b.in[1] + first;
    p.ldw = n;
    p.scales = b.input<float>(3) + first;
    p.group = group;
    p.m = m;
    p.n = last - first;
    p.k0 = groups * s / slices * group;
    p.k1 = std::min(k, groups * (s + 1) / slices * group);
    p.out = b.workspace(partial) + s * size + first * m;
    std::fill_n(p.out, skinny_panels_size(m, p.n), 0.0f);
    quantised_product().add(p);
  };
  std::vector<Phase> phases{{slices * blocks, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                               each_slice(begin, end, blocks, [&](int64_t s, int64_t first, int64_t last) {
                                 part(b, s, first * quantised_columns, std::min(n, last * quantised_columns));
                               });
                             }}};
  phases.push_back({n, skinny_panel, [=](const Buffers& b, int64_t begin, int64_t end) {
                      if (begin < end)
                        skinny().join({b.workspace(partial), slices, size, m, n, begin, end, b.output<float>(0)});
                    }});
  const double work = 2.0 * static_cast<double>(m * n) * static_cast<double>(k) / 100.0;
  return Kernel::parallel(std::move(phases), work).with_workspace(workspace);
}

}  // namespace pxl
