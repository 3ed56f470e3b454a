// The op table: all rows of all families.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/graph/row_by_name.hpp"

namespace pxl {

/// Every row, family by family.
std::span<const OpRow* const> op_table();
/// Names of the ops that users can reach.
std::vector<std::string> op_names();

/// "gelu(t)", "softmax(t, axis)", "matmul(lhs, rhs, output_type = none)".
std::string signature(const OpRow& row);

}  // namespace pxl
