// Merges a scatter of rows into zeros (the gradient of a gather, or of a slice at an index) with the additive update
// that alone reads it: rows that no index names are neither read nor written.
#include "runtime/kernels/index.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/plan/passes.hpp"

namespace pxl {

namespace {

constexpr int64_t min_row = 8;         // elements: shorter rows cost more to find than to update. Not measured
constexpr int64_t min_share_left = 4;  // the indices name at most one row in this number. Not measured

class SparseUpdates {
 public:
  explicit SparseUpdates(PassContext& context) : c_(context) {}

  void run() {
    for (size_t q = 0; q < c_.nodes.size(); ++q) {
      const Node& update = c_.nodes[q];
      if (!is_additive_update(update)) continue;
      const int made = c_.producer(update.in[1]);
      if (made < 0) continue;
      const auto p = static_cast<size_t>(made);
      if (p >= q || !is_sparse(c_.nodes[p]) || !can_merge(p, q)) continue;
      Kernel probe = kernel_for(*update.op, {sparse_update_probe});
      if (may_keep_rest(update, probe)) merge(p, q, std::move(probe));
    }
  }

 private:
  static bool is_plain(const Node& n) {
    return n.op && !n.kernel && n.callees.empty() && !n.effect && n.output_aliases.empty();
  }

  bool is_additive_update(const Node& n) const {
    if (!is_plain(n) || !n.op->row->additive || n.alias != 0 || n.modified != std::vector<int>{0} || n.in.size() < 2 ||
        n.in.size() + 2 > SparseUpdateSlots::max_operands || !n.in[0] || !n.in[1])
      return false;
    const Tensor *t = n.in[0], *x = n.in[1];
    // Other operands are the same for all rows.
    for (size_t slot = 2; slot < n.in.size(); ++slot)
      if (n.in[slot] && n.in[slot]->spec.size() != 1) return false;
    return t->spec.shape == x->spec.shape && !c_.wanted_outside(x) && c_.consumers(x).size() == 1;
  }

  /// Whether rows that the indices do not name may be left alone, as far as is known before the run.
  static bool may_keep_rest(const Node& n, const Kernel& probe) {
    for (size_t slot = 2; slot < n.in.size(); ++slot)
      if (n.in[slot]) return true;
    const std::vector<const std::byte*> operands(n.in.size(), nullptr);
    return keeps_where_zero(probe, operands, 0, 1, n.in[0]->spec.dtype, Buffers{nullptr, nullptr});
  }

  static bool is_sparse(const Node& n) {
    if (!is_plain(n) || !n.op->row->scatter_add || !n.modified.empty() || n.in.size() != 2) return false;
    const OpContextStorage storage(*n.op);
    const ScatterAdd scatter = n.op->row->scatter_add(storage.site);
    if (scatter.axis < 0) return false;
    const Shape& shape = n.out[0]->spec.shape;
    int64_t row = 1;
    for (size_t d = static_cast<size_t>(scatter.axis) + 1; d < shape.size(); ++d) row *= shape[d];
    return row >= min_row && n.in[0]->spec.size() <= n.out[0]->spec.size() / min_share_left;
  }

  /// Whether the scatter's operands are the same at the update, and their memory is not the updated one.
  bool can_merge(size_t p, size_t q) const {
    for (const Tensor* t : c_.nodes[p].in)
      if (c_.aliases.root(t) == c_.aliases.root(c_.nodes[q].in[0]) ||
          c_.aliases.written_between(t, static_cast<int>(p), static_cast<int>(q)))
        return false;
    return true;
  }

  /// The update's kernel for other extents of its first two operands.
  static Kernel kernel_for(const Op& op, const Shape& shape) {
    OpContextStorage storage(op);
    std::vector<TensorSpec> specs = {op.inputs[0]->spec, op.inputs[1]->spec};
    for (size_t slot : {0, 1}) {
      specs[slot].shape = shape;
      storage.in[slot] = &specs[slot];
    }
    storage.out[0].shape = shape;
    return kernel_of({*op.row, storage.in, op.attrs, storage.out, {}});
  }

  void merge(size_t p, size_t q, Kernel probe) {
    const Node scatter = std::move(c_.nodes[p]);
    c_.nodes[p] = Node();
    Node& n = c_.nodes[q];
    const OpContextStorage storage(*scatter.op);
    const ScatterAdd s = scatter.op->row->scatter_add(storage.site);
    const TensorSpec &t = n.in[0]->spec, &x = scatter.out[0]->spec;
    SparseUpdateSlots slots;
    slots.dy = n.in.size();
    slots.indices = slots.dy + 1;
    slots.count = slots.dy + 2;
    n.kernel = sparse_update_kernel(
        t, x, scatter.in[1]->spec, s.axis, s.ignore_out_of_range, s.batch, slots,
        kernel_for(*n.op, Shape(x.shape.begin() + static_cast<std::ptrdiff_t>(s.axis) + 1, x.shape.end())),
        std::move(probe));
    n.in[1] = nullptr;
    n.in.insert(n.in.end(), scatter.in.begin(), scatter.in.end());
    n.in_place_candidates.clear();
    n.parts.insert(n.parts.begin(), scatter.parts.begin(), scatter.parts.end());
    n.flops = scatter.in[0]->spec.size() * 2;
    n.note += " " + std::string(scatter.op->row->name) + "+" + std::string(n.op->row->name);
  }

  PassContext& c_;
};

}  // namespace

void sparse_updates(PassContext& context) { SparseUpdates(context).run(); }

}  // namespace pxl
