// Prologue fusion: a GEMM with few rows computes its right operand block by block while reading it. A weight of few
// bytes (int8 with scales, float16 cast to float32) is then read once, and its float32 form is never stored.
#include <utility>

#include "runtime/plan/passes.hpp"

namespace pxl {

namespace {

class Prologues {
 public:
  explicit Prologues(PassContext& context) : c_(context) {}

  void run() {
    for (size_t q = 0; q < c_.nodes.size(); ++q) {
      const Node* product = product_of(c_.nodes[q]);
      const int made = product ? c_.producer(product->in[1]) : -1;
      if (made < 0) continue;
      const auto p = static_cast<size_t>(made);
      if (p < q && is_prologue(c_.nodes[p]) && can_merge(p, q)) merge(p, q);
    }
  }

 private:
  /// The product that a node is or begins with, if it may compute its right operand.
  const Node* product_of(const Node& n) const {
    const Node* product = n.op && n.callees.empty() && !n.effect ? product_in_blocks(n) : nullptr;
    return product && c_.target.computes_operands(product->product->shape) ? product : nullptr;
  }

  bool is_prologue(const Node& n) const {
    return n.op && !n.effect && n.callees.empty() && n.modified.empty() && n.alias < 0 && n.out.size() == 1 &&
           n.out[0]->spec.dtype == DType::float32 && c_.target.element_order(n) == ElementOrder::elementwise &&
           !c_.wanted_outside(n.out[0]) && c_.consumers(n.out[0]).size() == 1;
  }

  /// Whether the operands of node p are the same at q, and q does not change their memory.
  bool can_merge(size_t p, size_t q) const {
    for (const Tensor* t : c_.nodes[p].in) {
      if (!t) continue;
      if (c_.aliases.written_between(t, static_cast<int>(p), static_cast<int>(q))) return false;
      for (int slot : c_.nodes[q].modified)
        if (c_.aliases.root(c_.nodes[q].in[static_cast<size_t>(slot)]) == c_.aliases.root(t)) return false;
    }
    return true;
  }

  void merge(size_t p, size_t q) {
    std::vector<Node> both;
    for (size_t at : {p, q}) both.push_back(std::exchange(c_.nodes[at], Node()));
    c_.nodes[q] = compose(Form::prologue, std::move(both));
  }

  PassContext& c_;
};

}  // namespace

void fuse_prologues(PassContext& context) { Prologues(context).run(); }

}  // namespace pxl
