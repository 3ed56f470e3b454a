// The Ir: marks and rollback for inputs that fail or are undone, and dead code elimination in graphs that a transform
// has just built.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/sequencing.hpp"
#include "runtime/graph/transaction.hpp"

namespace pxl {

Ir::Ir(std::string name) : name_(std::move(name)) {
  graphs_.push_back(std::make_unique<Graph>(*this, "", name_));
  GraphTransaction::made(this);
}

Ir::~Ir() { GraphTransaction::destroyed(this); }

Graph& Ir::create_graph(const std::string& title) {
  main().check_open();
  graphs_.push_back(std::make_unique<Graph>(*this, fmt::format("{}_subgraph({})", title, next_subgraph_++), title));
  return *graphs_.back();
}

Graph& Ir::create_gradient_graph(const Graph& forward) {
  main().check_open();
  const std::string base = (forward.is_main() ? name_ : forward.id()) + "_bwd";
  std::unordered_set<std::string> taken;
  for (const auto& g : graphs_) taken.insert(g->id());
  std::string id = base;
  for (int n = 1; taken.count(id); ++n) id = fmt::format("{}_{}", base, n);
  graphs_.push_back(std::make_unique<Graph>(*this, id, (forward.is_main() ? name_ : forward.title()) + "_bwd"));
  return *graphs_.back();
}

namespace {

/// The labels of an Ir's streams, as a cache in its memo.
struct StreamLabels {
  std::unordered_set<std::string> labels;
  size_t count = 0;  ///< of streams when it was made: fewer after a rollback
};

}  // namespace

Stream& Ir::add_stream(const TensorSpec& spec, const std::string& name, bool to_device) {
  main().check_open();
  const std::string plain = name.empty() ? (to_device ? "h2d_stream" : "d2h_stream") : name;
  auto stream = std::make_unique<Stream>();
  // Streams are the program's interface, so their names have no scopes.
  stream->handle = main().new_tensor(TensorKind::stream, {spec.shape, spec.dtype, {}}, plain, false);
  stream->to_device = to_device;
  stream->number = static_cast<int>(streams_.size());
  std::shared_ptr<void>& cached = memo["stream labels"];
  if (!cached) cached = std::make_shared<StreamLabels>();
  auto& known = *static_cast<StreamLabels*>(cached.get());
  if (known.count != streams_.size()) {
    known.labels.clear();
    for (const auto& s : streams_) known.labels.insert(s->label);
  }
  const auto taken = [&](const std::string& label) { return known.labels.count(label) > 0; };
  stream->label = taken(plain) ? stream->handle->name : plain;
  while (taken(stream->label)) stream->label = fmt::format("{}__t{}", plain, next_suffix());
  known.labels.insert(stream->label);
  streams_.push_back(std::move(stream));
  known.count = streams_.size();
  return *streams_.back();
}

Stream* Ir::stream_of(const Tensor* handle) const {
  for (const auto& s : streams_)
    if (s->handle == handle) return s.get();
  return nullptr;
}

std::vector<Tensor*> Ir::variables() const {
  std::vector<Tensor*> found;
  for (const auto& t : main().tensors())
    if (t->kind == TensorKind::variable) found.push_back(t.get());
  return found;
}

struct Ir::Mark {
  struct GraphState {
    size_t ops, tensors;
    std::vector<Tensor*> inputs, outputs;
    size_t declared_outputs;
    Graph::Sequencing sequencing;
    std::vector<const Op*> order;  ///< of the ops, if it is not that of creation
  };
  std::vector<GraphState> graphs;
  std::unordered_map<const Op*, std::vector<bool>> input_modified;  // call sites only
  std::vector<bool> stream_used;
  size_t remote_buffers, graphs_taken_back, streams_taken_back;
  int next_op, next_subgraph, next_suffix, replication_factor;
  std::optional<int64_t> num_host_transfers;
  bool frozen, io_tiles;
  Origin origin;
  std::vector<std::string> name_scopes;
  std::optional<int> ipu;
  std::map<std::string, std::shared_ptr<void>> memo;
};

std::shared_ptr<const Ir::Mark> Ir::mark() const {
  auto m = std::make_shared<Mark>();
  for (const auto& g : graphs_) {
    m->graphs.push_back(
        {g->ops_.size(), g->tensors_.size(), g->inputs_, g->outputs_, g->declared_outputs_, *g->sequencing_, {}});
    if (g->sequencing_->reordered)
      for (const auto& op : g->ops_) m->graphs.back().order.push_back(op.get());
    for (const Op* site : g->call_sites_) m->input_modified.emplace(site, site->input_modified);
  }
  for (const auto& s : streams_) m->stream_used.push_back(s->used);
  m->remote_buffers = remote_buffers_.size();
  m->graphs_taken_back = graphs_taken_back_.size();
  m->streams_taken_back = streams_taken_back_.size();
  m->next_op = next_op_;
  m->next_subgraph = next_subgraph_;
  m->next_suffix = next_suffix_;
  m->replication_factor = replication_factor;
  m->num_host_transfers = num_host_transfers;
  m->frozen = frozen;
  m->io_tiles = io_tiles;
  m->origin = origin;
  m->name_scopes = name_scopes;
  m->ipu = ipu;
  m->memo = memo;
  return m;
}

bool Ir::changed_since(const Mark& m) const {
  if (graphs_.size() != m.graphs.size() || streams_.size() != m.stream_used.size() || next_op_ != m.next_op)
    return true;
  const auto is_constant = [](const auto& t) { return t->kind == TensorKind::constant; };
  for (size_t i = 0; i < graphs_.size(); ++i) {
    const auto& tensors = graphs_[i]->tensors_;
    if (graphs_[i]->ops_.size() != m.graphs[i].ops || tensors.size() < m.graphs[i].tensors ||
        !std::all_of(tensors.begin() + static_cast<std::ptrdiff_t>(m.graphs[i].tensors), tensors.end(), is_constant))
      return true;
  }
  return false;
}

void Graph::Sequencing::restore(Graph& graph, const Sequencing& then, const std::vector<const Op*>& order) {
  const auto& now = graph.sequencing_->constraints;
  for (size_t i = then.constraints.size(); i < now.size(); ++i) std::erase(now[i].first->after, now[i].second);
  if (!graph.sequencing_->reordered) return;
  std::unordered_map<const Op*, size_t> place;
  for (const Op* op : order) place.emplace(op, place.size());
  // Numbers ascend in the order of creation.
  const auto key = [&](const auto& op) {
    const auto found = place.find(op.get());
    return std::pair(found == place.end() ? order.size() : found->second, op->id);
  };
  std::ranges::sort(graph.ops_, {}, key);
}

namespace {

Error taken_back(std::string_view what, std::string_view name) {
  return Error(fmt::format("{}: `{}` was taken back with the input or the block that made it, which did not end", what,
                           name),
               {"make it again"})
      .as(codes::program);
}

}  // namespace

void check_in_effect(std::string_view what, const Graph& graph) {
  if (graph.is_taken_back()) throw taken_back(what, graph.title());
}
void check_in_effect(std::string_view what, const Tensor& tensor) {
  if (tensor.graph->is_taken_back()) throw taken_back(what, tensor.name);
}

namespace {

template <class T>
void move_tail(std::vector<T>& from, size_t first, std::vector<T>& to) {
  std::move(from.begin() + static_cast<std::ptrdiff_t>(first), from.end(), std::back_inserter(to));
  from.resize(first);
}

}  // namespace

// Data of tensors is freed: it may be large.
void Graph::end() {
  taken_back_ = true;
  for (const auto& op : ops_) op->graph = this;
  for (const auto& t : tensors_) {
    t->graph = this;
    t->data = Array();
  }
}

void Ir::rollback(const Mark& m) {
  remove_since(m, false);
  frozen = m.frozen;
  // Only values that are gone as well referred to the graphs and streams that later inputs left in memory.
  graphs_taken_back_.resize(std::min(graphs_taken_back_.size(), m.graphs_taken_back));
  streams_taken_back_.resize(std::min(streams_taken_back_.size(), m.streams_taken_back));
}

void Ir::take_back_since(const Mark& m) {
  if (changed_since(m)) frozen = m.frozen;
  remove_since(m, true);
}

void Ir::remove_since(const Mark& m, bool keep) {
  for (size_t i = 0; i < m.graphs.size(); ++i)
    Graph::Sequencing::restore(*graphs_[i], m.graphs[i].sequencing, m.graphs[i].order);
  std::unordered_set<const Op*> dead_ops;
  std::unordered_set<const Tensor*> dead_tensors;
  for (size_t i = 0; i < graphs_.size(); ++i) {
    const Graph& g = *graphs_[i];
    const bool kept = i < m.graphs.size();
    for (size_t k = kept ? m.graphs[i].ops : 0; k < g.ops_.size(); ++k) dead_ops.insert(g.ops_[k].get());
    for (size_t k = kept ? m.graphs[i].tensors : 0; k < g.tensors_.size(); ++k)
      dead_tensors.insert(g.tensors_[k].get());
  }
  auto removed = std::make_unique<Graph>(*this, "parts", "parts");
  const auto is_dead = [&](const Op* op) { return dead_ops.count(op) > 0; };
  for (size_t i = 0; i < m.graphs.size(); ++i) {
    Graph& g = *graphs_[i];
    const Mark::GraphState& state = m.graphs[i];
    g.inputs_ = state.inputs;
    g.outputs_ = state.outputs;
    g.declared_outputs_ = state.declared_outputs;
    *g.sequencing_ = state.sequencing;
    std::erase_if(g.call_sites_, is_dead);
    for (size_t k = 0; k < state.ops; ++k) {
      // Remove outputs that autodiff has added to a call site since the mark.
      auto& outputs = g.ops_[k]->outputs;
      while (!outputs.empty() && dead_tensors.count(outputs.back())) outputs.pop_back();
    }
    for (size_t k = 0; k < state.tensors; ++k) std::erase_if(g.tensors_[k]->consumers, is_dead);
    for (size_t k = state.tensors; k < g.tensors_.size(); ++k) g.by_id_.erase(g.tensors_[k]->id);
    move_tail(g.ops_, state.ops, removed->ops_);
    move_tail(g.tensors_, state.tensors, removed->tensors_);
  }
  for (const auto& [site, modified] : m.input_modified) const_cast<Op*>(site)->input_modified = modified;
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<std::unique_ptr<Stream>> streams;
  move_tail(graphs_, m.graphs.size(), graphs);
  move_tail(streams_, m.stream_used.size(), streams);
  for (size_t i = 0; i < streams_.size(); ++i) streams_[i]->used = m.stream_used[i];
  if (keep && (!dead_ops.empty() || !dead_tensors.empty() || !graphs.empty())) {
    graphs.push_back(std::move(removed));
    for (const auto& g : graphs) g->end();
    move_tail(graphs, 0, graphs_taken_back_);
    move_tail(streams, 0, streams_taken_back_);
  }
  remote_buffers_.resize(m.remote_buffers);
  next_op_ = m.next_op;
  next_subgraph_ = m.next_subgraph;
  next_suffix_ = m.next_suffix;
  replication_factor = m.replication_factor;
  num_host_transfers = m.num_host_transfers;
  io_tiles = m.io_tiles;
  origin = m.origin;
  name_scopes = m.name_scopes;
  ipu = m.ipu;
  memo = m.memo;
}

void Graph::prune(size_t first_input) {
  check_open();
  std::unordered_set<const Op*> live;
  std::unordered_set<const Tensor*> used(outputs_.begin(), outputs_.end());
  // Liveness, backwards: an op is live if it has a side effect or a live output; its inputs and control dependencies
  // are then live. An update is live if the memory that it modifies is.
  for (auto it = ops_.rbegin(); it != ops_.rend(); ++it) {
    const Op* op = it->get();
    bool needed = op->row->side_effect || op->stream || live.count(op);
    for (const Tensor* t : op->outputs) needed = needed || used.count(t);
    for (size_t i = 0; i < op->inputs.size(); ++i) needed = needed || (op->inputs[i] && op->modifies(i));
    if (!needed) continue;
    live.insert(op);
    for (const Tensor* t : op->inputs)
      if (t) used.insert(t);
  }
  for (const auto& op : ops_) std::erase_if(op->after, [&](const Op* before) { return !live.count(before); });
  for (const auto& t : tensors_) std::erase_if(t->consumers, [&](const Op* op) { return !live.count(op); });
  std::unordered_set<const Tensor*> dropped;
  for (const auto& op : ops_) {
    if (live.count(op.get())) continue;
    dropped.insert(op->outputs.begin(), op->outputs.end());
    for (Graph* g : op->called) std::erase(g->call_sites_, op.get());
  }
  for (const auto& t : tensors_)
    if (t->kind == TensorKind::constant && !used.count(t.get())) dropped.insert(t.get());
  for (size_t i = std::min(first_input, inputs_.size()); i < inputs_.size(); ++i)
    if (!used.count(inputs_[i])) dropped.insert(inputs_[i]);
  std::erase_if(inputs_, [&](const Tensor* t) { return dropped.count(t) > 0; });
  for (const Tensor* t : dropped) by_id_.erase(t->id);
  std::erase_if(tensors_, [&](const auto& t) { return dropped.count(t.get()) > 0; });
  std::erase_if(ops_, [&](const auto& op) { return !live.count(op.get()); });
}

void Graph::set_inputs(std::vector<Tensor*> permuted) {
  check_open();
  std::vector<Tensor*> given = permuted, present = inputs_;
  std::sort(given.begin(), given.end());
  std::sort(present.begin(), present.end());
  if (given != present)
    throw Error(fmt::format("the inputs of `{}` can only be given another order", id_), {}, Fault::internal);
  inputs_ = std::move(permuted);
}

void Graph::rename(Tensor* tensor, const std::string& name) {
  check_open();
  check_member("rename", tensor);
  by_id_.erase(tensor->id);
  claim_name(tensor, name);
}

}  // namespace pxl
