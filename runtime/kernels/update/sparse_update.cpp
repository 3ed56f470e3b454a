// Updates the tensor rows that occur among indices.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "runtime/kernels/indexing/indices.hpp"
#include "runtime/kernels/reduction/radix_sort.hpp"

namespace pxl {

namespace {

/// Facts that one run of a sparse update finds about its operands.
struct SparseRun {
  int64_t entries = 0;     ///< indices in range
  bool keeps_rest = true;  ///< an update by zeros changes nothing
};
/// An index in range: its row in t, its term, and its position among the rows of that term's dy.
struct SparseEntry {
  int64_t row, term, position;
  auto operator<=>(const SparseEntry&) const = default;
};
/// One result of scatter_add_kernel.
struct SparseTerm {
  Gather gather;
  ScatteredRows rows;
};

using Ranked = RankedItem<uint32_t>;
// Minimum number of entries for which digits are counted; below it, entries are compared.
constexpr int64_t min_counted_entries = 64;

/// The kernels and workspace of a sparse update; one copy for all its phases.
struct SparseUpdate {
  std::vector<SparseTerm> terms;
  SparseUpdateSlots slots;
  Kernel row, probe;
  const NarrowFunctions* narrow = nullptr;  ///< for rows that are summed in float32
  int64_t inner = 0, rows = 0;
  size_t t_width = 0, x_width = 0;
  DType t_dtype = DType::float32;
  decltype(BinaryBlock::vv) add = nullptr;
  PerCall<SparseRun> run;
  PerCall<SparseEntry> entries, unsorted;
  PerCall<Ranked> ranked;  ///< and as many for sorting
  PerThread<std::byte> sums, row_sums, totals;
  PerThread<float> widened;
  WorkspaceSize before_nested;

  SparseRun& state(const Buffers& b) const { return *b.workspace(run); }

  std::array<const std::byte*, SparseUpdateSlots::max_operands> operands_of(const Buffers& b) const {
    std::array<const std::byte*, SparseUpdateSlots::max_operands> in{};
    std::copy_n(b.in, slots.count, in.begin());
    return in;
  }
  /// The workspace of the update's kernels, one per thread.
  std::byte* nested(const Buffers& b) const { return b.thread_workspace + before_nested.per_thread; }

  void update_row(const Buffers& b, int64_t r, const std::byte* x) const {
    auto in = operands_of(b);
    std::byte* t = b.out[0] + static_cast<size_t>(r * inner) * t_width;
    in[slots.t] = t;
    in[slots.x] = x;
    row(Buffers{in.data(), &t}.with_workspace(nested(b), row.workspace()));
  }

  /// Sorts entries that are already in the order of term and position.
  void sort(const Buffers& b, int64_t n) const {
    SparseEntry* all = b.workspace(entries);
    if (std::max(rows, n) > INT32_MAX || n < min_counted_entries) return std::sort(all, all + n);
    Ranked *ranks = b.workspace(ranked), *other = ranks + n;
    for (int64_t i = 0; i < n; ++i) ranks[i] = {static_cast<uint32_t>(all[i].row), static_cast<int32_t>(i)};
    const Ranked* sorted = radix_sort(ranks, other, n);
    SparseEntry* copy = b.workspace(unsorted);
    std::copy_n(all, n, copy);
    for (int64_t i = 0; i < n; ++i) all[i] = copy[sorted[i].index];
  }

  /// Reads, checks and sorts the indices, so that a row's contributions are added in their order.
  void prepare(const Buffers& b) const {
    SparseEntry* all = b.workspace(entries);
    SparseRun& found = state(b);
    found = {};
    for (size_t term = 0; term < terms.size(); ++term) {
      const auto& [gather, rows_of_term] = terms[term];
      const std::array<const std::byte*, 2> in{b.in[rows_of_term.dy], b.in[rows_of_term.indices]};
      gather.each(b.with(in.data(), b.out), rows_of_term.ignore_out_of_range, [&](int64_t to, int64_t from) {
        if (to >= 0) all[found.entries++] = {to / inner, static_cast<int64_t>(term), from / inner};
      });
    }
    sort(b, found.entries);
    const std::array<const std::byte*, SparseUpdateSlots::max_operands> operands = operands_of(b);
    found.keeps_rest = keeps_where_zero(probe, {operands.data(), slots.count}, slots.t, slots.x, t_dtype,
                                        b.with_workspace(nested(b), probe.workspace()));
  }

  /// Sums one term's rows that begin at entry i, in x's dtype, into `to`. Returns the entry after them.
  int64_t sum_of_term(const Buffers& b, int64_t i, std::byte* to) const {
    const SparseEntry* all = b.workspace(entries);
    std::byte* sum = narrow ? b.workspace(sums) : to;
    const SparseEntry& first = all[i];
    std::memset(sum, 0, static_cast<size_t>(inner) * (narrow ? sizeof(float) : x_width));
    const std::byte* rows_of_dy = b.in[terms[static_cast<size_t>(first.term)].rows.dy];
    for (; i < state(b).entries && all[i].row == first.row && all[i].term == first.term; ++i) {
      const std::byte* dy = rows_of_dy + static_cast<size_t>(all[i].position * inner) * x_width;
      if (narrow) {
        narrow->widen(reinterpret_cast<const uint16_t*>(dy), b.workspace(widened), inner);
        dy = reinterpret_cast<const std::byte*>(b.workspace(widened));
      }
      add(sum, dy, sum, inner);
    }
    if (narrow) narrow->round(reinterpret_cast<const float*>(sum), reinterpret_cast<uint16_t*>(to), inner);
    return i;
  }

  /// Updates the rows whose first entry is in [begin, end).
  void update_rows(const Buffers& b, int64_t begin, int64_t end) const {
    const SparseEntry* all = b.workspace(entries);
    const int64_t n = state(b).entries;
    std::byte *total = b.workspace(totals), *sum = b.workspace(row_sums);
    for (int64_t i = begin; i < std::min(end, n); ++i) {
      if (i > 0 && all[i].row == all[i - 1].row) continue;
      int64_t next = sum_of_term(b, i, total);
      while (next < n && all[next].row == all[i].row) {
        next = sum_of_term(b, next, sum);
        add(total, sum, total, inner);
      }
      update_row(b, all[i].row, total);
    }
  }

  /// Updates the rows in [begin, end) that have no entry by zeros.
  void update_rest(const Buffers& b, int64_t begin, int64_t end) const {
    if (state(b).keeps_rest) return;
    const SparseEntry* all = b.workspace(entries);
    const SparseEntry* last = all + state(b).entries;
    const SparseEntry* next = std::lower_bound(all, last, SparseEntry{begin, 0, 0});
    std::byte* zeros = b.workspace(row_sums);
    std::memset(zeros, 0, static_cast<size_t>(inner) * x_width);
    for (int64_t r = begin; r < end; ++r) {
      while (next != last && next->row < r) ++next;
      if (next == last || next->row != r) update_row(b, r, zeros);
    }
  }
};

}  // namespace

bool keeps_where_zero(const Kernel& probe, std::span<const std::byte* const> operands, size_t t, size_t x, DType dtype,
                      const Buffers& workspace) {
  // A factor of t shows in the results for 1 and -1.5; a non-finite factor of x shows in all results. Both values fit
  // every floating dtype.
  constexpr std::array<double, sparse_update_probe> values{1.0, -1.5, 0.0, 0.25};
  alignas(8) std::array<std::byte, 8 * values.size()> changed{}, before{};
  constexpr std::array<std::byte, 8 * values.size()> zeros{};
  convert(DType::float64, reinterpret_cast<const std::byte*>(values.data()), dtype, before.data(), sparse_update_probe);
  changed = before;
  std::vector<const std::byte*> in(operands.begin(), operands.end());
  std::byte* out = changed.data();
  in[t] = out;
  in[x] = zeros.data();
  probe(workspace.with(in.data(), &out));
  return changed == before;
}

Kernel sparse_update_kernel(const TensorSpec& t, const TensorSpec& x, const SparseUpdateSlots& slots,
                            std::span<const ScatteredRows> terms, Kernel row, Kernel probe) {
  const auto made = std::make_shared<SparseUpdate>();
  SparseUpdate& u = *made;
  WorkspaceLayout workspace;  // for the terms' indices, read one after another
  int64_t n = 0;
  for (const ScatteredRows& term : terms) {
    const Gather& g =
        u.terms.emplace_back(SparseTerm{Gather(x.shape, term.of_indices, term.axis, term.batch), term}).gather;
    n += g.batches * g.outer * g.count;
    if (g.index.workspace.size().per_call > workspace.size().per_call) workspace = g.index.workspace;
  }
  const Gather& gather = u.terms.front().gather;
  u.slots = slots;
  u.narrow = narrow_functions(x.dtype);
  u.inner = gather.inner;
  u.rows = gather.batches * gather.outer * gather.extent;
  u.t_width = size_of(t.dtype);
  u.x_width = size_of(x.dtype);
  u.t_dtype = t.dtype;
  u.add = binary_block(Binary::add, compute_dtype(x.dtype)).vv;
  u.run = workspace.per_call<SparseRun>(1);
  u.entries = workspace.per_call<SparseEntry>(n);
  u.unsorted = workspace.per_call<SparseEntry>(n);
  u.ranked = workspace.per_call<Ranked>(2 * n);
  u.sums = workspace.per_thread<std::byte>(u.inner * 8);
  u.row_sums = workspace.per_thread<std::byte>(u.inner * 8);
  u.totals = workspace.per_thread<std::byte>(u.inner * 8);
  u.widened = workspace.per_thread<float>(u.narrow ? u.inner : 0);
  u.before_nested = workspace.size();
  workspace.per_thread<std::byte>(static_cast<int64_t>(std::max(row.workspace().bytes(1), probe.workspace().bytes(1))));
  u.row = std::move(row);
  u.probe = std::move(probe);
  const auto phase = [&](int64_t iterations, int64_t grain,
                         void (SparseUpdate::*part)(const Buffers&, int64_t, int64_t) const) {
    return Phase{iterations, grain,
                 [made, part](const Buffers& b, int64_t begin, int64_t end) { ((*made).*part)(b, begin, end); }};
  };
  // 0.5 ns per element, read, added and written in memory, and 30 ns to sort and start a row: measured on a 2-core
  // virtual machine of AMD family 25.
  const double cost = static_cast<double>(n) * (30 + 0.5 * static_cast<double>(u.inner));
  std::vector<Phase> phases;
  phases.push_back({1, 1, [made](const Buffers& b, int64_t, int64_t) { made->prepare(b); }});
  phases.push_back(phase(n, 1 + 1024 / std::max<int64_t>(u.inner, 1), &SparseUpdate::update_rows));
  phases.push_back(phase(u.rows, 1 + 4096 / std::max<int64_t>(u.inner, 1), &SparseUpdate::update_rest));
  return Kernel::parallel(std::move(phases), cost).with_workspace(workspace);
}

}  // namespace pxl
