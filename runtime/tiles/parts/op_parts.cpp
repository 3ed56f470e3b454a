// The dispatch of op_parts. Partitions into one part, and of elementwise ops and ops that move elements.
#include "runtime/tiles/parts/op_parts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/op/definitions.hpp"
#include "runtime/tiles/candidates/strategies.hpp"
#include "runtime/tiles/layout.hpp"

namespace pxl::tiles {

namespace {

/// Whether the op is elementwise on a common shape. Each operand has this shape or is broadcast to it. An operand that
/// the op changes has this shape or one element: a count of steps. Copies into an operand are elementwise, too.
bool is_elementwise(const OpContext& s, const Op& op) {
  if (s.row.exchange != pxl::Exchange::none || s.out.empty()) return false;
  const Shape& shape = s.out[0].shape;
  const bool copies =
      s.row.pattern == Pattern::movement && s.row.alias == 0 && s.row.modifies != 0 &&
      std::all_of(s.in.begin(), s.in.end(), [&](const TensorSpec* t) { return t && t->shape == shape; });
  if (s.row.pattern != Pattern::elementwise && !copies) return false;
  for (const TensorSpec& t : s.out)
    if (t.shape != shape) return false;
  for (size_t i = 0; i < s.in.size(); ++i) {
    if (!s.in[i]) continue;
    if (s.in[i]->shape == shape || (op.modifies(i) && s.in[i]->size() == 1)) continue;
    if (op.modifies(i) || !broadcastable_to(s.in[i]->shape, shape)) return false;
  }
  return true;
}

/// The elements of an operand that are broadcast to these elements of the result, in the order of the result.
std::vector<int64_t> broadcast_elements(const Region& result, const Shape& from, const Shape& to) {
  Shape strides = strides_of(from);
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] == 1) strides[i] = 0;
  strides.insert(strides.begin(), to.size() - from.size(), 0);
  std::vector<int64_t> elements;
  elements.reserve(static_cast<size_t>(result.size()));
  result.for_each([&](int64_t e) {
    int64_t at = 0;
    for (size_t i = to.size(); i-- > 0;) at += e % to[i] * strides[i], e /= to[i];
    elements.push_back(at);
  });
  return elements;
}

constexpr int slot_shift = 44;
constexpr size_t slot_of(uint64_t source) { return static_cast<size_t>(source >> slot_shift); }
constexpr int64_t element_of(uint64_t source) {
  return static_cast<int64_t>(source & ((uint64_t{1} << slot_shift) - 1));
}

/// Runs the definition on numbers: element e of slot i is `i << slot_shift | e`, or its complement. Returns the
/// elements of the results.
std::vector<std::vector<uint64_t>> moved_numbers(const OpContext& s, bool complement, const std::byte* further) {
  std::vector<TensorSpec> in(s.in.size()), out(s.out.begin(), s.out.end());
  std::vector<const TensorSpec*> slots;
  std::vector<std::vector<uint64_t>> numbers(in.size()), found(out.size());
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  for (size_t i = 0; i < in.size(); ++i) {
    if (further && i + 1 == in.size()) {
      slots.push_back(s.in[i]);
      from.push_back(further);
      break;
    }
    slots.push_back(s.in[i] ? &in[i] : nullptr);
    if (s.in[i]) {
      in[i] = {s.in[i]->shape, DType::float64, {}};
      for (int64_t e = 0; e < in[i].size(); ++e) {
        const uint64_t number = static_cast<uint64_t>(i) << slot_shift | static_cast<uint64_t>(e);
        numbers[i].push_back(complement ? ~number : number);
      }
    }
    from.push_back(reinterpret_cast<const std::byte*>(numbers[i].data()));
  }
  for (size_t o = 0; o < out.size(); ++o) {
    out[o].dtype = DType::float64;
    found[o].resize(static_cast<size_t>(out[o].size()));
    to.push_back(reinterpret_cast<std::byte*>(found[o].data()));
  }
  definition_kernel(OpContext{.row = s.row, .in = slots, .attrs = s.attrs, .out = out})(
      Buffers{from.data(), to.data()});
  return found;
}

/// The source of an element that the op itself sets to the filler.
constexpr uint64_t no_source = UINT64_MAX;

/// The origin of each result's elements: slot and element, or `no_source`.
struct Sources {
  std::vector<std::vector<uint64_t>> of;  ///< by result
  double filler = 0;                      ///< the value of elements without a source
};

/// Nullopt if the op computes a value or fills with several ones. The definition moves the numbers of the elements, and
/// then their complements. A value that the op itself puts into a result is the same both times. The dtype is float64,
/// which holds every number that an op fills with, except large integers.
std::optional<Sources> sources_of(const OpContext& s, const std::byte* further) {
  Sources sources{moved_numbers(s, false, further)};
  const std::vector<std::vector<uint64_t>> complements = moved_numbers(s, true, further);
  std::optional<uint64_t> filler;
  for (size_t o = 0; o < sources.of.size(); ++o)
    for (size_t e = 0; e < sources.of[o].size(); ++e) {
      uint64_t& number = sources.of[o][e];
      if (complements[o][e] == ~number) continue;
      if (complements[o][e] != number || filler.value_or(number) != number) return std::nullopt;
      filler = number;
      number = no_source;
    }
  sources.filler = std::bit_cast<double>(filler.value_or(0));
  constexpr double exact = int64_t{1} << 53;
  if (is_integer(s.out[0].dtype) && !(std::abs(sources.filler) < exact)) return std::nullopt;
  return sources;
}

std::optional<OpParts> elementwise_parts(const PartsRequest& r) {
  const OpContext& s = r.site;
  if (!is_elementwise(s, r.op) || r.candidate.out[0] < 0 || s.out[0].size() == 0) return std::nullopt;
  const Shape& shape = s.out[0].shape;
  const Layout layout(r.machine, r.mappings.at(r.candidate.out[0]), shape);
  OpParts parts;
  parts.steps.emplace_back();
  for (int32_t tile = 0; tile < layout.tiles(); ++tile) {
    const Region& mine = layout.on(tile);
    if (mine.empty()) continue;
    Part part{.tile = tile};
    const Shape line{mine.size()};
    for (size_t i = 0; i < s.in.size(); ++i) {
      if (!s.in[i]) continue;
      const Shape& from = s.in[i]->shape;
      if (from == shape) {
        part.reads.push_back({i, mine, line});
        if (r.op.modifies(i)) part.writes.push_back({i, true, mine, line});
        continue;
      }
      if (element_count(from) == 1) {
        part.reads.push_back({i, Region::all(1), {}});
        // All parts compute the same value of an element that the op changes; the first part stores it.
        if (r.op.modifies(i) && parts.steps[0].empty()) part.writes.push_back({i, true, Region::all(1), {}});
        continue;
      }
      OperandSlice slice{i, {}, line};
      slice.order = broadcast_elements(mine, from, shape);
      slice.region = Region::of(slice.order);
      for (int64_t& e : slice.order) e = slice.region.index_of(e);
      part.reads.push_back(std::move(slice));
    }
    for (size_t o = 0; o < s.out.size(); ++o)
      if (!(o == 0 && s.row.alias >= 0)) part.writes.push_back({o, false, mine, line});
    parts.steps[0].push_back(std::move(part));
  }
  return parts;
}

/// Whether the parts write every element of the results, except results in an operand's memory. Parts are also slices
/// of the summed axis, so a sum of no terms has no parts.
bool writes_results(const OpParts& parts, const OpContext& s) {
  for (size_t o = s.row.alias >= 0 ? 1 : 0; o < s.out.size(); ++o) {
    std::vector<ElementRange> written;
    for (const std::vector<Part>& step : parts.steps)
      for (const Part& part : step)
        for (const ResultSlice& w : part.writes)
          if (w.index == o && !w.is_operand)
            written.insert(written.end(), w.region.ranges().begin(), w.region.ranges().end());
    std::sort(written.begin(), written.end(),
              [](const ElementRange& a, const ElementRange& b) { return a.begin < b.begin; });
    int64_t next = 0;
    for (const ElementRange& range : written) {
      if (range.begin > next) return false;
      next = std::max(next, range.end);
    }
    if (next < s.out[o].size()) return false;
  }
  return true;
}

std::optional<OpParts> movement_parts(const PartsRequest& r) {
  const OpContext& s = r.site;
  const bool by_replica = s.row.exchange == pxl::Exchange::replica && r.further;
  if (s.row.pattern != Pattern::movement || s.row.modifies != 0 ||
      !(s.row.exchange == pxl::Exchange::none || by_replica))
    return std::nullopt;
  for (size_t i = 0; i < r.op.inputs.size(); ++i)
    if (s.in[i] && (s.in[i]->dtype != s.out[0].dtype || is_integer(s.in[i]->dtype) != is_integer(s.out[0].dtype)))
      return std::nullopt;  // indices
  for (const TensorSpec& t : s.out)
    if (t.dtype != s.out[0].dtype) return std::nullopt;
  const std::optional<Sources> sources = sources_of(s, by_replica ? r.further : nullptr);
  if (!sources) return std::nullopt;
  OpParts parts{.vertex = OpParts::Vertex::copy, .filler = sources->filler};
  parts.steps.emplace_back();
  for (size_t o = 0; o < s.out.size(); ++o) {
    const Layout layout(r.machine, r.mappings.at(r.candidate.out[o]), s.out[o].shape);
    for (int32_t tile = 0; tile < layout.tiles(); ++tile) {
      const Region& mine = layout.on(tile);
      if (mine.empty()) continue;
      Part part{.tile = tile};
      std::vector<std::vector<int64_t>> elements(s.in.size());
      mine.for_each([&](int64_t e) {
        const uint64_t from = sources->of[o][static_cast<size_t>(e)];
        if (from != no_source) elements[slot_of(from)].push_back(element_of(from));
      });
      std::vector<int64_t> before(s.in.size(), 0);  // elements of the slices that precede a slot's slice
      std::vector<const Region*> regions(s.in.size());
      part.reads.reserve(s.in.size());
      int64_t read = 0;
      for (size_t i = 0; i < s.in.size(); ++i) {
        if (elements[i].empty()) continue;
        Region region = Region::of(std::move(elements[i]));
        before[i] = read;
        read += region.size();
        const Shape line{region.size()};
        part.reads.push_back({i, std::move(region), line});
        regions[i] = &part.reads.back().region;
      }
      mine.for_each([&](int64_t e) {
        const uint64_t from = sources->of[o][static_cast<size_t>(e)];
        part.source.push_back(
            from == no_source ? -1 : before[slot_of(from)] + regions[slot_of(from)]->index_of(element_of(from)));
      });
      part.writes.push_back({o, false, mine, {mine.size()}});
      parts.steps[0].push_back(std::move(part));
    }
  }
  return parts;
}

}  // namespace

OpParts op_parts(const PartsRequest& r) {
  for (const PartsFn rule : {strategy_info(r.site.row.tiles.strategy).parts, axis_parts, own_result_parts})
    if (std::optional<OpParts> found = rule(r); found && writes_results(*found, r.site)) return std::move(*found);
  return *whole_parts(r);
}

bool has_single_results(const OpContext& site) {
  return std::all_of(site.out.begin(), site.out.end(), [](const TensorSpec& t) { return t.size() <= 1; });
}

std::optional<OpParts> whole_parts(const PartsRequest& r) {
  const OpContext& s = r.site;
  Part part;
  if (!r.candidate.out.empty() && r.candidate.out[0] >= 0)
    part.tile = static_cast<int32_t>(r.mappings.at(r.candidate.out[0]).first % r.machine.tiles);
  for (size_t i = 0; i < s.in.size() && i < r.op.inputs.size(); ++i) {
    if (!s.in[i]) continue;
    part.reads.push_back({i, Region::all(s.in[i]->size()), s.in[i]->shape});
    if (r.op.modifies(i)) part.writes.push_back({i, true, Region::all(s.in[i]->size()), s.in[i]->shape});
  }
  for (size_t o = 0; o < s.out.size(); ++o)
    if (!(o == 0 && s.row.alias >= 0)) part.writes.push_back({o, false, Region::all(s.out[o].size()), s.out[o].shape});
  return OpParts{.as_planned = false, .steps = {{std::move(part)}}};
}

std::optional<OpParts> element_parts(const PartsRequest& r) {
  std::optional<OpParts> parts = elementwise_parts(r);
  return parts ? std::move(parts) : movement_parts(r);
}

}  // namespace pxl::tiles
