// Ops and their steps, graphs and bodies of the report.
#include <fmt/format.h>
#include <algorithm>

#include "runtime/graph/call_operands.hpp"
#include "runtime/tiles/candidates/strategies.hpp"
#include "runtime/tiles/report/writer.hpp"

namespace pxl::tiles {

namespace {

void count(PhaseCycles& sum, BspPhaseKind kind, int64_t cycles) {
  switch (kind) {
    case BspPhaseKind::exchange: sum.exchange += cycles; break;
    case BspPhaseKind::sync: sum.sync += cycles; break;
    case BspPhaseKind::host: sum.host += cycles; break;
    case BspPhaseKind::compute:
    case BspPhaseKind::call: sum.compute += cycles; break;
    case BspPhaseKind::count: break;
  }
}

std::string place_of(const Origin& origin) {
  if (!origin.span) return {};
  const Position p = origin.span.file->position(origin.span.begin);
  return fmt::format("{}:{}:{}", origin.span.file->name(), p.line, p.column);
}

}  // namespace

int64_t Writer::peak_rate(const Op& op) const {
  const Machine& m = m_.machine();
  if (strategy_info(op.row->tiles.strategy).peak == PeakRate::accumulating_units) {
    const int64_t bytes = product_bytes(m, op.inputs[0]->spec);
    return 2 * m.tiles * m.macs(bytes, product_partial_bytes(m_.candidate_options(op), bytes));
  }
  const int64_t bytes = op.outputs.empty() ? 4 : std::min<int64_t>(4, element_bytes(op.outputs[0]->spec));
  return m.tiles * m.vector_elements(bytes);
}

void Writer::step(ReportOp& op, BspPhaseKind kind, std::string_view what, int64_t cycles, int64_t mean, int64_t tiles,
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
  s.code_bytes = kind == BspPhaseKind::exchange ? exchange_code_bytes(t) : 0;
  s.times = op.times;
  count(op.cycles, kind, cycles);
  if (kind == BspPhaseKind::exchange) op.exchanged_bytes += t.total, op.exchange_code_bytes += s.code_bytes;
  r_.steps.push_back(std::move(s));
  ++op.step_count;
}

void Writer::rearrangement_steps(ReportOp& op, const Tensor* t, int32_t to) {
  rearrangement_steps(op, fmt::format("{} to another layout", t->name), m_.rearrangement_to(t, to), to);
}

void Writer::rearrangement_steps(ReportOp& op, const std::string& what, const Rearrangement& c, int32_t to) {
  if (c.cycles == 0) return;
  const Machine& m = m_.machine();
  op.rearrangement_cycles += c.cycles;
  if (!c.traffic.empty()) {
    step(op, BspPhaseKind::sync, "sync", m.sync, m.sync, m.tiles, {});
    const int64_t exchange = exchange_cycles(m, c.traffic);
    step(op, BspPhaseKind::exchange, what, exchange, exchange, m.tiles, c.traffic);
    ReportStep& s = r_.steps.back();
    op.exchange_code_bytes += c.code_bytes() - s.code_bytes;
    s.code_bytes = c.code_bytes();
  }
  if (c.copy_cycles > 0) {
    const int64_t used = std::min(m.tiles, m_.mapping(to).tiles());
    step(op, BspPhaseKind::compute, "Rearrange", c.copy_cycles, c.copy_cycles * used / m.tiles, used, {});
  }
}

// A call copies arguments and results that are not aliased. The copy stays on its tile if both mappings agree, and is
// an exchange otherwise.
void Writer::call_copies(ReportOp& out, const Op& op) {
  const Machine& m = m_.machine();
  const auto copy = [&](const Tensor* from, const Tensor* to) {
    if (!from || !to) return;
    const int32_t mapping = m_.mapping_of(to);
    const int64_t bytes = max_elements_per_tile(m_.mapping(mapping), to->spec.shape) * element_bytes(to->spec);
    r_.graphs[static_cast<size_t>(copied_into_)].copied_bytes += saturating_product(to->spec.bytes(), out.times);
    const int64_t before = out.cycles.total();
    if (m_.rearrangement_to(from, mapping).cycles > 0)
      rearrangement_steps(out, from, mapping);
    else if (const int64_t c = memcpy_cycles(m, bytes))
      step(out, BspPhaseKind::call, fmt::format("copy {}", to->name), c,
           c * std::min(m.tiles, m_.mapping(mapping).tiles()) / m.tiles, std::min(m.tiles, m_.mapping(mapping).tiles()),
           {});
    r_.graphs[static_cast<size_t>(copied_into_)].copy_cycles +=
        saturating_product(out.cycles.total() - before, out.times);
  };
  for (size_t which = 0; which < op.called.size(); ++which) {
    const Graph& callee = *op.called[which];
    copied_into_ = m_.graph_index(&callee);
    for (size_t i = 0; i < callee.inputs().size(); ++i)
      if (!is_by_reference(op, which, i)) copy(op.inputs[callee_operand_begin(op, which) + i], callee.inputs()[i]);
    for (size_t i = 0; i < op.outputs.size() && i < callee.outputs().size(); ++i)
      copy(callee.outputs()[i], op.outputs[i]);
  }
}

int64_t Writer::in_place_cycles(const Op& op) const {
  if (!memory_.overwrites(op)) return 0;
  const auto* work = std::get_if<ElementwiseStrategy>(&strategy_info(op.row->tiles.strategy).work);
  const TensorSpec& y = op.outputs[0]->spec;
  const int64_t n = max_elements_per_tile(m_.mapping(m_.mapping_of(op.outputs[0])), y.shape);
  return work ? work->vertex.in_place(m_.machine(), n, element_bytes(y)) : 0;
}

void Writer::write_ops(const GraphInstance& instance) {
  const int graph = m_.graph_index(instance.graph);
  for (const Op* op : instance.order) {
    ReportOp out;
    out.id = op->id;
    out.name = std::string(op->row->schedule);
    out.scope = op->outputs.empty() ? (op->stream ? op->stream->name() : std::string()) : op->outputs[0]->name;
    out.strategy = std::string(strategy_info(op->row->tiles.strategy).name);
    out.where = place_of(op->origin);
    out.graph = graph;
    for (const Tensor* t : op->inputs)
      if (t) out.operands.push_back(text(t->spec));
    for (const Tensor* t : op->outputs) out.results.push_back(text(t->spec));
    out.times = instance.runs;
    out.first_step = static_cast<int>(r_.steps.size());
    if (op->called.empty()) {
      const OpCandidate& candidate = m_.candidate(*op);
      for (size_t i = 0; i < op->inputs.size(); ++i)
        if (op->inputs[i]) {
          rearrangement_steps(out, op->inputs[i], candidate.in[i]);
          out.control_bytes += m_.rearrangement_to(op->inputs[i], candidate.in[i]).control_bytes();
        }
      int64_t planned = out.exchange_code_bytes;
      const int64_t in_place = in_place_cycles(*op);
      for (const CandidateStep& s : candidate.steps) {
        const int64_t beyond = s.kind == BspPhaseKind::compute ? in_place : 0;
        step(out, s.kind, s.what, s.cycles + beyond, s.mean_cycles + beyond * s.tiles / m_.machine().tiles, s.tiles,
             s.traffic);
      }
      planned = out.exchange_code_bytes - planned;
      for (size_t i = 0; i < op->inputs.size(); ++i)
        if (op->inputs[i]) {
          rearrangement_steps(out, fmt::format("{} back to its layout", op->inputs[i]->name), m_.write_back(*op, i),
                              m_.mapping_of(op->inputs[i]));
          out.control_bytes += m_.write_back(*op, i).control_bytes();
        }
      const OpContextStorage site(*op);
      OpContext full = site.site;
      full.out = site.out;
      if (op->row->flops)
        out.flops = op->row->flops(full);
      else if (op->row->role == Role::compute && !op->row->view)
        for (const Tensor* t : op->outputs) out.flops += t->spec.size();
      // The code of a loop within a candidate exists once, regardless of its iterations.
      out.exchange_code_bytes += candidate.code_bytes - planned;
      out.control_bytes += candidate.control_bytes;
      out.tiles = candidate.tiles;
      out.temp_bytes = memory_.temp_bytes(*op);
      out.state_bytes = candidate.state_bytes;
      out.candidate = candidate.text;
      const auto& candidates = m_.candidates(*op);
      for (size_t i = 0; i < candidates.size(); ++i)
        out.alternatives.push_back({candidates[i].text, std::string(candidates[i].variant), candidates[i].cycles,
                                    candidates[i].temp_bytes, candidates[i].resident_bytes,
                                    candidates[i].code_bytes + candidates[i].state_bytes, candidates[i].tiles,
                                    static_cast<int>(i) == m_.chosen(*op)});
    } else {
      call_copies(out, *op);
      out.control_bytes = call_control_bytes(*op);
    }
    const int64_t cycles = out.cycles.total();
    out.total_cycles = saturating_product(cycles, out.times);
    out.useful_permille = permille_of(out.flops, cycles, peak_rate(*op));
    index_of_[op] = static_cast<int>(r_.ops.size());
    r_.ops.push_back(std::move(out));
  }
}

void Writer::graph_cycles() {
  // The loop visits callees before their callers. A branch is charged with its longer side.
  once_.resize(m_.graphs().size());
  for (size_t g = m_.graphs().size(); g-- > 0;) {
    const GraphInstance& instance = m_.graphs()[g];
    ReportGraph& out = r_.graphs[g];
    int64_t code = 0;
    for (const Op* op : instance.order) {
      const ReportOp& o = r_.ops[static_cast<size_t>(index_of_.at(op))];
      code += o.state_bytes + o.code_bytes();
      add_times(once_[g], o.cycles, 1);
      PhaseCycles most;
      for (const Graph* called : op->called) {
        const PhaseCycles& below = once_[static_cast<size_t>(m_.graph_index(called))];
        if (called == op->called[0] || below.total() > most.total()) most = below;
      }
      add_times(once_[g], most, repeat_count(*op));
    }
    out.name = instance.graph->is_main() ? "main" : instance.graph->id();
    out.calls = instance.calls;
    out.runs = instance.runs;
    out.cycles = once_[g].total();
    out.code_bytes = code;
    out.saved_bytes = saturating_product(code, std::max<int64_t>(0, instance.calls - 1));
  }
}

void Writer::write_bodies() {
  for (const GraphInstance& instance : m_.graphs()) {
    ProgramNode body;
    body.label = r_.graphs[r_.bodies.size()].name;
    body.graph = static_cast<int>(r_.bodies.size());
    for (const Op* op : instance.order) {
      ProgramNode node;
      node.op = index_of_.at(op);
      node.label = r_.ops[static_cast<size_t>(node.op)].name;
      switch (op->row->role) {
        case Role::call: node.kind = ProgramNode::Kind::call; break;
        case Role::loop: node.kind = ProgramNode::Kind::loop; break;
        case Role::branch: node.kind = ProgramNode::Kind::branch; break;
        case Role::compute:
        case Role::composite:
        case Role::host_load:
        case Role::host_store:
        case Role::remote_load:
        case Role::remote_store: node.kind = ProgramNode::Kind::op; break;
      }
      node.repeats = repeat_count(*op);
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

}  // namespace pxl::tiles
