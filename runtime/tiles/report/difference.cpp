// Comparison of two reports, as text.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "runtime/tiles/report/report_json.hpp"

namespace pxl::tiles {

namespace {

std::string change(int64_t now, int64_t before) {
  if (now == before) return "same";
  if (before == 0) return "new";
  return fmt::format("{:+.1f} %", 100.0 * static_cast<double>(now - before) / static_cast<double>(before));
}

struct Pair {
  int64_t now = 0, before = 0;
  int64_t most() const { return std::llabs(now - before); }
};

// The pairs with the largest difference, in descending order. Equal differences are ordered by name.
std::vector<std::pair<std::string, Pair>> largest(const std::map<std::string, Pair>& pairs, size_t top) {
  std::vector<std::pair<std::string, Pair>> found;
  for (const auto& p : pairs)
    if (p.second.most() > 0) found.push_back(p);
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.second.most() > b.second.most(); });
  if (found.size() > top) found.resize(top);
  return found;
}

std::string one_difference(const Report& a, const Report& b, size_t top) {
  std::string s = fmt::format("{} on {} against {} on {}\n\n  {:28}{:>18}{:>18}{:>18}  change\n", a.program,
                              a.machine.name, b.program, b.machine.name, "", "this", "against", "difference");
  const auto line = [&](std::string_view what, int64_t now, int64_t before) {
    s += fmt::format("  {:28}{:>18}{:>18}{:>18}  {}\n", what, grouped(now), grouped(before),
                     (now > before ? "+" : "") + grouped(now - before), change(now, before));
  };
  const auto fullest = [](const Report& r) {
    return r.tiles.empty() ? int64_t{0} : r.tiles[static_cast<size_t>(r.fullest_tile)].total;
  };
  line("cycles a run", a.cycles.device(), b.cycles.device());
  line("  compute", a.cycles.compute, b.cycles.compute);
  line("  exchange", a.cycles.exchange, b.cycles.exchange);
  line("  sync", a.cycles.sync, b.cycles.sync);
  line("host link", a.cycles.host, b.cycles.host);
  line("exchanged bytes", a.exchanged_bytes, b.exchanged_bytes);
  line("fullest tile, bytes", fullest(a), fullest(b));
  for (size_t c = 0; c < a.memory.size(); ++c)
    if (a.memory[c] > 0 || b.memory[c] > 0)
      line(fmt::format("{} on all tiles", name(static_cast<MemoryCategory>(c))), a.memory[c], b.memory[c]);
  line("ops", static_cast<int64_t>(a.ops.size()), static_cast<int64_t>(b.ops.size()));
  const auto fit = [](const Report& r) { return r.fits ? "fits" : "does not fit"; };
  s += fmt::format("  {:28}{:>18}{:>18}\n", "", fit(a), fit(b));

  std::map<std::string, Pair> kinds, ops;
  const auto collect = [&](const Report& r, int64_t Pair::*side) {
    std::map<std::string, int> seen;
    for (const ReportOp& o : r.ops) {
      kinds[o.name].*side += o.total_cycles;
      const std::string key = fmt::format("{} {}", o.name, o.scope);
      const int again = seen[key]++;
      ops[again == 0 ? key : fmt::format("{} ({})", key, again + 1)].*side += o.total_cycles;
    }
  };
  collect(a, &Pair::now);
  collect(b, &Pair::before);
  const auto list = [&](std::string_view what, const std::map<std::string, Pair>& pairs) {
    const auto found = largest(pairs, top);
    if (found.empty()) return;
    s += fmt::format("\n  {}\n", what);
    for (const auto& [key, p] : found)
      s += fmt::format("  {:>18}{:>18}{:>18}  {}\n", grouped(p.now), grouped(p.before),
                       (p.now > p.before ? "+" : "") + grouped(p.now - p.before), key);
  };
  list("cycles by kind of op", kinds);
  list("ops that changed most", ops);
  return s;
}

}  // namespace

const Report* counterpart(const Report& run, std::span<const Report> runs, std::span<const Report> against) {
  for (const Report& r : against)
    if (r.program == run.program) return &r;
  const auto place = static_cast<size_t>(&run - runs.data());
  return place < against.size() ? &against[place] : nullptr;
}

std::string difference_text(std::span<const Report> runs, std::span<const Report> against, size_t top) {
  std::string s;
  for (const Report& r : runs) {
    const Report* other = counterpart(r, runs, against);
    if (!other) continue;
    if (!s.empty()) s += "\n";
    s += one_difference(r, *other, top);
  }
  return s;
}

}  // namespace pxl::tiles
