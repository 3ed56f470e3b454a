#include "runtime/tiles/costs/second_level.hpp"

#include <algorithm>

namespace pxl::tiles {

namespace {

constexpr int64_t streamed_depth =
    128;  ///< depth of the slices that are read at once; at least a few blocks of any unit
constexpr std::string_view second_level_step = "operands and results in the second memory level";

/// Cycles of a transfer at the rate of the whole second level.
int64_t transfer_cycles(const Machine& m, int64_t bytes) {
  const int64_t rate = std::max<int64_t>(1, m.dram_bytes / 100'000 * m.dram_efficiency), clock = m.clock / 1000;
  return m.dram_latency + saturating_product(bytes / rate, clock) +
         div_up(saturating_product(bytes % rate, clock), rate);
}

/// Bytes of whole transfers that move `runs` contiguous runs.
int64_t transferred(const Machine& m, int64_t runs, int64_t run_bytes) {
  return saturating_product(runs, div_up(run_bytes, m.dram_transfer) * m.dram_transfer);
}

/// Bytes that the level moves if a tensor's pieces are read in this mapping, in whole transfers.
int64_t moved_bytes(const CandidateRequest& r, const TensorSpec& spec, int32_t mapping) {
  if (mapping < 0) return spec.bytes();
  const int64_t run = std::max<int64_t>(1, run_length(r.pool.table.at(mapping), spec.shape) * element_bytes(spec));
  return transferred(r.machine, div_up(spec.bytes(), run), run);
}
/// The same for a table, if the op reads or changes some slices only.
int64_t moved_bytes_of_table(const CandidateRequest& r, const TensorSpec& spec, int32_t mapping, const OpCandidate& c) {
  const int64_t all = moved_bytes(r, spec, mapping);
  return c.table.slices == 0 ? all : std::min(all, transferred(r.machine, c.table.slices, c.table.bytes));
}

void stream(const CandidateRequest& r, const CandidateOptions& options, OpCandidate& c) {
  const Machine& m = r.machine;
  const int64_t bound = m.usable() * options.available_memory_permille / 1000;
  // Operands are in the second level, so a tile's own share of a slice also comes from there.
  c.temp_bytes += c.own_bytes;
  c.own_bytes = 0;
  int64_t left = 1, right = 1;
  if (c.product && c.product->shifts == 1 && c.product->serial == 1 && c.constrained_bytes() > bound) {
    const TensorSpec& a = r.site.input(0);
    const TensorSpec& y = r.site.out[0];
    const int64_t columns = y.shape.empty() ? 1 : std::max<int64_t>(1, y.shape.back());
    const int64_t bytes = product_bytes(m, a);
    const StreamedProduct s = streamed_product(
        div_up(y.size() / columns, c.product->groups * c.product->rows), div_up(columns, c.product->columns),
        a.shape.empty() ? 1 : a.shape.back(), bytes, product_partial_bytes(options, bytes), bound);
    left = s.left_reads;
    right = s.right_reads;
    c.temp_bytes = s.bytes;
    c.replicated_bytes = 0;
    c.variant = "streamed from the second level";
  }
  int64_t bytes = 0;
  for (size_t i = 0; i < c.in.size(); ++i)
    if (i < r.site.in.size() && r.site.in[i] && !r.constant[i])
      bytes += saturating_product(
          i == 0 ? moved_bytes_of_table(r, *r.site.in[i], c.in[i], c) : moved_bytes(r, *r.site.in[i], c.in[i]),
          i == 0   ? left
          : i == 1 ? right
                   : 1);
  for (size_t i = 0; i < c.out.size() && i < r.site.out.size(); ++i)
    bytes += i == 0 && c.outputs_share ? moved_bytes_of_table(r, r.site.out[i], c.out[i], c)
                                       : moved_bytes(r, r.site.out[i], c.out[i]);
  if (bytes == 0) return;
  Traffic t;
  t.total = bytes;
  const int64_t cycles = transfer_cycles(m, bytes);
  c.steps.push_back({BspPhaseKind::exchange, second_level_step, cycles, cycles, m.tiles, t});
  c.cycles += cycles;
  c.control_bytes += step_control_bytes;
}

/// Exchanges and the second level run at the same time. Computing hides a part of the longer one.
void hide(const Machine& m, OpCandidate& c) {
  int64_t compute = 0, exchange = 0, level = 0;
  for (const CandidateStep& s : c.steps) {
    if (s.kind == BspPhaseKind::compute) compute += s.cycles;
    if (s.kind == BspPhaseKind::exchange) (s.what == second_level_step ? level : exchange) += s.cycles;
  }
  const int64_t both = exchange + level;
  if (both == 0) return;
  const int64_t hidden = both - std::max(exchange, level) + std::min(std::max(exchange, level), compute);
  const int64_t left = both - hidden / 100 * m.overlap - hidden % 100 * m.overlap / 100;
  int64_t part = left, whole = both;
  while (whole >= int64_t{1} << 24) part /= 2, whole /= 2;  // so that products do not overflow
  for (CandidateStep& s : c.steps) {
    if (s.kind != BspPhaseKind::exchange) continue;
    c.cycles -= s.cycles;
    s.cycles = s.mean_cycles = s.cycles / whole * part + s.cycles % whole * part / whole;
    c.cycles += s.cycles;
  }
}

}  // namespace

StreamedProduct streamed_product(int64_t rows, int64_t columns, int64_t depth, int64_t operand_bytes,
                                 int64_t partial_bytes, int64_t limit) {
  int64_t part_rows = std::max<int64_t>(1, rows), part_columns = std::max<int64_t>(1, columns);
  const int64_t slice = 2 * std::min(depth, streamed_depth) * operand_bytes;
  const auto bytes = [&] {
    return saturating_product(part_rows, saturating_product(part_columns, partial_bytes)) +
           saturating_product(part_rows + part_columns, slice);
  };
  while (bytes() > limit && (part_rows > 1 || part_columns > 1))
    (part_rows >= part_columns ? part_rows : part_columns) = div_up(std::max(part_rows, part_columns), 2);
  return {div_up(std::max<int64_t>(1, columns), part_columns), div_up(std::max<int64_t>(1, rows), part_rows), bytes()};
}

void charge_second_level(const CandidateRequest& r, const CandidateOptions& options) {
  for (OpCandidate& c : r.candidates) {
    if (r.machine.spill > 0) stream(r, options, c);
    if (r.machine.overlap > 0) hide(r.machine, c);
    const auto first = std::find_if(c.steps.begin(), c.steps.end(),
                                    [](const CandidateStep& s) { return s.kind == BspPhaseKind::compute; });
    if (r.machine.launch == 0 || first == c.steps.end()) continue;
    first->cycles += r.machine.launch;
    first->mean_cycles += r.machine.launch;
    c.cycles += r.machine.launch;
  }
}

}  // namespace pxl::tiles
