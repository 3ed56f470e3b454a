// The timeline, and the liveness at each point of the timeline.
#include <algorithm>

#include "runtime/base/limits/interrupt.hpp"
#include "runtime/graph/call_operands.hpp"
#include "runtime/tiles/report/writer.hpp"

namespace pxl::tiles {

namespace {

constexpr size_t max_timeline_spans = 40'000, max_liveness_points = 40'000;

}  // namespace

int64_t Writer::cycles_of(const Graph* g) const { return once_[static_cast<size_t>(m_.graph_index(g))].total(); }

// Starts with the always-live bytes of each tile.
void Writer::begin_memory() {
  for (const TileMemory& t : memory_.tiles()) {
    int64_t sum = 0;
    for (size_t c = 0; c < t.bytes.size(); ++c)
      if (always_live(static_cast<MemoryCategory>(c))) sum += t.bytes[c];
    held_.push_back(sum);
  }
}

void Writer::hold(const Lifetime& l, int64_t sign) {
  const TileBytes& bytes = m_.bytes_by_tile(l.mapping, l.tensor->spec);
  for (size_t t = bytes.begin; t < bytes.end; ++t) held_[t] += sign * bytes.on[t];
  live_ += sign * l.tensor->spec.bytes() * m_.mapping(l.mapping).copies;
}

LivenessPoint Writer::point(const Op& op, int64_t repeats) const {
  LivenessPoint p;
  p.op = index_of_.at(&op);
  p.repeats = repeats;
  const int64_t temp = r_.ops[static_cast<size_t>(p.op)].temp_bytes;
  const TileRange place = temp > 0 ? m_.place(op) : TileRange{};
  p.temp_bytes = saturating_product(temp, place.count);
  p.live_bytes = live_ + p.temp_bytes;
  const auto fuller = [&](size_t tile, int64_t bytes) {
    if (bytes > p.fullest) p.fullest = bytes, p.tile = static_cast<int64_t>(tile);
  };
  const auto first = static_cast<size_t>(place.first), end = first + static_cast<size_t>(place.count);
  const size_t wrapped = end > held_.size() ? end - held_.size() : 0;
  for (size_t t = 0; t < held_.size(); ++t) fuller(t, held_[t] + ((t >= first && t < end) || t < wrapped ? temp : 0));
  return p;
}

LivenessPoint Writer::call_point(const Op& op, int64_t repeats, const std::vector<const Lifetime*>& begins,
                                 const std::vector<const Lifetime*>& ends) {
  LivenessPoint most = point(op, repeats);
  const auto raise = [&] {
    const LivenessPoint p = point(op, repeats);
    most.live_bytes = std::max(most.live_bytes, p.live_bytes);
    if (p.fullest > most.fullest) most.fullest = p.fullest, most.tile = p.tile;
  };
  // Lifetimes of a called graph for which f holds are live too.
  const auto beside = [&](auto&& f) {
    for (const Graph* called : op.called) {
      const std::vector<Lifetime>& all = memory_.lifetimes(m_.graph_index(called));
      for (const Lifetime& l : all)
        if (f(l)) hold(l, 1);
      raise();
      for (const Lifetime& l : all)
        if (f(l)) hold(l, -1);
    }
  };
  const auto leave = [&](int64_t sign) {
    for (const Lifetime* l : ends)
      if (l->into_call) hold(*l, -sign);
    for (const Lifetime* l : begins)
      if (l->out_of_call) hold(*l, sign);
  };
  beside([](const Lifetime& l) { return l.tensor->kind == TensorKind::input; });
  leave(1);
  beside([](const Lifetime& l) { return l.returned; });
  leave(-1);
  return most;
}

// Appends the timeline and the liveness points of a graph. Calls are expanded; loop bodies appear once.
void Writer::expand(int graph, int64_t repeats) {
  const GraphInstance& instance = m_.graphs()[static_cast<size_t>(graph)];
  r_.graphs[static_cast<size_t>(graph)].entries.push_back(static_cast<int64_t>(r_.liveness.size()));
  std::vector<std::vector<const Lifetime*>> ends(instance.order.size());
  std::vector<std::vector<const Lifetime*>> begins(instance.order.size());
  for (const Lifetime& l : memory_.lifetimes(graph)) {
    if (instance.order.empty()) break;
    begins[static_cast<size_t>(l.first)].push_back(&l);
    ends[static_cast<size_t>(l.last)].push_back(&l);
  }
  for (size_t i = 0; i < instance.order.size(); ++i) {
    if (r_.timeline.size() >= max_timeline_spans || r_.liveness.size() >= max_liveness_points) {
      r_.timeline_complete = r_.liveness_complete = false;
      break;
    }
    check_interrupt();
    const Op* op = instance.order[i];
    const int index = index_of_.at(op);
    const ReportOp& out = r_.ops[static_cast<size_t>(index)];
    for (const Lifetime* l : begins[i])
      if (!l->out_of_call) hold(*l, 1);
    r_.liveness.push_back(op->called.empty() ? point(*op, repeats) : call_point(*op, repeats, begins[i], ends[i]));
    for (int s = out.first_step; repeats > 0 && s < out.first_step + out.step_count; ++s) {
      const int64_t cycles = saturating_product(r_.steps[static_cast<size_t>(s)].cycles, repeats);
      r_.timeline.push_back({s, clock_, cycles, repeats});
      clock_ += cycles;
    }
    // A branch is charged with its longer side.
    for (const Lifetime* l : ends[i])
      if (l->into_call) hold(*l, -1);
    const Graph* longer = nullptr;
    for (const Graph* called : op->called)
      if (!longer || cycles_of(called) > cycles_of(longer)) longer = called;
    for (const Graph* called : op->called)
      expand(m_.graph_index(called), called == longer ? saturating_product(repeats, repeat_count(*op)) : 0);
    for (const Lifetime* l : begins[i])
      if (l->out_of_call) hold(*l, 1);
    for (const Lifetime* l : ends[i])
      if (!l->into_call) hold(*l, -1);
  }
}

}  // namespace pxl::tiles
