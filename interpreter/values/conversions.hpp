// Conversions between kinds of values: to arrays, shapes, specs and dtypes.
#pragma once

#include <string_view>

#include "interpreter/values/value.hpp"

namespace pxl {

/// An array of numbers, nested lists or arrays, in its natural dtype.
Array to_array(Interpreter& in, const Value& v);
/// An array of a given dtype. Refuses values that the dtype cannot represent (tensor/exact.hpp), as "WHAT: ...".
Array to_array(Interpreter& in, const Value& v, DType dtype, std::string_view what);
/// The explicit cast, which drops fractions and, for arrays of ints, high bits.
Array cast_array(Interpreter& in, const Value& v, DType dtype);
TensorSpec to_spec(Interpreter& in, const Value& v, const char* what);  ///< a spec, or a tensor's, stream's or array's
Shape to_shape(const Value& v, const char* what);
DType to_dtype(const Value& v, const char* what);

}  // namespace pxl
