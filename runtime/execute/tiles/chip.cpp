#include "runtime/execute/tiles/chip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/tiles/report/report.hpp"

namespace pxl {

namespace {

using tiles::Region;
using tiles::SliceMove;
using Bytes = std::vector<std::byte>;

/// The schedule is at fault if a tile lacks elements that it needs.
void require(const Region& missing, int32_t tile, const Shape& shape, const std::string& what) {
  if (missing.empty()) return;
  throw Error(fmt::format("tile {} reads {} of {}, which it neither stores nor has received", tile,
                          tiles::text(missing, shape), what),
              {}, Fault::internal);
}

std::string name_of(const Op* op, bool is_operand, size_t index) {
  if (!op) return "a view";
  const std::vector<Tensor*>& list = is_operand ? op->inputs : op->outputs;
  return index < list.size() && list[index] ? fmt::format("`{}`", list[index]->name) : fmt::format("slot {}", index);
}

/// Elements by number; those of number -1 have the value `filler`.
Bytes gathered(const Bytes& from, const std::vector<int64_t>& index, DType dtype, double filler = 0) {
  const size_t width = size_of(dtype);
  const Array other = Array::full(dtype, {}, filler);
  Bytes to(index.size() * width);
  for (size_t i = 0; i < index.size(); ++i)
    std::memcpy(to.data() + i * width, index[i] < 0 ? other.raw() : from.data() + static_cast<size_t>(index[i]) * width,
                width);
  return to;
}
Bytes scattered(const Bytes& from, const std::vector<int64_t>& index, size_t width) {
  Bytes to(from.size());
  for (size_t i = 0; i < index.size(); ++i)
    std::memcpy(to.data() + static_cast<size_t>(index[i]) * width, from.data() + i * width, width);
  return to;
}

/// Divides each element of a tensor [n] by a number.
Bytes divided(Bytes values, DType dtype, int64_t by) {
  const Array divisor = Array::full(dtype, {}, static_cast<double>(by));
  const TensorSpec all{{std::ssize(values) / static_cast<int64_t>(size_of(dtype))}, dtype, {}}, one{{}, dtype, {}};
  const TensorSpec* slots[] = {&all, &one};
  Bytes result(values.size());
  const std::byte* from[] = {values.data(), divisor.raw()};
  std::byte* to = result.data();
  const Attributes none;
  definition_kernel(OpContext{.row = get_op("div"), .in = slots, .attrs = none, .out = {&all, 1}})(Buffers{from, &to});
  return result;
}

/// Elements from several tensors [n], combined by a reduction over the first axis of [tensors, n].
Bytes reduced(const OpRow& row, DType from, DType to, const std::vector<Bytes>& partials, int64_t elements) {
  Bytes all;
  for (const Bytes& p : partials) all.insert(all.end(), p.begin(), p.end());
  const TensorSpec in{{std::ssize(partials), elements}, from, {}}, out{{elements}, to, {}};
  const TensorSpec* slots[] = {&in};
  Attributes attrs(row.params.size());
  attrs[param_index(row, "axis")] = std::vector<int64_t>{0};
  attrs[param_index(row, "keepdims")] = false;
  Bytes result(static_cast<size_t>(elements) * size_of(to));
  const std::byte* source = all.data();
  std::byte* target = result.data();
  const OpContext site{.row = row, .in = slots, .attrs = attrs, .out = {&out, 1}};
  definition_kernel(site)(Buffers{&source, &target});
  return result;
}

/// Bytes of an element that moves.
size_t width_of(const Chip::Task& task, const SliceMove& move) {
  if (move.what != SliceMove::What::partial) return task.memories[move.index]->width();
  return size_of(task.lowered.partial[task.lowered.buffers[move.index].result]->dtype);
}

}  // namespace

Chip::Memory::Memory(Chip& chip, std::shared_ptr<const tiles::Layout> layout, size_t width)
    : chip_(chip), layout_(std::move(layout)), id_(chip.next_memory_++), width_(width) {
  for (int32_t t = 0; t < layout_->tiles(); ++t)
    if (!layout_->on(t).empty()) chip_.tile(t).allocate(id_, layout_->on(t), width_);
}

Chip::Memory::~Memory() {
  for (int32_t t = 0; t < layout_->tiles(); ++t)
    if (!layout_->on(t).empty()) chip_.tile(t).release(id_);
}

void Chip::Memory::write(const std::byte* from) const {
  const Region all = Region::all(element_count(layout_->shape()));
  for (int32_t t = 0; t < layout_->tiles(); ++t)
    if (!layout_->on(t).empty()) chip_.tile(t).store(id_, all, from);
}

void Chip::Memory::read(std::byte* to) const {
  const Region all = Region::all(element_count(layout_->shape()));
  for (const tiles::Layout::Owner& o : layout_->owners(0)) {
    Region part;
    part.add(o.elements);
    require(chip_.tile(o.tile).read(id_, part, to + static_cast<size_t>(o.elements.begin) * width_), o.tile,
            layout_->shape(), "a tensor for the host");
  }
}

std::vector<int64_t> Chip::peaks() const {
  std::vector<int64_t> peaks;
  for (const TileMemory& t : tiles_) peaks.push_back(t.peak());
  return peaks;
}

void Chip::check_room(const std::string& what) const {
  for (size_t t = 0; t < tiles_.size(); ++t)
    if (tiles_[t].peak() > room_[t])
      throw run_error(fmt::format("{} takes tile {} to {} bytes of tensors, and the tile has {} for them", what, t,
                                  tiles::grouped(tiles_[t].peak()), tiles::grouped(std::max<int64_t>(0, room_[t]))),
                      {advice_})
          .as(codes::memory);
}

void Chip::exchange(const Task& task, const std::vector<SliceMove>& moves) {
  if (moves.empty()) return;
  ++totals_.exchanges;
  // All tiles send what they hold before the phase. What arrives in a phase is not sent on in it.
  std::vector<Bytes> sent;
  for (const SliceMove& move : moves) {
    const bool is_partial = move.what == SliceMove::What::partial;
    const Memory& memory = *task.memories[is_partial ? task.lowered.buffers[move.index].slice.memory : move.index];
    Bytes& bytes = sent.emplace_back(static_cast<size_t>(move.region.size()) * width_of(task, move));
    const TileMemory& from = tile(move.from);
    Region missing;
    switch (move.what) {
      case SliceMove::What::operand: missing = from.read(memory.id(), move.region, bytes.data()); break;
      case SliceMove::What::result: missing = from.read_result(memory.id(), move.region, bytes.data()); break;
      case SliceMove::What::partial: missing = from.read_partial(move.index, move.region, bytes.data()); break;
    }
    require(missing, move.from, memory.layout()->shape(), "a tensor that it sends");
  }
  for (size_t i = 0; i < moves.size(); ++i) {
    const SliceMove& move = moves[i];
    const Bytes& bytes = sent[i];
    const size_t width = width_of(task, move);
    for (const int32_t to : move.to) switch (move.what) {
        case SliceMove::What::operand:
          tile(to).receive(task.memories[move.index]->id(), move.region, width, bytes.data(),
                           task.lowered.arrives_in_place);
          break;
        case SliceMove::What::result: tile(to).store(task.memories[move.index]->id(), move.region, bytes.data()); break;
        case SliceMove::What::partial: tile(to).receive_partial(move.index, move.region, width, bytes.data()); break;
      }
    ++totals_.moves;
    totals_.sent_bytes += std::ssize(bytes);
    totals_.received_bytes += std::ssize(bytes) * std::ssize(move.to);
  }
}

// A part's error has positions in the part. The op on whole operands has the same error with positions in the operands.
void Chip::fail_as_a_whole(const Task& task, const tiles::PlacedPart& part) const {
  const OpContext& site = task.site;
  std::vector<Bytes> operands(site.in.size()), results;
  std::vector<const std::byte*> from(site.in.size(), nullptr);
  for (const tiles::PlacedSlice& read : part.reads) {
    const Memory& memory = *task.memories[read.slices[0].memory];
    if (memory.layout()->shape() != site.input(read.tensor).shape) return;
    operands[read.tensor].resize(static_cast<size_t>(site.input(read.tensor).bytes()));
    memory.read(operands[read.tensor].data());
    from[read.tensor] = operands[read.tensor].data();
  }
  for (size_t i = 0; i < from.size(); ++i)
    if (site.in[i] && !from[i]) return;
  std::vector<std::byte*> to;
  for (const TensorSpec& t : site.out) results.emplace_back(static_cast<size_t>(t.bytes()));
  for (Bytes& bytes : results) to.push_back(bytes.data());
  if (site.row.alias >= 0) to[0] = operands[static_cast<size_t>(site.row.alias)].data();
  definition_kernel(site)(Buffers{from.data(), to.data()});
}

void Chip::run_part(const Task& task, const tiles::PlacedPart& part) {
  const OpContext& site = task.site;
  TileMemory& here = tile(part.tile);
  ++totals_.vertices;
  std::vector<TensorSpec> in(site.in.size()), out(site.out.size());
  std::vector<Bytes> operands(site.in.size()), results(site.out.size());
  std::vector<bool> has(site.in.size(), false);
  for (const tiles::PlacedSlice& read : part.reads) {
    Bytes& to = operands[read.tensor];
    const size_t width = size_of(site.input(read.tensor).dtype);
    for (const tiles::MemorySlice& slice : read.slices) {
      const size_t at = to.size();
      to.resize(at + static_cast<size_t>(slice.region.size()) * width);
      const Memory& memory = *task.memories[slice.memory];
      require(here.read(memory.id(), slice.region, to.data() + at), part.tile, memory.layout()->shape(),
              name_of(task.op, true, read.tensor));
    }
    if (!read.index.empty()) to = gathered(to, read.index, site.input(read.tensor).dtype, read.ones ? 1 : 0);
    in[read.tensor] = {read.shape, site.input(read.tensor).dtype, {}};
    // Partial results that are combined as bits are moved as bits.
    for (const std::optional<tiles::PartialResults>& p : task.lowered.partial)
      if (p && p->as_bits && read.tensor == 0) in[0].dtype = p->dtype;
    has[read.tensor] = true;
  }
  for (const tiles::PlacedSlice& write : part.writes) {
    if (write.is_operand) continue;
    const DType dtype = write.partial >= 0 ? task.lowered.partial[write.tensor]->dtype : site.out[write.tensor].dtype;
    out[write.tensor] = {write.shape, dtype, {}};
    results[write.tensor].resize(static_cast<size_t>(out[write.tensor].bytes()));
  }
  if (task.lowered.vertex == tiles::OpParts::Vertex::copy) {
    Bytes all;
    for (const tiles::PlacedSlice& read : part.reads)
      all.insert(all.end(), operands[read.tensor].begin(), operands[read.tensor].end());
    const size_t result = part.writes[0].tensor;
    results[result] = gathered(all, part.source, site.out[result].dtype, task.lowered.filler);
  } else {
    std::vector<const TensorSpec*> slots(in.size(), nullptr);
    std::vector<const std::byte*> from(in.size(), nullptr);
    std::vector<std::byte*> to(out.size(), nullptr);
    for (size_t i = 0; i < in.size(); ++i)
      if (has[i]) slots[i] = &in[i], from[i] = operands[i].data();
    if (task.further) slots.back() = site.in.back(), from.back() = task.further;
    for (size_t i = 0; i < out.size(); ++i) to[i] = results[i].data();
    if (site.row.alias >= 0 && !out.empty()) {
      const auto alias = static_cast<size_t>(site.row.alias);
      out[0] = in[alias], to[0] = operands[alias].data();
    }
    const OpRow* row = &site.row;
    for (const std::optional<tiles::PartialResults>& p : task.lowered.partial)
      if (p && p->part) row = p->part;
    const OpContext local{.row = *row, .in = slots, .attrs = part.attrs ? *part.attrs : site.attrs, .out = out};
    const bool keeps_some = site.row.alias < 0 && !part.attrs && !part.writes[0].order.empty();
    if (keeps_some && whole_ && whole_->operands == operands) {
      results = whole_->results;
    } else {
      try {
        definition_kernel(local)(Buffers{from.data(), to.data()});
      } catch (const Error& error) {
        if (error.first().code == codes::index) fail_as_a_whole(task, part);
        throw;
      }
      if (keeps_some) whole_ = {operands, results};
    }
  }
  for (const tiles::PlacedSlice& write : part.writes) {
    Bytes value = write.is_operand ? operands[write.tensor] : std::move(results[write.tensor]);
    if (!write.order.empty()) value = gathered(value, write.order, out[write.tensor].dtype);
    if (write.partial >= 0) {
      const auto number = static_cast<size_t>(write.partial);
      const tiles::Region& region = task.lowered.buffers[number].slice.region;
      const tiles::PartialResults& partial = *task.lowered.partial[write.tensor];
      const auto [buffer, is_new] = here.partial(number, region, size_of(partial.dtype));
      if (is_new)
        buffer.bytes = std::move(value);
      else
        buffer.bytes =
            reduced(*partial.combine, partial.dtype, partial.dtype, {buffer.bytes, std::move(value)}, region.size());
      continue;
    }
    const size_t width = task.memories[write.slices[0].memory]->width();
    if (!write.index.empty()) value = scattered(value, write.index, width);
    size_t at = 0;
    for (const tiles::MemorySlice& slice : write.slices) {
      HeldSlice& result = here.add_result(task.memories[slice.memory]->id(), slice.region, width);
      std::memcpy(result.bytes.data(), value.data() + at, result.bytes.size());
      at += result.bytes.size();
    }
  }
}

void Chip::combine(const Task& task) {
  exchange(task, task.lowered.collect);
  for (const tiles::Combination& c : task.lowered.combine) {
    const Memory& memory = *task.memories[c.memory];
    const tiles::PartialResults& partial = *task.lowered.partial[c.result];
    const DType from = partial.dtype, to = partial.as_bits ? from : task.site.out[c.result].dtype;
    std::vector<Bytes> values;
    for (const size_t buffer : c.partials) {
      values.emplace_back(static_cast<size_t>(c.region.size()) * size_of(from));
      require(tile(c.tile).read_partial(buffer, c.region, values.back().data()), c.tile, memory.layout()->shape(),
              "a partial result of " + name_of(task.op, false, c.result));
    }
    // A quotient is rounded once, to the dtype of the result.
    Bytes result = reduced(*partial.combine, from, partial.divisor > 1 ? from : to, values, c.region.size());
    if (partial.divisor > 1)
      result =
          reduced(*partial.combine, from, to, {divided(std::move(result), from, partial.divisor)}, c.region.size());
    tile(c.tile).add_result(memory.id(), c.region, memory.width()).bytes = std::move(result);
    ++totals_.vertices;
  }
  for (TileMemory& t : tiles_) t.forget_partials(), t.store_results();
  exchange(task, task.lowered.spread);
  for (TileMemory& t : tiles_) t.forget_results();
}

void Chip::run(const Task& task) {
  for (const tiles::LoweredStep& step : task.lowered.steps) {
    exchange(task, step.gather);
    whole_.reset();
    for (const tiles::PlacedPart& part : step.parts) run_part(task, part);
    for (const tiles::PlacedPart& part : step.parts) tile(part.tile).reach(task.vertex_bytes);
    if (!task.lowered.keeps_received)
      for (TileMemory& t : tiles_) t.forget_received();
    // Everything was read: the results may overwrite it.
    for (const tiles::PlacedPart& part : step.parts)
      for (const tiles::PlacedSlice& write : part.writes)
        for (const tiles::MemorySlice& slice : write.slices) {
          if (write.partial >= 0) continue;
          const Memory& memory = *task.memories[slice.memory];
          for (size_t copy = 0; copy < memory.layout()->copies(); ++copy)
            tiles::for_owners(*memory.layout(), copy, slice.region, [&](const tiles::ElementRange& r, int32_t owner) {
              Region changed;
              changed.add(r);
              tile(owner).invalidate(memory.id(), changed);
            });
        }
    for (TileMemory& t : tiles_) t.store_results();
    exchange(task, step.deliver);
    for (TileMemory& t : tiles_) t.forget_results();
  }
  for (TileMemory& t : tiles_) t.forget_received();
  if (!task.lowered.buffers.empty()) combine(task);
}

void Chip::rearrange(const Memory& from, const Memory& to, const std::vector<SliceMove>& moves, int64_t order_bytes) {
  if (!moves.empty()) ++totals_.exchanges;
  for (int32_t t = 0; t < to.layout()->tiles(); ++t)
    if (!to.layout()->on(t).empty()) tile(t).reach(order_bytes);
  // Elements that stay on their tile are copied there.
  Bytes bytes;
  for (int32_t t = 0; t < to.layout()->tiles(); ++t) {
    const Region stays = intersection(from.layout()->on(t), to.layout()->on(t));
    if (stays.empty()) continue;
    bytes.resize(static_cast<size_t>(stays.size()) * from.width());
    require(tile(t).read(from.id(), stays, bytes.data()), t, from.layout()->shape(), "a tensor that it copies");
    tile(t).store(to.id(), stays, bytes.data());
  }
  for (const SliceMove& move : moves) {
    bytes.resize(static_cast<size_t>(move.region.size()) * from.width());
    require(tile(move.from).read(from.id(), move.region, bytes.data()), move.from, from.layout()->shape(),
            "a tensor that it sends");
    for (const int32_t t : move.to) tile(t).store(to.id(), move.region, bytes.data());
    ++totals_.moves;
    totals_.sent_bytes += std::ssize(bytes);
    totals_.received_bytes += std::ssize(bytes) * std::ssize(move.to);
  }
}

}  // namespace pxl
