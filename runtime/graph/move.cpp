// Moves ops from one graph of an Ir to another. Handles stay valid, for the ops and for their results.
#include <algorithm>
#include <unordered_set>

#include "runtime/graph/ir.hpp"
#include "runtime/graph/sequencing.hpp"

namespace pxl {

void replace_input(Op& op, size_t slot, Tensor* by) {
  Tensor* before = op.inputs[slot];
  if (before == by) return;
  op.inputs[slot] = by;
  if (before && std::find(op.inputs.begin(), op.inputs.end(), before) == op.inputs.end())
    std::erase(before->consumers, &op);
  if (by && std::find(by->consumers.begin(), by->consumers.end(), &op) == by->consumers.end())
    by->consumers.push_back(&op);
}

void Graph::move_ops(const std::vector<Op*>& ops, Graph& to) {
  check_open();
  const std::unordered_set<const Op*> moved(ops.begin(), ops.end());
  const auto is_moved = [&](const Op* op) { return moved.count(op) > 0; };
  std::unordered_set<const Tensor*> results;
  for (Op* op : ops)
    for (const Tensor* t : op->outputs) results.insert(t);

  std::unordered_map<const Op*, std::unique_ptr<Op>> owned;
  for (auto& op : ops_)
    if (is_moved(op.get())) owned.emplace(op.get(), std::move(op));
  std::erase_if(ops_, [](const auto& op) { return !op; });
  for (Op* op : ops) {
    op->graph = &to;
    op->id = ir_.next_op_id();
    for (const Graph* callee : op->called) to.depth_ = std::max(to.depth_, callee->depth_ + 1);
    to.ops_.push_back(std::move(owned.at(op)));
  }
  std::vector<std::unique_ptr<Tensor>> taken;
  for (auto& t : tensors_)
    if (results.count(t.get())) taken.push_back(std::move(t));
  std::erase_if(tensors_, [](const auto& t) { return !t; });
  for (auto& t : taken) {
    by_id_.erase(t->id);
    t->graph = &to;
    to.claim_name(t.get(), t->name);
    to.tensors_.push_back(std::move(t));
  }
  for (Sequencing::SequenceScope& block : sequencing_->open) {
    std::erase_if(block.frontier, is_moved);
    std::erase_if(block.made, is_moved);
  }
}

}  // namespace pxl
