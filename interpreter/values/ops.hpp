// Ops of the op table as values reach them (graphs/ops/op_call.cpp): in the graph that is being built if an operand is
// a tensor, computed at once on arrays and numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/values/value.hpp"

namespace pxl {

struct OpRow;

/// Binds arguments to a row's parameters and makes the op. One output is returned as a value, several as a tuple. An op
/// without operands is added to the graph.
Value call_op(Interpreter& in, const OpRow& row, Arguments args);
/// Calls an op by name, as operators do.
Value op_by_name(Interpreter& in, std::string_view op, std::vector<Value> operands);
Value op_by_name(Interpreter& in, std::string_view op, const Value& a, const Value& b);
/// Whether the value, or an element of a list, is a tensor.
bool mentions_tensor(const Value& v);
/// A tensor's or array's op method, bound to the receiver, or nullopt.
std::optional<Value> op_method(const Value& receiver, std::string_view name);
std::vector<std::string> op_method_names();
/// The op behind a method of tensors and arrays, or null.
const OpRow* find_op_method(std::string_view name);
/// Calls an op with the receiver as the first argument.
Value call_op_method(Interpreter& in, const OpRow& row, const Value& receiver, Arguments args);

}  // namespace pxl
