#include "runtime/tiles/memory.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/base/interrupt.hpp"

namespace pxl::tiles {

namespace {

/// Code size of a kind of vertex. An assumption within PopLibs' known range, a few hundred bytes to 2 kB.
int64_t vertex_code_bytes(std::string_view vertex) {
  if (vertex == "ConvPartial1x1Out") return 1536;
  if (vertex == "ConvPartialHorizontalMac" || vertex == "Reduce" || vertex == "ReduceRows") return 512;
  return 256;
}

/// Difference array over tiles: bytes on ranges of tiles, summed at the end.
class Ranges {
 public:
  explicit Ranges(size_t tiles) : changes_(tiles + 1, 0) {}
  void add(const TileRange& range, int64_t bytes) {
    const int64_t tiles = static_cast<int64_t>(changes_.size()) - 1, end = range.first + range.count;
    change(range.first, std::min(end, tiles), bytes);
    if (end > tiles) change(0, end - tiles, bytes);
  }
  std::vector<int64_t> by_tile() const {
    std::vector<int64_t> bytes(changes_.size() - 1);
    int64_t held = 0;
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = held += changes_[i];
    return bytes;
  }

 private:
  void change(int64_t begin, int64_t end, int64_t bytes) {
    changes_[static_cast<size_t>(begin)] += bytes;
    changes_[static_cast<size_t>(end)] -= bytes;
  }
  std::vector<int64_t> changes_;
};

}  // namespace

Memory::Memory(const MappedProgram& program) : m_(program) {
  lifetimes_.resize(m_.graphs().size());
  graphs_.resize(m_.graphs().size());
  for (const GraphInstance& instance : m_.graphs())
    for (const Op* op : instance.order)
      if (op->row->role == Role::loop) {
        const auto [at, fresh] = carried_.try_emplace(op->called[0], op->outputs.size());
        at->second = std::min(at->second, op->outputs.size());
      }
  // Callees come after their callers.
  for (size_t g = m_.graphs().size(); g-- > 0;) {
    check_interrupt();
    find_lifetimes(static_cast<int>(g));
    run(static_cast<int>(g));
  }
  add_up();
}

int64_t Memory::temp_bytes(const Op& op) const {
  if (!op.called.empty()) return 0;
  const OpCandidate& candidate = m_.candidate(op);
  int64_t bytes = candidate.temp_bytes;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i]) continue;
    const Rearrangement& r = m_.rearrangement_to(op.inputs[i], candidate.in[i]);
    // The rearranged operand, and the received slices.
    if (r.cycles > 0)
      bytes += max_elements_per_tile(m_.mapping(candidate.in[i]), op.inputs[i]->spec.shape) *
                   element_bytes(op.inputs[i]->spec) +
               (r.copy_cycles > 0 ? r.temp_bytes : 0);
  }
  return bytes;
}

void Memory::run(int graph) {
  const GraphInstance& instance = m_.graphs()[static_cast<size_t>(graph)];
  GraphMemory& out = graphs_[static_cast<size_t>(graph)];
  const auto tiles = static_cast<size_t>(m_.machine().tiles);
  out.peak.assign(tiles, 0);
  out.temp.assign(tiles, 0);
  out.point.assign(tiles, 0);
  std::vector<int64_t> live(tiles, 0);
  std::vector<std::vector<const Lifetime*>> begins(instance.order.size()), ends(instance.order.size());
  for (const Lifetime& l : lifetimes_[static_cast<size_t>(graph)]) {
    if (instance.order.empty()) break;
    begins[static_cast<size_t>(l.first)].push_back(&l);
    ends[static_cast<size_t>(l.last)].push_back(&l);
  }
  const auto change = [&](const Lifetime& l, int64_t sign) {
    const TileBytes& bytes = m_.bytes_by_tile(l.mapping, l.tensor->spec);
    for (size_t t = bytes.begin; t < bytes.end; ++t) live[t] += sign * bytes.on[t];
  };
  const auto reach = [&](size_t tile, int64_t bytes, int64_t temp, int64_t point) {
    if (bytes > out.peak[tile]) out.peak[tile] = bytes, out.temp[tile] = temp, out.point[tile] = point;
  };
  const auto reach_all = [&](const Lifetime& l, int64_t point) {
    const TileBytes& bytes = m_.bytes_by_tile(l.mapping, l.tensor->spec);
    for (size_t t = bytes.begin; t < bytes.end; ++t) reach(t, live[t], 0, point);
  };
  for (size_t i = 0; i < instance.order.size(); ++i) {
    const Op& op = *instance.order[i];
    out.offset.push_back(out.points);
    for (const Lifetime* l : begins[i])
      if (!l->out_of_call) change(*l, 1);
    if (op.called.empty()) {
      // A tile's memory grows only where a lifetime begins or a temporary exists.
      const int64_t temp = temp_bytes(op);
      for (const Lifetime* l : begins[i]) reach_all(*l, out.points);
      if (temp > 0) {
        const TileRange place = m_.place(op);
        size_t t = static_cast<size_t>(place.first);
        for (int64_t k = 0; k < place.count; ++k) {
          reach(t, live[t] + temp, temp, out.points);
          if (++t == tiles) t = 0;
        }
      }
      out.points = std::min(max_count, out.points + 1);
    } else {
      // Arguments are copied on entry, results on exit; the graph runs in between.
      const int64_t at = out.points;
      const auto below = [&](const Graph* called) -> size_t { return static_cast<size_t>(m_.graph_index(called)); };
      // Points at which tensors of the called graph are live beside what the caller holds.
      const auto beside = [&](const Graph* called, auto&& chosen) {
        for (const int64_t sign : {1, 0, -1})
          for (const Lifetime& l : lifetimes_[below(called)]) {
            if (!chosen(l)) continue;
            if (sign == 0)
              reach_all(l, at);
            else
              change(l, sign);
          }
      };
      for (const Graph* called : op.called)
        beside(called, [](const Lifetime& l) { return l.tensor->kind == TensorKind::input; });
      for (const Lifetime* l : ends[i])
        if (l->into_call) change(*l, -1);
      for (const Graph* called : op.called) {
        const GraphMemory& inner = graphs_[below(called)];
        for (size_t t = 0; t < tiles; ++t)
          reach(t, live[t] + inner.peak[t], inner.temp[t], std::min(max_count, out.points + 1 + inner.point[t]));
        out.points = std::min(max_count, out.points + inner.points);
      }
      for (const Lifetime* l : begins[i])
        if (l->out_of_call) change(*l, 1);
      for (const Lifetime* l : begins[i])
        if (l->out_of_call) reach_all(*l, at);
      for (const Graph* called : op.called) beside(called, [](const Lifetime& l) { return l.returned; });
      out.points = std::min(max_count, out.points + 1);
    }
    for (const Lifetime* l : ends[i])
      if (!l->into_call) change(*l, -1);
  }
}

void Memory::add_up() {
  const Machine& machine = m_.machine();
  tiles_.assign(static_cast<size_t>(machine.tiles), {});
  const auto put = [&](MemoryCategory c, size_t tile, int64_t bytes) {
    tiles_[tile].bytes[static_cast<size_t>(c)] += bytes;
  };
  Ranges exchange(tiles_.size()), state(tiles_.size()), lists(tiles_.size());
  std::map<std::string_view, Ranges> vertices;  // by vertex name
  int64_t phases = 0, control = 0;
  for (const GraphInstance& instance : m_.graphs()) {
    for (const auto& owned : instance.graph->tensors()) {
      const Tensor* t = owned.get();
      if (t->kind != TensorKind::variable && t->kind != TensorKind::constant) continue;
      const TileBytes& bytes = m_.bytes_by_tile(m_.mapping_of(t), t->spec);
      const auto category = t->kind == TensorKind::variable ? MemoryCategory::weights : MemoryCategory::constants;
      for (size_t i = bytes.begin; i < bytes.end; ++i) put(category, i, bytes.on[i]);
    }
    for (const Op* op : instance.order) {
      if (!op->called.empty()) {
        // One copy per argument that is not aliased, and the call.
        control += call_control_bytes(*op);
        continue;
      }
      const OpCandidate& candidate = m_.candidate(*op);
      const TileRange place = m_.place(*op);
      exchange.add(place, candidate.code_bytes - candidate.phases * phase_code_bytes);
      phases += candidate.phases;
      control += candidate.control_bytes;
      for (const CandidateStep& s : candidate.steps)
        if (s.kind == BspPhaseKind::compute) vertices.try_emplace(s.what, tiles_.size()).first->second.add(place, 1);
      state.add(place, candidate.state_bytes - candidate.list_bytes);
      lists.add(place, candidate.list_bytes);
      for (size_t i = 0; i < op->inputs.size(); ++i) {
        if (!op->inputs[i]) continue;
        const auto rearranged = [&](const Rearrangement& r, int32_t mapping) {
          if (r.cycles == 0) return;
          control += r.control_bytes();
          if (r.traffic.empty()) return;
          const TileMapping& to = m_.mapping(mapping);
          exchange.add({to.first % machine.tiles, std::min(machine.tiles, to.tiles())},
                       exchange_code_bytes(r.traffic) - phase_code_bytes);
          ++phases;
        };
        rearranged(m_.rearrangement_to(op->inputs[i], candidate.in[i]), candidate.in[i]);
        rearranged(m_.write_back(*op, i), m_.mapping_of(op->inputs[i]));
      }
    }
  }
  for (auto& [vertex, ranges] : vertices) {
    const std::vector<int64_t> there = ranges.by_tile();
    for (size_t i = 0; i < there.size(); ++i)
      if (there[i] > 0) put(MemoryCategory::vertex_code, i, vertex_code_bytes(vertex));
  }
  const std::vector<int64_t> exchange_code = exchange.by_tile(), states = state.by_tile(), pointed = lists.by_tile();
  const GraphMemory& main = graphs_[0];
  for (size_t i = 0; i < tiles_.size(); ++i) {
    put(MemoryCategory::vertex_state, i, states[i]);
    put(MemoryCategory::vertex_lists, i, pointed[i]);
    put(MemoryCategory::exchange_code, i, exchange_code[i] + phases * phase_code_bytes);
    put(MemoryCategory::control_code, i, control);
    put(MemoryCategory::runtime, i, machine.runtime_bytes);
    put(MemoryCategory::temporaries, i, main.temp[i]);
    put(MemoryCategory::activations, i, main.peak[i] - main.temp[i]);
    TileMemory& tile = tiles_[i];
    int64_t variables = main.peak[i];
    for (const auto c : {MemoryCategory::weights, MemoryCategory::constants, MemoryCategory::vertex_state,
                         MemoryCategory::vertex_lists})
      variables += tile.bytes[static_cast<size_t>(c)];
    put(MemoryCategory::gaps, i, variables * machine.gap_percent / 100);
    for (const int64_t bytes : tile.bytes) tile.total += bytes;
    tile.peak = static_cast<int>(std::min<int64_t>(main.point[i], INT32_MAX));
    if (tile.total > tiles_[static_cast<size_t>(fullest_)].total) fullest_ = static_cast<int64_t>(i);
  }
}

const Op* Memory::op_at(int64_t point) const {
  int graph = 0;
  while (true) {
    const GraphInstance& instance = m_.graphs()[static_cast<size_t>(graph)];
    const GraphMemory& memory = graphs_[static_cast<size_t>(graph)];
    if (instance.order.empty()) return nullptr;
    const auto next_offset = std::upper_bound(memory.offset.begin(), memory.offset.end(), point);
    if (next_offset == memory.offset.begin()) return nullptr;
    const auto i = static_cast<size_t>(next_offset - memory.offset.begin()) - 1;
    const Op* op = instance.order[i];
    int64_t left = point - memory.offset[i] - 1;
    if (op->called.empty() || left < 0) return op;
    const Graph* next = nullptr;
    for (const Graph* called : op->called) {
      const int64_t points = graphs_[static_cast<size_t>(m_.graph_index(called))].points;
      if (left < points) {
        next = called;
        break;
      }
      left -= points;
    }
    if (!next) return op;
    graph = m_.graph_index(next);
    point = left;
  }
}

std::vector<std::pair<const Tensor*, int64_t>> Memory::on_tile(int64_t tile, int64_t point) const {
  std::vector<std::pair<const Tensor*, int64_t>> found;
  const auto add = [&](const Tensor* t, int32_t mapping) {
    const int64_t bytes = m_.bytes_by_tile(mapping, t->spec).on[static_cast<size_t>(tile)];
    if (bytes > 0) found.emplace_back(t, bytes);
  };
  for (const GraphInstance& instance : m_.graphs())
    for (const auto& t : instance.graph->tensors())
      if (t->kind == TensorKind::variable || t->kind == TensorKind::constant) add(t.get(), m_.mapping_of(t.get()));
  int graph = 0;
  while (graph >= 0) {
    const GraphInstance& instance = m_.graphs()[static_cast<size_t>(graph)];
    const GraphMemory& memory = graphs_[static_cast<size_t>(graph)];
    const auto next_offset = std::upper_bound(memory.offset.begin(), memory.offset.end(), point);
    if (instance.order.empty() || next_offset == memory.offset.begin()) break;
    const auto i = static_cast<size_t>(next_offset - memory.offset.begin()) - 1;
    int64_t left = point - memory.offset[i] - 1;
    const auto at = static_cast<int>(i);
    const bool inside = left >= 0;  // of a graph that the op calls
    for (const Lifetime& l : lifetimes_[static_cast<size_t>(graph)])
      if (l.first <= at && at <= l.last &&
          !(inside && ((l.into_call && l.last == at) || (l.out_of_call && l.first == at))))
        add(l.tensor, l.mapping);
    graph = -1;
    if (!inside) break;
    for (const Graph* called : instance.order[i]->called) {
      const int64_t points = graphs_[static_cast<size_t>(m_.graph_index(called))].points;
      if (left < points) {
        graph = m_.graph_index(called);
        point = left;
        break;
      }
      left -= points;
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return found;
}

}  // namespace pxl::tiles
