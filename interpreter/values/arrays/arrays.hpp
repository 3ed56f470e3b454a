// Converts elements of host arrays to values, and indexes host arrays as NumPy does.
#pragma once

#include <cstdint>
#include <optional>

#include "interpreter/values/value.hpp"

namespace pxl {

struct OpRow;

/// The element of an array that has only one, as a host number; otherwise nullopt.
std::optional<Value> scalar_of(const Value& v);
Value element_value(const Array& a, int64_t i);
/// The op that an array method calls; null for members with their own code (members.hpp), and for other names.
const OpRow* array_op_method(std::string_view name);
/// NumPy's indexing: ints, slices with steps, ellipsis, none (a new axis), int arrays and bool masks.
Value array_get(Interpreter& in, const Array& a, const Value& key);
void array_set(Interpreter& in, Array& a, const Value& key, const Value& value);

}  // namespace pxl
