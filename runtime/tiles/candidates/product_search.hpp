// Search over the partitions of one matrix product. The candidates' own cycles and memory are the objective.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "runtime/tiles/candidates/candidates.hpp"

namespace pxl::tiles {

/// A product as the partition sees it: [groups, rows, depth] x [groups, depth, columns].
struct ProductProblem {
  int64_t groups = 1, rows = 1, depth = 1, columns = 1;
  int64_t operand_bytes = 4, partial_bytes = 4, out_bytes = 4;
  bool widened = false;  ///< float8 operands, widened to float16 first
  size_t a_groups = 0;  ///< leading axes of the left operand that are groups; its other axes, except the last, are rows
  Shape group_axes = {}, row_axes = {};
};

ProductProblem product_problem(const Machine& m, const CandidateOptions& options, const OpContext& site);

/// Extents of the largest part.
struct ProductBlock {
  int64_t groups, rows, depth, columns;
};
inline ProductBlock block_of(const ProductProblem& p, const ProductCut& c) {
  return {div_up(p.groups, c.groups), div_up(p.rows, c.rows), div_up(p.depth, c.depth), div_up(p.columns, c.columns)};
}

/// The fastest vertex for a block, and its cycles.
ProductCost compute_cost(const Machine& m, const ProductProblem& p, const ProductBlock& b,
                         ProductOperands operands = ProductOperands::faster);
/// Sets the candidate's steps and bytes; mappings and text stay empty.
void add_product_steps(const Machine& m, const ProductProblem& p, const ProductCut& cut, OpCandidate& candidate);

/// The cuts to choose from, sorted by cycles. Each variant (ProductCut::variant) has its fastest cut. Each variant also
/// has widely spaced cuts: the `most` fastest Pareto-optimal ones, and those that take a fifth less memory than all
/// faster ones.
std::vector<ProductCut> search_products(const Machine& m, size_t most, const ProductProblem& p);

/// The products of one variable w: y = x w, and for its gradients dx = dy w^T and dw = x^T dy, if these exist.
struct JointProblem {
  ProductProblem forward;
  std::optional<ProductProblem> data, weights;
  int64_t temp_bound = 0;   ///< bound, per tile, on the bytes that the available memory limits
  bool as_library = false;  ///< as PopLibs plans: rows are not divided, and its planner counts the cycles
};
/// Returns the cut of the forward product with the fewest cycles for all products. Every tile has the same blocks of x,
/// w and y in each product. PopLibs plans the passes of a fully connected layer jointly in the same way (poplin,
/// ConvPlan).
ProductCut search_joint_cut(const Machine& m, const JointProblem& p);
/// Whether the planner counts fewer cycles for this cut than for the products' own plans. Rearrangements of the
/// variable and its gradient between the products count as part of the own plans.
bool joint_is_faster(const Machine& m, const JointProblem& p, const ProductCut& forward);
/// The cuts of the gradients that belong to a forward cut.
ProductCut cut_of_data_gradient(const ProductCut& forward);
ProductCut cut_of_weight_gradient(const ProductCut& forward);

/// Results of search_products and search_joint_cut by problem, and of rearrangement_cycles.
class ProductMemo {
 public:
  /// Empty if the problem is new.
  std::vector<ProductCut>& of(const ProductProblem& p) {
    return found_[{p.group_axes,
                   p.row_axes,
                   {p.groups, p.rows, p.depth, p.columns, p.operand_bytes, p.partial_bytes, p.out_bytes, p.widened}}];
  }
  const ProductCut& joint(const Machine& m, const JointProblem& p) {
    const ProductProblem& f = p.forward;
    const auto [at, fresh] = joint_.try_emplace({f.row_axes,
                                                 {f.depth, f.columns, f.operand_bytes, f.partial_bytes, f.out_bytes,
                                                  p.data.has_value(), p.weights.has_value(), p.temp_bound}});
    if (fresh) at->second = search_joint_cut(m, p);
    return at->second;
  }
  int64_t rearrangement(const Machine& m, const TileMapping& from, const TileMapping& to, const TensorSpec& spec) {
    const auto [at, fresh] = rearrangements_.try_emplace({spec.shape, spec.dtype, from, to}, 0);
    if (fresh) at->second = rearrangement_cycles(m, from, to, spec);
    return at->second;
  }

 private:
  std::map<std::tuple<Shape, DType, TileMapping, TileMapping>, int64_t> rearrangements_;
  std::map<std::tuple<Shape, Shape, std::array<int64_t, 8>>, std::vector<ProductCut>> found_;
  std::map<std::pair<Shape, std::array<int64_t, 8>>, ProductCut> joint_;
};

}  // namespace pxl::tiles
