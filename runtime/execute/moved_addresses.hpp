// The addresses of a view's elements: an op that moves elements moves their addresses alike.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/op/op.hpp"

namespace pxl {

/// Returns the element addresses of the only result. `addresses` has those of each operand, one per element; a slot
/// without an operand has null in `site.in`.
std::vector<uint64_t> moved_addresses(const OpContext& site, const std::vector<std::vector<uint64_t>>& addresses);

}  // namespace pxl
