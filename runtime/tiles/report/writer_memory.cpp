// Totals, memory and shortages of the report.
#include <fmt/format.h>
#include <algorithm>
#include <map>

#include "runtime/tiles/report/writer.hpp"

namespace pxl::tiles {

void Writer::totals() {
  r_.cycles = once_[0];
  const Machine& m = m_.machine();
  r_.microseconds = m.microseconds(r_.cycles.device());
  r_.runs_per_second = r_.microseconds > 0 ? 1e6 / r_.microseconds : 0;
  for (const ReportStep& s : r_.steps) {
    if (s.kind == BspPhaseKind::compute) {
      const int64_t waiting = saturating_product(s.cycles - s.mean_cycles, s.times);
      r_.waiting_cycles += waiting;
      r_.ops[static_cast<size_t>(s.op)].waiting_cycles += waiting;
    }
    if (s.kind == BspPhaseKind::exchange) r_.exchanged_bytes += saturating_product(s.bytes, s.times);
    if (s.kind == BspPhaseKind::host) r_.host_bytes += saturating_product(s.bytes, s.times);
  }
  for (const ReportOp& o : r_.ops) {
    r_.flops += saturating_product(o.flops, o.times);
    r_.tiles_used = std::max(r_.tiles_used, o.tiles);
  }
  r_.useful_permille = permille_of(r_.flops, r_.cycles.device(), 2 * m.tiles * m.macs(2, 2));
}

void Writer::write_memory() {
  r_.tiles = memory_.tiles();
  r_.fullest_tile = memory_.fullest_tile();
  for (const TileMemory& t : r_.tiles)
    for (size_t c = 0; c < t.bytes.size(); ++c) r_.memory[c] += t.bytes[c];
  for (size_t c = 0; c < r_.memory.size(); ++c)
    if (always_live(static_cast<MemoryCategory>(c))) r_.always_live_bytes += r_.memory[c];
  std::unordered_map<const Tensor*, int> tensors;
  const auto add = [&](const Tensor* t, int graph, MemoryCategory category, int32_t mapping) {
    ReportTensor out;
    out.name = t->name;
    out.spec = text(t->spec);
    out.mapping = text(m_.mapping(mapping));
    out.category = category;
    out.graph = graph;
    out.bytes = t->spec.bytes() * m_.mapping(mapping).copies;
    out.tile_bytes = max_elements_per_tile(m_.mapping(mapping), t->spec.shape) * element_bytes(t->spec);
    out.always_live = always_live(category);
    tensors[t] = static_cast<int>(r_.tensors.size());
    r_.tensors.push_back(std::move(out));
  };
  for (const GraphInstance& instance : m_.graphs()) {
    const int graph = m_.graph_index(instance.graph);
    for (const auto& t : instance.graph->tensors()) {
      if (t->kind == TensorKind::variable) {
        add(t.get(), graph, MemoryCategory::weights, m_.mapping_of(t.get()));
        r_.parameter_bytes += t->spec.bytes();
      } else if (t->kind == TensorKind::constant) {
        add(t.get(), graph, MemoryCategory::constants, m_.mapping_of(t.get()));
      }
    }
    const std::vector<int64_t>& entries = r_.graphs[static_cast<size_t>(graph)].entries;
    const GraphMemory& points = memory_.of(graph);
    for (const Lifetime& l : memory_.lifetimes(graph)) {
      add(l.tensor, graph, MemoryCategory::activations, l.mapping);
      if (entries.empty() || r_.liveness.empty() || points.offset.empty()) continue;
      ReportTensor& out = r_.tensors.back();
      const auto point = [&](int64_t position) {
        return static_cast<int>(std::min<int64_t>(entries[0] + position, static_cast<int64_t>(r_.liveness.size()) - 1));
      };
      const auto end = [&](int position) {
        const size_t next = static_cast<size_t>(position) + 1;
        return point((next < points.offset.size() ? points.offset[next] : points.points) - 1);
      };
      out.first = l.out_of_call ? end(l.first) : point(points.offset[static_cast<size_t>(l.first)]);
      out.last = l.into_call ? std::max(out.first, point(points.offset[static_cast<size_t>(l.last)])) : end(l.last);
    }
  }
  peak();
  shortages(tensors);
}

namespace {
/// Returns "gelu_out" for "layers/3/gelu_out", and "x_*" for "x_17".
std::string group_name(std::string_view name) {
  std::string out;
  for (const char c : last_part(name)) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit)
      out += c;
    else if (out.empty() || out.back() != '*')
      out += '*';
  }
  return out;
}
}  // namespace

void Writer::peak() {
  if (r_.tiles.empty()) return;
  const int64_t point = r_.tiles[static_cast<size_t>(r_.fullest_tile)].peak;
  const Op* op = memory_.op_at(point);
  r_.peak_op = op ? index_of_.at(op) : -1;
  std::map<std::pair<std::string, std::string>, size_t> groups;
  std::vector<std::string> only;  // the whole name of the first tensor of each group
  for (const auto& [t, bytes] : memory_.on_tile(r_.fullest_tile, point)) {
    const auto [at, fresh] = groups.try_emplace({group_name(t->name), text(t->spec)}, r_.peak_tensors.size());
    if (fresh) {
      r_.peak_tensors.push_back({at->first.first, at->first.second, 0, 0});
      only.push_back(t->name);
    }
    ++r_.peak_tensors[at->second].count;
    r_.peak_tensors[at->second].bytes += bytes;
  }
  for (size_t i = 0; i < only.size(); ++i)
    if (r_.peak_tensors[i].count == 1) r_.peak_tensors[i].name = only[i];
  std::stable_sort(r_.peak_tensors.begin(), r_.peak_tensors.end(),
                   [](const TensorGroup& a, const TensorGroup& b) { return a.bytes > b.bytes; });
}

void Writer::shortages(const std::unordered_map<const Tensor*, int>& tensors) {
  const Machine& m = m_.machine();
  const TileMemory& full = r_.tiles[static_cast<size_t>(r_.fullest_tile)];
  const auto details = [&](Shortage& s) {
    s.point = full.peak;
    const Op* op = memory_.op_at(full.peak);
    s.op = op ? index_of_.at(op) : -1;
    for (const auto& [t, bytes] : memory_.on_tile(s.tile, full.peak)) {
      if (s.tensors.size() >= 20) break;
      const auto found = tensors.find(t);
      if (found != tensors.end()) s.tensors.push_back({found->second, bytes});
    }
  };
  if (full.total > m.capacity()) {
    Shortage s;
    s.tile = r_.fullest_tile;
    s.needed = full.total;
    s.available = m.capacity();
    s.what = fmt::format("tile {} needs {} bytes and has {}", s.tile, grouped(s.needed), grouped(s.available));
    details(s);
    r_.shortages.push_back(std::move(s));
  }
  size_t most = 0;
  for (size_t i = 0; i < r_.tiles.size(); ++i)
    if (r_.tiles[i].code() > r_.tiles[most].code()) most = i;
  if (r_.tiles[most].code() > m.executable) {
    Shortage s;
    s.tile = static_cast<int64_t>(most);
    s.needed = r_.tiles[most].code();
    s.available = m.executable;
    std::map<std::string_view, std::pair<int64_t, int64_t>> kinds;  // number of ops and bytes of code, by name
    for (size_t i = 0; i < r_.ops.size(); ++i) {
      const int64_t bytes = r_.ops[i].code_bytes();
      auto& [ops, code] = kinds[r_.ops[i].name];
      ++ops;
      code += bytes;
      if (s.op < 0 || bytes > r_.ops[static_cast<size_t>(s.op)].code_bytes()) s.op = static_cast<int>(i);
    }
    s.what = fmt::format("code of {} bytes on tile {}, and instructions run from {} only", grouped(s.needed), s.tile,
                         grouped(s.available));
    const auto largest = std::max_element(
        kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.second.second < b.second.second; });
    if (largest != kinds.end())
      s.what += fmt::format("; {} bytes belong to {} {}", grouped(largest->second.second), largest->second.first,
                            largest->first);
    r_.shortages.push_back(std::move(s));
  }
  r_.fits = r_.shortages.empty();
}

}  // namespace pxl::tiles
