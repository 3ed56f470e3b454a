// Rows by name, for the few ops that graphs make by themselves (calls, transfers, zeros). The rows are in runtime/ops,
// which is built on graphs; its table defines these two.
#pragma once

#include <string_view>

#include "runtime/graph/op.hpp"

namespace pxl {

/// By name ("gelu", "scaled_add_", "gelu_grad"); null where there is none.
const OpRow* find_op(std::string_view name);
/// The same; throws an internal error where there is none.
const OpRow& get_op(std::string_view name);

}  // namespace pxl
