// Folds transpositions, reshapes and splits around batched GEMMs, as in attention, into the strides of operands and
// results.
#include "runtime/plan/product_layout.hpp"

#include <algorithm>

#include "runtime/plan/passes.hpp"

namespace pxl {
namespace {

bool is_movement(const Node& node) {
  return node.op && node.op->row->pattern == Pattern::movement && node.op->row->role == Role::compute &&
         node.alias < 0 && !node.effect && node.callees.empty() && node.form == Form::op && !node.in.empty() &&
         node.in[0] && node.out[0]->spec.dtype == DType::float32 &&
         layout_of(*node.op, 0, contiguous(node.in[0]->spec.shape));
}

class Layouts {
 public:
  explicit Layouts(PassContext& context)
      : c_(context), nodes_(context.nodes), free_(nodes_.size(), false), is_product_(nodes_.size(), false) {}

  void run() {
    for (int p = 0; p < count(); ++p) free_[static_cast<size_t>(p)] = is_movement(node(p));
    for (int p = 0; p < count(); ++p) inspect(p);
    if (products_.empty()) return;
    while (settle()) {
    }
    for (Product& product : products_) rewrite(product);
    for (int p = 0; p < count(); ++p)
      if (free_[static_cast<size_t>(p)]) node(p).op = nullptr;
    for (const Product& product : products_) give_result(product);
  }

 private:
  struct Link {
    int node;
    size_t output;
  };
  /// An operand and the data movements that produce it, last one first; the first `level` of them are folded.
  struct Operand {
    std::vector<Link> chain;
    std::vector<std::optional<StridedLayout>> layouts;  ///< by level, within the memory of the movement's operand
    size_t level = 0;
  };
  struct Product {
    int node;
    GemmShape plan;
    Operand operands[2];
  };

  int count() const { return static_cast<int>(nodes_.size()); }
  Node& node(int p) { return nodes_[static_cast<size_t>(p)]; }
  bool free(int p) const { return free_[static_cast<size_t>(p)]; }

  /// Records a batch of float32 GEMMs.
  void inspect(int p) {
    const Node& n = node(p);
    if (!n.op || !n.op->row->product || n.in.size() != 2 || n.out.size() != 1 || n.alias >= 0) return;
    const TensorSpec &a = n.in[0]->spec, &b = n.in[1]->spec;
    if (a.dtype != DType::float32 || a.shape.size() < 3 || b.shape.size() < 3) return;
    if (n.form != Form::op && n.form != Form::product) return;
    const GemmShape plan = n.product ? n.product->shape : n.op->row->product(OpContextStorage(*n.op).site);
    if (plan.batch.empty() || !c_.target.multiplies_in_blocks(a, b, n.out[0]->spec, plan)) return;
    Product product{p, plan, {}};
    for (size_t slot = 0; slot < 2; ++slot) product.operands[slot] = operand(n.in[slot], p);
    const StridedLayout whole[] = {contiguous(a.shape), contiguous(b.shape)};
    for (size_t slot = 0; slot < 2; ++slot)
      for (std::optional<StridedLayout>& layout : product.operands[slot].layouts)
        if (layout && !with_operands(plan, slot == 0 ? *layout : whole[0], slot == 1 ? *layout : whole[1]))
          layout.reset();
    products_.push_back(std::move(product));
    is_product_[static_cast<size_t>(p)] = true;
  }

  Operand operand(const Tensor* tensor, int reader) {
    Operand o;
    o.layouts.push_back(contiguous(tensor->spec.shape));
    for (const Tensor* t = tensor;;) {
      const int made = c_.producer(t);
      if (made < 0 || !free(made) || c_.wanted_outside(t) || c_.aliases.root(t) != t) return o;
      Node& maker = node(made);
      if (c_.aliases.written_between(maker.in[0], made, reader)) return o;
      size_t j = 0;
      while (maker.out[j] != t) ++j;
      o.chain.push_back({made, j});
      t = maker.in[0];
      std::optional<StridedLayout> layout = contiguous(t->spec.shape);
      for (size_t i = o.chain.size(); layout && i-- > 0;)
        layout = layout_of(*node(o.chain[i].node).op, o.chain[i].output, *layout);
      o.layouts.push_back(std::move(layout));
    }
  }

  /// Unfolds movements that have other uses; returns whether there were any. A movement is folded only if all its uses
  /// fold it, so that no value is in memory twice.
  bool settle() {
    bool changed = false;
    const auto keep = [&](int p) {
      changed = changed || free(p);
      free_[static_cast<size_t>(p)] = false;
    };
    for (Product& product : products_) {
      for (Operand& o : product.operands) {
        o.level = 0;
        for (size_t l = 0; l < o.layouts.size(); ++l) {
          if (o.layouts[l]) o.level = l;
          if (l < o.chain.size() && !free(o.chain[l].node)) break;
        }
        for (size_t i = o.level; i < o.chain.size(); ++i) keep(o.chain[i].node);
        // The operand of the last folded movement may itself be a movement: it is not folded.
        if (const int made = c_.producer(source(product, o)); made >= 0) keep(made);
      }
    }
    for (int p = 0; p < count(); ++p)
      if (free(p) && !only_free_readers(p)) keep(p);
    return changed;
  }

  /// The tensor that the GEMM reads in place of its operand.
  const Tensor* source(const Product& product, const Operand& o) {
    if (o.level > 0) return node(o.chain[o.level - 1].node).in[0];
    return node(product.node).in[static_cast<size_t>(&o - product.operands)];
  }

  bool only_free_readers(int p) {
    for (const Tensor* t : node(p).out) {
      if (c_.wanted_outside(t) || c_.aliases.root(t) != t) return false;
      for (int reader : c_.consumers(t))
        if (!free(reader) && !is_product_[static_cast<size_t>(reader)]) return false;
    }
    return true;
  }

  void rewrite(Product& product) {
    Node& n = node(product.node);
    if (product.operands[0].level + product.operands[1].level == 0) return;
    const StridedLayout* at[2];
    for (size_t slot = 0; slot < 2; ++slot) {
      const Operand& o = product.operands[slot];
      at[slot] = &*o.layouts[o.level];
    }
    const std::optional<GemmShape> plan = with_operands(product.plan, *at[0], *at[1]);
    if (!plan) throw Error("operands of a product that are strided only together", {}, Fault::internal);
    const Tensor* sources[] = {source(product, product.operands[0]), source(product, product.operands[1])};
    std::copy(std::begin(sources), std::end(sources), n.in.begin());
    product.plan = *plan;
    n.form = Form::product;
    n.product = {.shape = *plan, .strided = true};
  }

  /// Folds transpositions that are the only use of the GEMM's result into its output strides.
  void give_result(const Product& product) {
    Node& n = node(product.node);
    const Tensor* result = n.out[0];
    StridedLayout axes = contiguous(result->spec.shape);  // of the result, in the axis order of the last transposition
    for (size_t i = 0; i < axes.strides.size(); ++i) axes.strides[i] = static_cast<int64_t>(i);
    std::vector<int> absorbed;
    for (const Tensor* t = result;;) {
      const std::span<const int> readers = c_.consumers(t);
      if (readers.size() != 1 || c_.wanted_outside(t) || c_.aliases.root(t) != t) break;
      const int reader = readers[0];
      const Node& next = node(reader);
      if (!is_movement(next) || !next.op->row->layout || next.out.size() != 1 || is_plain_copy(*next.op)) break;
      if (next.out[0]->spec.size() != result->spec.size()) break;
      axes = *layout_of(*next.op, 0, axes);
      t = next.out[0];
      absorbed.push_back(reader);
    }
    if (absorbed.empty()) return;
    const Shape strides = strides_of(axes.shape);
    StridedLayout layout = contiguous(result->spec.shape);
    for (size_t i = 0; i < strides.size(); ++i) layout.strides[static_cast<size_t>(axes.strides[i])] = strides[i];
    const std::optional<StridedOutputGemm> plan = with_result(product.plan, layout);
    if (!plan) return;
    n.out[0] = node(absorbed.back()).out[0];
    n.form = Form::product;
    if (!n.product) n.product.emplace();
    n.product->shape = plan->plan;
    n.product->exchanged = plan->swapped;
    for (int p : absorbed) node(p).op = nullptr;
  }

  PassContext& c_;
  std::vector<Node>& nodes_;
  std::vector<bool> free_;        ///< movements that are folded
  std::vector<bool> is_product_;  ///< by node: whether it is in products_
  std::vector<Product> products_;
};

}  // namespace

void strided_operands(PassContext& context) { Layouts(context).run(); }

}  // namespace pxl
