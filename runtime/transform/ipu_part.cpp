#include "runtime/transform/ipu_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/call_operands.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/op/op_ipus.hpp"
#include "runtime/op/structural_rows.hpp"
#include "runtime/transform/rebuild.hpp"

namespace pxl {

namespace {

/// A graph as a call on an IPU sees it: its ops without an IPU of their own are there.
using CalledGraph = std::pair<const Graph*, int>;

int ipu_of(const Op& op, int around) { return op.ipu.value_or(around); }

void add_ipus(const CalledGraph& called, std::set<int>& to, std::set<CalledGraph>& seen) {
  if (!seen.insert(called).second) return;
  for (const auto& op : called.first->ops()) {
    const int ipu = ipu_of(*op, called.second);
    if (const auto* ipus = op_ipus(*op->row, op->attrs))
      to.insert(ipus->begin(), ipus->end());
    else if (op->called.empty())
      to.insert(ipu);
    for (const Graph* callee : op->called) add_ipus({callee, ipu}, to, seen);
  }
}

std::set<int> ipus_of_call(const CalledGraph& called) {
  std::set<int> ipus;
  std::set<CalledGraph> seen;
  add_ipus(called, ipus, seen);
  return ipus;
}

/// The part of a graph that is on the IPU: null if it has none. Slots of the whole graph's inputs and outputs.
struct GraphPart {
  Graph* graph = nullptr;
  std::vector<size_t> inputs, outputs;
};

class PartBuilder {
 public:
  PartBuilder(const Ir& from, int ipu) : from_(from), ipu_(ipu), to_(std::make_shared<Ir>(from.name())) {
    to_->replication_factor = from.replication_factor;
    to_->num_host_transfers = from.num_host_transfers;
    for (const RemoteBuffer& b : from.remote_buffers()) to_->add_remote_buffer(b);
    for (const auto& s : from.streams())
      streams_.emplace(s.get(), &to_->add_stream(s->spec(), s->name(), s->to_device));
  }

  std::shared_ptr<Ir> build() {
    Values values;
    fill(from_.main(), 0, to_->main(), values);
    return to_;
  }

 private:
  using Values = std::unordered_map<const Tensor*, Tensor*>;

  bool is_here(const Op& op, int around) {
    const int ipu = ipu_of(op, around);
    if (op_ipus(*op.row, op.attrs)) return !slots_here(op).empty();
    if (op.called.empty()) return ipu == ipu_;
    return std::any_of(op.called.begin(), op.called.end(), [&](const Graph* callee) {
      return ipus_of_call({callee, ipu}).count(ipu_) > 0;
    });
  }

  /// Operands of an op without graphs that are on this IPU.
  std::vector<size_t> slots_here(const Op& op) const {
    const auto* ipus = op_ipus(*op.row, op.attrs);
    std::vector<size_t> slots;
    for (size_t i = 0; i < op.inputs.size(); ++i)
      if (!ipus || (*ipus)[i] == ipu_) slots.push_back(i);
    return slots;
  }

  /// A call takes the part's inputs and returns its outputs. A loop carries a value if its part takes or makes it.
  const GraphPart& part_of(const Graph& graph, int around, size_t carried) {
    const auto [at, fresh] = parts_.try_emplace({{&graph, around}, carried});
    GraphPart& part = at->second;
    if (!fresh) return part;
    std::set<const Tensor*> made, taken;
    for (const auto& op : graph.ops()) {
      if (!is_here(*op, around)) continue;
      for (const Tensor* t : operands_here(*op, around)) taken.insert(t);
      made.insert(op->outputs.begin(), op->outputs.end());
    }
    const auto& inputs = graph.inputs();
    const auto is_made = [&](size_t i) { return made.count(graph.outputs()[i]) > 0; };
    for (size_t i = 0; i < inputs.size(); ++i)
      if (taken.count(inputs[i]) || (i < carried && is_made(i))) part.inputs.push_back(i);
    const size_t results = carried > 0 ? carried : graph.outputs().size();
    for (size_t i = 0; i < results; ++i) {
      const bool kept = carried > 0 ? std::count(part.inputs.begin(), part.inputs.end(), i) > 0 : is_made(i);
      if (kept) part.outputs.push_back(i);
    }
    Graph& to = to_->create_graph(graph.title());
    Values values;
    for (const size_t i : part.inputs) values.emplace(inputs[i], to.copy_source(*inputs[i]));
    fill(graph, around, to, values);
    for (const size_t i : part.outputs) {
      const Tensor* out = graph.outputs()[i];
      to.add_output(values.count(out) ? values.at(out) : values.at(inputs[i]));
    }
    part.graph = &to;
    return part;
  }

  /// The operands that an op on this IPU reads: all of them, or those that its part of the called graph reads.
  std::vector<const Tensor*> operands_here(const Op& op, int around) {
    std::vector<const Tensor*> out;
    if (op.called.size() == 1) {
      for (const size_t i : part_of(*op.called[0], ipu_of(op, around), carried_by(op)).inputs)
        out.push_back(op.inputs[i]);
    } else {
      for (const size_t i : slots_here(op))
        if (op.inputs[i]) out.push_back(op.inputs[i]);
    }
    return out;
  }

  static size_t carried_by(const Op& op) {
    return op.row->role == Role::loop ? op.called[0]->declared_outputs() : size_t{0};
  }

  /// Copies the ops of a graph that are on this IPU. `values` has the inputs.
  void fill(const Graph& graph, int around, Graph& to, Values& values) {
    const auto value = [&](const Tensor* t) -> Tensor* {
      if (const auto found = values.find(t); found != values.end()) return found->second;
      Tensor* made =
          t->kind == TensorKind::variable || t->kind == TensorKind::constant ? to.copy_source(*t) : memory_like(to, *t);
      values.emplace(t, made);
      return made;
    };
    std::unordered_map<const Op*, Op*> copies;
    for (const auto& op : graph.ops()) {
      if (!is_here(*op, around)) continue;
      Op* made = op_ipus(*op->row, op->attrs) ? copy_share(*op, to, values, value)
                 : op->called.empty()         ? copy(*op, to, value)
                                              : copy_call(*op, around, to, values, value);
      made->id = op->id;
      for (const Op* before : op->after)
        if (const auto found = copies.find(before); found != copies.end()) add_order(*made, found->second);
      copies.emplace(op.get(), made);
      if (op->called.empty() && made->outputs.size() == op->outputs.size())
        for (size_t i = 0; i < op->outputs.size(); ++i) values[op->outputs[i]] = made->outputs[i];
    }
  }

  template <class Value>
  Op* copy(const Op& op, Graph& to, const Value& value) {
    std::vector<Tensor*> inputs;
    for (const Tensor* t : op.inputs) inputs.push_back(t ? value(t) : nullptr);
    return to.copy_op(op, std::move(inputs), {}, op.stream ? streams_.at(op.stream) : nullptr);
  }

  /// Copies an op on several IPUs, with this IPU's operands and results only.
  template <class Value>
  Op* copy_share(const Op& op, Graph& to, Values& values, const Value& value) {
    const std::vector<size_t> slots = slots_here(op);
    std::vector<Tensor*> inputs;
    for (const size_t i : slots) inputs.push_back(value(op.inputs[i]));
    Attributes attrs = op.attrs;
    attrs[1] = std::vector<int64_t>(slots.size(), ipu_);
    place_like(*to_, op);
    Op* made = to.add_op(*op.row, std::move(inputs), std::move(attrs));
    for (size_t k = 0; k < slots.size(); ++k) values[op.outputs[slots[k]]] = made->outputs[k];
    return made;
  }

  template <class Value>
  Op* copy_call(const Op& op, int around, Graph& to, Values& values, const Value& value) {
    const int ipu = ipu_of(op, around);
    place_like(*to_, op);
    Op* made = nullptr;
    if (op.called.size() == 1) {
      const GraphPart& part = part_of(*op.called[0], ipu, carried_by(op));
      std::vector<Tensor*> inputs;
      for (const size_t i : part.inputs) inputs.push_back(value(op.inputs[i]));
      made = to.add_control(*op.row, {part.graph}, std::move(inputs), op.attrs);
      for (size_t i = 0; i < part.outputs.size() && i < made->outputs.size(); ++i)
        values[op.outputs[part.outputs[i]]] = made->outputs[i];
      return made;
    }
    std::vector<Graph*> called;
    for (const Graph* callee : op.called) {
      if (ipus_of_call({callee, ipu}).size() > 1) {
        Error error(
            fmt::format("the conditional `{}` has ops on several IPUs: it has no cost on one of them", shown_name(op)),
            {"put both branches on one IPU"});
        error.as(codes::program).locate(op.origin.span, op.origin.frames);
        throw error;
      }
      called.push_back(&whole(*callee));
    }
    std::vector<Tensor*> inputs;
    for (const Tensor* t : op.inputs) inputs.push_back(value(t));
    made = to.add_control(*op.row, std::move(called), std::move(inputs), op.attrs);
    for (size_t i = 0; i < made->outputs.size(); ++i) values[op.outputs[i]] = made->outputs[i];
    return made;
  }

  /// A branch of a conditional, with all of its inputs and outputs.
  Graph& whole(const Graph& graph) {
    Graph& to = to_->create_graph(graph.title());
    Values values;
    for (const Tensor* t : graph.inputs()) values.emplace(t, to.copy_source(*t));
    fill(graph, ipu_, to, values);
    for (size_t i = 0; i < graph.declared_outputs(); ++i) {
      const Tensor* out = graph.outputs()[i];
      if (!values.count(out)) values.emplace(out, to.copy_source(*out));  // a constant
      to.add_output(values.at(out));
    }
    return to;
  }

  Tensor* memory_like(Graph& to, const Tensor& t) const {
    const OpRow& row = init_row();
    Attributes attrs(row.params.size());
    attrs[param_index(row, "shape")] = t.spec.shape;
    attrs[param_index(row, "dtype")] = t.spec.dtype;
    attrs[param_index(row, "name")] = std::string("init");
    attrs[param_index(row, "init_type")] = std::string("undef");
    Tensor* made = to.add_op(row, {}, std::move(attrs))->outputs[0];
    made->producer->ipu = ipu_;
    made->spec = t.spec;  // also of a shard
    return made;
  }

  const Ir& from_;
  int ipu_;
  std::shared_ptr<Ir> to_;
  std::unordered_map<const Stream*, Stream*> streams_;
  std::map<std::pair<CalledGraph, size_t>, GraphPart> parts_;
};

}  // namespace

std::vector<int> ipus_of(const Graph& graph) {
  const std::set<int> found = ipus_of_call({&graph, 0});
  return {found.begin(), found.end()};
}

std::shared_ptr<Ir> part_on_ipu(const Ir& ir, int ipu) { return PartBuilder(ir, ipu).build(); }

}  // namespace pxl
