// Builds and solves the PBQP of a program: nodes for ops and tensors that share a choice, edges for rearrangements.
#include <algorithm>

#include "runtime/base/never_destroyed.hpp"
#include "runtime/graph/call_operands.hpp"
#include "runtime/tiles/candidates/product_search.hpp"
#include "runtime/tiles/mapped_program.hpp"

namespace pxl::tiles {

namespace {

uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9E3779B97F4A7C15ULL + (h << 6) + (h >> 2);
  return h * 0xBF58476D1CE4E5B9ULL;
}

}  // namespace

void MappedProgram::make_nodes() {
  // Ops with equal keys, equal producers of their operands and equal consumers of their results share a node.
  const auto origin = [&](const Tensor* t) -> uint64_t {
    const Source s = source_of(t);
    if (s.op) return mix(static_cast<uint64_t>(key_of_.at(s.op)) + 1, static_cast<uint64_t>(s.output));
    uint64_t h = mix(static_cast<uint64_t>(s.tensor->kind), static_cast<uint64_t>(s.tensor->spec.dtype));
    for (int64_t extent : s.tensor->spec.shape) h = mix(h, static_cast<uint64_t>(extent));
    return h;
  };
  const auto readers = [&](const Tensor* t) {
    uint64_t h = 7;
    for (const Op* c : t->consumers) {
      uint64_t slots = 11;
      for (size_t i = 0; i < c->inputs.size(); ++i)
        if (c->inputs[i] == t) slots = mix(slots, i);
      h += mix(slots, c->called.empty() ? static_cast<uint64_t>(key_of_.at(c))
                                        : static_cast<uint64_t>(index_.at(c->called[0])) + 77777);
    }
    return h;
  };
  std::unordered_map<uint64_t, int> classes;
  for (const GraphInstance& instance : graphs_) {
    for (const auto& owned : instance.graph->tensors()) {
      const Tensor* t = owned.get();
      if (t->producer || t->kind == TensorKind::stream) continue;
      uint64_t h = mix(mix(3, static_cast<uint64_t>(t->kind)), readers(t));
      h = mix(mix(h, static_cast<uint64_t>(t->spec.dtype)), static_cast<uint64_t>(instance.runs));
      for (int64_t extent : t->spec.shape) h = mix(h, static_cast<uint64_t>(extent));
      const auto stored = stored_.find(t);
      if (stored != stored_.end()) h = mix(h, static_cast<uint64_t>(stored->second) + 1);
      const auto [at, fresh] = classes.emplace(h, static_cast<int>(nodes_.size()));
      if (fresh) {
        Node node;
        if (stored != stored_.end()) node.mappings.push_back(stored->second);
        for (const int32_t id : stored != stored_.end() ? std::vector<int32_t>{} : pool_.of(t->spec))
          if (options_.candidates.copies || t->kind != TensorKind::variable || mapping(id).copies == 1)
            node.mappings.push_back(id);
        node.spec = &t->spec;
        nodes_.push_back(std::move(node));
      }
      ++nodes_[static_cast<size_t>(at->second)].tensors;
      node_of_tensor_[t] = at->second;
    }
    for (const Op* op : instance.order) {
      if (!op->called.empty()) continue;
      uint64_t h = mix(static_cast<uint64_t>(key_of_.at(op)), static_cast<uint64_t>(instance.runs));
      for (const Tensor* t : op->inputs) h = mix(h, t ? origin(t) : 1);
      for (const Tensor* t : op->outputs) h = mix(h, readers(t));
      const auto [at, fresh] = classes.emplace(h, static_cast<int>(nodes_.size()));
      if (fresh) {
        Node node;
        node.key = key_of_.at(op);
        nodes_.push_back(std::move(node));
      }
      node_of_op_[op] = at->second;
      Node& node = nodes_[static_cast<size_t>(at->second)];
      ++node.ops;
      node.count = std::min(max_count, node.count + instance.runs);
    }
  }
}

void MappedProgram::make_problem() {
  PbqpProblem& problem = problem_;
  for (const Node& n : nodes_) {
    std::vector<int64_t> costs;
    if (n.key < 0)
      costs.assign(n.mappings.size(), 0);
    else
      for (const OpCandidate& p : candidates_[static_cast<size_t>(n.key)])
        costs.push_back(saturating_product(n.count, p.cycles));
    problem.nodes.push_back(std::move(costs));
    std::vector<int64_t> bytes;
    for (const int32_t id : n.mappings)
      bytes.push_back(
          saturating_product(n.tensors, max_elements_per_tile(mapping(id), n.spec->shape) * element_bytes(*n.spec)));
    if (n.key >= 0)
      for (const OpCandidate& p : candidates_[static_cast<size_t>(n.key)])
        bytes.push_back(
            saturating_product(n.ops, p.temp_bytes + p.resident_bytes + p.replicated_bytes + code_and_state_bytes(p)));
    node_bytes_.push_back(std::move(bytes));
  }
  // Edges, with the number of transfers in one run.
  struct Wire {
    int from, output, to, slot;
    auto operator<=>(const Wire&) const = default;
  };
  struct Flow {
    int64_t count = 0, back = 0;  ///< transfers to the reader, and back if the reader modifies the tensor
    const TensorSpec* spec = nullptr;
  };
  std::map<Wire, Flow> wires;
  const auto wire = [&](const Tensor* t, int to, int slot, int64_t count, bool modified) {
    const Source s = source_of(t);
    const int from = s.op ? node_of_op_.at(s.op) : node_of_tensor_.at(s.tensor);
    Flow& flow = wires[{from, s.output, to, slot}];
    flow.count = std::min(max_count, flow.count + count);
    if (modified && !s.op) flow.back = std::min(max_count, flow.back + count);
    flow.spec = &t->spec;
  };
  for (const GraphInstance& instance : graphs_)
    for (const Op* op : instance.order) {
      if (op->called.empty()) {
        for (size_t i = 0; i < op->inputs.size(); ++i)
          if (op->inputs[i])
            wire(op->inputs[i], node_of_op_.at(op), static_cast<int>(i), instance.runs, op->modifies(i));
        continue;
      }
      for (size_t which = 0; which < op->called.size(); ++which) {
        const auto& inputs = op->called[which]->inputs();
        for (size_t i = 0; i < inputs.size(); ++i) {
          const size_t operand = callee_operand_begin(*op, which) + i;
          if (const Tensor* given = op->inputs[operand])
            wire(given, node_of_tensor_.at(inputs[i]), 0, instance.runs, op->modifies(operand));
        }
      }
    }
  const auto out_mapping = [&](const Node& n, size_t choice, int output) {
    return n.key < 0 ? n.mappings[choice]
                     : candidates_[static_cast<size_t>(n.key)][choice].out[static_cast<size_t>(output)];
  };
  const auto in_mapping = [&](const Node& n, size_t choice, int slot) {
    return n.key < 0 ? n.mappings[choice]
                     : candidates_[static_cast<size_t>(n.key)][choice].in[static_cast<size_t>(slot)];
  };
  // Both directions of a by-reference argument count separately, and so do all readers of a tensor.
  std::map<std::tuple<int32_t, int32_t, const TensorSpec*>, int64_t> known;
  ProductMemo* const memo = options_.candidates.products.get();
  for (const auto& [w, flow] : wires) {
    const TensorSpec* spec = flow.spec;
    const auto cycles = [&](int32_t from, int32_t to) {
      const auto [at, fresh] = known.try_emplace({from, to, spec}, 0);
      if (fresh)
        at->second = memo ? memo->rearrangement(options_.machine, mapping(from), mapping(to), *spec)
                          : rearrangement_cycles(options_.machine, mapping(from), mapping(to), *spec);
      return at->second;
    };
    const Node& a = nodes_[static_cast<size_t>(w.from)];
    const Node& b = nodes_[static_cast<size_t>(w.to)];
    PbqpProblem::Edge edge{w.from, w.to, {}};
    std::vector<int64_t> bytes;
    bool any = false;
    for (size_t i = 0; i < problem.nodes[static_cast<size_t>(w.from)].size(); ++i)
      for (size_t j = 0; j < problem.nodes[static_cast<size_t>(w.to)].size(); ++j) {
        const int32_t from = out_mapping(a, i, w.output), to = in_mapping(b, j, w.slot);
        int64_t cost = 0;
        if (to >= 0 && from != to) {
          cost = saturating_product(flow.count, cycles(from, to));
          if (flow.back > 0) cost += saturating_product(flow.back, cycles(to, from));
        }
        any = any || cost > 0;
        edge.cost.push_back(cost);
        bytes.push_back(
            cost == 0 ? 0
                      : saturating_product(a.ops > 0 ? a.ops : std::max<int64_t>(1, b.ops),
                                           max_elements_per_tile(mapping(to), spec->shape) * element_bytes(*spec)));
      }
    if (!any) continue;
    problem.edges.push_back(std::move(edge));
    edge_bytes_.push_back(std::move(bytes));
  }
  edges_.resize(nodes_.size());
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    edges_[static_cast<size_t>(problem.edges[e].a)].push_back(static_cast<int>(e));
    if (problem.edges[e].b != problem.edges[e].a)
      edges_[static_cast<size_t>(problem.edges[e].b)].push_back(static_cast<int>(e));
  }
}

PbqpProblem MappedProgram::with_memory_multiplier(int64_t multiplier) const {
  PbqpProblem problem = problem_;
  const auto add = [&](std::vector<int64_t>& costs, const std::vector<int64_t>& bytes) {
    for (size_t i = 0; i < costs.size(); ++i) costs[i] += saturating_product(bytes[i], multiplier) / 1000;
  };
  for (size_t n = 0; n < problem.nodes.size(); ++n) add(problem.nodes[n], node_bytes_[n]);
  for (size_t e = 0; e < problem.edges.size(); ++e) add(problem.edges[e].cost, edge_bytes_[e]);
  return problem;
}

int64_t MappedProgram::cost_of(int node, int choice) const {
  const auto at = [&](int n) {
    return static_cast<size_t>(n == node ? choice : nodes_[static_cast<size_t>(n)].chosen);
  };
  int64_t cost = problem_.nodes[static_cast<size_t>(node)][static_cast<size_t>(choice)];
  for (const int index : edges_[static_cast<size_t>(node)]) {
    const PbqpProblem::Edge& e = problem_.edges[static_cast<size_t>(index)];
    cost += e.cost[at(e.a) * problem_.nodes[static_cast<size_t>(e.b)].size() + at(e.b)];
  }
  return cost;
}

void MappedProgram::choose() {
  const PbqpSolution solution = solve(problem_);
  for (size_t n = 0; n < nodes_.size(); ++n) nodes_[n].chosen = solution.choice[n];
  search.rounds = solution.rounds;
  search.fastest_cycles = solution.cost;
}

const std::vector<OpCandidate>& MappedProgram::candidates(const Op& op) const {
  return candidates_[static_cast<size_t>(nodes_[static_cast<size_t>(node_of_op_.at(&op))].key)];
}
int MappedProgram::chosen(const Op& op) const { return nodes_[static_cast<size_t>(node_of_op_.at(&op))].chosen; }

int MappedProgram::node_of(const Tensor* tensor) const {
  const Source s = source_of(tensor);
  return s.op ? node_of_op_.at(s.op) : node_of_tensor_.at(s.tensor);
}

const std::vector<OpCandidate>& MappedProgram::candidates_of(int node) const {
  static const auto& none = never_destroyed(std::vector<OpCandidate>());
  const int key = nodes_[static_cast<size_t>(node)].key;
  return key < 0 ? none : candidates_[static_cast<size_t>(key)];
}

TileRange MappedProgram::place(const Op& op) const {
  const OpCandidate& p = candidate(op);
  TileRange range{0, std::clamp<int64_t>(p.tiles, 1, machine().tiles)};
  // If an op runs where its result is stored, its temporaries and vertices are there too.
  if (!p.out.empty() && p.out[0] >= 0 && mapping(p.out[0]).tiles() >= range.count)
    range.first = mapping(p.out[0]).first % machine().tiles;
  return range;
}

int64_t MappedProgram::code_and_state_bytes(const OpCandidate& candidate) {
  return candidate.code_bytes + candidate.state_bytes + candidate.control_bytes;
}

int32_t MappedProgram::mapping_of(const Tensor* tensor) const {
  const Source s = source_of(tensor);
  if (s.op) return candidate(*s.op).out[static_cast<size_t>(s.output)];
  const Node& n = nodes_[static_cast<size_t>(node_of_tensor_.at(s.tensor))];
  return n.mappings[static_cast<size_t>(n.chosen)];
}

const Rearrangement& MappedProgram::rearrangement_to(const Tensor* tensor, int32_t to) const {
  static const auto& none = never_destroyed(Rearrangement());
  if (to < 0) return none;
  const int32_t from = mapping_of(tensor);
  return from == to ? none : rearrangement_between(from, to, tensor->spec);
}

const Rearrangement& MappedProgram::write_back(const Op& op, size_t slot) const {
  static const auto& none = never_destroyed(Rearrangement());
  const Tensor* tensor = op.inputs[slot];
  if (!tensor || !op.called.empty() || !op.modifies(slot) || source_of(tensor).op) return none;
  const int32_t from = candidate(op).in[slot], to = mapping_of(tensor);
  return from < 0 || from == to ? none : rearrangement_between(from, to, tensor->spec);
}

const Rearrangement& MappedProgram::rearrangement_between(int32_t from, int32_t to, const TensorSpec& spec) const {
  const auto [at, fresh] = rearrangements_.try_emplace({from, to, spec.shape, spec.dtype});
  if (fresh) at->second = rearrangement(options_.machine, mapping(from), mapping(to), spec);
  return at->second;
}

const TileBytes& MappedProgram::bytes_by_tile(int32_t id, const TensorSpec& spec) const {
  const auto [at, fresh] = bytes_.try_emplace({id, spec.shape, spec.dtype});
  if (fresh) {
    TileBytes& bytes = at->second;
    bytes.on = elements_by_tile(options_.machine, mapping(id), spec.shape);
    bytes.begin = bytes.on.size();
    for (size_t t = 0; t < bytes.on.size(); ++t) {
      if (bytes.on[t] == 0) continue;
      bytes.on[t] *= element_bytes(spec);
      bytes.begin = std::min(bytes.begin, t);
      bytes.end = t + 1;
    }
  }
  return at->second;
}

}  // namespace pxl::tiles
