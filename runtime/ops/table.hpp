// The op table: all rows of all families.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/graph/op.hpp"

namespace pxl {

/// Every row, family by family.
std::span<const OpRow* const> op_table();
/// By name ("gelu", "scaled_add_", "gelu_grad"); null where there is none.
const OpRow* find_op(std::string_view name);
/// The same; throws an internal error where there is none.
const OpRow& get_op(std::string_view name);
/// Names of the ops that users can reach.
std::vector<std::string> op_names();

/// "gelu(t)", "softmax(t, axis)", "matmul(lhs, rhs, output_type = none)".
std::string signature(const OpRow& row);

}  // namespace pxl
