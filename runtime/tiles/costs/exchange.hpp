// Exchange phases. In: traffic of the most loaded tile. Out: cycles and code size.
#pragma once

#include <cstdint>

#include "runtime/tiles/machine/machine.hpp"

namespace pxl::tiles {

/// Size of an exchange word in bytes.
inline constexpr int64_t exchange_word_bytes = 4;

/// Traffic of the most loaded tile in one exchange phase. A send is a multicast to any number of tiles. Each receiver
/// spends its own cycles.
struct Traffic {
  int64_t in = 0, out = 0;  ///< maximum over tiles of bytes received, and of bytes sent
  int64_t fragments = 0;    ///< slices contiguous on both sides that this tile receives or sends
  int64_t total = 0;        ///< bytes received by all tiles
  int64_t paired_in = 0;    ///< part of `in`: bytes that both tiles of a pair receive, in half the cycles
  int64_t runs = 0;         ///< receive instructions, of any length; 0: as many as fragments
  int64_t sends = 0;        ///< send instructions of any length; 0: as many as runs, with at least 64 words each
  int64_t jumps = -1;       ///< receives whose address does not continue the previous one; -1: all but the first

  bool empty() const { return in == 0 && out == 0; }
  /// Adds the other traffic of the same tile in the same phase.
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

/// Bytes of exchange code on the most loaded tile. A phase takes 8. A send takes 8, or 12 for more than 64 words. A
/// receive takes 4: the instruction that waits and selects the next sender. A receive that is not contiguous with the
/// previous one takes 8 more: the instruction also sets the address. Words carry no receiver, so one send serves
/// several receivers. Source: ipu-stack, encodings of the exchange instructions, and its estimate of rows that jump.
/// PopLibs' embedding planner also takes 4 bytes for a change of sender.
int64_t exchange_code_bytes(const Traffic& t);
/// The same for a tile with `sends` sends of `out` bytes together, and `receives` receives. `jumps` receives do not
/// continue the previous one.
int64_t exchange_code_bytes(int64_t sends, int64_t out, int64_t receives, int64_t jumps);
/// Bytes of exchange code per phase, on each tile that takes part. exchange_code_bytes includes them.
constexpr int64_t phase_code_bytes = 8;

/// Bytes of control code for a call, an exchange, a compute set or a loop. Two instructions of four bytes set an
/// address and call the code there. Known to be in 8..16.
constexpr int64_t step_control_bytes = 8;
/// Bytes of control code for a synchronisation: one instruction.
constexpr int64_t sync_control_bytes = 4;

}  // namespace pxl::tiles
