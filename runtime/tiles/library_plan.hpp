// How PopLibs plans a product by itself: its planner of convolutions, and what it counts (poplin, ConvModel, ConvPlan).
// A product is a convolution with a kernel of one element. Straight, its field is the rows and its output channels are
// the columns; swapped, it is the other way round, which the planner tries first, since operands and results of
// products are allocated for it: other ones are rearranged.
#pragma once

#include "runtime/tiles/product_search.hpp"

namespace pxl::tiles {

/// Cycles that the planner counts for a cut: channels in multiples of what the units take, exchanges at their full
/// rate, neither phases nor synchronisations.
int64_t library_cycles(const Machine& m, const ProductProblem& p, const ProductCut& cut);
/// Cycles that it counts for bringing elements that are spread over `tiles` into another layout: they are copied at 4 /
/// 5 of an element a cycle, at 3 / 5 if the extent is no multiple of four halves or two floats, and exchanged.
int64_t library_transform_cycles(const Machine& m, const ProductProblem& p, int64_t elements, int64_t extent,
                                 int64_t tiles);
/// Temporary bytes of a tile, which it limits.
int64_t library_temp_bytes(const Machine& m, const ProductProblem& p, const ProductCut& cut);

/// The cut with the fewest such cycles of those within the bound, or of all if none is.
ProductCut library_cut(const Machine& m, const ProductProblem& p, int64_t temp_bound);

}  // namespace pxl::tiles
