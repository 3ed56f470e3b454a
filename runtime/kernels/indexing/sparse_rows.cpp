#include "runtime/kernels/indexing/sparse_rows.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/base/threads/parallel_copy.hpp"
#include "runtime/kernels/indexing/indices.hpp"
#include "runtime/kernels/movement/strided.hpp"
#include "runtime/kernels/reduction/radix_sort.hpp"

namespace pxl {

namespace {

/// The table row that an index names; -1: none.
struct RowIndex {
  int64_t extent = 0;
  bool ignore_out_of_range = false;

  int64_t operator()(int64_t given, int64_t position) const {
    if (!ignore_out_of_range) return wrapped_index(given, position, 0, extent);
    return given < 0 || given >= extent ? -1 : given;
  }
};

struct SumDuplicates {
  using Entry = RankedItem<uint32_t>;  ///< a row of the table, and the position of an index
  RowIndex row;
  Indices index;
  int64_t n = 0, inner = 1;
  size_t width = 0;
  const NarrowFunctions* narrow = nullptr;  ///< for rows that are summed in float32
  decltype(BinaryBlock::vv) add = nullptr;
  PerCall<Entry> entries, other;
  PerCall<int64_t> firsts;  ///< first entry of each sum; [n] is the number of sums, [n + 1] the number of entries
  PerThread<float> total, widened;

  /// Reads, checks and sorts the indices, so that rows are added in their order. Writes output 0.
  void prepare(const Buffers& b) const {
    const int64_t* given = index.read(b, 0);
    Entry* all = b.workspace(entries);
    int64_t found = 0;
    for (int64_t i = 0; i < n; ++i)
      if (const int64_t r = row(given[i], i); r >= 0)
        all[found++] = {static_cast<uint32_t>(r), static_cast<int32_t>(i)};
    if (found > 0) {
      const Entry* sorted = radix_sort(all, b.workspace(other), found);
      if (sorted != all) std::copy_n(sorted, found, all);
    }
    int64_t *first = b.workspace(firsts), sums = 0;
    auto* unique = b.output<int32_t>(0);
    for (int64_t i = 0; i < found; ++i) {
      if (i > 0 && all[i].rank == all[i - 1].rank) continue;
      unique[sums] = static_cast<int32_t>(all[i].rank);
      first[sums++] = i;
    }
    std::fill(unique + sums, unique + n, -1);
    first[n] = sums;
    first[n + 1] = found;
  }

  void sum(const Buffers& b, int64_t begin, int64_t end) const {
    const Entry* all = b.workspace(entries);
    const int64_t *first = b.workspace(firsts), sums = first[n];
    const size_t bytes = static_cast<size_t>(inner) * width;
    for (int64_t s = begin; s < end; ++s) {
      std::byte* to = b.out[1] + static_cast<size_t>(s) * bytes;
      if (s >= sums || inner == 0) {
        std::memset(to, 0, bytes);
        continue;
      }
      const int64_t last = s + 1 < sums ? first[s + 1] : first[n + 1];
      std::byte* sum = narrow ? reinterpret_cast<std::byte*>(b.workspace(total)) : to;
      std::memset(sum, 0, static_cast<size_t>(inner) * (narrow ? sizeof(float) : width));
      for (int64_t i = first[s]; i < last; ++i) {
        const std::byte* x = b.in[1] + static_cast<size_t>(all[i].index) * bytes;
        if (narrow) {
          narrow->widen(reinterpret_cast<const uint16_t*>(x), b.workspace(widened), inner);
          x = reinterpret_cast<const std::byte*>(b.workspace(widened));
        }
        add(sum, x, sum, inner);
      }
      if (narrow) narrow->round(reinterpret_cast<const float*>(sum), reinterpret_cast<uint16_t*>(to), inner);
    }
  }
};

int64_t row_size(const Shape& shape) {
  int64_t size = 1;
  for (size_t d = 1; d < shape.size(); ++d) size *= shape[d];
  return size;
}

}  // namespace

Kernel sum_duplicates_kernel(const TensorSpec& indices, const TensorSpec& rows, int64_t extent,
                             bool ignore_out_of_range) {
  need_integers(indices);
  const auto made = std::make_shared<SumDuplicates>();
  SumDuplicates& k = *made;
  k.row = {extent, ignore_out_of_range};
  k.n = indices.size();
  k.index = Indices(indices.dtype, k.n);
  k.inner = row_size(rows.shape);
  k.width = size_of(rows.dtype);
  k.narrow = narrow_functions(rows.dtype);
  k.add = binary_block(Binary::add, compute_dtype(rows.dtype)).vv;
  WorkspaceLayout workspace = k.index.workspace;
  k.entries = workspace.per_call<SumDuplicates::Entry>(k.n);
  k.other = workspace.per_call<SumDuplicates::Entry>(k.n);
  k.firsts = workspace.per_call<int64_t>(k.n + 2);
  k.total = workspace.per_thread<float>(k.narrow ? k.inner : 0);
  k.widened = workspace.per_thread<float>(k.narrow ? k.inner : 0);
  std::vector<Phase> phases;
  phases.push_back({1, 1, [made](const Buffers& b, int64_t, int64_t) { made->prepare(b); }});
  phases.push_back({k.n, 1 + 1024 / std::max<int64_t>(k.inner, 1),
                    [made](const Buffers& b, int64_t begin, int64_t end) { made->sum(b, begin, end); }});
  // An element is read, added and written in 0.3 ns (`bench_runtime`, add); a row takes 15 ns to sort and start.
  const double cost_ns = static_cast<double>(k.n) * (15 + 0.3 * static_cast<double>(k.inner));
  return Kernel::parallel(std::move(phases), cost_ns).with_workspace(workspace);
}

Kernel index_copy_kernel(const TensorSpec& t, const TensorSpec& indices, bool ignore_out_of_range) {
  need_integers(indices);
  const int64_t n = indices.size(), inner = row_size(t.shape);
  const auto bytes = static_cast<size_t>(inner) * size_of(t.dtype);
  const RowIndex row{t.shape[0], ignore_out_of_range};
  const Indices index(indices.dtype, n);
  WorkspaceLayout workspace = index.workspace;
  const auto rows = workspace.per_call<int64_t>(n);         // row of t by position; -1: none
  const auto has_duplicates = workspace.per_call<bool>(1);  // perhaps: unless the rows ascend
  const auto copy = [=](const Buffers& b, int64_t begin, int64_t end) {
    const int64_t* at = b.workspace(rows);
    for (int64_t i = begin; i < end; ++i)
      if (at[i] >= 0)
        copy_bytes(b.out[0] + static_cast<size_t>(at[i]) * bytes, b.in[2] + static_cast<size_t>(i) * bytes, bytes);
  };
  const auto prepare = [=, t_bytes = static_cast<size_t>(t.bytes())](const Buffers& b, int64_t, int64_t) {
    const int64_t* given = index.read(b, 1);
    int64_t *at = b.workspace(rows), last = -1;
    bool ascending = true;
    for (int64_t i = 0; i < n; ++i) {
      at[i] = row(given[i], i);
      if (at[i] < 0) continue;
      ascending = ascending && at[i] > last;
      last = at[i];
    }
    *b.workspace(has_duplicates) = !ascending;
    if (b.in[0] != b.out[0] && t_bytes != 0) std::memcpy(b.out[0], b.in[0], t_bytes);
    if (!ascending) copy(b, 0, n);  // in their order, since some may be the same
  };
  std::vector<Phase> phases{{1, 1, prepare}};
  phases.push_back({n, 1 + 1024 / std::max<int64_t>(inner, 1), [=](const Buffers& b, int64_t begin, int64_t end) {
                      if (!*b.workspace(has_duplicates)) copy(b, begin, end);
                    }});
  const double cost_ns = static_cast<double>(n) * (2 + copy_ns_per_byte * static_cast<double>(bytes));
  return Kernel::parallel(std::move(phases), cost_ns).with_workspace(workspace);
}

}  // namespace pxl
