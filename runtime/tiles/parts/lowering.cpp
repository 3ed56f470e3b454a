#include "runtime/tiles/parts/lowering.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace pxl::tiles {

namespace {

/// Moves of one exchange. Moves of equal bytes from one tile become one multicast.
class OpExchange {
 public:
  void add(SliceMove::What what, size_t index, Region region, int32_t from, int32_t to) {
    std::vector<int64_t> bounds;
    for (const ElementRange& r : region.ranges()) bounds.insert(bounds.end(), {r.begin, r.end});
    const auto [at, fresh] = known_.try_emplace({what, index, from, std::move(bounds)}, moves_.size());
    if (fresh) moves_.push_back({what, index, std::move(region), from, {}});
    moves_[at->second].to.push_back(to);
  }
  std::vector<SliceMove> take() { return std::move(moves_); }

 private:
  std::map<std::tuple<SliceMove::What, size_t, int32_t, std::vector<int64_t>>, size_t> known_;
  std::vector<SliceMove> moves_;
};

/// The elements of a region that each owner holds, in the copy that a tile reads.
std::map<int32_t, Region> by_owner(const Layout& layout, const Region& region, int32_t reader) {
  std::map<int32_t, Region> owners;
  const size_t copy = static_cast<size_t>(reader) % layout.copies();
  for_owners(layout, copy, region, [&](const ElementRange& r, int32_t tile) { owners[tile].add(r); });
  return owners;
}

PlacedSlice placed(const TensorPlace& place, const Region& region, const std::vector<int64_t>& order, Shape shape) {
  PlacedSlice slice;
  slice.shape = std::move(shape);
  if (!place.addresses) {
    slice.slices.push_back({place.memory, region});
    slice.index = order;
    return slice;
  }
  std::vector<uint64_t> addresses;
  addresses.reserve(static_cast<size_t>(region.size()));
  region.for_each([&](int64_t e) { addresses.push_back((*place.addresses)[static_cast<size_t>(e)]); });
  std::map<size_t, std::vector<int64_t>> elements;
  for (const uint64_t a : addresses) elements[memory_of(a)].push_back(element_of(a));
  std::map<size_t, std::pair<int64_t, size_t>>
      before;  // by memory: elements before its slice, and the index of the slice
  int64_t size = 0;
  for (auto& [memory, of] : elements) {
    before[memory] = {size, slice.slices.size()};
    slice.slices.push_back({memory, Region::of(std::move(of))});
    size += slice.slices.back().region.size();
  }
  const auto index = [&](uint64_t a) {
    const auto& [first, which] = before.at(memory_of(a));
    return first + slice.slices[which].region.index_of(element_of(a));
  };
  if (order.empty())
    for (const uint64_t a : addresses) slice.index.push_back(index(a));
  else
    for (const int64_t e : order) slice.index.push_back(e < 0 ? -1 : index(addresses[static_cast<size_t>(e)]));
  return slice;
}

using RegionsByMemory = std::map<std::pair<int32_t, size_t>, Region>;  // by tile and memory

bool is_partial(const LoweredOp& op, const PlacedSlice& write) {
  return !write.is_operand && write.tensor < op.partial.size() && op.partial[write.tensor].has_value();
}

/// Adds the moves from the tiles that wrote elements to the tiles that store the elements. Elements that the storing
/// tile wrote itself do not move.
void deliver(const LoweredOp& op, const std::vector<PlacedPart>& parts, const std::vector<const Layout*>& memories,
             OpExchange& exchange) {
  RegionsByMemory present;
  const auto for_writes = [&](auto&& f) {
    for (const PlacedPart& part : parts)
      for (const PlacedSlice& write : part.writes)
        if (!is_partial(op, write))
          for (const MemorySlice& slice : write.slices) f(part.tile, slice);
  };
  for_writes([&](int32_t tile, const MemorySlice& slice) {
    Region& has = present[{tile, slice.memory}];
    has = merged(has, slice.region);
  });
  for_writes([&](int32_t tile, const MemorySlice& slice) {
    const Layout& layout = *memories[slice.memory];
    for (size_t copy = 0; copy < layout.copies(); ++copy) {
      std::map<int32_t, Region> owners;
      for_owners(layout, copy, slice.region, [&](const ElementRange& r, int32_t owner) { owners[owner].add(r); });
      for (auto& [owner, region] : owners) {
        Region& has = present[{owner, slice.memory}];
        Region lacks = difference(region, has);
        if (lacks.empty()) continue;
        has = merged(has, lacks);
        exchange.add(SliceMove::What::result, slice.memory, std::move(lacks), tile, owner);
      }
    }
  });
}

/// Numbers the buffers of partial results: one for each tile and slice.
void number_partials(LoweredOp& op) {
  std::map<std::tuple<int32_t, size_t, std::vector<int64_t>>, size_t> buffers;
  for (LoweredStep& step : op.steps)
    for (PlacedPart& part : step.parts)
      for (PlacedSlice& write : part.writes) {
        if (!is_partial(op, write)) continue;
        const MemorySlice& slice = write.slices[0];
        std::vector<int64_t> bounds;
        for (const ElementRange& r : slice.region.ranges()) bounds.insert(bounds.end(), {r.begin, r.end});
        const auto [at, fresh] = buffers.try_emplace({part.tile, write.tensor, std::move(bounds)}, op.buffers.size());
        if (fresh) op.buffers.push_back({write.tensor, slice, part.tile});
        write.partial = static_cast<int64_t>(at->second);
      }
}

/// Whether vertices that copy keep the order of elements.
bool keeps_order(const LoweredOp& op) {
  const auto ascends = [](const std::vector<int64_t>& index) {
    int64_t last = 0;
    for (const int64_t i : index) {
      if (i >= 0 && i < last) return false;
      last = std::max(last, i);
    }
    return true;
  };
  for (const LoweredStep& step : op.steps)
    for (const PlacedPart& part : step.parts) {
      if (!ascends(part.source)) return false;
      for (const PlacedSlice& read : part.reads)
        if (!ascends(read.index)) return false;
    }
  return true;
}

using BuffersOfParts = std::vector<size_t>;

/// The elements that tiles store of a result, divided by the buffers that have partial results of them.
std::map<BuffersOfParts, std::map<int32_t, Region>> by_buffers(const LoweredOp& op, size_t result,
                                                               const Layout& layout) {
  std::map<BuffersOfParts, std::map<int32_t, Region>> found;
  for (int32_t tile = 0; tile < layout.tiles(); ++tile) {
    if (layout.on(tile).empty()) continue;
    std::vector<std::pair<Region, BuffersOfParts>> pieces = {{layout.on(tile), {}}};
    for (size_t i = 0; i < op.buffers.size(); ++i) {
      if (op.buffers[i].result != result) continue;
      const Region mine = intersection(op.buffers[i].slice.region, layout.on(tile));
      if (mine.empty()) continue;
      std::vector<std::pair<Region, BuffersOfParts>> next;
      for (auto& [region, from] : pieces) {
        Region both = intersection(region, mine), rest = difference(region, mine);
        if (!both.empty()) {
          next.emplace_back(std::move(both), from);
          next.back().second.push_back(i);
        }
        if (!rest.empty()) next.emplace_back(std::move(rest), std::move(from));
      }
      pieces = std::move(next);
    }
    for (auto& [region, from] : pieces) found[from][tile] = std::move(region);
  }
  return found;
}

/// The tiles that store elements combine partial results of them. If few tiles store many elements, the tiles with the
/// partial results combine equal shares instead.
void combine_partials(LoweredOp& op, size_t result, size_t memory, const Layout& layout, OpExchange& collect,
                      OpExchange& spread) {
  std::set<int32_t> holders;
  for (const PartialBuffer& b : op.buffers)
    if (b.result == result) holders.insert(b.tile);
  int64_t largest = 0;
  for (int32_t tile = 0; tile < layout.tiles(); ++tile) largest = std::max(largest, layout.on(tile).size());
  const bool spreads =
      !holders.empty() && largest > div_up(element_count(layout.shape()), static_cast<int64_t>(holders.size()));
  for (const auto& [buffers, stored] : by_buffers(op, result, layout)) {
    std::map<int32_t, Region> combined = stored;
    if (spreads && !buffers.empty()) {
      combined.clear();
      Region all;
      for (const auto& [tile, region] : stored) all = merged(all, region);
      std::set<int32_t> tiles;
      for (const size_t i : buffers) tiles.insert(op.buffers[i].tile);
      int64_t k = 0;
      for (const int32_t tile : tiles)
        if (Region share = share_of(all, static_cast<int64_t>(tiles.size()), k++); !share.empty())
          combined[tile] = std::move(share);
    }
    for (auto& [tile, region] : combined) {
      for (const size_t i : buffers)
        if (op.buffers[i].tile != tile) collect.add(SliceMove::What::partial, i, region, op.buffers[i].tile, tile);
      for (const auto& [owner, wanted] : stored)
        if (Region moves = intersection(region, wanted); spreads && owner != tile && !moves.empty())
          spread.add(SliceMove::What::result, memory, std::move(moves), tile, owner);
      op.combine.push_back({result, memory, tile, region, buffers});
    }
  }
}

}  // namespace

LoweredOp lower(OpParts parts, const std::vector<const Layout*>& memories, const std::vector<TensorPlace>& operands,
                const std::vector<TensorPlace>& results) {
  LoweredOp op;
  op.vertex = parts.vertex;
  op.filler = parts.filler;
  op.keeps_received = parts.keeps_received;
  RegionsByMemory received;
  op.partial = parts.partial;
  for (std::vector<Part>& step : parts.steps) {
    LoweredStep& lowered = op.steps.emplace_back();
    RegionsByMemory needed;
    for (Part& part : step) {
      PlacedPart p{.tile = part.tile,
                   .reads = {},
                   .writes = {},
                   .source = std::move(part.source),
                   .attrs = std::move(part.attrs)};
      for (OperandSlice& read : part.reads) {
        PlacedSlice slice = placed(operands[read.slot], read.region, read.order, std::move(read.shape));
        slice.tensor = read.slot;
        slice.ones = read.ones;
        for (const MemorySlice& s : slice.slices) {
          Region& all = needed[{part.tile, s.memory}];
          all = merged(all, s.region);
        }
        p.reads.push_back(std::move(slice));
      }
      for (ResultSlice& write : part.writes) {
        const TensorPlace& place = write.is_operand ? operands[write.index] : results[write.index];
        PlacedSlice slice = placed(place, write.region, {}, std::move(write.shape));
        slice.tensor = write.index;
        slice.is_operand = write.is_operand;
        slice.order = std::move(write.order);
        p.writes.push_back(std::move(slice));
      }
      lowered.parts.push_back(std::move(p));
    }
    OpExchange gather;
    for (const auto& [where, region] : needed) {
      const auto& [tile, memory] = where;
      Region lacks = difference(region, memories[memory]->on(tile));
      if (op.keeps_received) {
        Region& has = received[where];
        lacks = difference(lacks, has);
        has = merged(has, lacks);
      }
      for (auto& [owner, piece] : by_owner(*memories[memory], lacks, tile))
        gather.add(SliceMove::What::operand, memory, std::move(piece), owner, tile);
    }
    lowered.gather = gather.take();
    OpExchange exchange;
    deliver(op, lowered.parts, memories, exchange);
    lowered.deliver = exchange.take();
  }
  op.arrives_in_place = op.vertex == OpParts::Vertex::copy && keeps_order(op);
  number_partials(op);
  OpExchange collect, spread;
  for (size_t i = 0; i < op.partial.size(); ++i)
    if (op.partial[i]) combine_partials(op, i, results[i].memory, *memories[results[i].memory], collect, spread);
  op.collect = collect.take();
  op.spread = spread.take();
  return op;
}

std::vector<SliceMove> rearranging_moves(const Layout& from, const Layout& to) {
  OpExchange exchange;
  for (int32_t tile = 0; tile < to.tiles(); ++tile) {
    const Region lacks = difference(to.on(tile), from.on(tile));
    for (auto& [owner, piece] : by_owner(from, lacks, tile))
      exchange.add(SliceMove::What::operand, 0, std::move(piece), owner, tile);
  }
  return exchange.take();
}

}  // namespace pxl::tiles
