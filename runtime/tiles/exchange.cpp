#include "runtime/tiles/exchange.hpp"

#include <algorithm>

#include "runtime/tiles/cost.hpp"

namespace pxl::tiles {

namespace {
constexpr int64_t words_per_send = 64, word_bytes = 4;
}

void Traffic::add(const Traffic& other) {
  in += other.in, out += other.out, fragments += other.fragments, total += other.total;
  paired_in += other.paired_in, runs += other.runs, sends += other.sends;
  jumps = jumps < 0 || other.jumps < 0 ? -1 : jumps + other.jumps;
}

int64_t scheduled_cycles(const Machine& m, const Traffic& t) {
  if (t.empty()) return 0;
  const int64_t in = div_up(t.in - t.paired_in, m.exchange_bytes) + div_up(t.paired_in, m.exchange_pair_bytes);
  const int64_t words = std::max(in, div_up(t.out, m.exchange_bytes));
  return m.exchange_latency + std::max(div_up(words * 100, m.exchange_efficiency), m.exchange_fragment * t.fragments);
}

int64_t phase_overhead(const Machine& m) { return m.exchange_entry; }

int64_t exchange_cycles(const Machine& m, const Traffic& t) {
  return t.empty() ? 0 : scheduled_cycles(m, t) + phase_overhead(m);
}

int64_t exchange_code_bytes(const Traffic& t) {
  if (t.empty()) return 0;
  const int64_t pieces = std::max<int64_t>(1, t.runs > 0 ? t.runs : t.fragments);
  const int64_t whole = std::max<int64_t>(1, div_up(t.out, words_per_send * word_bytes));
  const int64_t sends = t.out == 0 ? 0 : t.sends > 0 ? t.sends : std::min(pieces, whole);
  const bool large = sends > 0 && t.out / sends > words_per_send * word_bytes;
  const int64_t receives = t.in == 0 ? 0 : pieces;
  const int64_t possible = std::max<int64_t>(0, receives - 1);
  const int64_t jumps = t.jumps < 0 ? possible : std::min(t.jumps, possible);
  return 8 * sends + (large ? 4 * sends : 0) + 8 * receives + 4 * jumps + phase_code_bytes;
}

}  // namespace pxl::tiles
