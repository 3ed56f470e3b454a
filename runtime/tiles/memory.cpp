#include "runtime/tiles/memory.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/base/limits/interrupt.hpp"
#include "runtime/graph/call_operands.hpp"

namespace pxl::tiles {

namespace {

/// Code size per kind of vertex. This is an assumption within PopLibs' known range, a few hundred bytes to 2 kB.
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
  for (size_t g = 0; g < m_.graphs().size(); ++g) find_lifetimes(static_cast<int>(g));
  find_classes();
  // The loop visits callees before their callers.
  for (size_t g = m_.graphs().size(); g-- > 0;) {
    check_interrupt();
    run(static_cast<int>(g));
  }
  add_up();
}

int64_t Memory::temp_bytes(const Op& op) const {
  if (!op.called.empty()) return 0;
  const OpCandidate& candidate = m_.candidate(op);
  int64_t held = 0, most = 0;  // bytes of rearranged operands, and the most at once while they are made
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i]) continue;
    const Rearrangement& r = m_.rearrangement_to(op.inputs[i], candidate.in[i]);
    if (r.cycles == 0) continue;
    // The operand of a view is its result.
    if (i > 0 || !candidate.outputs_share || op.modifies(0))
      held += max_elements_per_tile(m_.mapping(candidate.in[i]), op.inputs[i]->spec.shape) *
              element_bytes(op.inputs[i]->spec);
    most = std::max(most, held + (r.copy_cycles > 0 ? r.temp_bytes : 0));
  }
  return std::max(most, held + candidate.temp_bytes);
}

void Memory::add_up() {
  const Machine& machine = m_.machine();
  tiles_.assign(static_cast<size_t>(machine.tiles), {});
  const auto put = [&](MemoryCategory c, size_t tile, int64_t bytes) {
    tiles_[tile].bytes[static_cast<size_t>(c)] += bytes;
  };
  Ranges exchange(tiles_.size()), control(tiles_.size()), state(tiles_.size()), lists(tiles_.size());
  std::map<std::string_view, Ranges> vertices;                             // by vertex name
  std::vector<int64_t> weights(classes_.count(), 0), constants = weights;  // by class
  int64_t everywhere = 0;                                                  // control code of all tiles
  std::unordered_map<const Rearrangement*, int64_t> rearrangements;        // number of times that the program has each
  const auto add_code = [&](const Rearrangement& r) {
    if (!r.code.empty()) ++rearrangements[&r];
  };
  for (const GraphInstance& instance : m_.graphs()) {
    for (const auto& owned : instance.graph->tensors()) {
      const Tensor* t = owned.get();
      if (t->kind != TensorKind::variable && t->kind != TensorKind::constant) continue;
      std::vector<int64_t>& held = t->kind == TensorKind::variable ? weights : constants;
      for (const auto& [c, bytes] : on_classes(m_.mapping_of(t), t->spec)) held[c] += bytes;
    }
    for (const Op* op : instance.order) {
      if (!op->called.empty()) {
        // A call takes one copy per argument that is not aliased, and the call itself.
        everywhere += call_control_bytes(*op);
        for (size_t which = 0; which < op->called.size(); ++which) {
          const auto& inputs = op->called[which]->inputs();
          for (size_t i = 0; i < inputs.size(); ++i)
            if (const Tensor* given = op->inputs[callee_operand_begin(*op, which) + i];
                given && !is_by_reference(*op, which, i))
              add_code(m_.rearrangement_to(given, m_.mapping_of(inputs[i])));
        }
        continue;
      }
      const OpCandidate& candidate = m_.candidate(*op);
      const TileRange place = m_.place(*op);
      // A tile that takes no part in a phase or a compute set only synchronises (libpva: such programs are a separate
      // kind).
      const int64_t syncs = candidate.phases * sync_control_bytes;
      exchange.add(place, candidate.code_bytes);
      control.add(place, candidate.control_bytes - syncs);
      everywhere += syncs;
      for (const CandidateStep& s : candidate.steps)
        if (s.kind == BspPhaseKind::compute) vertices.try_emplace(s.what, tiles_.size()).first->second.add(place, 1);
      state.add(place, candidate.state_bytes - candidate.list_bytes);
      lists.add(place, candidate.list_bytes);
      for (size_t i = 0; i < op->inputs.size(); ++i) {
        if (!op->inputs[i]) continue;
        const auto rearranged = [&](const Rearrangement& r, int32_t mapping) {
          if (r.cycles == 0) return;
          const TileMapping& to = m_.mapping(mapping);
          const TileRange there{to.first % machine.tiles, std::min(machine.tiles, to.tiles())};
          const int64_t sync = r.traffic.empty() ? 0 : sync_control_bytes;
          control.add(there, r.control_bytes() - sync);
          everywhere += sync;
          add_code(r);
        };
        rearranged(m_.rearrangement_to(op->inputs[i], candidate.in[i]), candidate.in[i]);
        rearranged(m_.write_back(*op, i), m_.mapping_of(op->inputs[i]));
      }
    }
  }
  std::vector<int64_t> rearranging(tiles_.size(), 0);  // exchange code
  for (const auto& [r, times] : rearrangements)
    for (size_t tile = 0; tile < rearranging.size(); ++tile) rearranging[tile] += times * r->code[tile];
  for (auto& [vertex, ranges] : vertices) {
    const std::vector<int64_t> there = ranges.by_tile();
    for (size_t i = 0; i < there.size(); ++i)
      if (there[i] > 0) put(MemoryCategory::vertex_code, i, vertex_code_bytes(vertex));
  }
  const std::vector<int64_t> exchange_code = exchange.by_tile(), controls = control.by_tile(), states = state.by_tile(),
                             pointed = lists.by_tile();
  const GraphMemory& main = graphs_[0];
  for (size_t i = 0; i < tiles_.size(); ++i) {
    put(MemoryCategory::vertex_state, i, states[i]);
    put(MemoryCategory::vertex_lists, i, pointed[i]);
    put(MemoryCategory::exchange_code, i, exchange_code[i] + rearranging[i]);
    put(MemoryCategory::control_code, i, controls[i] + everywhere);
    put(MemoryCategory::runtime, i, machine.runtime_bytes);
    const size_t c = classes_.of[i];
    put(MemoryCategory::weights, i, weights[c]);
    put(MemoryCategory::constants, i, constants[c]);
    put(MemoryCategory::temporaries, i, main.temp[c]);
    put(MemoryCategory::activations, i, main.peak[c] - main.temp[c]);
    TileMemory& tile = tiles_[i];
    int64_t variables = main.peak[c];
    for (const auto category : {MemoryCategory::weights, MemoryCategory::constants, MemoryCategory::vertex_state,
                                MemoryCategory::vertex_lists})
      variables += tile.bytes[static_cast<size_t>(category)];
    put(MemoryCategory::gaps, i, variables * machine.gap_percent / 100);
    for (const int64_t bytes : tile.bytes) tile.total += bytes;
    tile.peak = static_cast<int>(std::min<int64_t>(main.point[c], INT32_MAX));
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
    const bool inside = left >= 0;  // the point is inside a graph that the op calls
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
