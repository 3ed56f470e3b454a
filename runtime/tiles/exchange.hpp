// Exchange phases: traffic of the most loaded tile in, cycles and code size out.
#pragma once

#include <cstdint>

#include "runtime/tiles/machine.hpp"

namespace pxl::tiles {

/// Traffic of the most loaded tile in one exchange phase. A send is a multicast to any number of tiles; each receiver
/// spends its own cycles.
struct Traffic {
  int64_t in = 0, out = 0;  ///< maximum over tiles of bytes received and of bytes sent
  int64_t fragments = 0;    ///< slices contiguous on both sides that this tile receives or sends
  int64_t total = 0;        ///< bytes received by all tiles
  int64_t paired_in = 0;    ///< of `in`, bytes that both tiles of a pair receive, in half the cycles
  int64_t runs = 0;         ///< receive instructions, of any length; 0: as many as fragments
  int64_t sends =
      0;  ///< send instructions, of any length and number of receivers; 0: as runs, of at least 64 words each
  int64_t jumps = -1;  ///< receives whose address does not continue the previous one; -1: all but the first

  bool empty() const { return in == 0 && out == 0; }
  /// Adds what the same tile receives and sends besides in the same phase.
  void add(const Traffic& other);
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

/// Cycles of a phase's schedule: its transfers and the latency of the first word.
int64_t scheduled_cycles(const Machine& m, const Traffic& t);
/// Cycles of a phase without the preceding synchronisation: the schedule and the phase overhead; 0 if the traffic is
/// empty.
int64_t exchange_cycles(const Machine& m, const Traffic& t);
/// Cycles of a phase beyond its schedule.
int64_t phase_overhead(const Machine& m);

/// Bytes of exchange code of the most loaded tile: 8 per send and receive, 4 more for a send of more than 64 words and
/// for a receive that is not contiguous with the previous one, 8 for the phase. Source: ipu-stack, calibrated on
/// recorded programs; errors from -14 to +18 percent.
int64_t exchange_code_bytes(const Traffic& t);
/// Bytes of exchange code of a tile that only takes part in the phase's synchronisation; included in
/// exchange_code_bytes.
constexpr int64_t phase_code_bytes = 8;

}  // namespace pxl::tiles
