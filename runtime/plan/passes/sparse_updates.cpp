// Merges a scatter of rows into zeros (the gradient of a gather, or of a slice at an index), or a sum of such, with the
// additive update that alone reads it: rows that no index names are neither read nor written.
#include <algorithm>

#include "runtime/kernels/index.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/ops/table.hpp"
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
      const std::vector<size_t> made = scatters_of(update.in[1], q);
      if (made.empty() || update.in.size() + 2 * made.size() > SparseUpdateSlots::max_operands) continue;
      Kernel probe = kernel_for(*update.op, {sparse_update_probe});
      if (may_keep_rest(update, probe)) merge(made, q, std::move(probe));
    }
  }

 private:
  static bool is_plain(const Node& n) {
    return n.op && !n.kernel && n.callees.empty() && !n.effect && n.output_aliases.empty();
  }

  bool is_additive_update(const Node& n) const {
    if (!is_plain(n) || !n.op->row->additive || n.alias != 0 || n.modified != std::vector<int>{0} || n.in.size() < 2 ||
        !n.in[0] || !n.in[1])
      return false;
    const Tensor *t = n.in[0], *x = n.in[1];
    // Other operands are the same for all rows.
    for (size_t slot = 2; slot < n.in.size(); ++slot)
      if (n.in[slot] && n.in[slot]->spec.size() != 1) return false;
    return t->spec.shape == x->spec.shape;
  }

  /// The node that makes a tensor before node `end` for one reader; null if there is none.
  const Node* made_for_one(const Tensor* t, size_t end) const {
    const int p = c_.producer(t);
    if (p < 0 || static_cast<size_t>(p) >= end || c_.wanted_outside(t) || c_.consumers(t).size() != 1) return nullptr;
    return &c_.nodes[static_cast<size_t>(p)];
  }

  /// A sum of tensors of its own spec. Those of float16 are rounded once, which rows one by one would not be. An
  /// earlier pass may have made its kernel.
  static bool is_sum(const Node& n) {
    static const OpRow &add = get_op("add"), &sum = get_op("sum_n");
    if (!n.op) return false;
    const TensorSpec& spec = n.out[0]->spec;
    return (n.op->row == &add || n.op->row == &sum) && n.note.empty() && spec.dtype != DType::float16 &&
           std::all_of(n.in.begin(), n.in.end(), [&](const Tensor* t) { return t && t->spec == spec; });
  }

  /// Positions of the scatters that x is, or is the sum of, if they may be merged with its reader q.
  std::vector<size_t> scatters_of(const Tensor* x, size_t q) const {
    const Node* made = made_for_one(x, q);
    if (!made) return {};
    const bool summed = is_sum(*made);
    std::vector<size_t> found;
    int64_t axis = -1, elements = 0;
    for (const Tensor* term : summed ? made->in : std::vector<const Tensor*>{x}) {
      const Node* scatter = made_for_one(term, q);
      if (!scatter) return {};
      const auto p = static_cast<size_t>(scatter - c_.nodes.data());
      const int64_t along = scatter_axis(*scatter);
      if (along < 0 || (axis >= 0 && along != axis) || !can_merge(p, q)) return {};
      axis = along;
      elements += scatter->in[0]->spec.size();
      found.push_back(p);
    }
    if (elements > x->spec.size() / min_share_left) return {};
    return found;
  }

  /// Whether rows that the indices do not name may be left alone, as far as is known before the run.
  static bool may_keep_rest(const Node& n, const Kernel& probe) {
    for (size_t slot = 2; slot < n.in.size(); ++slot)
      if (n.in[slot]) return true;
    const std::vector<const std::byte*> operands(n.in.size(), nullptr);
    return keeps_where_zero(probe, operands, 0, 1, n.in[0]->spec.dtype, Buffers{nullptr, nullptr});
  }

  /// The axis along which a node adds long rows to zeros; -1 if it does not.
  static int64_t scatter_axis(const Node& n) {
    if (!is_plain(n) || !n.op->row->scatter_add || !n.modified.empty() || n.in.size() != 2) return -1;
    const OpContextStorage storage(*n.op);
    const ScatterAdd scatter = n.op->row->scatter_add(storage.site);
    if (scatter.axis < 0) return -1;
    const Shape& shape = n.out[0]->spec.shape;
    int64_t row = 1;
    for (size_t d = static_cast<size_t>(scatter.axis) + 1; d < shape.size(); ++d) row *= shape[d];
    return row >= min_row ? scatter.axis : -1;
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

  void merge(const std::vector<size_t>& scatters, size_t q, Kernel probe) {
    Node& n = c_.nodes[q];
    const TensorSpec t = n.in[0]->spec, x = n.in[1]->spec;
    std::vector<ScatteredRows> terms;
    n.flops = 0;
    if (const auto made = static_cast<size_t>(c_.producer(n.in[1])); made != scatters[0]) remove(made, n);  // the sum
    for (const size_t p : scatters) {
      const Node scatter = remove(p, n);
      if (may_fail(*scatter.op)) n.checks.push_back({scatter.op, static_cast<int>(n.in.size()) + 1});
      const OpContextStorage storage(*scatter.op);
      const ScatterAdd s = scatter.op->row->scatter_add(storage.site);
      terms.push_back({n.in.size(), n.in.size() + 1, scatter.in[1]->spec, s.axis, s.batch, s.ignore_out_of_range});
      n.in.insert(n.in.end(), scatter.in.begin(), scatter.in.end());
      n.flops += scatter.in[0]->spec.size() * 2;
      n.note += " " + std::string(scatter.op->row->name);
    }
    n.note += "+" + std::string(n.op->row->name);
    std::sort(n.parts.begin(), n.parts.end());
    n.kernel = sparse_update_kernel(
        t, x, {.count = n.in.size()}, terms,
        kernel_for(*n.op, Shape(x.shape.begin() + static_cast<std::ptrdiff_t>(terms[0].axis) + 1, x.shape.end())),
        std::move(probe));
    n.in[1] = nullptr;
    n.in_place_candidates.clear();
  }

  /// Takes a node away, whose part node `to` does.
  Node remove(size_t p, Node& to) {
    Node node = std::move(c_.nodes[p]);
    c_.nodes[p] = Node();
    to.parts.insert(to.parts.begin(), node.parts.begin(), node.parts.end());
    return node;
  }

  PassContext& c_;
};

}  // namespace

void sparse_updates(PassContext& context) { SparseUpdates(context).run(); }

}  // namespace pxl
