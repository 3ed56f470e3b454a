// Exchange phases: traffic of the most loaded tile in, cycles and code size out.
#pragma once

#include <cstdint>

#include "runtime/tiles/machine.hpp"

namespace pxl::tiles {

/// Bytes of a word of an exchange.
inline constexpr int64_t exchange_word_bytes = 4;

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

/// Bytes of exchange code of the most loaded tile: 8 per send, 4 more for one of more than 64 words; 4 per receive, the
/// instruction that waits and selects the next sender, 8 more for one that is not contiguous with the previous one, the
/// instruction that also sets the address; 8 for the phase. Words carry no receiver, so that one send serves several.
/// Source: ipu-stack, encodings of the exchange instructions and its estimate of rows that jump; PopLibs' embedding
/// planner also takes 4 bytes for a change of sender.
int64_t exchange_code_bytes(const Traffic& t);
/// The same of a tile with `sends` of `out` bytes together and `receives`, of which `jumps` do not continue the
/// previous one.
int64_t exchange_code_bytes(int64_t sends, int64_t out, int64_t receives, int64_t jumps);
/// Bytes of exchange code of a phase on each tile that takes part; included in exchange_code_bytes.
constexpr int64_t phase_code_bytes = 8;

/// Control code of a call, an exchange, a compute set or a loop: two instructions of four bytes, which set an address
/// and call what is there. Known to be in 8..16.
constexpr int64_t step_control_bytes = 8;
/// Control code of a synchronisation: one instruction.
constexpr int64_t sync_control_bytes = 4;

}  // namespace pxl::tiles
