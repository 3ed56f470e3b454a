// Merges a scatter of rows into zeros, or a sum of such scatters, with the additive update that alone reads it. The
// scatter is the gradient of a gather, or of a slice at an index. Rows that no index names are neither read nor
// written.
#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/ops/run.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/plan/passes.hpp"

namespace pxl {

namespace {

constexpr int64_t min_row = 8;         // elements: a vector of AVX2, which shorter rows leave partly empty
constexpr int64_t min_share_left = 4;  // the indices name at most one row in this number

class SparseUpdates {
 public:
  explicit SparseUpdates(PassContext& context) : c_(context) {}

  void run() {
    for (size_t q = 0; q < c_.nodes.size(); ++q) {
      const Node& update = c_.nodes[q];
      if (!is_additive_update(update)) continue;
      const std::vector<size_t> made = scatters_of(update.in[1], q);
      if (made.empty() || update.in.size() + 2 * made.size() > c_.target.max_scattered) continue;
      if (may_keep_rest(update)) merge(made, q);
    }
  }

 private:
  static bool is_plain(const Node& n) {
    return n.op && n.form == Form::op && n.callees.empty() && !n.effect && n.output_aliases.empty();
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

  /// A sum of tensors that all have the sum's spec. A sum in a narrow dtype is excluded: it is rounded once, and
  /// separate rows would not be.
  static bool is_sum(const Node& n) {
    static const OpRow &add = get_op("add"), &sum = get_op("sum_n");
    if (!n.op) return false;
    const TensorSpec& spec = n.out[0]->spec;
    return (n.op->row == &add || n.op->row == &sum) && n.form == Form::op && !is_narrow(spec.dtype) &&
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

  /// Whether rows that the indices do not name may be left alone, as far as is known before the run. The update by
  /// zeros must change no number, or have operands that only a run knows.
  static bool may_keep_rest(const Node& n) {
    for (size_t slot = 2; slot < n.in.size(); ++slot)
      if (n.in[slot]) return true;
    // A factor of t shows in 1 and -1.5, a factor of x that is not finite in all. Both fit every floating dtype.
    constexpr double numbers[] = {1.0, -1.5, 0.0, 0.25};
    const Array before = Array::from<double>({std::size(numbers)}, numbers).cast(n.in[0]->spec.dtype);
    OpContextStorage storage(*n.op);
    std::vector<TensorSpec> specs = {n.in[0]->spec, n.in[1]->spec};
    for (size_t slot : {0, 1}) {
      specs[slot].shape = before.shape();
      storage.in[slot] = &specs[slot];
    }
    storage.out[0].shape = before.shape();
    std::vector<Array> in(n.in.size());
    in[0] = before;
    in[1] = Array::zeros(specs[1].dtype, before.shape());
    const Array after = run_op({*n.op->row, storage.in, n.op->attrs, storage.out, {}}, std::move(in))[0];
    return std::memcmp(after.raw(), before.raw(), static_cast<size_t>(before.bytes())) == 0;
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

  /// The update takes over the work of the scatters, and of their sum.
  void merge(const std::vector<size_t>& scatters, size_t q) {
    std::vector<Node> members;
    const auto take = [&](size_t p) { members.push_back(std::exchange(c_.nodes[p], Node())); };
    const auto sum = static_cast<size_t>(c_.producer(c_.nodes[q].in[1]));
    for (const size_t p : scatters) take(p);
    if (sum != scatters[0]) take(sum);
    take(q);
    c_.nodes[q] = compose(Form::sparse, std::move(members));
  }

  PassContext& c_;
};

}  // namespace

void sparse_updates(PassContext& context) { SparseUpdates(context).run(); }

}  // namespace pxl
