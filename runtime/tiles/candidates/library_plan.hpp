// The plan that PopLibs' planner of convolutions makes for a single product, and its costs (poplin, ConvModel,
// ConvPlan). A product is a convolution with a kernel of one element. Straight operands: the field is the rows, and the
// output channels are the columns. Swapped operands: the field is the columns, and the output channels are the rows.
// The planner tries swapped operands first. Operands and results of products are allocated for swapped operands, so
// other layouts are rearranged.
#pragma once

#include "runtime/tiles/candidates/product_search.hpp"

namespace pxl::tiles {

/// Cycles that the planner counts for a cut. Channels are multiples of the units' grain. Exchanges run at their full
/// rate. Phases and synchronisations cost nothing.
int64_t library_cycles(const Machine& m, const ProductProblem& p, const ProductCut& cut);
/// Cycles that the planner counts for bringing elements spread over `tiles` into another layout. Elements are copied
/// and exchanged. A copy moves 4 / 5 of an element a cycle, or 3 / 5 if the extent is no multiple of four halves or two
/// floats.
int64_t library_transform_cycles(const Machine& m, const ProductProblem& p, int64_t elements, int64_t extent,
                                 int64_t tiles);
/// Temporary bytes of a tile, which the planner limits.
int64_t library_temp_bytes(const Machine& m, const ProductProblem& p, const ProductCut& cut);

/// Among the cuts within the bound, the one with the fewest library_cycles. If no cut is within the bound, all cuts are
/// compared.
ProductCut library_cut(const Machine& m, const ProductProblem& p, int64_t temp_bound);

}  // namespace pxl::tiles
