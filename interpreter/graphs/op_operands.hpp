// The arguments of an op's call as operands and attributes of an OpBuilder.
#pragma once

#include <optional>
#include <vector>

#include "interpreter/values/value.hpp"
#include "runtime/ops/op_builder.hpp"

namespace pxl {

struct SequenceObject;

/// What is among the operands of a call; numbers are converted by it.
struct OperandWorld {
  bool tensors = false;  ///< some operand is a tensor
  bool arrays = false;   ///< some operand is a host array
  bool any = false;      ///< some operand is given at all
  bool floats = false;   ///< some number is a float
  Tensor* first = nullptr;

  /// Adds an operand, or a list of them and of lists, in time proportional to what it holds.
  void look(const Value& v);

 private:
  /// The list that remains to be looked at, if the value is one; else null.
  const SequenceObject* look_at_one(const Value& v);
  void look_within(const SequenceObject& list);
};

/// The values of a call, by parameter, for `at.emit`: tensors and arrays as operands, numbers as operands or
/// attributes, the rest as attributes. Throws Error that names op and parameter.
OpArgs convert_all(Interpreter& in, OpBuilder& at, const OpRow& row, const OperandWorld& world,
                   const std::vector<std::optional<Value>>& values);

}  // namespace pxl
