// Exchange phases: the traffic of the busiest tile in, cycles and code out.
#pragma once

#include <cstdint>

#include "runtime/tiles/machine.hpp"

namespace pxl::tiles {

/// What the busiest tile of an exchange phase does. A send reaches any number of tiles; each of them spends its own
/// cycles on receiving.
struct Traffic {
  int64_t in = 0, out = 0;  ///< bytes received and sent by the tile that has most of each
  int64_t fragments = 0;    ///< pieces contiguous on both sides that the busiest tile receives or sends
  int64_t total = 0;        ///< bytes received by all tiles
  bool paired = false;      ///< both tiles of each pair receive the same: half the cycles of `in`
  int64_t runs = 0;         ///< of those, what one receive takes, however long; 0: as many
  int64_t sends = 0;        ///< that tile's, however long and to however many; 0: as runs, of 64 words at least

  bool empty() const { return in == 0 && out == 0; }
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

/// Cycles of the schedule of a phase: its transfers and the delay of the first word.
int64_t scheduled_cycles(const Machine& m, const Traffic& t);
/// Cycles of a phase without the synchronisation before it: the schedule, and what a phase costs beyond it. Nothing
/// for an empty one.
int64_t exchange_cycles(const Machine& m, const Traffic& t);
/// Beyond the scheduled cycles.
int64_t phase_overhead(const Machine& m);

/// Bytes of exchange code that the busiest tile holds for the phase: 8 for each send and receive, 4 more for a send of
/// more than 64 words and for a receive that does not continue the one before, 8 for the phase (ipu-stack, calibrated
/// on recorded programs: -14 to +18 percent).
int64_t exchange_code_bytes(const Traffic& t);
/// Of those, what every tile holds that only waits for the phase.
constexpr int64_t phase_code_bytes = 8;

}  // namespace pxl::tiles
