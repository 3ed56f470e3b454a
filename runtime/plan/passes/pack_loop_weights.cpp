// The right operand of a GEMM in a loop's body, if no iteration changes it, is packed once, before the loop.
#include <algorithm>
#include <iterator>
#include <vector>

#include "runtime/plan/passes.hpp"

namespace pxl {

namespace {

class Packer {
 public:
  explicit Packer(PassContext& context) : c_(context) {}

  void run() {
    std::vector<Node> made;
    for (Node& n : c_.nodes) {
      Node* product = open_product(n);
      if (!product || !c_.loop->is_unchanged(product->in[1], c_.aliases)) continue;
      const Tensor* weight = packed(*product, made);
      std::ranges::replace(n.in, product->in[1], weight);
      product->in[1] = weight;
      product->product->packed = true;
    }
    c_.nodes.insert(c_.nodes.begin(), std::move_iterator(made.begin()), std::move_iterator(made.end()));
  }

 private:
  /// The product that a node is or begins with, if it gains and reads its right operand as that only.
  Node* open_product(Node& n) const {
    const Node* product = n.op && n.callees.empty() && !n.effect ? product_in_blocks(n) : nullptr;
    const bool open = product && c_.target.gains_by_packing(*product) && std::ranges::count(n.in, product->in[1]) == 1;
    return open ? const_cast<Node*>(product) : nullptr;
  }

  /// The packed weight; products that read the same part of it share it.
  const Tensor* packed(const Node& n, std::vector<Node>& made) {
    const Tensor& weight = *n.in[1];
    const GemmShape& p = n.product->shape;
    const auto same = [&](const Packed& other) {
      return other.of == &weight && other.part.b_offset == p.b_offset && other.part.ldb == p.ldb &&
             other.part.n == p.n && other.part.k == p.k;
    };
    if (const auto found = std::find_if(packed_.begin(), packed_.end(), same); found != packed_.end())
      return found->tensor;
    Tensor t = weight;
    t.kind = TensorKind::result;
    t.spec.shape = {c_.target.packed_size(p)};
    t.name += "_packed";
    t.id += "_packed";
    t.producer = nullptr;
    t.consumers.clear();
    c_.constants.push_back(std::move(t));
    packed_.push_back({&weight, p, &c_.constants.back()});
    Node node;
    node.op = n.op;
    node.site = n.site;
    node.in = {&weight};
    node.out = {&c_.constants.back()};
    node.once = true;
    node.form = Form::packed_operand;
    node.product = {.shape = p};
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
