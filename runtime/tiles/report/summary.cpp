// The report as text.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/graph/ir.hpp"
#include "runtime/tiles/costs/cost.hpp"
#include "runtime/tiles/report/report.hpp"

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

std::string op_text(const ReportOp& o) {
  // The file's folder is left out, so that the text does not depend on the program's location.
  return fmt::format("{}.{}{}{}", o.name, o.id, o.where.empty() ? "" : ", ", last_part(o.where));
}

std::string families_text(const Report& r) {
  if (r.families.empty()) return {};
  std::string s = fmt::format("\n  {:18}{:>14} {:>14}\n", "plans of products", "cycles", "fullest tile");
  for (const FamilyReport& f : r.families)
    s += fmt::format("  {:18}{:>14} {:>14}{}\n", f.plans, grouped(f.cycles), grouped(f.tile_bytes),
                     f.fits ? "" : "  does not fit");
  return s;
}

/// Indices of the ops with the largest values of a field, largest first. Ops with the value 0 are left out.
std::vector<size_t> ops_by(const Report& r, int64_t ReportOp::*most, size_t top) {
  std::vector<size_t> order(r.ops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return r.ops[a].*most > r.ops[b].*most; });
  order.resize(std::min(top, order.size()));
  std::erase_if(order, [&](size_t i) { return r.ops[i].*most == 0; });
  return order;
}

std::string cycles_text(const Report& r) {
  const int64_t device = r.cycles.device();
  // A run that takes no time has no rate. Counts of cycles are bounded.
  const std::string rate =
      device == 0 ? std::string()
                  : fmt::format(", {}, {:.1f} runs a second", time_text(r.microseconds), r.runs_per_second);
  std::string s = fmt::format("\n  {}{} cycles a run{}; without the host link\n",
                              device >= max_count ? "at least " : "", grouped(device), rate);
  const auto phase = [&](std::string_view what, int64_t cycles) {
    s += fmt::format("    {:10}{:>16}  {:>7}\n", what, grouped(cycles), share(cycles, device));
  };
  phase("compute", r.cycles.compute);
  phase("exchange", r.cycles.exchange);
  phase("sync", r.cycles.sync);
  if (r.host_bytes > 0)
    s += fmt::format(
        "    host link {:>16}  for {} bytes; known to a factor of two\n  {} cycles a run with the host link\n",
        grouped(r.cycles.host), grouped(r.host_bytes), grouped(r.cycles.total()));
  s += fmt::format("  tiles wait for the slowest one in {} of compute", share(r.waiting_cycles, r.cycles.compute));
  const std::vector<size_t> worst = ops_by(r, &ReportOp::waiting_cycles, 3);
  for (size_t i = 0; i < worst.size(); ++i)
    s += fmt::format("{}{}.{} {}", i == 0 ? ", most in " : ", ", r.ops[worst[i]].name, r.ops[worst[i]].id,
                     share(r.ops[worst[i]].waiting_cycles, r.cycles.compute));
  return s + "\n";
}

std::string ops_text(const Report& r, size_t top) {
  std::string s = fmt::format("\n  the most expensive of {}\n  {:>14} {:>7} {:>6}  {:24} plan\n",
                              counted(r.ops.size(), "op"), "cycles", "share", "runs", "op");
  for (const size_t i : ops_by(r, &ReportOp::total_cycles, top)) {
    const ReportOp& o = r.ops[i];
    s += fmt::format("  {:>14} {:>7} {:>6}  {:24} {}\n", grouped(o.total_cycles),
                     share(o.total_cycles, r.cycles.total()), grouped(o.times), fmt::format("{}.{}", o.name, o.id),
                     o.candidate);
  }
  return s;
}

std::string partials_text(const Report& r) {
  if (r.float16_partials_cycles == 0) return {};
  const int64_t more = r.cycles.device() - r.float16_partials_cycles;
  return fmt::format(
      "  float32 partial sums take {} of the time: {} cycles a run with float16 ones (--partials float16)\n",
      share(std::max<int64_t>(0, more), r.cycles.device()), grouped(r.float16_partials_cycles));
}

std::string remedies_text(const Report& r) {
  if (r.remedies.empty()) return {};
  std::string s = "\n  what was tried\n";
  for (const Remedy& remedy : r.remedies)
    s += remedy.fits ? fmt::format("    fits         {:>14} cycles a run {:>14} bytes  {}\n", grouped(remedy.cycles),
                                   grouped(remedy.bytes), remedy.what)
                     : fmt::format("    too large    {:>14}              {:>14} bytes  {}\n", "", grouped(remedy.bytes),
                                   remedy.what);
  return s;
}

}  // namespace

std::string summary_text(const Report& r, size_t top) {
  const Machine& m = r.machine;
  std::string s = fmt::format("{} on {} ({} of {} bytes at {:.3f} GHz)\n", r.program, m.name, counted(m.tiles, "tile"),
                              grouped(m.memory), static_cast<double>(m.clock) / 1e9);
  if (r.fits) s += cycles_text(r);
  s += r.fits ? fmt::format("  {} floating-point operations, {} of the peak in float16; {} bytes exchanged\n",
                            grouped(r.flops), share(r.useful_permille, 1000), grouped(r.exchanged_bytes))
              : fmt::format("  {} floating-point operations\n", grouped(r.flops));
  s += fmt::format("  {} in {} share {} of {} looked at; {} gave way to fit\n", counted(r.ops.size(), "op"),
                   counted(r.graphs.size(), "graph"), counted(r.search.keys, "plan"), grouped(r.search.candidates),
                   counted(r.search.moves, "plan"));

  if (!r.timeline_complete)
    s += fmt::format("  the run has more steps than are kept: page and trace show the first {}\n",
                     grouped(static_cast<int64_t>(r.timeline.size())));

  if (r.fits) s += ops_text(r, top);

  s += families_text(r);
  if (r.tiles.empty()) return s;
  const TileMemory& full = r.tiles[static_cast<size_t>(r.fullest_tile)];
  s += fmt::format("\n  fullest tile {}: {} bytes, {} of its memory{}\n", r.fullest_tile, grouped(full.total),
                   share(full.total, m.capacity()),
                   r.peak_op < 0 ? "" : ", while " + op_text(r.ops[static_cast<size_t>(r.peak_op)]) + " runs");
  for (size_t c = 0; c < full.bytes.size(); ++c)
    if (full.bytes[c] > 0)
      s += fmt::format("    {:14}{:>12}\n", name(static_cast<MemoryCategory>(c)), grouped(full.bytes[c]));
  for (size_t i = 0; i < std::min<size_t>(r.fits ? 4 : 8, r.peak_tensors.size()); ++i) {
    const TensorGroup& g = r.peak_tensors[i];
    s += fmt::format("    {} {:>12}  {}{} {}\n", i == 0 ? "tensors there" : "             ", grouped(g.bytes), g.name,
                     g.count > 1 ? fmt::format(" x {}", g.count) : "", g.spec);
  }
  for (const ReportGraph& g : r.graphs)
    if (g.calls > 1)
      s += fmt::format("  {} is stored once for {} calls: {} bytes of code a tile saved, {} cycles of copies\n", g.name,
                       g.calls, grouped(g.saved_bytes), grouped(g.copy_cycles));
  if (r.fits) return s + partials_text(r) + "  the program fits\n";
  for (const Shortage& shortage : r.shortages) {
    s += fmt::format("\n  does not fit: {}\n", shortage.what);
    if (shortage.op < 0) continue;
    const ReportOp& o = r.ops[static_cast<size_t>(shortage.op)];
    if (shortage.point < 0)
      s += fmt::format("    {:>12}  {}, which has most of any op\n", grouped(o.code_bytes()), op_text(o));
  }
  return s + remedies_text(r);
}

std::string listing_text(const Report& r) {
  std::string s = fmt::format("{} on {}, by line; a line includes what it calls\n", r.program, r.machine.name);
  for (const SourceListing& listing : r.sources) {
    s += fmt::format("\n  {}\n  {:>14} {:>7} {:>14}\n", listing.name, "cycles", "share", "bytes");
    size_t last = 0;
    for (size_t i = 0; i < listing.lines.size(); ++i)
      if (!listing.lines[i].ops.empty()) last = i;
    for (size_t i = 0; i <= last; ++i) {
      const SourceLine& line = listing.lines[i];
      s += line.ops.empty() ? fmt::format("  {:37} {:>5}  {}\n", "", i + 1, line.text)
                            : fmt::format("  {:>14} {:>7} {:>14} {:>5}  {}\n", grouped(line.cycles),
                                          share(line.cycles, r.cycles.total()), grouped(line.bytes), i + 1, line.text);
    }
  }
  return s;
}

}  // namespace pxl::tiles
