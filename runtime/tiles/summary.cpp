// The report as text.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/tiles/report.hpp"

namespace pxl::tiles {

std::string grouped(int64_t n) {
  std::string s = std::to_string(n < 0 ? -n : n);
  for (ptrdiff_t i = static_cast<ptrdiff_t>(s.size()) - 3; i > 0; i -= 3) s.insert(static_cast<size_t>(i), ",");
  return n < 0 ? "-" + s : s;
}

namespace {

std::string share(int64_t part, int64_t whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole)) : "0 %";
}

std::string counted(int64_t n, std::string_view what) {
  return fmt::format("{} {}{}", grouped(n), what, n == 1 ? "" : "s");
}
std::string counted(size_t n, std::string_view what) { return counted(static_cast<int64_t>(n), what); }

std::string time_text(double microseconds) {
  if (microseconds >= 1e6) return fmt::format("{:.3f} s", microseconds / 1e6);
  if (microseconds >= 1e3) return fmt::format("{:.3f} ms", microseconds / 1e3);
  return fmt::format("{:.1f} us", microseconds);
}

std::string families_text(const Report& r) {
  if (r.families.empty()) return {};
  std::string s = fmt::format("\n  {:18}{:>14} {:>14}\n", "plans of products", "cycles", "fullest tile");
  for (const FamilyReport& f : r.families)
    s += fmt::format("  {:18}{:>14} {:>14}{}\n", f.plans, grouped(f.cycles), grouped(f.tile_bytes),
                     f.fits ? "" : "  does not fit");
  return s;
}

}  // namespace

std::string summary_text(const Report& r, size_t top) {
  const Machine& m = r.machine;
  std::string s = fmt::format("{} on {} ({} of {} bytes at {:.3f} GHz)\n", r.program, m.name, counted(m.tiles, "tile"),
                              grouped(m.memory), static_cast<double>(m.clock) / 1e9);
  const int64_t device = r.cycles.device();
  s += fmt::format("\n  {} cycles a run, {}, {:.1f} runs a second; without the host link\n", grouped(device),
                   time_text(r.microseconds), r.runs_per_second);
  const auto phase = [&](std::string_view what, int64_t cycles) {
    s += fmt::format("    {:10}{:>16}  {:>7}\n", what, grouped(cycles), share(cycles, device));
  };
  phase("compute", r.cycles.compute);
  phase("exchange", r.cycles.exchange);
  phase("sync", r.cycles.sync);
  if (r.host_bytes > 0)
    s += fmt::format("    host link {:>16}  for {} bytes; known to a factor of two\n", grouped(r.cycles.host),
                     grouped(r.host_bytes));
  s += fmt::format("  {} floating-point operations, {} of the peak in float16; {} bytes exchanged\n", grouped(r.flops),
                   share(r.useful_permille, 1000), grouped(r.exchanged_bytes));
  s += fmt::format("  {} in {} share {} of {} looked at; {} gave way to fit\n", counted(r.ops.size(), "op"),
                   counted(r.graphs.size(), "graph"), counted(r.search.keys, "plan"), grouped(r.search.candidates),
                   counted(r.search.moves, "plan"));

  if (!r.timeline_complete)
    s += fmt::format("  the run has more steps than are kept: page and trace show the first {}\n",
                     grouped(static_cast<int64_t>(r.timeline.size())));

  std::vector<size_t> order(r.ops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return r.ops[a].total_cycles > r.ops[b].total_cycles; });
  s += fmt::format("\n  the most expensive of {}\n  {:>14} {:>7} {:>6}  {:24} plan\n", counted(r.ops.size(), "op"),
                   "cycles", "share", "runs", "op");
  for (size_t i = 0; i < std::min(top, order.size()); ++i) {
    const ReportOp& o = r.ops[order[i]];
    if (o.total_cycles == 0) break;
    s += fmt::format("  {:>14} {:>7} {:>6}  {:24} {}\n", grouped(o.total_cycles),
                     share(o.total_cycles, r.cycles.total()), grouped(o.times), fmt::format("{}.{}", o.name, o.id),
                     o.candidate);
  }

  s += families_text(r);
  if (r.tiles.empty()) return s;
  const TileMemory& full = r.tiles[static_cast<size_t>(r.fullest_tile)];
  s += fmt::format("\n  fullest tile {}: {} bytes, {} of its memory\n", r.fullest_tile, grouped(full.total),
                   share(full.total, m.memory));
  for (size_t c = 0; c < full.bytes.size(); ++c)
    if (full.bytes[c] > 0)
      s += fmt::format("    {:14}{:>12}\n", name(static_cast<MemoryCategory>(c)), grouped(full.bytes[c]));
  for (const ReportGraph& g : r.graphs)
    if (g.calls > 1)
      s += fmt::format("  {} stands once for {} calls: {} bytes of code a tile saved, {} cycles of copies\n", g.name,
                       g.calls, grouped(g.saved_bytes), grouped(g.copy_cycles));
  if (r.fits) return s + "  the program fits\n";
  for (const Shortage& shortage : r.shortages) {
    s += fmt::format("\n  does not fit: {}\n", shortage.what);
    if (shortage.op >= 0) {
      const ReportOp& o = r.ops[static_cast<size_t>(shortage.op)];
      const std::string op = fmt::format("{}.{}{}{}", o.name, o.id, o.where.empty() ? "" : ", ", o.where);
      s += shortage.point >= 0 ? fmt::format("    while {} runs\n", op)
                               : fmt::format("    {:>12}  {}, which has most of any op\n", grouped(o.code_bytes()), op);
    }
    for (size_t i = 0; i < std::min<size_t>(8, shortage.tensors.size()); ++i) {
      const ReportTensor& t = r.tensors[static_cast<size_t>(shortage.tensors[i].tensor)];
      s += fmt::format("    {:>12}  {} {}, {}\n", grouped(shortage.tensors[i].bytes), t.name, t.spec, t.mapping);
    }
  }
  return s;
}

}  // namespace pxl::tiles
