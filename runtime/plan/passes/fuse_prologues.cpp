// Prologue fusion: the right operand of a GEMM with few rows is computed block by block while the GEMM reads it, so
// that a weight of few bytes (int8 with scales, float16 cast to float32) is read once and its float32 form never
// stored.
#include "runtime/kernels/product.hpp"
#include "runtime/plan/passes.hpp"

namespace pxl {

namespace {

class Prologues {
 public:
  explicit Prologues(PassContext& context) : c_(context) {}

  void run() {
    for (size_t q = 0; q < c_.nodes.size(); ++q) {
      const Node& product = c_.nodes[q];
      if (!product.op || !product.gemm_call || !is_open(product)) continue;
      const int made = c_.producer(product.in[product.gemm_call->options.b]);
      if (made < 0) continue;
      const auto p = static_cast<size_t>(made);
      if (p < q && is_prologue(c_.nodes[p]) && can_merge(p, q)) merge(p, q);
    }
  }

 private:
  static bool is_open(const Node& n) {
    const GemmCall& call = *n.gemm_call;
    return is_skinny_product(call.plan) && call.options.add_to < 0 && !call.options.right.compute &&
           n.callees.empty() && !n.effect;
  }

  bool is_prologue(const Node& n) const {
    if (!n.op || n.gemm_call || !n.kernel || n.effect || !n.callees.empty() || !n.modified.empty() || n.alias >= 0 ||
        n.out.size() != 1 || n.out[0]->spec.dtype != DType::float32)
      return false;
    return n.kernel.is_fusion_consumer() && n.kernel.phases().size() == 1 && n.kernel.workspace().per_call == 0 &&
           n.kernel.phases()[0].iterations == n.out[0]->spec.size() && !c_.wanted_outside(n.out[0]) &&
           c_.consumers(n.out[0]).size() == 1;
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
    const Node made = std::move(c_.nodes[p]);
    c_.nodes[p] = Node();
    Node& n = c_.nodes[q];
    GemmCall call = *n.gemm_call;
    const size_t own = product_kernel(call.plan, call.options).phases().size(), first = n.in.size();
    call.options.right.per_thread = made.kernel.workspace().per_thread;
    call.options.right.compute = [part = made.kernel.phases()[0].part, first](
                                     const Buffers& b, float* to, int64_t begin, int64_t end, std::byte* memory) {
      // The part writes elements [begin, end) of an output that begins that much before the block.
      std::byte* out = reinterpret_cast<std::byte*>(to - begin);
      Buffers operands = b.with(b.in + first, &out);
      operands.thread_workspace = memory;
      part(operands, begin, end);
    };
    if (const NarrowSource* source = made.kernel.narrow_source(); source && source->fits(call.plan.n)) {
      call.options.right.narrow = *source;
      call.options.right.narrow->slot += first;
      if (source->scales >= 0) call.options.right.narrow->scales += static_cast<int>(first);
    }
    const Kernel product = product_kernel(call.plan, call.options);
    std::vector<Phase> phases(n.kernel.phases().begin(), n.kernel.phases().end() - static_cast<std::ptrdiff_t>(own));
    phases.insert(phases.end(), product.phases().begin(), product.phases().end());
    n.kernel = Kernel::parallel(std::move(phases), n.kernel.cost_ns() + made.kernel.cost_ns())
                   .with_workspace(WorkspaceLayout(product.workspace()));
    n.in[call.options.b] = nullptr;
    n.in.insert(n.in.end(), made.in.begin(), made.in.end());
    n.gemm_call = nullptr;
    n.product.reset();
    n.parts.insert(n.parts.begin(), made.parts.begin(), made.parts.end());
    const std::string inside = made.note.empty() ? " " + std::string(made.op->row->name) : made.note;
    n.note = inside + " in" + (n.note.empty() ? " " + std::string(n.op->row->name) : n.note);
  }

  PassContext& c_;
};

}  // namespace

void fuse_prologues(PassContext& context) { Prologues(context).run(); }

}  // namespace pxl
