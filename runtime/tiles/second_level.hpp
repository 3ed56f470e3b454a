// The second memory level of a machine, and the overlap of transfers with computing.
#pragma once

#include "runtime/tiles/candidates.hpp"

namespace pxl::tiles {

/// For plans that keep tensors in the second level (Machine::spill): each candidate reads its operands from there and
/// writes its results. A product whose operands exceed the bound on temporary memory is computed in serial parts of a
/// tile's block, and reads an operand once for each part along the other one. Then hides the part of exchanges and of
/// these transfers that Machine::overlap allows during the compute phase of the same op. Ops that compute are charged
/// with Machine::launch.
void charge_second_level(const CandidateRequest& r, const CandidateOptions& options);

/// Serial parts of a tile's block [rows, columns] of a product: how often each operand is read.
struct StreamedProduct {
  int64_t left_reads = 1, right_reads = 1;
  int64_t bytes = 0;  ///< of the tile's memory: two slices of each operand, and the sums of a part
};
/// Halves the longer side of the part until it fits into `limit` bytes with slices of `depth`.
StreamedProduct streamed_product(int64_t rows, int64_t columns, int64_t depth, int64_t operand_bytes,
                                 int64_t partial_bytes, int64_t limit);

}  // namespace pxl::tiles
