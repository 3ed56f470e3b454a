#include "runtime/tiles/costs/exchange.hpp"

#include <algorithm>

#include "runtime/tiles/costs/cost.hpp"

namespace pxl::tiles {

namespace {
constexpr int64_t words_per_send = 64;

/// Cycles of a mesh's links for traffic that is spread evenly. A message crosses a third of the rows and columns on
/// average. Each further receiver of a multicast is one link from the preceding receiver.
int64_t link_cycles(const Machine& m, const Traffic& t) {
  if (m.mesh_columns == 0) return 0;
  const int64_t columns = std::min(m.mesh_columns, m.tiles), rows = div_up(m.tiles, columns);
  const int64_t links = std::max<int64_t>(1, 2 * (rows * (columns - 1) + columns * (rows - 1)));
  const int64_t sent = std::min(t.total, saturating_product(t.out, m.tiles)), more = t.total - sent;
  const int64_t crossed = saturating_product(sent, std::max<int64_t>(1, (rows + columns) / 3)) + more;
  return div_up(crossed, links * m.link_bytes);
}

/// Cycles from a corner of a mesh to the opposite one.
int64_t mesh_latency(const Machine& m) {
  if (m.mesh_columns == 0) return 0;
  const int64_t columns = std::min(m.mesh_columns, m.tiles);
  return m.hop_latency * (columns + div_up(m.tiles, columns) - 2);
}
}  // namespace

void Traffic::add(const Traffic& other) {
  in += other.in, out += other.out, fragments += other.fragments, total += other.total;
  paired_in += other.paired_in, runs += other.runs, sends += other.sends;
  jumps = jumps < 0 || other.jumps < 0 ? -1 : jumps + other.jumps;
}

int64_t scheduled_cycles(const Machine& m, const Traffic& t) {
  if (t.empty()) return 0;
  const int64_t in = div_up(t.in - t.paired_in, m.exchange_bytes) + div_up(t.paired_in, m.exchange_pair_bytes);
  const int64_t words = std::max(in, div_up(t.out, m.exchange_bytes));
  const int64_t busiest = std::max(words, link_cycles(m, t));
  return m.exchange_latency + mesh_latency(m) +
         std::max(div_up(busiest * 100, m.exchange_efficiency), m.exchange_fragment * t.fragments);
}

int64_t phase_overhead(const Machine& m) { return m.exchange_entry; }

int64_t exchange_cycles(const Machine& m, const Traffic& t) {
  return t.empty() ? 0 : scheduled_cycles(m, t) + phase_overhead(m);
}

int64_t exchange_code_bytes(const Traffic& t) {
  if (t.empty()) return 0;
  const int64_t pieces = std::max<int64_t>(1, t.runs > 0 ? t.runs : t.fragments);
  const int64_t whole = std::max<int64_t>(1, div_up(t.out, words_per_send * exchange_word_bytes));
  const int64_t sends = t.out == 0 ? 0 : t.sends > 0 ? t.sends : std::min(pieces, whole);
  const int64_t receives = t.in == 0 ? 0 : pieces;
  const int64_t possible = std::max<int64_t>(0, receives - 1);
  const int64_t jumps = t.jumps < 0 ? possible : std::min(t.jumps, possible);
  return exchange_code_bytes(sends, t.out, receives, jumps);
}

int64_t exchange_code_bytes(int64_t sends, int64_t out, int64_t receives, int64_t jumps) {
  const bool large = sends > 0 && out / sends > words_per_send * exchange_word_bytes;
  return 8 * sends + (large ? 4 * sends : 0) + 4 * receives + 8 * jumps + phase_code_bytes;
}

}  // namespace pxl::tiles
