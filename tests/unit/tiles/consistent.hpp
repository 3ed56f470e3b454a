// Invariants of every report.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "runtime/tiles/report/report.hpp"

namespace pxl::tiles::test {

inline int64_t sum(const CategoryBytes& bytes) { return std::accumulate(bytes.begin(), bytes.end(), int64_t{0}); }

/// Checks the invariants of a report.
inline void check_consistent(const Report& r) {
  CategoryBytes over{};
  int64_t most = 0;
  for (const TileMemory& t : r.tiles) {
    CHECK(sum(t.bytes) == t.total);
    for (size_t c = 0; c < over.size(); ++c) over[c] += t.bytes[c];
    most = std::max(most, t.total);
  }
  CHECK(over == r.memory);
  CHECK(static_cast<int64_t>(r.tiles.size()) == r.machine.tiles);
  CHECK(r.tiles[static_cast<size_t>(r.fullest_tile)].total == most);
  CHECK(r.fits == r.shortages.empty());
  // The points of the timeline reach the highest memory use, calls and their copies included.
  int64_t reached = 0;
  for (const LivenessPoint& p : r.liveness) reached = std::max(reached, p.fullest);
  if (r.liveness_complete && !r.liveness.empty()) CHECK(reached == most);
  // An op's cycles are the sum of its steps; the program's are the sum over ops times their runs.
  PhaseCycles ops;
  for (const ReportOp& o : r.ops) {
    int64_t cycles = 0;
    for (int s = o.first_step; s < o.first_step + o.step_count; ++s) {
      CHECK(r.steps[static_cast<size_t>(s)].mean_cycles <= r.steps[static_cast<size_t>(s)].cycles);
      cycles += r.steps[static_cast<size_t>(s)].cycles;
    }
    CHECK(cycles == o.cycles.total());
    CHECK(o.total_cycles == cycles * o.times);
    ops.compute += o.total_cycles;
    int chosen = 0;
    for (const ReportCandidate& p : o.alternatives) chosen += p.chosen;
    CHECK(chosen == (o.alternatives.empty() ? 0 : 1));
  }
  CHECK(ops.compute == r.cycles.total());
  int64_t clock = 0;
  for (const ReportSpan& s : r.timeline) {
    CHECK(s.start == clock);
    clock += s.cycles;
  }
  CHECK(clock == r.cycles.total());
  for (const ReportTensor& t : r.tensors) CHECK((t.always_live || t.first <= t.last));
}

}  // namespace pxl::tiles::test
