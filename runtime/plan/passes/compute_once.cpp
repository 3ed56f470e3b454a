// Computes once what depends only on values that stay the same in all iterations of a loop, or in all runs of a
// program. These are nodes, and the forms in which kernels read operands, such as packed or transformed weights. They
// come first. Bits do not change.
#include <algorithm>
#include <iterator>
#include <vector>

#include "runtime/plan/passes.hpp"

namespace pxl {

namespace {

class Once {
 public:
  explicit Once(PassContext& context) : c_(context) {}

  void run() {
    std::vector<Node> others;
    c_.index_uses();
    for (Node& n : c_.nodes) {
      if (depends_on_same_values(n)) {
        n.once = true;
        for (const Tensor* t : n.out) same_.insert(t);
        once_.push_back(std::move(n));
        continue;
      }
      prepare(n);
      others.push_back(std::move(n));
    }
    c_.nodes = std::move(once_);
    c_.nodes.insert(c_.nodes.end(), std::move_iterator(others.begin()), std::move_iterator(others.end()));
  }

 private:
  /// Whether a tensor has the same value in all runs, and no node that stays behind makes it. A view node may stay.
  bool stays(const Tensor* t) const {
    return same_.count(t) > 0 || (c_.producer(t) < 0 && c_.unchanged->holds(t, c_.aliases));
  }

  /// Whether a node may run once. Its results stay in memory, so that they may not be larger than its operands.
  bool depends_on_same_values(const Node& n) const {
    if (!n.callees.empty() || n.effect || !n.modified.empty() || n.alias >= 0 || may_fail(n)) return false;
    bool computes = true;
    for_each_leaf(n, [&](const Node& m) {
      computes &= m.op->row->role == Role::compute && m.op->row->exchange == Exchange::none;
    });
    if (!computes) return false;
    int64_t given = 0, made = 0;
    for (const Tensor* t : n.in) {
      if (!t) continue;
      if (!stays(t)) return false;
      given += t->spec.bytes();
    }
    // A result that is stored, or takes the place of a variable, is computed there.
    const auto takes_away = [&](int p) {
      const Node& reader = c_.nodes[static_cast<size_t>(p)];
      return reader.effect || reader.overwritten_by >= 0;
    };
    for (const Tensor* t : n.out) {
      if (c_.wanted_outside(t) || !c_.aliases.writes(t).empty()) return false;
      if (std::ranges::any_of(c_.consumers(t), takes_away)) return false;
      made += t->spec.bytes();
    }
    return made > 0 && made <= given;
  }

  /// Lets a node read an operand that stays the same in the form that its kernel makes of it.
  void prepare(Node& n) {
    Node& head = n.form == Form::fused ? n.members.front() : n;
    if (!n.callees.empty() || n.effect || has_members(head.form)) return;
    if (head.form == Form::product && !head.product->in_blocks) return;
    const auto is_same = [&](const Tensor* t) { return t && stays(t); };
    if (std::ranges::none_of(head.in, is_same)) return;
    const auto form = c_.target.prepares(head);
    if (!form || !is_same(head.in[form->slot])) return;
    const Tensor* const operand = head.in[form->slot];
    int64_t readers = 0;
    for_each_leaf(n, [&](const Node& m) { readers += std::ranges::count(m.in, operand); });
    if (readers != 1) return;
    const Tensor* const prepared = made(head, *form);
    std::ranges::replace(n.in, operand, prepared);
    head.in[form->slot] = prepared;
    head.prepared = static_cast<int>(form->slot);
    head.layout = form->layout;
  }

  /// The form of an operand of `head`; products that read the same part of a tensor share it.
  const Tensor* made(const Node& head, const Target::PreparedForm& form) {
    const Tensor& operand = *head.in[form.slot];
    for (const Node& n : once_) {
      if (n.form != Form::prepared_operand || n.in[0] != &operand || n.layout != form.layout) continue;
      if (!n.product || !head.product) continue;
      const GemmShape &a = n.product->shape, &b = head.product->shape;
      if (a.b_offset == b.b_offset && a.ldb == b.ldb && a.n == b.n && a.k == b.k) return n.out[0];
    }
    Tensor t = operand;
    t.kind = TensorKind::result;
    t.spec = {.shape = {form.bytes}, .dtype = DType::uint8, .meta_shape = {}};
    t.name += "_prepared";
    t.id += "_prepared";
    t.producer = nullptr;
    t.consumers.clear();
    c_.constants.push_back(std::move(t));
    Node node;
    node.op = head.op;
    node.site = head.site;
    node.in = {&operand};
    node.out = {&c_.constants.back()};
    node.once = true;
    node.form = Form::prepared_operand;
    node.prepared = static_cast<int>(form.slot);
    node.layout = form.layout;
    if (head.product) node.product = {.shape = head.product->shape};
    once_.push_back(std::move(node));
    return &c_.constants.back();
  }

  PassContext& c_;
  std::vector<Node> once_;
  PointerSet<const Tensor*> same_;  ///< results of these nodes
};

}  // namespace

void compute_once(PassContext& context) {
  if (context.unchanged) Once(context).run();
}

}  // namespace pxl
