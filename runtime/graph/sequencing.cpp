// in_sequence: control dependencies of a new op. An op in a `yes` block follows the previous one; a `no` block is one
// step of the enclosing chain; `pass` blocks are outside the chain.
#include "runtime/graph/sequencing.hpp"

#include <algorithm>

#include "runtime/graph/transaction.hpp"

namespace pxl {

InSequence::InSequence(Graph& graph, Mode mode) : graph_(graph) {
  GraphTransaction::changing(graph.ir());
  auto& open = graph.sequencing_->open;
  Graph::Sequencing::SequenceScope block{mode, {}, {}};
  // A chain inside `pass` starts empty; any other continues the enclosing chain.
  if (!open.empty() && open.back().mode != Mode::pass) block.frontier = open.back().frontier;
  open.push_back(std::move(block));
}

InSequence::~InSequence() {
  auto& open = graph_.sequencing_->open;
  if (open.empty()) return;  // the graph has been rolled back
  const Graph::Sequencing::SequenceScope block = std::move(open.back());
  open.pop_back();
  if (open.empty() || block.mode == Mode::pass || block.made.empty()) return;
  Graph::Sequencing::SequenceScope& outer = open.back();
  if (outer.mode == Mode::yes) {
    outer.frontier = block.made;
    outer.made = block.made;
  } else if (outer.mode == Mode::no) {
    outer.made.insert(outer.made.end(), block.made.begin(), block.made.end());
  }
}

void Graph::Sequencing::move_to_end(Graph& graph, const std::unordered_set<const Op*>& ops) {
  std::stable_partition(graph.ops_.begin(), graph.ops_.end(), [&](const auto& op) { return ops.count(op.get()) == 0; });
  graph.sequencing_->reordered = true;
}

void Graph::Sequencing::add_constraint(Op& op, Op& before) {
  GraphTransaction::changing(op.graph->ir());
  op.after.push_back(&before);
  op.graph->sequencing_->constraints.emplace_back(&op, &before);
}

void Graph::sequence(Op* op) {
  if (sequencing_->open.empty()) return;
  Sequencing::SequenceScope& block = sequencing_->open.back();
  if (block.mode == InSequence::Mode::pass) return;
  op->after = block.frontier;
  if (block.mode == InSequence::Mode::yes) {
    block.frontier = {op};
    block.made = {op};
  } else {
    block.made.push_back(op);
  }
}

}  // namespace pxl
