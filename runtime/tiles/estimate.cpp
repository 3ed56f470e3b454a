// From a mapping and its memory to the report.
#include "runtime/tiles/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "runtime/base/interrupt.hpp"
#include "runtime/tiles/memory.hpp"

namespace pxl::tiles {

namespace {

constexpr size_t most_spans = 40'000, most_points = 40'000;

void count(PhaseCycles& sum, StepKind kind, int64_t cycles) {
  switch (kind) {
    case StepKind::exchange: sum.exchange += cycles; break;
    case StepKind::sync: sum.sync += cycles; break;
    case StepKind::host: sum.host += cycles; break;
    default: sum.compute += cycles; break;
  }
}

void add_times(PhaseCycles& sum, const PhaseCycles& one, int64_t times) {
  sum.compute += saturating_product(one.compute, times);
  sum.exchange += saturating_product(one.exchange, times);
  sum.sync += saturating_product(one.sync, times);
  sum.host += saturating_product(one.host, times);
}

/// Work against what could be done at a rate in some cycles.
int64_t permille_of(int64_t work, int64_t cycles, int64_t rate) {
  const double could = static_cast<double>(cycles) * static_cast<double>(rate);
  return could > 0 ? static_cast<int64_t>(1000.0 * static_cast<double>(work) / could) : 0;
}

std::string place_of(const Origin& origin) {
  if (!origin.span) return {};
  const Position p = origin.span.file->position(origin.span.begin);
  return fmt::format("{}:{}:{}", origin.span.file->name(), p.line, p.column);
}

class Writer {
 public:
  Writer(const Mapping& mapping, const Memory& memory, Report& report) : m_(mapping), memory_(memory), r_(report) {}

  void write() {
    for (const GraphView& view : m_.graphs()) write_ops(view);
    graph_cycles();
    write_bodies();
    begin_memory();
    expand(0, 1);
    totals();
    write_memory();
  }

 private:
  int64_t peak_rate(const Op& op) const {
    const int64_t bytes = op.outputs.empty() ? 4 : std::min<int64_t>(4, element_bytes(op.outputs[0]->spec));
    const Machine& m = m_.machine();
    if (op.row->tiles.family == TileFamily::product)
      return 2 * m.tiles * m.macs(bytes, bytes >= 4 ? 4 : m_.options().plan.half_partial_bytes);
    return m.tiles * m.vector_elements(bytes);
  }

  void step(ReportOp& op, StepKind kind, std::string_view what, int64_t cycles, int64_t mean, int64_t tiles,
            const Traffic& t) {
    ReportStep s;
    s.kind = kind;
    s.what = std::string(what);
    s.op = static_cast<int>(r_.ops.size());
    s.cycles = cycles;
    s.mean_cycles = mean;
    s.tiles = tiles;
    s.bytes_in = t.in;
    s.bytes_out = t.out;
    s.bytes = t.total;
    s.fragments = t.fragments;
    s.code_bytes = kind == StepKind::exchange ? exchange_code_bytes(t) : 0;
    s.times = op.times;
    count(op.cycles, kind, cycles);
    if (kind == StepKind::exchange) op.exchanged_bytes += t.total, op.exchange_code_bytes += s.code_bytes;
    r_.steps.push_back(std::move(s));
    ++op.step_count;
  }

  void relayout_steps(ReportOp& op, const Tensor* t, int32_t to) {
    const Relayout& c = m_.relayout_to(t, to);
    if (c.cycles == 0) return;
    const Machine& m = m_.machine();
    op.relayout_cycles += c.cycles;
    step(op, StepKind::sync, "sync", m.sync, m.sync, m.tiles, {});
    const int64_t exchange = exchange_cycles(m, c.traffic);
    step(op, StepKind::exchange, fmt::format("{} to another layout", t->name), exchange, exchange, m.tiles, c.traffic);
    if (c.copy_cycles > 0) {
      const int64_t used = std::min(m.tiles, m_.layout(to).tiles());
      step(op, StepKind::compute, "Rearrange", c.copy_cycles, c.copy_cycles * used / m.tiles, used, {});
    }
  }

  // A call copies what is not aliased: on the tile where both lie alike, else through an exchange.
  void call_copies(ReportOp& out, const Op& op) {
    const Machine& m = m_.machine();
    const auto copy = [&](const Tensor* from, const Tensor* to) {
      if (!from || !to) return;
      const int32_t layout = m_.layout_of(to);
      const int64_t bytes = elements_at_most(m_.layout(layout), to->spec.shape) * element_bytes(to->spec);
      r_.graphs[static_cast<size_t>(copied_into_)].copied_bytes += saturating_product(to->spec.bytes(), out.times);
      const int64_t before = out.cycles.total();
      if (m_.relayout_to(from, layout).cycles > 0)
        relayout_steps(out, from, layout);
      else if (const int64_t c = memcpy_cycles(m, bytes))
        step(out, StepKind::call, fmt::format("copy {}", to->name), c,
             c * std::min(m.tiles, m_.layout(layout).tiles()) / m.tiles, std::min(m.tiles, m_.layout(layout).tiles()),
             {});
      r_.graphs[static_cast<size_t>(copied_into_)].copy_cycles +=
          saturating_product(out.cycles.total() - before, out.times);
    };
    for (size_t which = 0; which < op.called.size(); ++which) {
      const Graph& callee = *op.called[which];
      copied_into_ = m_.graph_index(&callee);
      for (size_t i = 0; i < callee.inputs().size(); ++i)
        if (!passed_by_reference(op, which, i)) copy(op.inputs[first_slot(op, which) + i], callee.inputs()[i]);
      for (size_t i = 0; i < op.outputs.size() && i < callee.outputs().size(); ++i)
        copy(callee.outputs()[i], op.outputs[i]);
    }
  }

  void write_ops(const GraphView& view) {
    const int graph = m_.graph_index(view.graph);
    for (const Op* op : view.order) {
      ReportOp out;
      out.id = op->id;
      out.name = std::string(op->row->schedule);
      out.scope = op->outputs.empty() ? (op->stream ? op->stream->name() : std::string()) : op->outputs[0]->name;
      out.family = std::string(family_row(op->row->tiles.family).name);
      out.where = place_of(op->origin);
      out.graph = graph;
      for (const Tensor* t : op->inputs)
        if (t) out.operands.push_back(text(t->spec));
      for (const Tensor* t : op->outputs) out.results.push_back(text(t->spec));
      out.times = view.runs;
      out.first_step = static_cast<int>(r_.steps.size());
      if (op->called.empty()) {
        const OpPlan& plan = m_.plan(*op);
        for (size_t i = 0; i < op->inputs.size(); ++i)
          if (op->inputs[i]) relayout_steps(out, op->inputs[i], plan.in[i]);
        for (const PlanStep& s : plan.steps) step(out, s.kind, s.what, s.cycles, s.mean_cycles, s.tiles, s.traffic);
        const SiteStorage site(*op);
        OpSite full = site.site;
        full.out = site.out;
        if (op->row->flops)
          out.flops = op->row->flops(full);
        else if (op->row->role == Role::compute && !op->row->view)
          for (const Tensor* t : op->outputs) out.flops += t->spec.size();
        out.tiles = plan.tiles;
        out.temp_bytes = memory_.temp_bytes(*op);
        out.state_bytes = plan.state_bytes;
        out.plan = plan.text;
        const auto& plans = m_.plans(*op);
        for (size_t i = 0; i < plans.size(); ++i)
          out.alternatives.push_back({plans[i].text, std::string(plans[i].family), plans[i].cycles, plans[i].temp_bytes,
                                      plans[i].resident_bytes, plans[i].code_bytes + plans[i].state_bytes,
                                      plans[i].tiles, static_cast<int>(i) == m_.chosen(*op)});
      } else {
        call_copies(out, *op);
      }
      const int64_t cycles = out.cycles.total();
      out.total_cycles = saturating_product(cycles, out.times);
      out.useful_permille = permille_of(out.flops, cycles, peak_rate(*op));
      index_of_[op] = static_cast<int>(r_.ops.size());
      r_.ops.push_back(std::move(out));
    }
  }

  void graph_cycles() {
    // Callees stand behind their callers; a branch takes the longer of its two.
    once_.resize(m_.graphs().size());
    for (size_t g = m_.graphs().size(); g-- > 0;) {
      const GraphView& view = m_.graphs()[g];
      ReportGraph& out = r_.graphs[g];
      int64_t code = 0;
      for (const Op* op : view.order) {
        const ReportOp& o = r_.ops[static_cast<size_t>(index_of_.at(op))];
        code += o.state_bytes + o.exchange_code_bytes + 16 * o.step_count;
        add_times(once_[g], o.cycles, 1);
        PhaseCycles most;
        for (const Graph* called : op->called) {
          const PhaseCycles& below = once_[static_cast<size_t>(m_.graph_index(called))];
          if (called == op->called[0] || below.total() > most.total()) most = below;
        }
        add_times(once_[g], most, iterations(*op));
      }
      out.name = view.graph->is_main() ? "main" : view.graph->id();
      out.calls = view.calls;
      out.runs = view.runs;
      out.cycles = once_[g].total();
      out.code_bytes = code;
      out.saved_bytes = saturating_product(code, std::max<int64_t>(0, view.calls - 1));
    }
  }

  void write_bodies() {
    for (const GraphView& view : m_.graphs()) {
      ProgramNode body;
      body.label = r_.graphs[r_.bodies.size()].name;
      body.graph = static_cast<int>(r_.bodies.size());
      for (const Op* op : view.order) {
        ProgramNode node;
        node.op = index_of_.at(op);
        node.label = r_.ops[static_cast<size_t>(node.op)].name;
        switch (op->row->role) {
          case Role::call: node.kind = ProgramNode::Kind::call; break;
          case Role::loop: node.kind = ProgramNode::Kind::loop; break;
          case Role::branch: node.kind = ProgramNode::Kind::branch; break;
          default: node.kind = ProgramNode::Kind::op; break;
        }
        node.repeats = iterations(*op);
        if (!op->called.empty()) node.graph = m_.graph_index(op->called[0]);
        for (size_t i = 1; i < op->called.size(); ++i) {
          ProgramNode other;
          other.kind = ProgramNode::Kind::call;
          other.graph = m_.graph_index(op->called[i]);
          other.label = "else";
          node.children.push_back(std::move(other));
        }
        body.children.push_back(std::move(node));
      }
      r_.bodies.push_back(std::move(body));
    }
  }

  int64_t cycles_of(const Graph* g) const { return once_[static_cast<size_t>(m_.graph_index(g))].total(); }

  // What each tile holds at every point.
  void begin_memory() {
    for (const TileMemory& t : memory_.tiles()) {
      int64_t sum = 0;
      for (size_t c = 0; c < t.bytes.size(); ++c)
        if (always_live(static_cast<MemoryCategory>(c))) sum += t.bytes[c];
      held_.push_back(sum);
    }
  }

  void hold(const Lifetime& l, int64_t sign) {
    const std::vector<int64_t>& bytes = m_.bytes_by_tile(l.layout, l.tensor->spec);
    for (size_t t = 0; t < held_.size(); ++t) held_[t] += sign * bytes[t];
    live_ += sign * l.tensor->spec.bytes() * m_.layout(l.layout).copies;
  }

  LivenessPoint point(int op, int64_t repeats) const {
    LivenessPoint p;
    p.op = op;
    p.repeats = repeats;
    const ReportOp& out = r_.ops[static_cast<size_t>(op)];
    const int64_t used = out.temp_bytes > 0 ? std::max<int64_t>(1, out.tiles) : 0;
    p.temp_bytes = saturating_product(out.temp_bytes, used);
    p.live_bytes = live_ + p.temp_bytes;
    for (size_t t = 0; t < held_.size(); ++t) {
      const int64_t here = held_[t] + (static_cast<int64_t>(t) < used ? out.temp_bytes : 0);
      if (here > p.fullest) p.fullest = here, p.tile = static_cast<int64_t>(t);
    }
    return p;
  }

  // The timeline and the liveness points, calls expanded; loop bodies once.
  void expand(int graph, int64_t repeats) {
    const GraphView& view = m_.graphs()[static_cast<size_t>(graph)];
    r_.graphs[static_cast<size_t>(graph)].entries.push_back(static_cast<int64_t>(r_.liveness.size()));
    std::vector<std::vector<const Lifetime*>> ends(view.order.size());
    std::vector<std::vector<const Lifetime*>> begins(view.order.size());
    for (const Lifetime& l : memory_.lifetimes(graph)) {
      if (view.order.empty()) break;
      begins[static_cast<size_t>(l.first)].push_back(&l);
      ends[static_cast<size_t>(l.last)].push_back(&l);
    }
    for (size_t i = 0; i < view.order.size(); ++i) {
      if (r_.timeline.size() >= most_spans || r_.liveness.size() >= most_points) {
        r_.timeline_complete = r_.liveness_complete = false;
        break;
      }
      check_interrupt();
      const Op* op = view.order[i];
      const int index = index_of_.at(op);
      const ReportOp& out = r_.ops[static_cast<size_t>(index)];
      for (const Lifetime* l : begins[i]) hold(*l, 1);
      r_.liveness.push_back(point(index, repeats));
      for (int s = out.first_step; repeats > 0 && s < out.first_step + out.step_count; ++s) {
        const int64_t cycles = saturating_product(r_.steps[static_cast<size_t>(s)].cycles, repeats);
        r_.timeline.push_back({s, clock_, cycles, repeats});
        clock_ += cycles;
      }
      // Of a branch the longer side counts.
      const Graph* longer = nullptr;
      for (const Graph* called : op->called)
        if (!longer || cycles_of(called) > cycles_of(longer)) longer = called;
      for (const Graph* called : op->called)
        expand(m_.graph_index(called), called == longer ? saturating_product(repeats, iterations(*op)) : 0);
      for (const Lifetime* l : ends[i]) hold(*l, -1);
    }
  }

  void totals() {
    r_.cycles = once_[0];
    const Machine& m = m_.machine();
    r_.microseconds = m.microseconds(r_.cycles.device());
    r_.runs_per_second = r_.microseconds > 0 ? 1e6 / r_.microseconds : 0;
    for (const ReportStep& s : r_.steps) {
      if (s.kind == StepKind::compute) r_.waiting_cycles += saturating_product(s.cycles - s.mean_cycles, s.times);
      if (s.kind == StepKind::exchange) r_.exchanged_bytes += saturating_product(s.bytes, s.times);
      if (s.kind == StepKind::host) r_.host_bytes += saturating_product(s.bytes, s.times);
    }
    for (const ReportOp& o : r_.ops) {
      r_.flops += saturating_product(o.flops, o.times);
      r_.tiles_used = std::max(r_.tiles_used, o.tiles);
    }
    r_.useful_permille = permille_of(r_.flops, r_.cycles.device(), 2 * m.tiles * m.macs(2, 2));
  }

  void write_memory() {
    r_.tiles = memory_.tiles();
    r_.fullest_tile = memory_.fullest_tile();
    for (const TileMemory& t : r_.tiles)
      for (size_t c = 0; c < t.bytes.size(); ++c) r_.memory[c] += t.bytes[c];
    for (size_t c = 0; c < r_.memory.size(); ++c)
      if (always_live(static_cast<MemoryCategory>(c))) r_.always_live_bytes += r_.memory[c];
    std::unordered_map<const Tensor*, int> tensors;
    const auto add = [&](const Tensor* t, int graph, MemoryCategory category, int32_t layout) {
      ReportTensor out;
      out.name = t->name;
      out.spec = text(t->spec);
      out.layout = text(m_.layout(layout));
      out.category = category;
      out.graph = graph;
      out.bytes = t->spec.bytes() * m_.layout(layout).copies;
      out.tile_bytes = elements_at_most(m_.layout(layout), t->spec.shape) * element_bytes(t->spec);
      out.always_live = always_live(category);
      tensors[t] = static_cast<int>(r_.tensors.size());
      r_.tensors.push_back(std::move(out));
    };
    for (const GraphView& view : m_.graphs()) {
      const int graph = m_.graph_index(view.graph);
      for (const auto& t : view.graph->tensors()) {
        if (t->kind == TensorKind::variable) {
          add(t.get(), graph, MemoryCategory::weights, m_.layout_of(t.get()));
          r_.parameter_bytes += t->spec.bytes();
        } else if (t->kind == TensorKind::constant) {
          add(t.get(), graph, MemoryCategory::constants, m_.layout_of(t.get()));
        }
      }
      const std::vector<int64_t>& entries = r_.graphs[static_cast<size_t>(graph)].entries;
      const GraphMemory& points = memory_.of(graph);
      for (const Lifetime& l : memory_.lifetimes(graph)) {
        add(l.tensor, graph, MemoryCategory::activations, l.layout);
        if (entries.empty() || r_.liveness.empty() || points.offset.empty()) continue;
        ReportTensor& out = r_.tensors.back();
        const auto point = [&](int64_t position) {
          return static_cast<int>(
              std::min<int64_t>(entries[0] + position, static_cast<int64_t>(r_.liveness.size()) - 1));
        };
        out.first = point(points.offset[static_cast<size_t>(l.first)]);
        const size_t behind = static_cast<size_t>(l.last) + 1;
        out.last = point((behind < points.offset.size() ? points.offset[behind] : points.points) - 1);
      }
    }
    shortages(tensors);
  }

  void shortages(const std::unordered_map<const Tensor*, int>& tensors) {
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
    if (full.total > m.memory) {
      Shortage s;
      s.tile = r_.fullest_tile;
      s.needed = full.total;
      s.available = m.memory;
      s.what = fmt::format("tile {} needs {} bytes and has {}", s.tile, s.needed, s.available);
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
      s.what =
          fmt::format("code of {} bytes on tile {}, and instructions run from {} only", s.needed, s.tile, s.available);
      r_.shortages.push_back(std::move(s));
    }
    r_.fits = r_.shortages.empty();
  }

  const Mapping& m_;
  const Memory& memory_;
  Report& r_;
  std::unordered_map<const Op*, int> index_of_;
  std::vector<PhaseCycles> once_;
  std::vector<int64_t> held_;  // by tile, at the point that is written
  int copied_into_ = 0;
  int64_t clock_ = 0, live_ = 0;
};

}  // namespace

Report estimate(const Graph& graph, const EstimateOptions& options) {
  Mapping mapping(graph, options);
  auto memory = std::make_unique<Memory>(mapping);
  // Plans give way, at the fullest tile's fullest moment, until the program fits or nothing more can be had.
  constexpr int most_moves = 64;
  for (int move = 0; move < most_moves; ++move) {
    const TileMemory& full = memory->tiles()[static_cast<size_t>(memory->fullest_tile())];
    if (full.total <= options.machine.memory) break;
    const Op* op = memory->op_at(full.peak);
    if (!op || !op->called.empty() || !mapping.give_way(*op)) break;
    memory = std::make_unique<Memory>(mapping);
  }
  Report report;
  report.program = graph.is_main() ? graph.ir().name() : graph.id();
  report.machine = options.machine;
  report.options.available_memory_permille = options.plan.available_memory_permille;
  report.options.partials = options.plan.half_partial_bytes == 2 ? "float16" : "float32";
  report.options.objective = "fewest cycles that fit";
  report.search = mapping.search;
  report.graphs.resize(mapping.graphs().size());
  Writer(mapping, *memory, report).write();
  return report;
}

void parse_memory_proportions(std::string_view given, EstimateOptions& options) {
  std::string rest(given);
  const auto proportion = [&](const std::string& word) {
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (word.empty() || *end || !(value >= 0 && value <= 1))
      throw Error(fmt::format("available-memory-proportion: `{}` is not a number from 0 to 1", word),
                  {"0.6 for all ops, or for some: MatMul=0.3,107=0.1 by name or op id"}, Fault::usage);
    return static_cast<int64_t>(value * 1000 + 0.5);
  };
  while (true) {
    const size_t comma = rest.find(',');
    const std::string word = rest.substr(0, comma);
    const size_t equals = word.find('=');
    if (equals == word.npos)
      options.plan.available_memory_permille = proportion(word);
    else
      options.op_memory.emplace_back(word.substr(0, equals), proportion(word.substr(equals + 1)));
    if (comma == rest.npos) return;
    rest.erase(0, comma + 1);
  }
}

void parse_partials(std::string_view given, EstimateOptions& options) {
  if (given == "float16" || given == "half")
    options.plan.half_partial_bytes = 2;
  else if (given == "float32" || given == "float")
    options.plan.half_partial_bytes = 4;
  else
    throw Error(fmt::format("partials: `{}` is neither float16 nor float32", given), {}, Fault::usage);
}

}  // namespace pxl::tiles
