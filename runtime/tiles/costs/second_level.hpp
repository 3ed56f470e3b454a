// The second memory level of a machine, and transfers that overlap with computing.
#pragma once

#include "runtime/tiles/candidates/candidates.hpp"

namespace pxl::tiles {

/// Charges candidates for the second level, if the plan keeps tensors there (Machine::spill). Each candidate reads its
/// operands from the second level and writes its results to it. If a product's operands exceed the bound on temporary
/// memory, a tile computes its block in serial parts. An operand is then read once for each part along the other
/// operand. The function then hides exchanges and these transfers behind the op's compute phase, as far as
/// Machine::overlap allows. Ops that compute are charged with Machine::launch.
void charge_second_level(const CandidateRequest& r, const CandidateOptions& options);

/// Serial parts of a product's block [rows, columns] on a tile: the number of times that each operand is read.
struct StreamedProduct {
  int64_t left_reads = 1, right_reads = 1;
  int64_t bytes = 0;  ///< bytes in the tile's memory: two slices of each operand, and the sums of a part
};
/// Halves the longer side of the part until the part fits into `limit` bytes with slices of `depth`.
StreamedProduct streamed_product(int64_t rows, int64_t columns, int64_t depth, int64_t operand_bytes,
                                 int64_t partial_bytes, int64_t limit);

}  // namespace pxl::tiles
