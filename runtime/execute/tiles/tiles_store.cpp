#include "runtime/execute/tiles/tiles_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "runtime/execute/moved_addresses.hpp"
#include "runtime/execute/tiles/allow_one_tile.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {

namespace {
std::atomic<bool> one_tile_allowed = false;
bool one_tile_is_allowed() { return one_tile_allowed.load(std::memory_order_relaxed); }
}  // namespace

void allow_one_tile() { one_tile_allowed = true; }

TiledProgram::TiledProgram(const Graph& graph, const tiles::EstimateOptions& options)
    : planned(tiles::plan(graph, options)), mapped(*planned.program) {}

const std::shared_ptr<const tiles::Layout>& TiledProgram::layout(const tiles::TileMapping& mapping,
                                                                 const Shape& shape) {
  std::shared_ptr<const tiles::Layout>& found = layouts_[{mapping, shape}];
  if (!found) found = std::make_shared<const tiles::Layout>(mapped.machine(), mapping, shape);
  return found;
}

const std::shared_ptr<const tiles::Layout>& TiledProgram::layout_of(const Tensor& tensor) {
  const int32_t id = mapped.mapping_of(&tensor);
  return layout(id >= 0 ? mapped.mapping(id) : tiles::linear_mapping(mapped.machine(), tensor.spec), tensor.spec.shape);
}

tiles::OpParts TiledProgram::parts(const Op& op, const OpContext& site, const std::byte* further) const {
  return tiles::op_parts(
      {mapped.machine(), mapped.candidate_options(op), op, site, mapped.candidate(op), mapped.mappings(), further});
}

std::shared_ptr<Chip> TiledProgram::chip() const {
  std::vector<int64_t> room;
  for (const tiles::TileMemory& t : planned.report.tiles)
    room.push_back(planned.report.machine.capacity() - (t.total - t.tensors()));
  return std::make_shared<Chip>(
      std::move(room),
      planned.report.fits
          ? fmt::format("the plan has {} bytes of tensors on a tile; the engine divides an op into larger parts",
                        tiles::grouped(planned_bytes()))
          : "`pxl profile` shows what the tile holds, and changes with which the program fits");
}

int64_t TiledProgram::planned_bytes() const {
  int64_t most = 0;
  for (const tiles::TileMemory& t : planned.report.tiles) most = std::max(most, t.tensors());
  return most;
}

TilesStore::TilesStore(const EngineTask& task)
    : task_(task),
      program_(std::make_shared<TiledProgram>(task.ir.main(), task.machine ? *task.machine : tiles::EstimateOptions{})),
      chip_(program_->chip()) {}

TilesStore::TilesStore(const TilesStore& of_first_replica, const EngineTask& task)
    : task_(task), program_(of_first_replica.program_), chip_(program_->chip()) {}

Chip::MemoryPtr TilesStore::allocate(const std::shared_ptr<const tiles::Layout>& layout, DType dtype) {
  return std::make_shared<const Chip::Memory>(*chip_, layout, size_of(dtype));
}

TiledTensor TilesStore::fresh(const TensorSpec& spec, const std::shared_ptr<const tiles::Layout>& layout) {
  return {spec, {allocate(layout, spec.dtype)}};
}

TiledTensor TilesStore::source(const Tensor& t, bool may_change) {
  if (t.kind == TensorKind::variable) {
    const auto [at, is_new] = variables_.try_emplace(&t);
    if (is_new) at->second.value = made(t, task_.variable(&t));
    return at->second.value;
  }
  if (may_change) return made(t, t.data.raw());
  TiledTensor& constant = constants_[&t];
  if (constant.memories.empty()) constant = made(t, t.data.raw());
  return constant;
}

void TilesStore::end() {
  for (const auto& [tensor, variable] : variables_)
    if (variable.changed) variable.value.memories[0]->read(task_.variable(tensor));
}

TiledTensor TilesStore::made(const Tensor& t, const std::byte* value) {
  TiledTensor tensor = fresh(t.spec, program_->layout_of(t));
  tensor.memories[0]->write(value);
  chip_->check_room(fmt::format("`{}`", t.name));
  return tensor;
}

TiledTensor TilesStore::copied(const TiledTensor& from, const Tensor& as) {
  TiledTensor to = laid_out(from, program_->layout_of(as));
  chip_->check_room(fmt::format("a copy for `{}`", as.name));
  return to;
}

TiledTensor TilesStore::laid_out(const TiledTensor& from, const std::shared_ptr<const tiles::Layout>& layout,
                                 int64_t order_bytes) {
  TiledTensor to = fresh(from.spec, layout);
  if (from.addresses) {
    // The source is a view: each tile fetches the elements that it stores from their tiles.
    const auto parts = [&] {
      tiles::OpParts copies;
      copies.vertex = tiles::OpParts::Vertex::copy;
      copies.steps.emplace_back();
      for (int32_t tile = 0; tile < layout->tiles(); ++tile) {
        const tiles::Region& mine = layout->on(tile);
        if (mine.empty()) continue;
        tiles::Part& part = copies.steps[0].emplace_back();
        part.tile = tile;
        part.reads.push_back({0, mine, {mine.size()}});
        part.writes.push_back({0, false, mine, {mine.size()}});
        for (int64_t i = 0; i < mine.size(); ++i) part.source.push_back(i);
      }
      return copies;
    };
    const TensorSpec* slots[] = {&from.spec};
    const Attributes none;
    const OpContext site{.row = get_op("identity"), .in = slots, .attrs = none, .out = {&to.spec, 1}};
    std::vector<Chip::MemoryPtr> memories;
    const tiles::LoweredOp& lowered = schedule(nullptr, parts, {from}, {to}, memories);
    chip_->run({nullptr, site, lowered, memories});
    return to;
  }
  const tiles::Layout *source = from.memories[0]->layout().get(), *target = layout.get();
  const auto [at, is_new] = rearrangements_.try_emplace({source, target});
  if (is_new) at->second = tiles::rearranging_moves(*source, *target);
  chip_->rearrange(*from.memories[0], *to.memories[0], at->second, order_bytes);
  return to;
}

void TilesStore::read(const TiledTensor& value, std::byte* to) const {
  if (!value.addresses) return value.memories[0]->read(to);
  std::vector<std::vector<std::byte>> all;
  for (const Chip::MemoryPtr& m : value.memories) {
    all.emplace_back(static_cast<size_t>(element_count(m->layout()->shape())) * m->width());
    m->read(all.back().data());
  }
  const size_t width = size_of(value.spec.dtype);
  for (const uint64_t a : *value.addresses) {
    std::memcpy(to, all[tiles::memory_of(a)].data() + static_cast<size_t>(tiles::element_of(a)) * width, width);
    to += width;
  }
}

void TilesStore::write(const TiledTensor& value, const std::byte* from) const {
  if (!value.addresses) return value.memories[0]->write(from);
  const size_t width = size_of(value.spec.dtype);
  for (size_t m = 0; m < value.memories.size(); ++m) {
    std::vector<std::byte> all(static_cast<size_t>(element_count(value.memories[m]->layout()->shape())) * width);
    value.memories[m]->read(all.data());
    for (size_t i = 0; i < value.addresses->size(); ++i)
      if (const uint64_t a = (*value.addresses)[i]; tiles::memory_of(a) == m)
        std::memcpy(all.data() + static_cast<size_t>(tiles::element_of(a)) * width, from + i * width, width);
    value.memories[m]->write(all.data());
  }
}

bool TilesStore::of_variable(const TiledTensor& value) const {
  return std::any_of(variables_.begin(), variables_.end(), [&](const auto& v) {
    return std::find(value.memories.begin(), value.memories.end(), v.second.value.memories[0]) != value.memories.end();
  });
}

bool TilesStore::share_memory(const TiledTensor& a, const TiledTensor& b) {
  return std::any_of(a.memories.begin(), a.memories.end(), [&](const Chip::MemoryPtr& m) {
    return std::find(b.memories.begin(), b.memories.end(), m) != b.memories.end();
  });
}

std::vector<std::pair<std::string_view, int64_t>> TilesStore::counts() const {
  int64_t on_one_tile = 0;
  for (const auto& [row, ops] : on_one_tile_) on_one_tile += ops;
  const Chip::Totals& t = chip_->totals();
  const std::vector<int64_t> peaks = chip_->peaks();
  return {{"exchanges", t.exchanges},
          {"moves", t.moves},
          {"sent_bytes", t.sent_bytes},
          {"received_bytes", t.received_bytes},
          {"vertices", t.vertices},
          {"peak_bytes", *std::max_element(peaks.begin(), peaks.end())},
          {"planned_bytes", program_->planned_bytes()},
          {"on_one_tile", on_one_tile}};
}

std::string TilesStore::profile() const {
  const Chip::Totals& t = chip_->totals();
  const std::vector<int64_t> peaks = chip_->peaks();
  const auto fullest = std::max_element(peaks.begin(), peaks.end());
  const tiles::Machine& m = program_->mapped.machine();
  std::string alone;
  for (const auto& [row, ops] : on_one_tile_)
    alone += fmt::format("  {:>16} of `{}` on one tile, though planned on more\n", tiles::grouped(ops), row);
  return fmt::format(
             "{}, carried out on {} ({} tiles)\n"
             "  {:>16} exchanges of {} moves: {} bytes sent, {} received\n"
             "  {:>16} vertices\n"
             "  {:>16} bytes of tensors on tile {} at its peak, {} as planned; a tile has {}\n",
             task_.ir.name(), m.name, m.tiles, tiles::grouped(t.exchanges), tiles::grouped(t.moves),
             tiles::grouped(t.sent_bytes), tiles::grouped(t.received_bytes), tiles::grouped(t.vertices),
             tiles::grouped(*fullest), fullest - peaks.begin(), tiles::grouped(program_->planned_bytes()),
             tiles::grouped(m.memory)) +
         alone;
}

std::vector<Array> TilesStore::seen(const std::vector<TiledTensor>& values) const {
  std::vector<Array> arrays;
  for (const TiledTensor& v : values) {
    if (v.memories.empty()) {
      arrays.emplace_back(DType::float32, Shape{0});
      continue;
    }
    arrays.emplace_back(v.spec.dtype, v.spec.shape);
    read(v, arrays.back().mutable_raw());
  }
  return arrays;
}

bool TilesStore::overwrites(const Op& op, const std::vector<TiledTensor>& in) const {
  if (!program_->planned.memory->overwrites(op) || in[0].memories.size() != 1) return false;
  const Chip::MemoryPtr& memory = in[0].memories[0];
  return memory.use_count() == 1 && (in[0].addresses || memory->layout() == program_->layout_of(*op.outputs[0]));
}

std::vector<TiledTensor> TilesStore::run(const Op& op, const std::vector<TiledTensor>& in, const Watch& watch) {
  const OpContextStorage storage(op);
  const bool is_alias = op.row->alias >= 0, of_view = is_alias && op.row->modifies == 0;
  std::vector<TiledTensor> out;
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    if (i == 0 && of_view)
      out.push_back(view(op, storage.site, in, watch));
    else if (i == 0 && is_alias)
      out.push_back(in[static_cast<size_t>(op.row->alias)]);
    else if (i == 0 && !watch.observer && overwrites(op, in))  // observers see operands afterwards, too
      out.push_back({op.outputs[0]->spec, in[0].memories, in[0].addresses});
    else
      out.push_back(fresh(op.outputs[i]->spec, program_->layout_of(*op.outputs[i])));
  }
  for (size_t i = 0; i < in.size(); ++i) {
    if (!op.inputs[i] || !op.modifies(i)) continue;
    for (auto& [tensor, variable] : variables_)
      variable.changed |=
          std::find(in[i].memories.begin(), in[i].memories.end(), variable.value.memories[0]) != in[i].memories.end();
  }
  std::vector<Array> before, after;
  if (watch.observer) {
    before = seen(in);
    for (const TiledTensor& t : out) after.emplace_back(t.spec.dtype, t.spec.shape);
    watch.observer->before({op, before, after, watch.replica.number, watch.replica.count});
  }
  if (!of_view) compute(op, storage.site, in, out, watch.replica);
  chip_->check_room(fmt::format("`{}`", op.row->name));
  if (watch.observer) {
    before = seen(in);
    after = seen(out);
    watch.observer->after({op, before, after, watch.replica.number, watch.replica.count});
  }
  return out;
}

void TilesStore::compute(const Op& op, const OpContext& site, std::vector<TiledTensor> in,
                         const std::vector<TiledTensor>& out, const ReplicaNumber& replica) {
  const std::byte* further =
      op.row->exchange == Exchange::replica ? reinterpret_cast<const std::byte*>(&replica) : nullptr;
  const auto found = parts_.find(&op);
  const tiles::OpParts& parts =
      found != parts_.end() ? found->second : parts_.emplace(&op, program_->parts(op, site, further)).first->second;
  check_planned_parts(op, site, parts);
  // Operands in other layouts than the partition is made for are rearranged first.
  const tiles::OpCandidate& candidate = program_->mapped.candidate(op);
  for (size_t i = 0; i < in.size() && parts.as_planned; ++i) {
    if (!op.inputs[i] || op.modifies(i) || candidate.in[i] < 0) continue;
    const auto& layout = program_->layout(program_->mapped.mapping(candidate.in[i]), in[i].spec.shape);
    const bool is_there = in[i].addresses || in[i].memories[0]->layout() == program_->layout_of(*op.inputs[i]);
    const tiles::Rearrangement& r = program_->mapped.rearrangement_to(op.inputs[i], candidate.in[i]);
    if (is_there ? r.cycles > 0 : layout != in[i].memories[0]->layout())
      in[i] = laid_out(in[i], layout, r.copy_cycles > 0 ? r.temp_bytes : 0);
  }
  std::vector<Chip::MemoryPtr> memories;
  const tiles::LoweredOp& lowered = schedule(
      &op, [&] { return parts; }, in, out, memories);
  chip_->run({&op, site, lowered, memories, parts.as_planned ? candidate.vertex_bytes : 0, further});
}

void TilesStore::check_planned_parts(const Op& op, const OpContext& site, const tiles::OpParts& parts) {
  const int64_t planned = program_->mapped.candidate(op).tiles;
  // Links move what replicas exchange; no tile computes it.
  if (parts.as_planned || planned <= 1 || op.row->exchange == Exchange::members) return;
  ++on_one_tile_[op.row->name];
  if (!tiles::has_single_results(site) && !one_tile_is_allowed())
    throw Error(fmt::format("`{}` is planned on {} tiles, and the tiles engine cannot divide it so", op.row->name,
                            tiles::grouped(planned)),
                {"`--allow-one-tile` runs such ops on one tile"});
}

const tiles::LoweredOp& TilesStore::schedule(const Op* op, const std::function<tiles::OpParts()>& parts,
                                             const std::vector<TiledTensor>& in, const std::vector<TiledTensor>& out,
                                             std::vector<Chip::MemoryPtr>& memories) {
  std::vector<const tiles::Layout*> layouts;
  std::vector<uintptr_t> key{reinterpret_cast<uintptr_t>(op)};
  const auto number = [&](const Chip::MemoryPtr& m) {
    const auto at = std::find(memories.begin(), memories.end(), m);
    if (at != memories.end()) return static_cast<size_t>(at - memories.begin());
    memories.push_back(m);
    layouts.push_back(m->layout().get());
    return memories.size() - 1;
  };
  for (const std::vector<TiledTensor>* list : {&in, &out})
    for (const TiledTensor& t : *list) {
      key.push_back(reinterpret_cast<uintptr_t>(t.addresses.get()));
      for (const Chip::MemoryPtr& m : t.memories) {
        key.push_back(number(m));
        key.push_back(reinterpret_cast<uintptr_t>(m->layout().get()));
      }
    }
  const auto found = schedules_.find(key);
  if (found != schedules_.end()) return found->second;
  std::vector<std::unique_ptr<std::vector<uint64_t>>> renumbered;
  const auto place = [&](const TiledTensor& t) -> tiles::TensorPlace {
    if (t.memories.empty()) return {};
    if (!t.addresses) return {number(t.memories[0]), nullptr};
    renumbered.push_back(std::make_unique<std::vector<uint64_t>>(*t.addresses));
    for (uint64_t& a : *renumbered.back())
      a = tiles::address_of(number(t.memories[tiles::memory_of(a)]), tiles::element_of(a));
    return {0, renumbered.back().get()};
  };
  std::vector<tiles::TensorPlace> operands, results;
  for (const TiledTensor& t : in) operands.push_back(place(t));
  for (const TiledTensor& t : out) results.push_back(place(t));
  return schedules_.emplace(std::move(key), tiles::lower(parts(), layouts, operands, results)).first->second;
}

TiledTensor TilesStore::view(const Op& op, const OpContext& site, const std::vector<TiledTensor>& in,
                             const Watch& watch) {
  TiledTensor result{site.out[0], {}, nullptr};
  std::vector<uintptr_t> key{reinterpret_cast<uintptr_t>(&op)};
  std::vector<std::vector<size_t>> numbers;
  for (const TiledTensor& t : in) {
    key.push_back(reinterpret_cast<uintptr_t>(t.addresses.get()));
    numbers.emplace_back();
    for (const Chip::MemoryPtr& m : t.memories) {
      const auto at = std::find(result.memories.begin(), result.memories.end(), m);
      numbers.back().push_back(static_cast<size_t>(at - result.memories.begin()));
      if (at == result.memories.end()) result.memories.push_back(m);
      key.push_back(numbers.back().back());
    }
  }
  std::shared_ptr<const std::vector<uint64_t>>& known = views_[key];
  if (!known) {
    std::vector<std::vector<uint64_t>> addresses(in.size());
    for (size_t i = 0; i < in.size(); ++i) {
      for (int64_t e = 0; !in[i].memories.empty() && e < in[i].spec.size(); ++e) {
        const uint64_t a = in[i].addresses ? (*in[i].addresses)[static_cast<size_t>(e)] : tiles::address_of(0, e);
        addresses[i].push_back(tiles::address_of(numbers[i][tiles::memory_of(a)], tiles::element_of(a)));
      }
    }
    known = std::make_shared<const std::vector<uint64_t>>(moved_addresses(site, addresses));
  }
  result.addresses = known;
  // A view that is planned as a copy is one. No op of its graph changes the memory, so a copy has the same elements.
  const bool changes = watch.graph->changed.count(op.outputs[0]) > 0;
  if (changes || program_->planned.memory->shares(op)) return result;
  return laid_out(result, program_->layout_of(*op.outputs[0]));
}

}  // namespace pxl
