// Converts the arguments of an op's call to operands and attributes for an OpBuilder.
#pragma once

#include <optional>
#include <vector>

#include "interpreter/values/value.hpp"
#include "runtime/ops/op_builder.hpp"

namespace pxl {

struct SequenceObject;

/// The kinds of operands in a call, which determine how numbers are converted.
struct OperandWorld {
  bool tensors = false;  ///< some operand is a tensor
  bool arrays = false;   ///< some operand is a host array
  bool any = false;      ///< some operand is present
  bool floats = false;   ///< some number is a float
  Tensor* first = nullptr;

  /// Adds an operand, or a list of operands and lists. The time is proportional to the number of elements.
  void look(const Value& v);

 private:
  /// Looks at one value. Returns it if it is a list that remains to be looked at, otherwise null.
  const SequenceObject* look_at_one(const Value& v);
  void look_within(const SequenceObject& list);
};

/// The values of a call, by parameter, for `at.emit`: tensors and arrays as operands, numbers as operands or
/// attributes, the rest as attributes. Throws Error that names op and parameter, at its place in `places`.
OpArgs convert_all(Interpreter& in, OpBuilder& at, const OpRow& row, const OperandWorld& world,
                   const std::vector<std::optional<Value>>& values, const std::vector<Span>& places);

}  // namespace pxl
