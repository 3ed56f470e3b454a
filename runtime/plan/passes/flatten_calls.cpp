// A call is replaced by the callee's ops, lowered under a substitution of tensors.
#include "runtime/plan/passes/flatten_calls.hpp"

#include <algorithm>
#include <unordered_set>

#include "runtime/graph/memory_order.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/op/reads_in_place.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {

namespace {

constexpr int64_t max_counted_ops = int64_t{1} << 40;  // ops: the count stops here, below overflow

using Substitution = PointerMap<const Tensor*, const Tensor*>;

/// The properties of a called graph that all call sites share.
struct Callee {
  std::vector<Op*> order;
  std::vector<bool> input_modified;  ///< also through views; of joined operands all, if one is modified
  std::vector<const Tensor*> changed_constants;
};

class Flattener {
 public:
  Flattener(FlattenedGraph& flat, const std::function<const Plan*(const Graph&)>& plan_of, bool all)
      : flat_(flat), plan_of_(plan_of), all_(all) {}

  void run(const std::vector<Op*>& order, Substitution& known) {
    for (const Op* op : order) {
      if (op->row->role == Role::call && (all_ || shares_operands(*op, known))) {
        call(*op, known);
        continue;
      }
      std::vector<const Plan*> plans;
      for (const Graph* g : op->called) plans.push_back(plan_of_(*g));
      Node node = lower(*op, std::move(plans));
      node.site = site_;
      for (const Tensor*& t : node.in) {
        if (t) t = look_up(known, t);
      }
      if (op->row->role == Role::compute) separate(node);
      for (const Tensor*& t : node.out) {
        if (site_) known.emplace(t, stand_in(*t));
        t = look_up(known, t);
      }
      flat_.nodes.push_back(std::move(node));
    }
  }

 private:
  static const Tensor* look_up(const Substitution& known, const Tensor* tensor) {
    const auto found = known.find(tensor);
    return found == known.end() ? tensor : found->second;
  }

  const Tensor* stand_in(const Tensor& original) {
    Tensor t = original;
    t.kind = TensorKind::result;
    t.producer = nullptr;
    t.consumers.clear();
    flat_.tensors.push_back(std::move(t));
    return &flat_.tensors.back();
  }

  /// A tensor with the current value of `from`. A plain copy is an output alias: it shares memory if no write can be
  /// observed.
  const Tensor* copy(const Tensor* from, const Op& user, int id) {
    static const OpRow& identity = get_op("identity");
    const Tensor* to = stand_in(*from);
    Op op;
    op.id = id;
    op.row = &identity;
    op.graph = user.graph;
    op.inputs = {const_cast<Tensor*>(from)};
    op.outputs = {const_cast<Tensor*>(to)};
    op.attrs.resize(identity.params.size());
    op.origin = user.origin;
    flat_.ops.push_back(std::move(op));
    flat_.nodes.push_back(lower(flat_.ops.back(), {}));
    flat_.nodes.back().site = site_;
    return to;
  }

  /// Copies operands that share memory with a modified operand, unless the op reads them in place.
  void separate(Node& node) {
    const OpRow& row = *node.op->row;
    for (const int slot : node.modified) {
      if (reads_in_place(row, static_cast<size_t>(slot))) continue;
      const Tensor* changed = root(node.in[static_cast<size_t>(slot)]);
      for (size_t other = 0; other < node.in.size(); ++other) {
        const Tensor*& t = node.in[other];
        if (t && static_cast<int>(other) != slot && root(t) == changed) t = copy(t, *node.op, 0);
      }
    }
  }

  const Callee& callee(const Graph& graph) {
    const auto found = callees_.find(&graph);
    if (found != callees_.end()) return found->second;
    Callee c;
    c.order = schedule_order(graph);
    const MemoryGroups memory(graph);
    std::unordered_set<size_t> changed;
    for (const Op* op : c.order)
      for (size_t slot = 0; slot < op->inputs.size(); ++slot)
        if (op->inputs[slot] && op->modifies(slot)) changed.insert(memory.group(op->inputs[slot]));
    for (const Tensor* input : graph.inputs()) c.input_modified.push_back(changed.count(memory.group(input)) > 0);
    for (const auto& t : graph.tensors())
      if (t->kind == TensorKind::constant && changed.count(memory.group(t.get())))
        c.changed_constants.push_back(t.get());
    return callees_.emplace(&graph, std::move(c)).first->second;
  }

  /// Whether the callee has one memory as two by-reference operands and writes it. Only inlining makes this aliasing
  /// visible: a schedule made without it may exchange a write and a use.
  bool shares_operands(const Op& op, const Substitution& outer) {
    const auto& inputs = op.called[0]->inputs();
    std::unordered_map<const Tensor*, bool> given;  // by memory: whether it is written
    bool shared = false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!is_by_reference(op, 0, i)) continue;
      const bool changed = callee(*op.called[0]).input_modified[i];
      const auto [at, fresh] = given.emplace(root(look_up(outer, op.inputs[i])), changed);
      shared = shared || (!fresh && (changed || at->second));
      at->second = at->second || changed;
    }
    return shared;
  }

  void call(const Op& op, Substitution& outer) {
    const Graph& graph = *op.called[0];
    const Callee& c = callee(graph);
    Substitution inner;
    std::unordered_set<const Tensor*> changed_outside;  // the caller's memory that the callee writes
    const auto& inputs = graph.inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (is_by_reference(op, 0, i) && c.input_modified[i]) changed_outside.insert(root(look_up(outer, op.inputs[i])));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor* given = look_up(outer, op.inputs[i]);
      const bool direct = is_by_reference(op, 0, i);
      const bool protect = !direct && (c.input_modified[i] || changed_outside.count(root(given)) > 0);
      inner[inputs[i]] = protect ? copy(given, op, op.id) : given;
    }
    for (const Tensor* constant : c.changed_constants) inner[constant] = copy(constant, op, op.id);
    const bool as_created = shares_operands(op, outer);
    flat_.sites.push_back({&op, site_});
    site_ = &flat_.sites.back();
    if (as_created) {
      std::vector<Op*> order;
      for (const auto& o : graph.ops()) order.push_back(o.get());
      run(order, inner);
    } else {
      run(c.order, inner);
    }
    site_ = site_->outer;

    // A result is the tensor of the callee, unless that is also an input or another output: then it is a copy.
    std::unordered_set<const Tensor*> taken;
    for (const Tensor* input : inputs) taken.insert(root(look_up(inner, input)));
    for (size_t j = 0; j < op.outputs.size(); ++j) {
      const Tensor* result = look_up(inner, graph.outputs()[j]);
      const bool own = result->kind == TensorKind::result && taken.insert(root(result)).second;
      outer[op.outputs[j]] = own ? result : copy(result, op, op.id);
    }
  }

  /// The representative of all tensors that share memory by definition, over the nodes so far.
  const Tensor* root(const Tensor* tensor) {
    for (; rooted_ < flat_.nodes.size(); ++rooted_) {
      const Node& node = flat_.nodes[rooted_];
      if (node.alias < 0 && !node.strided_view) continue;
      for (size_t slot = 0; slot < node.in.size(); ++slot)
        if (node.in[slot] && node.op->aliases(slot)) {
          const Tensor *a = found_root(node.out[0]), *b = found_root(node.in[slot]);
          if (a != b) root_[a] = b;
        }
    }
    return found_root(tensor);
  }
  const Tensor* found_root(const Tensor* tensor) const {
    for (const auto* at = root_.find(tensor); at != root_.end(); at = root_.find(tensor)) tensor = at->second;
    return tensor;
  }

  FlattenedGraph& flat_;
  const std::function<const Plan*(const Graph&)>& plan_of_;
  bool all_;
  const CallSite* site_ = nullptr;  ///< the call whose callee is lowered
  std::unordered_map<const Graph*, Callee> callees_;
  Substitution root_;
  size_t rooted_ = 0;
};

int64_t flattened_size(const Graph& graph, std::unordered_map<const Graph*, int64_t>& known) {
  const auto found = known.find(&graph);
  if (found != known.end()) return found->second;
  int64_t size = 0;
  for (const auto& op : graph.ops()) {
    size += 1;
    if (op->row->role == Role::call) size += flattened_size(*op->called[0], known);
    size = std::min(size, max_counted_ops);
  }
  known[&graph] = size;
  return size;
}

}  // namespace

int64_t flattened_size(const Graph& graph) {
  std::unordered_map<const Graph*, int64_t> known;
  return flattened_size(graph, known);
}

FlattenedGraph flatten_calls(const std::vector<Op*>& order, const std::function<const Plan*(const Graph&)>& plan_of,
                             bool all) {
  FlattenedGraph flat;
  // Nodes are large: growing would move all of them several times.
  const bool inlines = all && !order.empty();
  flat.nodes.reserve(inlines ? static_cast<size_t>(flattened_size(*order.front()->graph)) : order.size());
  Flattener(flat, plan_of, all).run(order, flat.replacement);
  return flat;
}

}  // namespace pxl
