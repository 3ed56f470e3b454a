// The op table: all rows of all families.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/op/op.hpp"

namespace pxl {

/// All rows, by family.
std::span<const OpRow* const> op_table();
/// The row named `name` ("gelu", "scaled_add_", "gelu_grad"), or nullptr.
const OpRow* find_op(std::string_view name);
/// The row named `name`; throws an internal error if there is none.
const OpRow& get_op(std::string_view name);
/// Names of the ops available to users.
std::vector<std::string> op_names();

/// "gelu(t)", "softmax(t, axis)", "matmul(lhs, rhs, output_type = none)".
std::string signature(const OpRow& row);

}  // namespace pxl
