// Steps of candidates, Pareto pruning, and helpers of the enumeration functions.
#include "runtime/tiles/candidates/candidates.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "runtime/tiles/cuts/given_cut.hpp"

namespace pxl::tiles {

namespace {

bool dominates(const OpCandidate& a, const OpCandidate& b) {
  return a.in == b.in && a.out == b.out && a.cycles <= b.cycles && a.temp_bytes <= b.temp_bytes &&
         a.resident_bytes <= b.resident_bytes && a.code_bytes + a.state_bytes <= b.code_bytes + b.state_bytes;
}

}  // namespace

void OpCandidate::sync(const Machine& m) {
  if (records_steps) steps.push_back({BspPhaseKind::sync, "sync", m.sync, m.sync, m.tiles, {}});
  control_bytes += sync_control_bytes;
  cycles += m.sync;
}

void OpCandidate::compute(const Machine& m, std::string_view what, int64_t c, int64_t used, VertexState state) {
  if (c <= 0) return;
  used = std::clamp<int64_t>(used, 1, m.tiles);
  if (records_steps) steps.push_back({BspPhaseKind::compute, what, c, c * used / m.tiles, used, {}});
  cycles += c;
  state_bytes += state.fields + state.lists;
  list_bytes += state.lists;
  control_bytes += step_control_bytes;
  tiles = std::max(tiles, used);
}

void OpCandidate::exchange(const Machine& m, std::string_view what, const Traffic& traffic) {
  if (traffic.empty()) return;
  sync(m);
  const int64_t c = exchange_cycles(m, traffic);
  if (records_steps) steps.push_back({BspPhaseKind::exchange, what, c, c, m.tiles, traffic});
  cycles += c;
  code_bytes += exchange_code_bytes(traffic);
  control_bytes += step_control_bytes;
  ++phases;
}

void OpCandidate::host(const Machine& m, int64_t bytes) {
  const int64_t rate = std::max<int64_t>(1, m.host_bytes / 1000), clock = m.clock / 1000;
  const int64_t rest = bytes % rate;
  const int64_t c = saturating_product(bytes / rate, clock) +
                    (rest > INT64_MAX / clock / 2 ? rest / (rate / clock) : div_up(rest * clock, rate)) +
                    saturating_product(m.host_latency, clock) / 1'000'000;
  Traffic traffic;
  traffic.total = bytes;
  steps.push_back({BspPhaseKind::host, "host link", c, c, m.tiles, traffic});
  control_bytes += step_control_bytes;
  cycles += c;
}

void OpCandidate::repeat(const OpCandidate& once, int64_t times) {
  for (int64_t i = 0; i < times; ++i) steps.insert(steps.end(), once.steps.begin(), once.steps.end());
  cycles += saturating_product(times, once.cycles);
  code_bytes += once.code_bytes;
  state_bytes += once.state_bytes;
  list_bytes += once.list_bytes;
  phases += once.phases;
  control_bytes += once.control_bytes + step_control_bytes;
  tiles = std::max(tiles, once.tiles);
}

int64_t partials_of_a_stage(int64_t partials) {
  const int stages = partials < 16 ? 1 : partials < 125 ? 2 : 3;
  int64_t each = 1;
  const auto power = [&](int64_t base) { return stages == 1 ? base : stages == 2 ? base * base : base * base * base; };
  while (power(each) < partials) ++each;
  return each;
}

int64_t OpCandidate::sum_partials(const Machine& m, std::string_view what, int64_t partials, int64_t elements,
                                  int64_t partial_bytes, int64_t out_bytes, int64_t used) {
  const int64_t each = partials_of_a_stage(partials);
  int64_t most = 0, left = partials;
  for (int stage = 0; left > 1; ++stage) {
    const int64_t here = std::min(each, left), mine = div_up(elements, here);
    left = div_up(left, here);
    Traffic t;
    t.in = t.out = saturating_product((here - 1) * mine, partial_bytes);
    t.runs = here - 1;
    t.sends = std::min<int64_t>(here - 1, 2);  // the share that the tile keeps splits the rest in two
    t.jumps = 1;                               // partial sums of all tiles are stored one after the other
    t.fragments = std::max(t.runs, div_up(t.in, 256));
    t.total = saturating_product(t.in, used);
    exchange(m, what, t);
    compute(m, "Reduce", sum_partials_cycles(m, here, mine, partial_bytes, left > 1 ? partial_bytes : out_bytes), used,
            {24});
    most = std::max(most, t.in);
    elements = mine;
  }
  return most;
}

OpCandidate CandidateRequest::start(std::string_view variant) const {
  OpCandidate candidate;
  candidate.variant = variant;
  candidate.in.assign(site.in.size(), -1);
  return candidate;
}

std::vector<int32_t> CandidateRequest::offered(const TensorSpec& spec) const {
  return given && given->has_mappings() ? given->mappings_of(site, spec) : pool.of(spec);
}

const std::vector<int32_t>& TileMappingPool::of(const TensorSpec& spec) {
  std::vector<int32_t>& pool = pools_[{spec.shape, spec.dtype}];
  if (pool.empty()) {
    pool.push_back(table.id(linear_mapping(machine_, spec)));
    // Rows on separate tiles: keeps the last axis whole, for transpositions and row ops.
    if (spec.shape.size() >= 2 && spec.size() > 0) {
      std::vector<int32_t> parts;
      partition_axes(spec.shape, 0, spec.shape.size() - 1, machine_.tiles, parts);
      pool.push_back(table.id(block_mapping(spec, std::move(parts))));
    }
  }
  return pool;
}

void TileMappingPool::add(const TensorSpec& spec, int32_t mapping) {
  constexpr size_t most = 12;
  of(spec);
  std::vector<int32_t>& pool = pools_[{spec.shape, spec.dtype}];
  if (mapping >= 0 && pool.size() < most && std::find(pool.begin(), pool.end(), mapping) == pool.end())
    pool.push_back(mapping);
}

int64_t keep_best(std::vector<OpCandidate>& candidates, int64_t temp_bound, size_t most) {
  const auto within = [&](const OpCandidate& p) { return p.constrained_bytes() <= temp_bound; };
  size_t rejected = 0;
  if (std::any_of(candidates.begin(), candidates.end(), within)) {
    rejected = std::erase_if(candidates, [&](const OpCandidate& p) { return !within(p); });
  } else if (!candidates.empty()) {
    // No candidate is within the bound: keep those within an eighth of the lowest.
    int64_t least = candidates.front().constrained_bytes();
    for (const OpCandidate& p : candidates) least = std::min(least, p.constrained_bytes());
    rejected =
        std::erase_if(candidates, [&](const OpCandidate& p) { return p.constrained_bytes() > least + least / 8; });
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const OpCandidate& a, const OpCandidate& b) {
    return std::pair(a.cycles, a.temp_bytes) < std::pair(b.cycles, b.temp_bytes);
  });
  std::vector<OpCandidate> kept;
  for (OpCandidate& p : candidates)
    if (std::none_of(kept.begin(), kept.end(), [&](const OpCandidate& k) { return dominates(k, p); }))
      kept.push_back(std::move(p));
  if (kept.size() > most) {
    // Keeps the fastest of each variant, and the fastest half. The others are kept by the smallest product of cycles
    // and bytes.
    const auto weight = [](const OpCandidate& p) {
      return static_cast<double>(p.cycles) * static_cast<double>(p.temp_bytes + p.resident_bytes + 64);
    };
    std::set<std::string_view> variants;
    std::vector<OpCandidate> fast, others;
    for (size_t i = 0; i < kept.size(); ++i)
      (variants.insert(kept[i].variant).second || i < most / 2 ? fast : others).push_back(std::move(kept[i]));
    std::stable_sort(others.begin(), others.end(),
                     [&](const OpCandidate& a, const OpCandidate& b) { return weight(a) < weight(b); });
    kept = std::move(fast);
    for (OpCandidate& p : others)
      if (kept.size() < most) kept.push_back(std::move(p));
    std::stable_sort(kept.begin(), kept.end(),
                     [](const OpCandidate& a, const OpCandidate& b) { return a.cycles < b.cycles; });
  }
  candidates = std::move(kept);
  return static_cast<int64_t>(rejected);
}

void keep_separate(std::vector<OpCandidate>& candidates, int64_t temp_bound) {
  if (candidates.empty()) return;
  const auto key = [&](const OpCandidate& p) {
    return std::tuple(p.constrained_bytes() > temp_bound, p.planner_cycles > 0 ? p.planner_cycles : p.cycles,
                      p.temp_bytes);
  };
  const auto best = std::min_element(candidates.begin(), candidates.end(),
                                     [&](const OpCandidate& a, const OpCandidate& b) { return key(a) < key(b); });
  std::vector<OpCandidate> one;
  one.push_back(std::move(*best));
  candidates = std::move(one);
}

std::vector<int64_t> partition_counts(int64_t extent, int64_t grain, int64_t most) {
  std::vector<int64_t> counts;
  const int64_t blocks = div_up(extent, grain);
  for (int64_t each = 1; each <= blocks; each += std::max<int64_t>(1, each * 2 / 5)) {
    const int64_t n = div_up(blocks, each);
    if (n <= most && (counts.empty() || counts.back() != n)) counts.push_back(n);
  }
  // Powers of two divide most extents evenly, and divide rings into steps.
  for (int64_t n = 1; n <= blocks && n <= most; n *= 2) counts.push_back(n);
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

std::vector<int64_t> all_partition_counts(int64_t extent, int64_t most) {
  std::vector<int64_t> counts;
  for (int64_t n = std::min(extent, most); n > 0; --n) {
    n = div_up(extent, div_up(extent, n));  // the smallest number with blocks of this extent
    counts.push_back(n);
  }
  std::reverse(counts.begin(), counts.end());
  return counts;
}

namespace {

template <class Counts>
std::vector<int64_t> counts_of_axes(const Shape& axes, int64_t most, Counts&& counts_of) {
  std::vector<int64_t> counts{1};
  int64_t before = 1;  // parts of the preceding axes, which are divided into single indices
  for (const int64_t extent : axes) {
    if (before > most) break;
    for (const int64_t n : counts_of(extent, most / before)) counts.push_back(before * n);
    before *= std::max<int64_t>(1, extent);
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

}  // namespace

std::vector<int64_t> axes_partition_counts(const Shape& axes, int64_t most) {
  return counts_of_axes(axes, most, [](int64_t extent, int64_t n) { return partition_counts(extent, 1, n); });
}
std::vector<int64_t> all_axes_partition_counts(const Shape& axes, int64_t most) {
  return counts_of_axes(axes, most, [](int64_t extent, int64_t n) { return all_partition_counts(extent, n); });
}

void partition_axes(const Shape& shape, size_t first, size_t end, int64_t parts, std::vector<int32_t>& out) {
  out.resize(shape.size(), 1);
  for (size_t i = first; i < end && parts > 1; ++i) {
    const int64_t here = std::min(parts, std::max<int64_t>(1, shape[i]));
    out[i] = static_cast<int32_t>(here);
    parts /= here;
  }
}

std::vector<bool> axes_of_site(const OpContext& site, size_t rank, bool fallback_last) {
  std::vector<bool> named(rank, false);
  const auto set = [&](int64_t axis) {
    if (axis < 0) axis += static_cast<int64_t>(rank);
    if (axis >= 0 && axis < static_cast<int64_t>(rank)) named[static_cast<size_t>(axis)] = true;
  };
  for (size_t i = 0; i < site.row.params.size() && i < site.attrs.size(); ++i) {
    if (site.row.params[i].name != "axis") continue;
    if (const auto* one = std::get_if<int64_t>(&site.attrs[i])) return set(*one), named;
    if (const auto* many = std::get_if<std::vector<int64_t>>(&site.attrs[i])) {
      for (int64_t axis : *many) set(axis);
      return named;
    }
  }
  if (!fallback_last)
    named.assign(rank, true);
  else if (rank > 0)
    named[rank - 1] = true;
  return named;
}

int64_t element_bytes(const TensorSpec& spec) { return static_cast<int64_t>(size_of(spec.dtype)); }

int64_t product_bytes(const Machine& m, const TensorSpec& spec) {
  const int64_t least = is_float8(spec.dtype) && m.has_float8() ? 1 : 2;
  return std::clamp<int64_t>(element_bytes(spec), least, 4);
}

int64_t product_partial_bytes(const CandidateOptions& options, int64_t operand_bytes) {
  return operand_bytes >= 4 ? 4 : operand_bytes == 1 ? 2 : options.half_partial_bytes;
}

}  // namespace pxl::tiles
