#include "runtime/graph/agreement.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/call_operands.hpp"
#include "runtime/op/replica_groups.hpp"

namespace pxl {

namespace {

/// Finds the tensors that may differ between replicas. A graph counts once for all its calls, and memory counts once
/// for all its values. The result is conservative: tensors that count as the same are the same.
class Agreement {
 public:
  explicit Agreement(const Ir& ir) : ir_(ir) {
    for (const Tensor* v : ir.variables())
      if (group_count(v->groups) > 1)
        mark(v, fmt::format("the variable `{}`, which has a value for each group", v->name));
    do {
      changed_ = false;
      for (const auto& graph : ir.graphs())
        for (const auto& op : graph->ops()) visit(*op);
    } while (changed_);
  }

  void check() const {
    check_states();
    check_collectives();
  }

 private:
  /// Throws for the first state of one value whose next value may differ.
  void check_states() const {
    for (const Tensor* v : ir_.variables()) {
      const std::string* why = v->is_state && group_count(v->groups) == 1 ? cause(v) : nullptr;
      if (!why) continue;
      const std::string name = v->key.empty() ? v->name : v->key;
      Error error(
          fmt::format("state `{}` has one value for all replicas, but its next value may differ between them", name),
          {fmt::format("it depends on {}", *why),
           "`next` takes what is the same on all: `all_reduce(..., op = \"mean\")` makes that",
           fmt::format("`state {}: ... with replica_grouping = g` has a value for each group", name)});
      error.as(codes::replicas);
      for (const Op* op : v->consumers)
        if (op->modifies(0) && op->inputs[0] == v) {
          const Op* made = op->inputs.back()->producer;
          const Origin& at = made ? made->origin : op->origin;
          error.locate(at.span, at.frames);
          break;
        }
      throw error;
    }
  }

  /// Throws for the first collective in a branch or loop that replicas may not share.
  void check_collectives() const {
    for (const auto& graph : ir_.graphs()) {
      const auto found = parting_.find(graph.get());
      if (found == parting_.end()) continue;
      for (const auto& op : graph->ops()) {
        if (!is_exchanged(*op)) continue;
        const Tensor* condition = deciding_tensor(*found->second);
        Error error(fmt::format("{}: the replicas may not all come here: the condition `{}` may differ between them",
                                op->row->schedule, condition->name),
                    {fmt::format("it depends on {}", *cause(condition)),
                     found->second->row->role == Role::branch
                         ? "move the collective out of the branch, or make the condition the result of one"
                         : "move the collective out of the loop, or make the condition the result of one"});
        error.as(codes::replicas).locate(op->origin.span, op->origin.frames);
        throw error;
      }
    }
  }

  const std::string* cause(const Tensor* t) const {
    const auto found = t ? causes_.find(t) : causes_.end();
    return found == causes_.end() ? nullptr : &found->second;
  }
  void mark(const Tensor* t, const std::string& why) {
    if (t && causes_.emplace(t, std::string(why)).second) changed_ = true;
  }
  void follow(const Tensor* from, const Tensor* to) {
    if (const std::string* why = cause(from)) mark(to, std::string(*why));
  }

  void visit(const Op& op) {
    if (!op.called.empty()) return visit_call(op);
    if (op.row->role == Role::host_load)
      for (const Tensor* t : op.outputs) mark(t, fmt::format("the stream `{}`", op.stream->name()));
    if (op.row->role == Role::remote_load)
      mark(op.outputs[0], fmt::format("`{}`, from a remote buffer", op.outputs[0]->name));
    if (op.row->exchange == Exchange::replica && !op.row->side_effect)
      mark(op.outputs[0], fmt::format("`{}`, the replica's own", op.outputs[0]->name));
    if (op.row->exchange == Exchange::members) {
      const OpContext site{*op.row, {}, op.attrs};
      const bool same = op.row->alike && group_count(replica_groups_of(site)) == 1 && op.row->modifies == 0;
      if (same) return;
      if (is_exchanged(op)) mark(op.outputs[0], fmt::format("`{}`, which is not the same on all", op.outputs[0]->name));
    }
    for (const Tensor* in : op.inputs)
      for (const Tensor* out : op.outputs) follow(in, out);
    for (size_t slot = 0; slot < op.inputs.size(); ++slot) {
      if (!op.inputs[slot]) continue;
      if (op.modifies(slot))
        for (const Tensor* in : op.inputs) follow(in, op.inputs[slot]);
      if (op.aliases(slot)) follow(op.outputs[0], op.inputs[slot]);
    }
  }

  void visit_call(const Op& op) {
    const Tensor* deciding = deciding_tensor(op);
    for (size_t which = 0; which < op.called.size(); ++which) {
      const Graph& callee = *op.called[which];
      const size_t first = callee_operand_begin(op, which);
      for (size_t i = 0; i < callee.inputs().size(); ++i) {
        follow(op.inputs[first + i], callee.inputs()[i]);
        if (op.modifies(first + i)) follow(callee.inputs()[i], op.inputs[first + i]);
      }
      for (size_t i = 0; i < op.outputs.size(); ++i) {
        follow(callee.outputs()[i], op.outputs[i]);
        if (op.row->role == Role::loop) follow(callee.outputs()[i], callee.inputs()[i]);
      }
      if (cause(deciding)) part(callee, op);
    }
    if (deciding)
      for (const Tensor* out : op.outputs) follow(deciding, out);
  }

  void part(const Graph& graph, const Op& at) {
    if (!parting_.emplace(&graph, &at).second) return;
    changed_ = true;
    for (const Graph* callee : graph.called_graphs()) part(*callee, at);
  }

  const Ir& ir_;
  std::unordered_map<const Tensor*, std::string> causes_;  ///< of the tensors that may differ: on what they depend
  std::unordered_map<const Graph*, const Op*>
      parting_;  ///< graphs that not all replicas may run alike, and the branch or loop
  bool changed_ = false;
};

}  // namespace

void check_collectives(const Ir& ir) {
  if (ir.replication_factor > 1) Agreement(ir).check();
}

}  // namespace pxl
