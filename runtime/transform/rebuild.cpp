#include "runtime/transform/rebuild.hpp"

#include <algorithm>
#include <functional>

#include "runtime/graph/verify.hpp"

namespace pxl {

Rewritten then(const Rewritten& first, Rewritten second) {
  const auto chain = [](const auto& a, auto& b) {
    auto out = b;
    out.clear();
    for (const auto& [from, middle] : a)
      if (const auto to = b.find(middle); to != b.end()) out.emplace(from, to->second);
    b = std::move(out);
  };
  chain(first.graphs, second.graphs);
  chain(first.tensors, second.tensors);
  chain(first.streams, second.streams);
  return second;
}

Rebuild::Rebuild(const Ir& from, std::unordered_set<const Graph*> left_out)
    : from_(from), left_out_(std::move(left_out)) {
  result.ir = std::make_shared<Ir>(from.name());
  Ir& to = *result.ir;
  to.replication_factor = from.replication_factor;
  to.num_host_transfers = from.num_host_transfers;
  for (const auto& g : from.graphs())
    if (!left_out_.count(g.get()))
      result.graphs.emplace(g.get(), g->is_main() ? &to.main() : &to.create_graph_like(*g));
  for (const RemoteBuffer& b : from.remote_buffers()) to.add_remote_buffer(b);
  for (const auto& s : from.streams()) {
    Stream& made = to.add_stream(s->spec(), s->name(), s->to_device);
    result.streams.emplace(s.get(), &made);
    result.tensors.emplace(s->handle, made.handle);
  }
}

Rewritten Rebuild::finish() {
  verify_transformed(*result.ir);
  return std::move(result);
}

std::vector<const Graph*> Rebuild::order() const {
  std::vector<const Graph*> done;
  std::unordered_set<const Graph*> seen;  // those left out too: what they call precedes their callers
  struct Open {
    const Graph* graph;
    std::vector<Graph*> callees;
  };
  for (const auto& root : from_.graphs()) {
    if (!seen.insert(root.get()).second) continue;
    std::vector<Open> open{{root.get(), root->called_graphs()}};
    while (!open.empty()) {
      if (open.back().callees.empty()) {
        if (!left_out_.count(open.back().graph)) done.push_back(open.back().graph);
        open.pop_back();
        continue;
      }
      const Graph* callee = open.back().callees.front();
      open.back().callees.erase(open.back().callees.begin());
      if (seen.insert(callee).second) open.push_back({callee, callee->called_graphs()});
    }
  }
  return done;
}

Graph& Rebuild::begin(const Graph& graph) {
  Graph& made = *result.graphs.at(&graph);
  for (const Tensor* t : graph.inputs()) result.tensors.emplace(t, made.copy_source(*t));
  for (const auto& t : graph.tensors())
    if (t->kind == TensorKind::variable || t->kind == TensorKind::constant)
      result.tensors.emplace(t.get(), made.copy_source(*t));
  return made;
}

void Rebuild::end(const Graph& graph) {
  Graph& made = *result.graphs.at(&graph);
  std::vector<Tensor*> stashed;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    Tensor* t = result.tensors.at(graph.outputs()[i]);
    if (i < graph.declared_outputs())
      made.add_output(t);
    else
      stashed.push_back(t);
  }
  made.add_stashed_outputs(stashed);
}

Op* Rebuild::copy(const Op& op, Graph& to, std::unordered_map<const Tensor*, Tensor*>& tensors) {
  std::vector<Tensor*> inputs;
  for (const Tensor* t : op.inputs) inputs.push_back(t ? tensors.at(t) : nullptr);
  std::vector<Graph*> called;
  for (const Graph* g : op.called) called.push_back(result.graphs.at(g));
  Op* made = to.copy_op(op, std::move(inputs), std::move(called), op.stream ? result.streams.at(op.stream) : nullptr);
  for (size_t i = 0; i < op.outputs.size(); ++i) tensors[op.outputs[i]] = made->outputs[i];
  return made;
}

Op* Rebuild::copy(const Op& op) {
  Op* made = copy(op, *result.graphs.at(op.graph), result.tensors);
  constrain(*made, op);
  replaced[&op] = {made};
  return made;
}

void Rebuild::constrain(Op& made, const Op& like) {
  for (const Op* before : like.after)
    if (const auto found = replaced.find(before); found != replaced.end())
      for (Op* op : found->second) add_order(made, op);
}

void place_like(Ir& ir, const Op& op) {
  ir.origin = op.origin;
  ir.ipu = op.ipu;
  ir.io_tiles = op.io_tiles;
}

void add_order(Op& made, Op* before) {
  if (before != &made && std::find(made.after.begin(), made.after.end(), before) == made.after.end())
    made.after.push_back(before);
}

}  // namespace pxl
