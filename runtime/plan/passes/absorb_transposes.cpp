// Folds transpositions of the last two axes that only GEMMs read into the flags of the GEMMs.
#include "runtime/plan/passes.hpp"

#include <numeric>

namespace pxl {

namespace {

/// Whether the op only swaps the last two axes.
bool swaps_last_axes(const Op& op) {
  if (!op.row->layout || op.inputs.size() != 1 || op.outputs.size() != 1) return false;
  const auto rank = std::ssize(op.inputs[0]->spec.shape);
  if (rank < 2) return false;
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), int64_t{0});
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  const StridedLayout operand = contiguous(op.inputs[0]->spec.shape), swapped = permuted(operand, axes);
  const std::optional<StridedLayout> made = layout_of(op, 0, operand);
  return made && made->shape == swapped.shape && made->strides == swapped.strides && made->offset == 0;
}

bool is_product(const Node& node) {
  return node.op && node.op->row->product && node.in.size() == 2 && node.form == Form::op;
}

/// Whether all uses of the node's result are GEMMs that can read the untransposed operand.
bool only_products_read(const PassContext& context, int position) {
  const Node& node = context.nodes[static_cast<size_t>(position)];
  const Tensor* result = node.out[0];
  if (context.wanted_outside(result) || context.aliases.root(result) != result) return false;
  const std::span<const int> readers = context.consumers(result);
  if (readers.empty()) return false;
  for (int reader : readers)
    if (!is_product(context.nodes[static_cast<size_t>(reader)]) ||
        context.aliases.written_between(node.in[0], position, reader))
      return false;
  return true;
}

}  // namespace

void absorb_transposes(PassContext& context) {
  const auto foldable = [&](const Tensor* operand) -> const Node* {
    const int made = context.producer(operand);
    if (made < 0) return nullptr;
    const Node& node = context.nodes[static_cast<size_t>(made)];
    if (!node.op || !swaps_last_axes(*node.op) || is_plain_copy(*node.op)) return nullptr;
    return only_products_read(context, made) ? &node : nullptr;
  };
  // Collect all changes first: a rewritten GEMM is no longer recognised as one.
  struct Change {
    Node* node;
    const Tensor* operands[2];
    bool transposed[2];
  };
  std::vector<Change> changes;
  for (Node& node : context.nodes) {
    if (!is_product(node)) continue;
    Change change{&node, {node.in[0], node.in[1]}, {false, false}};
    for (int slot = 0; slot < 2; ++slot)
      if (const Node* transposition = foldable(change.operands[slot])) {
        change.operands[slot] = transposition->in[0];
        change.transposed[slot] = true;
      }
    if (change.transposed[0] || change.transposed[1]) changes.push_back(change);
  }
  std::vector<Node*> absorbed;
  for (Change& change : changes) {
    Node& node = *change.node;
    for (size_t slot = 0; slot < 2; ++slot) {
      if (!change.transposed[slot]) continue;
      absorbed.push_back(&context.nodes[static_cast<size_t>(context.producer(node.in[slot]))]);
      node.in[slot] = change.operands[slot];
    }
    node.form = Form::product;
    node.product = {
        .shape = gemm_shape(node.in[0]->spec.shape, change.transposed[0], node.in[1]->spec.shape, change.transposed[1]),
        .transposed = {change.transposed[0], change.transposed[1]}};
  }
  for (Node* node : absorbed) node->op = nullptr;
}

}  // namespace pxl
