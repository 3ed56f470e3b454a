// Peaks of the tiles' memory over a schedule. Bytes are added up once for each class of tiles that store equal bytes.
#include <algorithm>

#include "runtime/tiles/memory.hpp"

namespace pxl::tiles {

TileClasses classes_of_tiles(size_t tiles, const std::vector<const TileBytes*>& bytes,
                             const std::vector<TileRange>& ranges) {
  std::vector<uint64_t> key(tiles, 0);
  // The ends of the ranges divide the tiles into parts.
  std::vector<bool> ends(tiles + 1, false);
  for (const TileRange& r : ranges) {
    if (r.count >= static_cast<int64_t>(tiles)) continue;
    ends[static_cast<size_t>(r.first)] = true;
    ends[static_cast<size_t>(r.first + r.count) % tiles] = true;
  }
  uint64_t part = 0;
  for (size_t t = 0; t < tiles; ++t) key[t] = part += ends[t];
  for (const TileBytes* b : bytes)
    for (size_t t = b->begin; t < b->end; ++t) {
      key[t] = (key[t] ^ static_cast<uint64_t>(b->on[t])) * 0x9E3779B97F4A7C15ULL;
      key[t] ^= key[t] >> 29;
    }
  TileClasses classes;
  classes.of.resize(tiles);
  std::unordered_map<uint64_t, size_t> known;
  for (size_t t = 0; t < tiles; ++t) {
    const auto [at, fresh] = known.try_emplace(key[t], classes.tile.size());
    if (fresh) classes.tile.push_back(t);
    classes.of[t] = at->second;
  }
  // If two different tiles have one key, every tile becomes a separate class.
  const auto same = [&](size_t t) {
    const size_t one = classes.tile[classes.of[t]];
    return std::all_of(bytes.begin(), bytes.end(), [&](const TileBytes* b) { return b->on[t] == b->on[one]; });
  };
  for (size_t t = 0; t < tiles; ++t)
    if (!same(t)) {
      classes.tile.resize(tiles);
      for (size_t i = 0; i < tiles; ++i) classes.tile[i] = classes.of[i] = i;
      break;
    }
  return classes;
}

void Memory::find_classes() {
  std::vector<const TileBytes*> bytes;
  std::vector<TileRange> ranges;
  const auto add = [&](int32_t mapping, const TensorSpec& spec) {
    const TileBytes* b = &m_.bytes_by_tile(mapping, spec);
    if (on_classes_.try_emplace(b).second) bytes.push_back(b);
  };
  temps_.resize(m_.graphs().size());
  for (size_t g = 0; g < m_.graphs().size(); ++g) {
    for (const Lifetime& l : lifetimes_[g]) add(l.mapping, l.tensor->spec);
    for (const auto& t : m_.graphs()[g].graph->tensors())
      if (t->kind == TensorKind::variable || t->kind == TensorKind::constant) add(m_.mapping_of(t.get()), t->spec);
    for (const Op* op : m_.graphs()[g].order) {
      temps_[g].push_back(temp_bytes(*op));
      if (temps_[g].back() > 0) ranges.push_back(m_.place(*op));
    }
  }
  classes_ = classes_of_tiles(static_cast<size_t>(m_.machine().tiles), bytes, ranges);
  for (auto& [b, on] : on_classes_)
    for (size_t c = 0; c < classes_.count(); ++c)
      if (const int64_t n = b->on[classes_.tile[c]]; n > 0) on.emplace_back(c, n);
}

const Memory::ClassBytes& Memory::on_classes(int32_t mapping, const TensorSpec& spec) {
  return on_classes_.at(&m_.bytes_by_tile(mapping, spec));
}

const std::vector<size_t>& Memory::classes_in(const TileRange& range) {
  const auto [at, fresh] = classes_in_.try_emplace({range.first, range.count});
  const int64_t tiles = m_.machine().tiles;
  if (fresh)
    for (size_t c = 0; c < classes_.count(); ++c)
      if ((static_cast<int64_t>(classes_.tile[c]) - range.first + tiles) % tiles < range.count) at->second.push_back(c);
  return at->second;
}

void Memory::run(int graph) {
  const GraphInstance& instance = m_.graphs()[static_cast<size_t>(graph)];
  GraphMemory& out = graphs_[static_cast<size_t>(graph)];
  const size_t classes = classes_.count();
  out.peak.assign(classes, 0);
  out.temp.assign(classes, 0);
  out.point.assign(classes, 0);
  std::vector<int64_t> live(classes, 0);
  std::vector<std::vector<const Lifetime*>> begins(instance.order.size()), ends(instance.order.size());
  for (const Lifetime& l : lifetimes_[static_cast<size_t>(graph)]) {
    if (instance.order.empty()) break;
    begins[static_cast<size_t>(l.first)].push_back(&l);
    ends[static_cast<size_t>(l.last)].push_back(&l);
  }
  const auto change = [&](const Lifetime& l, int64_t sign) {
    for (const auto& [c, bytes] : on_classes(l.mapping, l.tensor->spec)) live[c] += sign * bytes;
  };
  const auto reach = [&](size_t c, int64_t bytes, int64_t temp, int64_t point) {
    if (bytes > out.peak[c]) out.peak[c] = bytes, out.temp[c] = temp, out.point[c] = point;
  };
  const auto reach_all = [&](const Lifetime& l, int64_t point) {
    for (const auto& [c, bytes] : on_classes(l.mapping, l.tensor->spec)) reach(c, live[c], 0, point);
  };
  for (size_t i = 0; i < instance.order.size(); ++i) {
    const Op& op = *instance.order[i];
    out.offset.push_back(out.points);
    for (const Lifetime* l : begins[i])
      if (!l->out_of_call) change(*l, 1);
    if (op.called.empty()) {
      // A tile's memory grows only where a lifetime begins or a temporary exists.
      const int64_t temp = temps_[static_cast<size_t>(graph)][i];
      for (const Lifetime* l : begins[i]) reach_all(*l, out.points);
      if (temp > 0)
        for (const size_t c : classes_in(m_.place(op))) reach(c, live[c] + temp, temp, out.points);
      out.points = std::min(max_count, out.points + 1);
    } else {
      // Arguments are copied on entry, and results on exit. The graph runs in between.
      const int64_t at = out.points;
      const auto below = [&](const Graph* called) -> size_t { return static_cast<size_t>(m_.graph_index(called)); };
      // Points at which tensors of the called graph are live beside the caller's tensors.
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
        for (size_t c = 0; c < classes; ++c)
          reach(c, live[c] + inner.peak[c], inner.temp[c], std::min(max_count, out.points + 1 + inner.point[c]));
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

}  // namespace pxl::tiles
