// Copies of graph parts, for transforms that rebuild graphs.
#include <algorithm>

#include "runtime/graph/ir.hpp"

namespace pxl {

Graph& Ir::create_graph_like(const Graph& other) {
  main().check_open();
  graphs_.push_back(std::make_unique<Graph>(*this, other.id(), other.title()));
  next_subgraph_ = std::max(next_subgraph_, other.ir().next_subgraph_);
  return *graphs_.back();
}

void Graph::set_outputs(std::vector<Tensor*> outputs) {
  check_open();
  if (!call_sites_.empty()) throw Error("the outputs of `" + id_ + "` are in use: it is called", {}, Fault::internal);
  for (const Tensor* t : outputs) check_member("return", t);
  outputs_ = std::move(outputs);
  declared_outputs_ = outputs_.size();
}

Op* Graph::copy_op(const Op& from, std::vector<Tensor*> inputs, std::vector<Graph*> called, Stream* stream) {
  check_open();
  const Origin origin = ir_.origin;
  ir_.origin = from.origin;
  Op* op = new_op(*from.row, std::move(inputs), from.attrs);
  ir_.origin = origin;
  op->ipu = from.ipu;
  op->io_tiles = from.io_tiles;
  op->called = std::move(called);
  op->input_modified = from.input_modified;
  op->after.clear();
  for (Graph* g : op->called) {
    if (g->call_sites_.empty() || g->call_sites_.back() != op) g->call_sites_.push_back(op);
    depth_ = std::max(depth_, g->depth_ + 1);
  }
  op->stream = stream;
  if (stream) stream->used = true;
  for (const Tensor* t : from.outputs) add_result(op, t->spec, t->name, false);
  return op;
}

Tensor* Graph::copy_source(const Tensor& from) {
  check_open();
  Tensor* t = new_tensor(from.kind, from.spec, from.name, false);
  t->key = from.key;
  t->by_ref = from.by_ref;
  t->data = from.data;
  t->groups = from.groups;
  t->remote = from.remote;
  t->path = from.path;
  t->is_state = from.is_state;
  t->shared = from.shared;
  t->origin = from.origin;
  if (t->kind == TensorKind::input) inputs_.push_back(t);
  return t;
}

}  // namespace pxl
