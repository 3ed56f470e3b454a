// The right operand of a GEMM in a loop's body, if no iteration changes it, is packed once, before the loop.
#include <algorithm>
#include <iterator>
#include <vector>

#include "runtime/kernels/packed_product.hpp"
#include "runtime/plan/passes.hpp"

namespace pxl {

namespace {

class Packer {
 public:
  explicit Packer(PassContext& context) : c_(context) {}

  void run() {
    std::vector<Node> made;
    for (Node& n : c_.nodes)
      if (is_open(n) && c_.loop->is_unchanged(n.in[n.gemm_call->options.b], c_.aliases)) pack(n, made);
    c_.nodes.insert(c_.nodes.begin(), std::move_iterator(made.begin()), std::move_iterator(made.end()));
  }

 private:
  /// Whether the node reads its right operand as that of the GEMM only.
  static bool is_open(const Node& n) {
    if (!n.gemm_call || !n.kernel || !n.callees.empty() || n.effect || !gains_by_packing(*n.gemm_call)) return false;
    return std::count(n.in.begin(), n.in.end(), n.in[n.gemm_call->options.b]) == 1;
  }

  void pack(Node& n, std::vector<Node>& made) {
    const GemmCall call = *n.gemm_call;
    const Tensor* weight = n.in[call.options.b];
    const size_t own = product_kernel(call.plan, call.options).phases().size();
    const Kernel product = packed_product_kernel(call);
    std::vector<Phase> phases(n.kernel.phases().begin(), n.kernel.phases().end() - static_cast<std::ptrdiff_t>(own));
    phases.insert(phases.end(), product.phases().begin(), product.phases().end());
    n.kernel =
        Kernel::parallel(std::move(phases), n.kernel.cost_ns()).with_workspace(WorkspaceLayout(product.workspace()));
    n.in[call.options.b] = packed(n, *weight, call.plan, made);
    n.note += " rhs packed";
    n.gemm_call = nullptr;
    n.product.reset();
  }

  /// The packed weight; products that read the same part of it share it.
  const Tensor* packed(const Node& n, const Tensor& weight, const GemmShape& p, std::vector<Node>& made) {
    const auto same = [&](const Packed& other) {
      return other.of == &weight && other.part.b_offset == p.b_offset && other.part.ldb == p.ldb &&
             other.part.n == p.n && other.part.k == p.k;
    };
    if (const auto found = std::find_if(packed_.begin(), packed_.end(), same); found != packed_.end())
      return found->tensor;
    Tensor t = weight;
    t.kind = TensorKind::result;
    t.spec.shape = {packed_right_size(p)};
    t.name += "_packed";
    t.id += "_packed";
    t.producer = nullptr;
    t.consumers.clear();
    c_.constants.push_back(std::move(t));
    packed_.push_back({&weight, p, &c_.constants.back()});
    Node node;
    node.op = n.op;
    node.in = {&weight};
    node.out = {&c_.constants.back()};
    node.once = true;
    node.kernel = pack_right_kernel(p);
    node.note = " rhs packed before the loop";
    made.push_back(std::move(node));
    return &c_.constants.back();
  }

  struct Packed {
    const Tensor* of = nullptr;
    GemmShape part;  ///< which part of it
    const Tensor* tensor = nullptr;
  };
  PassContext& c_;
  std::vector<Packed> packed_;
};

}  // namespace

void pack_loop_weights(PassContext& context) {
  if (context.loop) Packer(context).run();
}

}  // namespace pxl
