// Computes an activation's derivative together with its value, if the backward pass only multiplies by it. The
// derivative takes the memory of the operand. Results keep their bits.
#include <algorithm>

#include "runtime/plan/passes.hpp"

namespace pxl {

namespace {

class DerivativeSaver {
 public:
  explicit DerivativeSaver(PassContext& context) : c_(context), nodes_(context.nodes) {}

  void run() {
    for (size_t p = 0; p < nodes_.size(); ++p)
      if (is_plain(nodes_[p]) && nodes_[p].in.size() == 1) visit(static_cast<int>(p));
  }

 private:
  /// Whether a node is elementwise, on operands of its own size.
  static bool is_plain(const Node& n) {
    if (n.op->row->pattern != Pattern::elementwise || n.op->row->role != Role::compute || n.alias >= 0 || n.effect ||
        !n.callees.empty() || n.form != Form::op || n.out.size() != 1)
      return false;
    const TensorSpec& spec = n.out[0]->spec;
    return spec.dtype == DType::float32 && spec.size() > 1 &&
           std::all_of(n.in.begin(), n.in.end(), [&](const Tensor* t) { return t && t->spec == spec; });
  }

  /// Rewrites the activation at p and its gradients if these are the only later uses of the operand. The derivative
  /// then replaces the operand, and peak memory does not grow.
  void visit(int p) {
    Node& node = nodes_[static_cast<size_t>(p)];
    const Tensor* x = node.in[0];
    if (c_.producer(x) < 0 || c_.wanted_outside(x) || c_.aliases.root(x) != x) return;
    std::vector<Node*> gradients;
    for (int q : c_.consumers(x)) {
      if (q == p) continue;
      Node& reader = nodes_[static_cast<size_t>(q)];
      if (q < p || !is_plain(reader) || reader.in.size() != 2 || reader.in[0] == x ||
          !c_.target.saves_derivative(*node.op->row, *reader.op->row) || c_.aliases.written_between(x, p, q))
        return;
      gradients.push_back(&reader);
    }
    if (gradients.empty()) return;
    Tensor derivative = *node.out[0];
    derivative.name += "_derivative";
    derivative.id += "_derivative";
    derivative.consumers.clear();
    c_.constants.push_back(std::move(derivative));
    const Tensor* made = &c_.constants.back();
    node.out.push_back(made);
    node.form = Form::with_derivative;
    node.gradient = gradients[0]->op;
    node.in_place_candidates.push_back({1, 0});
    for (Node* gradient : gradients) {
      gradient->in[1] = made;
      gradient->form = Form::by_derivative;
    }
  }

  PassContext& c_;
  std::vector<Node>& nodes_;
};

}  // namespace

void save_derivatives(PassContext& context) { DerivativeSaver(context).run(); }

}  // namespace pxl
