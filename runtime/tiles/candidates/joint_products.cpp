#include "runtime/tiles/candidates/joint_products.hpp"

#include <algorithm>
#include <compare>
#include <map>

#include "runtime/base/limits/interrupt.hpp"
#include "runtime/graph/call_operands.hpp"
#include "runtime/tensor/layout.hpp"
#include "runtime/tiles/candidates/library_plan.hpp"
#include "runtime/tiles/candidates/partition.hpp"
#include "runtime/tiles/candidates/product_search.hpp"

namespace pxl::tiles {

namespace {

/// A value, and whether the tensor is its transposition. Tensors with one value form a class.
struct Seen {
  const Tensor* value = nullptr;
  bool transposed = false;
};

bool swaps_axes(const Op& op) {
  if (!op.row->layout || op.inputs.size() != 1 || op.inputs[0]->spec.shape.size() != 2) return false;
  const OpContextStorage site(op);
  const std::vector<StridedLayout> at = op.row->layout(site.site, contiguous(op.inputs[0]->spec.shape));
  return at.size() == 1 && at[0].shape.size() == 2 && at[0].shape == op.outputs[0]->spec.shape &&
         at[0].strides[1] == op.inputs[0]->spec.shape[1] && at[0].strides[0] == 1;
}

/// Traces values to their origins: through reshapes, transpositions and calls.
class Values {
 public:
  explicit Values(const std::vector<GraphInstance>& graphs) {
    for (const GraphInstance& instance : graphs)
      for (const Op* op : instance.order)
        for (size_t which = 0; which < op->called.size(); ++which) {
          const auto& inputs = op->called[which]->inputs();
          for (size_t i = 0; i < inputs.size(); ++i)
            if (const Tensor* given = op->inputs[callee_operand_begin(*op, which) + i]) unite(inputs[i], given);
        }
  }

  Seen of(const Tensor* t) {
    Seen s;
    while (true) {
      const Source from = source_of(t);
      t = from.op ? from.op->outputs[static_cast<size_t>(from.output)] : from.tensor;
      const bool swaps = from.op && swaps_axes(*from.op);
      if (!swaps && !(from.op && from.op->row->view)) break;
      if (swaps) s.transposed = !s.transposed;
      t = from.op->inputs[0];
    }
    s.value = first(t);
    return s;
  }

 private:
  const Tensor* first(const Tensor* t) {
    while (true) {
      const auto at = united_.find(t);
      if (at == united_.end()) return t;
      t = at->second;
    }
  }
  void unite(const Tensor* input, const Tensor* given) {
    const Tensor *a = first(input), *b = of(given).value;
    if (a != b) united_[a] = b;
  }

  std::map<const Tensor*, const Tensor*> united_;
};

bool is_plain_product(const Op& op) {
  return op.row->pattern == Pattern::product && op.called.empty() && op.inputs.size() >= 2 && op.inputs[0] &&
         op.inputs[1] && op.inputs[0]->spec.shape.size() >= 2 && op.inputs[1]->spec.shape.size() == 2 &&
         op.outputs[0]->spec.size() > 0 && op.inputs[0]->spec.size() > 0;
}

}  // namespace

std::vector<JointProducts> find_joint_products(const std::vector<GraphInstance>& graphs) {
  Values values(graphs);
  std::vector<std::pair<const Op*, Seen>> forward;
  std::map<std::pair<const Tensor*, Shape>, const Op*> data;     // by w, and the shape of w^T
  std::map<std::pair<const Tensor*, Shape>, const Op*> weights;  // by x, and the shape of w
  for (const GraphInstance& instance : graphs)
    for (const Op* op : instance.order) {
      if (!op->called.empty() || !is_plain_product(*op)) continue;
      const Seen a = values.of(op->inputs[0]), b = values.of(op->inputs[1]);
      if (a.transposed)
        weights.try_emplace({a.value, op->outputs[0]->spec.shape}, op);
      else if (b.transposed)
        data.try_emplace({b.value, op->inputs[1]->spec.shape}, op);
      else
        forward.emplace_back(op, b);
    }
  std::vector<JointProducts> found;
  for (const auto& [op, w] : forward) {
    const Shape& shape = op->inputs[1]->spec.shape;
    const auto of_data = data.find({w.value, {shape[1], shape[0]}});
    const auto of_weights = weights.find({values.of(op->inputs[0]).value, shape});
    JointProducts one{op};
    if (of_data != data.end() && of_data->second->outputs[0]->spec.size() == op->inputs[0]->spec.size())
      one.data = of_data->second;
    if (of_weights != weights.end()) one.weights = of_weights->second;
    if (one.data || one.weights) found.push_back(one);
  }
  return found;
}

ProductCut cut_of_data_gradient(const ProductCut& f) {
  ProductCut cut = f;
  cut.depth = f.columns, cut.columns = f.depth;
  cut.order = ProductOrder::rows_columns_depth;
  return cut;
}

ProductCut cut_of_weight_gradient(const ProductCut& f) {
  ProductCut cut = f;
  cut.rows = f.depth, cut.depth = f.rows;
  cut.order = ProductOrder::depth_rows_columns;
  return cut;
}

namespace {

/// The cycles of a product, and the bytes that the available memory limits.
std::pair<int64_t, int64_t> rated(const Machine& m, const ProductProblem& p, const ProductCut& cut, bool as_library) {
  if (as_library) return {library_cycles(m, p, cut), library_temp_bytes(m, p, cut)};
  OpCandidate candidate;
  candidate.records_steps = false;
  add_product_steps(m, p, cut, candidate);
  return {candidate.cycles, candidate.constrained_bytes()};
}

struct JointCost {
  bool above = true;  ///< whether the bytes exceed the bound on temporary memory
  int64_t cycles = INT64_MAX;
  auto operator<=>(const JointCost&) const = default;
};

/// Calls f with each product and its cut.
template <class F>
void for_products(const JointProblem& p, const ProductCut& forward, F&& f) {
  f(p.forward, forward);
  if (p.data) f(*p.data, cut_of_data_gradient(forward));
  if (p.weights) f(*p.weights, cut_of_weight_gradient(forward));
}

}  // namespace

bool joint_is_faster(const Machine& m, const JointProblem& p, const ProductCut& forward) {
  int64_t joint = 0, separate = 0;
  for_products(p, forward, [&](const ProductProblem& one, const ProductCut& cut) {
    joint += library_cycles(m, one, cut);
    const ProductCut own = library_cut(m, one, p.temp_bound);
    separate += library_cycles(m, one, own);
    if (&one != &p.forward)
      separate += library_transform_cycles(m, one, p.forward.depth * p.forward.columns, p.forward.depth, own.tiles());
  });
  return joint < separate;
}

ProductCut search_joint_cut(const Machine& m, const JointProblem& p) {
  ProductCut best;
  JointCost least;
  const auto depths = all_partition_counts(p.forward.depth, m.tiles),
             columns = all_partition_counts(p.forward.columns, m.tiles);
  for (const int64_t rows : all_axes_partition_counts(p.forward.row_axes, p.as_library ? 1 : m.tiles)) {
    check_interrupt();
    for (const int64_t depth : depths) {
      if (rows * depth > m.tiles) break;
      const auto end = std::upper_bound(columns.begin(), columns.end(), m.tiles / (rows * depth));
      for (auto n = end; n != columns.begin();) {
        ProductCut cut{1, rows, depth, *--n};
        cut.joint = true;
        if (p.as_library) cut.operands = ProductOperands::swapped;
        // Vertices take no fewer cycles on larger blocks (branch and bound).
        JointCost cost{false, 0};
        for_products(p, cut, [&](const ProductProblem& one, const ProductCut& c) {
          cost.cycles += compute_cost(m, one, block_of(one, c), c.operands).cycles;
        });
        if (cost >= least) break;
        cost.cycles = 0;
        for_products(p, cut, [&](const ProductProblem& one, const ProductCut& c) {
          const auto [cycles, bytes] = rated(m, one, c, p.as_library);
          cost.cycles += cycles;
          cost.above = cost.above || bytes > p.temp_bound;
        });
        if (cost < least) least = cost, best = cut;
      }
    }
  }
  return best;
}

}  // namespace pxl::tiles
