#include "runtime/tiles/mapped_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "runtime/base/limits/interrupt.hpp"
#include "runtime/graph/call_operands.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/tiles/candidates/joint_products.hpp"
#include "runtime/tiles/candidates/product_search.hpp"
#include "runtime/tiles/candidates/strategies.hpp"
#include "runtime/tiles/costs/second_level.hpp"
#include "runtime/tiles/cuts/given_cut.hpp"

namespace pxl::tiles {

namespace {

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

Source source_of(const Tensor* tensor) {
  while (tensor->producer && !tensor->producer->called.empty()) {
    const Graph& callee = *tensor->producer->called[0];
    tensor = callee.outputs()[static_cast<size_t>(tensor->output_index)];
  }
  if (tensor->producer) return {tensor->producer, tensor->output_index, nullptr};
  return {nullptr, 0, tensor};
}

int64_t call_control_bytes(const Op& op) {
  return step_control_bytes * (1 + static_cast<int64_t>(op.inputs.size() + op.outputs.size()));
}

MappedProgram::MappedProgram(const Graph& graph, const EstimateOptions& options)
    : options_(options), pool_(options_.machine) {
  collect_graphs(graph);
  find_cuts();
  make_keys();
  make_candidates();
  make_nodes();
  make_problem();
  choose();
}

void MappedProgram::collect_graphs(const Graph& main) {
  // Callers come before callees, so that the runs of the callers are known.
  std::vector<const Graph*> postorder;
  std::set<const Graph*> seen;
  const std::function<void(const Graph*)> visit = [&](const Graph* g) {
    if (!seen.insert(g).second) return;
    for (const Graph* callee : g->called_graphs()) visit(callee);
    postorder.push_back(g);
  };
  visit(&main);
  for (size_t i = postorder.size(); i-- > 0;) {
    index_[postorder[i]] = static_cast<int>(graphs_.size());
    graphs_.push_back({postorder[i], schedule_order(*postorder[i]), postorder[i] == &main ? 1 : 0, 0});
  }
  for (GraphInstance& instance : graphs_) {
    check_interrupt();
    for (const Op* op : instance.order)
      for (const Graph* callee : op->called) {
        GraphInstance& below = graphs_[static_cast<size_t>(index_.at(callee))];
        below.runs = std::min(max_count, below.runs + saturating_product(instance.runs, repeat_count(*op)));
        ++below.calls;
      }
  }
}

int64_t MappedProgram::available_memory_permille_of(const Op& op) const {
  int64_t value = options_.candidates.available_memory_permille;
  for (const auto& [who, given] : options_.op_memory)
    if (who == op.row->schedule || who == op.row->name || who == std::to_string(op.id)) value = given;
  return value;
}

void MappedProgram::find_cuts() {
  if (!options_.cuts) return;
  std::vector<std::pair<const Graph*, const std::vector<Op*>*>> graphs;
  for (const GraphInstance& instance : graphs_) graphs.emplace_back(instance.graph, &instance.order);
  cuts_ = options_.cuts->find(graphs_[0].graph->ir(), graphs, options_.cut_program);
  // Neighbours without a cut are offered the mappings of those with one.
  for (const GraphInstance& instance : graphs_) {
    for (const auto& t : instance.graph->tensors())
      if (const auto line = cuts_.tensors.find(t.get()); line != cuts_.tensors.end())
        accept(cuts_.tensors, line->first, [&] {
          const CutItem& item = line->second->items.front();
          if (item.key() != "stored" || line->second->items.size() > 1)
            refuse_cut(line->second->whole, "a cut of a tensor is `stored` and a mapping");
          const int32_t id = pool_.table.id(read_mapping(options_.machine, item, t->spec));
          pool_.add(t->spec, id);
          stored_[t.get()] = id;
        });
    for (const Op* op : instance.order)
      if (const CutLine* line = cut_line(*op))
        accept(cuts_.ops, op, [&] {
          const GivenCut given(*line, *op, options_.machine, pool_.table);
          for (size_t i = 0; i < op->inputs.size(); ++i)
            if (given.operand(i) >= 0) pool_.add(op->inputs[i]->spec, given.operand(i));
          for (size_t i = 0; i < op->outputs.size(); ++i)
            if (given.result(i) >= 0) pool_.add(op->outputs[i]->spec, given.result(i));
        });
  }
}

template <class Lines, class Of, class F>
void MappedProgram::accept(Lines& lines, const Of* of, F&& f) {
  if (!options_.cuts->is_start()) return f();
  try {
    f();
  } catch (const Error&) {
    lines.erase(of);
  }
}

const CutLine* MappedProgram::cut_line(const Op& op) const {
  const auto found = cuts_.ops.find(&op);
  return found == cuts_.ops.end() ? nullptr : found->second;
}
const CutLine* MappedProgram::cut_line(const Tensor& tensor) const {
  const auto found = cuts_.tensors.find(&tensor);
  return found == cuts_.tensors.end() ? nullptr : found->second;
}

CandidateOptions MappedProgram::candidate_options(const Op& op) const {
  CandidateOptions options = options_.candidates;
  options.available_memory_permille = available_memory_permille_of(op);
  if (const CutLine* line = cut_line(op))
    if (const int64_t bytes = GivenCut(*line, op, options_.machine, pool_.table).half_partial_bytes())
      options.half_partial_bytes = bytes;
  return options;
}

void MappedProgram::make_keys() {
  std::unordered_map<std::string, int> keys;
  std::string key;
  for (const GraphInstance& instance : graphs_)
    for (const Op* op : instance.order) {
      if (!op->called.empty()) continue;
      key.clear();
      put(key, op->row);
      put(key, available_memory_permille_of(*op));
      if (const CutLine* line = cut_line(*op)) key += line->cut;
      const bool is_product = op->row->pattern == Pattern::product;
      for (const Tensor* t : op->inputs) {
        put(key, static_cast<uint8_t>(!t ? 0 : known_scalar(t) ? 2 : is_product && !source_of(t).op ? 3 : 1));
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

void MappedProgram::enumerate(int key) {
  const Op& op = *example_[static_cast<size_t>(key)];
  const CutLine* line = cut_line(op);
  if (!line) return enumerate(key, nullptr);
  const auto with_line = [&] {
    const GivenCut given(*line, op, options_.machine, pool_.table);
    enumerate(key, &given);
  };
  if (!options_.cuts->is_start()) return with_line();
  try {
    with_line();
  } catch (const Error&) {
    for (const auto& [other, of] : key_of_)
      if (of == key) cuts_.ops.erase(other);
    enumerate(key, nullptr);
  }
}

void MappedProgram::enumerate(int key, const GivenCut* given) {
  const Op& op = *example_[static_cast<size_t>(key)];
  const TileStrategyInfo& strategy = strategy_info(op.row->tiles.strategy);
  std::vector<OpCandidate>& candidates = candidates_[static_cast<size_t>(key)];
  candidates.clear();
  if (strategy.is_call()) return;
  check_interrupt();
  OpContextStorage site(op);
  site.site.out = site.out;
  std::vector<bool> constant;
  std::vector<bool> stored;
  for (const Tensor* t : op.inputs) {
    constant.push_back(known_scalar(t));
    stored.push_back(t && !source_of(t).op);
  }
  const CandidateOptions candidate_options = this->candidate_options(op);
  const CandidateRequest request{options_.machine,
                                 candidate_options,
                                 pool_,
                                 site.site,
                                 std::move(constant),
                                 std::move(stored),
                                 candidates,
                                 joint_cuts_[static_cast<size_t>(key)],
                                 given};
  bool empty = site.out.empty() && strategy.without_outputs == WithoutOutputs::no_step;
  for (const TensorSpec& t : site.out) empty = empty || t.size() == 0;
  if (!empty) enumerate_candidates(strategy, request);
  if (given) std::erase_if(candidates, [&](const OpCandidate& c) { return !given->agrees(c); });
  if (given && candidates.empty() && !empty) {
    enumerate(key, nullptr);
    const OpCandidate& fastest = candidates.front();
    given->refuse(
        "", fmt::format("no way to run {} has this cut", op.row->schedule),
        {fmt::format("it can have: {}", cut_text(options_.machine, op, fastest, pool_.table, candidate_options))});
  }
  if (op.row->role == Role::compute && !op.row->view) charge_second_level(request, candidate_options);
  if (candidates.empty()) {
    // An op without elements has no step.
    OpCandidate none = request.start("nothing");
    none.text = "no elements";
    for (const TensorSpec& t : site.out) none.out.push_back(request.mapping(linear_mapping(options_.machine, t)));
    candidates.push_back(std::move(none));
  }
  search.candidates += static_cast<int64_t>(candidates.size());
  const int64_t share = std::max<int64_t>(1, candidate_options.available_memory_permille);
  for (const OpCandidate& p : candidates)
    search.bytes_without_rejection =
        std::max(search.bytes_without_rejection, div_up(saturating_product(p.constrained_bytes(), 1000), share));
  const int64_t bound = options_.machine.usable() * candidate_options.available_memory_permille / 1000;
  if (candidate_options.separately && strategy.mappings == MappingSource::own) keep_separate(candidates, bound);
  search.rejected += keep_best(candidates, bound, candidate_options.max_candidates);
  search.kept += static_cast<int64_t>(candidates.size());
}

void MappedProgram::find_joint_cuts() {
  joint_cuts_.resize(example_.size());
  const CandidateOptions& options = options_.candidates;
  if (!options.joint) return;
  std::set<std::array<int, 3>> known;
  for (const JointProducts& p : find_joint_products(graphs_)) {
    const auto key = [&](const Op* op) { return op ? key_of_.at(op) : -1; };
    if (!known.insert({key(p.forward), key(p.data), key(p.weights)}).second) continue;
    const auto problem = [&](const Op* op) -> std::optional<ProductProblem> {
      if (!op) return std::nullopt;
      OpContextStorage site(*op);
      site.site.out = site.out;
      return product_problem(options_.machine, options, site.site);
    };
    const JointProblem joint{*problem(p.forward), problem(p.data), problem(p.weights),
                             options_.machine.usable() * available_memory_permille_of(*p.forward) / 1000,
                             options.separately && options_.machine.block_rows == 0};
    const ProductCut cut =
        options.products ? options.products->joint(options_.machine, joint) : search_joint_cut(options_.machine, joint);
    if (joint.as_library && !joint_is_faster(options_.machine, joint, cut)) continue;
    const auto offer = [&](const Op* op, const ProductCut& c) {
      if (op) joint_cuts_[static_cast<size_t>(key(op))].push_back(c);
    };
    offer(p.forward, cut);
    offer(p.data, cut_of_data_gradient(cut));
    offer(p.weights, cut_of_weight_gradient(cut));
  }
}

void MappedProgram::make_candidates() {
  candidates_.resize(example_.size());
  find_joint_cuts();
  const auto offer_mappings = [&](size_t key) {
    const Op& op = *example_[key];
    size_t taken = 0;
    for (const OpCandidate& p : candidates_[key]) {
      // Only the fastest candidates add their mappings. Candidates with the common cut of a variable's products add
      // theirs too.
      if (taken++ >= 8 && !(p.product && p.product->joint)) continue;
      for (size_t i = 0; i < op.inputs.size(); ++i)
        if (op.inputs[i] && p.in[i] >= 0) pool_.add(op.inputs[i]->spec, p.in[i]);
      for (size_t i = 0; i < op.outputs.size(); ++i) pool_.add(op.outputs[i]->spec, p.out[i]);
    }
  };
  for (size_t k = 0; k < example_.size(); ++k) {
    if (strategy_info(example_[k]->row->tiles.strategy).mappings != MappingSource::own) continue;
    enumerate(static_cast<int>(k));
    offer_mappings(k);
  }
  // Mappings propagate through views and transpositions in both directions, so that the ops beyond can use them.
  for (int round = 0; round < 2; ++round)
    for (size_t k = 0; k < example_.size(); ++k) {
      if (strategy_info(example_[k]->row->tiles.strategy).mappings != MappingSource::propagated) continue;
      const SearchReport before = search;
      enumerate(static_cast<int>(k));
      search = before;
      for (const OpCandidate& p : candidates_[k]) {
        for (size_t i = 0; i < example_[k]->inputs.size(); ++i)
          if (example_[k]->inputs[i] && p.in[i] >= 0) pool_.add(example_[k]->inputs[i]->spec, p.in[i]);
        for (size_t i = 0; i < example_[k]->outputs.size(); ++i) pool_.add(example_[k]->outputs[i]->spec, p.out[i]);
      }
    }
  for (size_t k = 0; k < example_.size(); ++k) {
    if (strategy_info(example_[k]->row->tiles.strategy).mappings == MappingSource::own) continue;
    enumerate(static_cast<int>(k));
  }
}

}  // namespace pxl::tiles
