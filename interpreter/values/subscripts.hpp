// Subscripts that lists, strings, arrays and tensors share: ints that count from either end, and slices. Their `x[key]`
// is in list_index.cpp, strings.cpp, array_index.cpp and graphs/ops/tensor_index.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "interpreter/values/containers.hpp"

namespace pxl {

/// The position that a subscript selects on an axis of `length`; negative subscripts count from the end. Throws "index
/// 5 is out of range for ...", with the text `shown` in place of the index if it is not empty.
/// The error about an index that is out of range. `shown`: the index as a message has it.
Error index_error(const std::string& shown, int64_t length, const std::string& what);
int64_t wrap_index(int64_t index, int64_t length, const std::string& what, std::string shown = {});
/// An int, from an int, a bool or an integer 0-d array. Throws an error that names `what` for other values.
int64_t to_index(const Value& v, const std::string& what);
/// Like to_index, but its error has the kind `index`.
int64_t element_index(const Value& v, const std::string& what);
/// Applies Python's rules for slices to an axis of `length`. An absent bound is none.
SliceRange resolve_slice(const Value& start, const Value& stop, const Value& step, int64_t length);
inline SliceRange resolve_slice(const SliceObject& s, int64_t length) {
  return resolve_slice(s.start, s.stop, s.step, length);
}

}  // namespace pxl
