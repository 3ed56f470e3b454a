// See mapping.hpp.
#include "runtime/tiles/mapping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

#include "runtime/base/interrupt.hpp"
#include "runtime/graph/schedule.hpp"

namespace pxl::tiles {

namespace {

constexpr int64_t most_runs = int64_t{1} << 50;

uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9E3779B97F4A7C15ULL + (h << 6) + (h >> 2);
  return h * 0xBF58476D1CE4E5B9ULL;
}

void put(std::string& key, const void* bytes, size_t n) { key.append(static_cast<const char*>(bytes), n); }
template <class T>
void put(std::string& key, T value) {
  put(key, &value, sizeof value);
}
void put(std::string& key, const TensorSpec& spec) {
  put(key, static_cast<uint8_t>(spec.dtype));
  put(key, static_cast<uint32_t>(spec.shape.size()));
  for (int64_t extent : spec.shape) put(key, extent);
}
void put(std::string& key, const Attr& attr) {
  put(key, static_cast<uint8_t>(attr.index()));
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
        } else if constexpr (std::is_same_v<T, std::string>) {
          put(key, v.size());
          key += v;
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>> || std::is_same_v<T, std::vector<double>>) {
          put(key, v.size());
          for (const auto& item : v) put(key, item);
        } else {
          put(key, v);
        }
      },
      attr);
}

bool known_scalar(const Tensor* t) { return t && t->kind == TensorKind::constant && t->spec.size() == 1; }

}  // namespace

int64_t saturating_product(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  return a > most_runs / b ? most_runs : a * b;
}

int64_t iterations(const Op& op) {
  if (op.row->role != Role::loop) return 1;
  for (const Attr& attr : op.attrs)
    if (const int64_t* n = std::get_if<int64_t>(&attr)) return std::max<int64_t>(*n, 0);
  return 1;
}

size_t first_slot(const Op& op, size_t which) {
  if (op.row->role != Role::branch) return 0;
  return which == 0 ? 1 : 1 + op.called[0]->inputs().size();
}

bool passed_by_reference(const Op& op, size_t which, size_t input) {
  const size_t slot = first_slot(op, which) + input;
  return op.called[which]->inputs()[input]->by_ref || (slot < op.input_modified.size() && op.input_modified[slot]);
}

Source source_of(const Tensor* tensor) {
  while (tensor->producer && !tensor->producer->called.empty()) {
    const Graph& callee = *tensor->producer->called[0];
    tensor = callee.outputs()[static_cast<size_t>(tensor->output_index)];
  }
  if (tensor->producer) return {tensor->producer, tensor->output_index, nullptr};
  return {nullptr, 0, tensor};
}

Mapping::Mapping(const Graph& graph, const EstimateOptions& options) : options_(options), pool_(options_.machine) {
  view_graphs(graph);
  make_keys();
  make_plans();
  make_nodes();
  choose();
}

void Mapping::view_graphs(const Graph& main) {
  // Callers before callees, so that runs are known when a callee's turn comes.
  std::vector<const Graph*> behind;
  std::set<const Graph*> seen;
  const std::function<void(const Graph*)> visit = [&](const Graph* g) {
    if (!seen.insert(g).second) return;
    for (const Graph* callee : g->called_graphs()) visit(callee);
    behind.push_back(g);
  };
  visit(&main);
  for (size_t i = behind.size(); i-- > 0;) {
    index_[behind[i]] = static_cast<int>(graphs_.size());
    graphs_.push_back({behind[i], schedule_order(*behind[i]), behind[i] == &main ? 1 : 0, 0});
  }
  for (GraphView& view : graphs_) {
    check_interrupt();
    for (const Op* op : view.order)
      for (const Graph* callee : op->called) {
        GraphView& below = graphs_[static_cast<size_t>(index_.at(callee))];
        below.runs = std::min(most_runs, below.runs + saturating_product(view.runs, iterations(*op)));
        ++below.calls;
      }
  }
}

int64_t Mapping::permille(const Op& op) const {
  int64_t value = options_.plan.available_memory_permille;
  for (const auto& [who, given] : options_.op_memory)
    if (who == op.row->schedule || who == op.row->name || who == std::to_string(op.id)) value = given;
  return value;
}

void Mapping::make_keys() {
  std::unordered_map<std::string, int> keys;
  std::string key;
  for (const GraphView& view : graphs_)
    for (const Op* op : view.order) {
      if (!op->called.empty()) continue;
      key.clear();
      put(key, op->row);
      put(key, permille(*op));
      for (const Tensor* t : op->inputs) {
        put(key, static_cast<uint8_t>(!t ? 0 : known_scalar(t) ? 2 : 1));
        if (t) put(key, t->spec);
      }
      for (const Tensor* t : op->outputs) put(key, t->spec);
      for (const Attr& attr : op->attrs) put(key, attr);
      const auto [at, fresh] = keys.emplace(key, static_cast<int>(example_.size()));
      if (fresh) example_.push_back(op);
      key_of_[op] = at->second;
    }
  search.keys = static_cast<int64_t>(example_.size());
}

void Mapping::enumerate(int key) {
  const Op& op = *example_[static_cast<size_t>(key)];
  const FamilyRow& family = family_row(op.row->tiles.family);
  std::vector<OpPlan>& plans = plans_[static_cast<size_t>(key)];
  if (!family.plan) return;
  check_interrupt();
  SiteStorage site(op);
  site.site.out = site.out;
  std::vector<bool> constant;
  for (const Tensor* t : op.inputs) constant.push_back(known_scalar(t));
  PlanOptions planning = options_.plan;
  planning.available_memory_permille = permille(op);
  const PlanRequest request{options_.machine, planning, pool_, site.site, std::move(constant), plans};
  bool empty = site.out.empty() && family.family != TileFamily::host;
  for (const TensorSpec& t : site.out) empty = empty || t.size() == 0;
  if (!empty) family.plan(request);
  search.plans += static_cast<int64_t>(plans.size());
  if (plans.empty()) {
    // Nothing to do: no elements.
    OpPlan none = request.start("nothing");
    none.text = "no elements";
    for (const TensorSpec& t : site.out) none.out.push_back(request.layout(linear_layout(options_.machine, t)));
    plans.push_back(std::move(none));
  }
  keep_best(plans, options_.machine.memory * planning.available_memory_permille / 1000, planning.most_plans);
  search.kept += static_cast<int64_t>(plans.size());
}

void Mapping::make_plans() {
  plans_.resize(example_.size());
  const auto offer_layouts = [&](size_t key) {
    const Op& op = *example_[key];
    size_t taken = 0;
    for (const OpPlan& p : plans_[key]) {
      if (taken++ >= 4) break;  // the fastest ones
      for (size_t i = 0; i < op.inputs.size(); ++i)
        if (op.inputs[i] && p.in[i] >= 0) pool_.add(op.inputs[i]->spec, p.in[i]);
      for (size_t i = 0; i < op.outputs.size(); ++i) pool_.add(op.outputs[i]->spec, p.out[i]);
    }
  };
  for (size_t k = 0; k < example_.size(); ++k) {
    if (family_row(example_[k]->row->tiles.family).follows) continue;
    enumerate(static_cast<int>(k));
    offer_layouts(k);
  }
  // Layouts pass through views and transpositions in both directions, so that what lies beyond can follow them.
  for (int round = 0; round < 2; ++round)
    for (size_t k = 0; k < example_.size(); ++k) {
      const TileFamily family = example_[k]->row->tiles.family;
      if (family != TileFamily::view && family != TileFamily::movement) continue;
      plans_[k].clear();
      const int64_t plans = search.plans, kept = search.kept;
      enumerate(static_cast<int>(k));
      search.plans = plans;
      search.kept = kept;
      for (const OpPlan& p : plans_[k]) {
        for (size_t i = 0; i < example_[k]->inputs.size(); ++i)
          if (example_[k]->inputs[i] && p.in[i] >= 0) pool_.add(example_[k]->inputs[i]->spec, p.in[i]);
        for (size_t i = 0; i < example_[k]->outputs.size(); ++i) pool_.add(example_[k]->outputs[i]->spec, p.out[i]);
      }
    }
  for (size_t k = 0; k < example_.size(); ++k) {
    if (!family_row(example_[k]->row->tiles.family).follows) continue;
    plans_[k].clear();
    enumerate(static_cast<int>(k));
  }
}

void Mapping::make_nodes() {
  // Ops that agree in their key, in what makes their operands and in what reads their results share a node.
  const auto origin = [&](const Tensor* t) -> uint64_t {
    const Source s = source_of(t);
    if (s.op) return mix(static_cast<uint64_t>(key_of_.at(s.op)) + 1, static_cast<uint64_t>(s.output));
    uint64_t h = mix(static_cast<uint64_t>(s.tensor->kind), static_cast<uint64_t>(s.tensor->spec.dtype));
    for (int64_t extent : s.tensor->spec.shape) h = mix(h, static_cast<uint64_t>(extent));
    return h;
  };
  const auto readers = [&](const Tensor* t) {
    uint64_t h = 7;
    for (const Op* c : t->consumers)
      h += mix(11, c->called.empty() ? static_cast<uint64_t>(key_of_.at(c))
                                     : static_cast<uint64_t>(index_.at(c->called[0])) + 77777);
    return h;
  };
  std::unordered_map<uint64_t, int> classes;
  for (const GraphView& view : graphs_) {
    for (const auto& owned : view.graph->tensors()) {
      const Tensor* t = owned.get();
      if (t->producer || t->kind == TensorKind::stream) continue;
      uint64_t h = mix(mix(3, static_cast<uint64_t>(t->kind)), readers(t));
      h = mix(mix(h, static_cast<uint64_t>(t->spec.dtype)), static_cast<uint64_t>(view.runs));
      for (int64_t extent : t->spec.shape) h = mix(h, static_cast<uint64_t>(extent));
      const auto [at, fresh] = classes.emplace(h, static_cast<int>(nodes_.size()));
      if (fresh) {
        Node node;
        node.layouts = pool_.of(t->spec);
        nodes_.push_back(std::move(node));
      }
      node_of_tensor_[t] = at->second;
    }
    for (const Op* op : view.order) {
      if (!op->called.empty()) continue;
      uint64_t h = mix(static_cast<uint64_t>(key_of_.at(op)), static_cast<uint64_t>(view.runs));
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
      node.count = std::min(most_runs, node.count + view.runs);
    }
  }
}

Choices Mapping::choices() const {
  Choices problem;
  for (const Node& n : nodes_) {
    std::vector<int64_t> costs;
    if (n.key < 0)
      costs.assign(n.layouts.size(), 0);
    else
      for (const OpPlan& p : plans_[static_cast<size_t>(n.key)]) costs.push_back(saturating_product(n.count, p.cycles));
    problem.nodes.push_back(std::move(costs));
  }
  // Edges with how often a tensor passes them.
  struct Wire {
    int from, output, to, slot;
    auto operator<=>(const Wire&) const = default;
  };
  std::map<Wire, std::pair<int64_t, const TensorSpec*>> wires;
  const auto wire = [&](const Tensor* t, int to, int slot, int64_t count) {
    const Source s = source_of(t);
    const int from = s.op ? node_of_op_.at(s.op) : node_of_tensor_.at(s.tensor);
    auto& [sum, spec] = wires[{from, s.output, to, slot}];
    sum = std::min(most_runs, sum + count);
    spec = &t->spec;
  };
  for (const GraphView& view : graphs_)
    for (const Op* op : view.order) {
      if (op->called.empty()) {
        for (size_t i = 0; i < op->inputs.size(); ++i)
          if (op->inputs[i]) wire(op->inputs[i], node_of_op_.at(op), static_cast<int>(i), view.runs);
        continue;
      }
      for (size_t which = 0; which < op->called.size(); ++which) {
        const auto& inputs = op->called[which]->inputs();
        for (size_t i = 0; i < inputs.size(); ++i)
          if (const Tensor* given = op->inputs[first_slot(*op, which) + i])
            wire(given, node_of_tensor_.at(inputs[i]), 0, view.runs);
      }
    }
  const auto out_layout = [&](const Node& n, size_t choice, int output) {
    return n.key < 0 ? n.layouts[choice] : plans_[static_cast<size_t>(n.key)][choice].out[static_cast<size_t>(output)];
  };
  const auto in_layout = [&](const Node& n, size_t choice, int slot) {
    return n.key < 0 ? n.layouts[choice] : plans_[static_cast<size_t>(n.key)][choice].in[static_cast<size_t>(slot)];
  };
  // Both directions of a by-reference argument and several readers of one tensor count one by one.
  std::map<std::tuple<int32_t, int32_t, const TensorSpec*>, int64_t> known;
  for (const auto& [w, flow] : wires) {
    const auto& [count, spec] = flow;
    const Node& a = nodes_[static_cast<size_t>(w.from)];
    const Node& b = nodes_[static_cast<size_t>(w.to)];
    Choices::Edge edge{w.from, w.to, {}};
    bool any = false;
    for (size_t i = 0; i < problem.nodes[static_cast<size_t>(w.from)].size(); ++i)
      for (size_t j = 0; j < problem.nodes[static_cast<size_t>(w.to)].size(); ++j) {
        const int32_t from = out_layout(a, i, w.output), to = in_layout(b, j, w.slot);
        int64_t cost = 0;
        if (to >= 0 && from != to) {
          const auto [at, fresh] = known.try_emplace({from, to, spec}, 0);
          if (fresh) at->second = relayout(options_.machine, layout(from), layout(to), *spec).cycles;
          cost = saturating_product(count, at->second);
        }
        any = any || cost > 0;
        edge.cost.push_back(cost);
      }
    if (any) problem.edges.push_back(std::move(edge));
  }
  return problem;
}

void Mapping::choose() {
  const Solution solution = solve(choices());
  for (size_t n = 0; n < nodes_.size(); ++n) nodes_[n].chosen = solution.choice[n];
  search.rounds = solution.rounds;
  search.fastest_cycles = solution.cost;
}

const std::vector<OpPlan>& Mapping::plans(const Op& op) const {
  return plans_[static_cast<size_t>(nodes_[static_cast<size_t>(node_of_op_.at(&op))].key)];
}
int Mapping::chosen(const Op& op) const { return nodes_[static_cast<size_t>(node_of_op_.at(&op))].chosen; }

int32_t Mapping::layout_of(const Tensor* tensor) const {
  const Source s = source_of(tensor);
  if (s.op) return plan(*s.op).out[static_cast<size_t>(s.output)];
  const Node& n = nodes_[static_cast<size_t>(node_of_tensor_.at(s.tensor))];
  return n.layouts[static_cast<size_t>(n.chosen)];
}

const Relayout& Mapping::relayout_to(const Tensor* tensor, int32_t to) const {
  static const Relayout none;
  if (to < 0) return none;
  const int32_t from = layout_of(tensor);
  if (from == to) return none;
  const auto [at, fresh] = relayouts_.try_emplace({from, to, tensor->spec.shape, tensor->spec.dtype});
  if (fresh) at->second = relayout(options_.machine, layout(from), layout(to), tensor->spec);
  return at->second;
}

const std::vector<int64_t>& Mapping::bytes_by_tile(int32_t id, const TensorSpec& spec) const {
  const auto [at, fresh] = bytes_.try_emplace({id, spec.shape, spec.dtype});
  if (fresh) {
    at->second = elements_by_tile(options_.machine, layout(id), spec.shape);
    for (int64_t& n : at->second) n *= element_bytes(spec);
  }
  return at->second;
}

bool Mapping::give_way(const Op& op) {
  const auto found = node_of_op_.find(&op);
  if (found == node_of_op_.end()) return false;
  Node& node = nodes_[static_cast<size_t>(found->second)];
  const std::vector<OpPlan>& all = plans_[static_cast<size_t>(node.key)];
  const OpPlan& now = all[static_cast<size_t>(node.chosen)];
  int best = -1;
  // Bytes freed for each cycle given up, compared as fractions.
  int64_t best_bytes = 0, best_cycles = 1;
  for (size_t i = 0; i < all.size(); ++i) {
    const int64_t freed = now.temp_bytes - all[i].temp_bytes, lost = std::max<int64_t>(1, all[i].cycles - now.cycles);
    if (freed <= 0) continue;
    if (best < 0 || static_cast<double>(freed) * static_cast<double>(best_cycles) >
                        static_cast<double>(best_bytes) * static_cast<double>(lost))
      best = static_cast<int>(i), best_bytes = freed, best_cycles = lost;
  }
  if (best < 0) return false;
  node.chosen = best;
  ++search.moves;
  return true;
}

}  // namespace pxl::tiles
