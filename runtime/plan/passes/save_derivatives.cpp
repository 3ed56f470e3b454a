// Computes an activation's derivative together with its value, if the backward pass only multiplies by it. The
// derivative takes the memory of the operand. Results keep their bits.
#include <algorithm>

#include "runtime/kernels/fused_update.hpp"
#include "runtime/kernels/value_and_derivative.hpp"
#include "runtime/plan/passes.hpp"

namespace pxl {

namespace {

class DerivativeSaver {
 public:
  explicit DerivativeSaver(PassContext& context) : c_(context), nodes_(context.nodes) {}

  void run() {
    for (size_t p = 0; p < nodes_.size(); ++p)
      if (const UpdateOp* step = update_op_of(nodes_[p]); step && step->kind == UpdateOpKind::function)
        visit(static_cast<int>(p));
  }

 private:
  /// The arithmetic of an elementwise node on operands of its own size; creates its kernel.
  static const UpdateOp* update_op_of(Node& n) {
    if (n.op->row->pattern != Pattern::elementwise || n.op->row->role != Role::compute || n.alias >= 0 || n.effect ||
        !n.callees.empty() || n.product || n.out.size() != 1 || n.in.empty() || n.in.size() > 2)
      return nullptr;
    const auto like_result = [&](const Tensor* t) { return t && t->spec == n.out[0]->spec; };
    if (n.out[0]->spec.dtype != DType::float32 || !std::all_of(n.in.begin(), n.in.end(), like_result)) return nullptr;
    if (!n.kernel) n.kernel = make_kernel(*n.op);
    return n.kernel.update_op();
  }

  /// Rewrites the activation at p and its gradients if these are the only later uses of the operand: the derivative
  /// then replaces the operand, and peak memory does not grow.
  void visit(int p) {
    Node& node = nodes_[static_cast<size_t>(p)];
    const Tensor* x = node.in[0];
    if (c_.producer(x) < 0 || c_.wanted_outside(x) || c_.aliases.root(x) != x) return;
    const int function = node.kernel.update_op()->function;
    std::vector<Node*> gradients;
    for (int q : c_.consumers(x)) {
      if (q == p) continue;
      Node& reader = nodes_[static_cast<size_t>(q)];
      const UpdateOp* step = q > p ? update_op_of(reader) : nullptr;
      if (!step || step->kind != UpdateOpKind::derivative || step->function != function || reader.in[0] == x ||
          c_.aliases.written_between(x, p, q))
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
    node.kernel = value_and_derivative_kernel(static_cast<Unary>(function), x->spec.size());
    node.in_place_candidates.push_back({1, 0});
    node.note += " with derivative";
    for (Node* gradient : gradients) {
      gradient->in[1] = made;
      gradient->kernel = binary_kernel(Binary::mul, DType::float32, x->spec.shape, x->spec.shape, x->spec.shape);
      gradient->note += " by derivative";
    }
  }

  PassContext& c_;
  std::vector<Node>& nodes_;
};

}  // namespace

void save_derivatives(PassContext& context) { DerivativeSaver(context).run(); }

}  // namespace pxl
