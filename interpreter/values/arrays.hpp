// Elements of host arrays as values, and NumPy's indexing of them.
#pragma once

#include <cstdint>
#include <optional>

#include "interpreter/values/value.hpp"

namespace pxl {

struct OpRow;

/// The element of a 0-d array (or of one element) as a host number, else nullopt.
std::optional<Value> scalar_of(const Value& v);
Value element_value(const Array& a, int64_t i);
/// The op that a method of arrays calls; null for members with code of their own (members.hpp), and for other names.
const OpRow* array_op_method(std::string_view name);
/// NumPy's indexing: ints, slices with steps, ellipsis, none (a new axis), int arrays and bool masks.
Value array_get(Interpreter& in, const Array& a, const Value& key);
void array_set(Interpreter& in, Array& a, const Value& key, const Value& value);

}  // namespace pxl
