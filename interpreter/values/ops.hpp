// Ops of the op table as values reach them (graphs/op_call.cpp): in the graph that is being built if an operand is a
// tensor, computed at once on arrays and numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/values/value.hpp"

namespace pxl {

struct OpRow;

/// Binds arguments to a row's parameters and makes the op. One output is returned as a value, several as a tuple. An op
/// without operands goes to the graph.
Value call_op(Interpreter& in, const OpRow& row, Arguments args);
/// call_op by name: how operators reach ops.
Value op_by_name(Interpreter& in, std::string_view op, std::vector<Value> operands);
Value op_by_name(Interpreter& in, std::string_view op, const Value& a, const Value& b);
/// Whether a tensor is among the value or the elements of a list.
bool mentions_tensor(const Value& v);
/// A bound op method of a tensor or array, or nullopt.
std::optional<Value> op_method(const Value& receiver, std::string_view name);
std::vector<std::string> op_method_names();
/// The op of a method of tensors and arrays, or null.
const OpRow* find_op_method(std::string_view name);
/// call_op with the receiver as the first argument.
Value call_op_method(Interpreter& in, const OpRow& row, const Value& receiver, Arguments args);

}  // namespace pxl
