// The addresses of a view's elements: an op that moves elements moves their addresses alike.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/op/op.hpp"

namespace pxl {

/// The addresses of the elements of the only result. `addresses` has those of each operand, one an element; a slot
/// without an operand has null in `site.in`.
std::vector<uint64_t> moved_addresses(const OpContext& site, const std::vector<std::vector<uint64_t>>& addresses);

}  // namespace pxl
