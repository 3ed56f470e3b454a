// Writes a model's values as a program's literals.
#pragma once

#include "interpreter/syntax/program_text.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl::onnx {

/// The element at row-major position `i`.
ProgramText element_text(const Array& a, int64_t i);
/// Whether an array is written out in the text: it has few elements, all finite, and at most two axes.
bool is_writable(const Array& a);
/// "array([1, 2], int64)".
ProgramText array_text(const Array& a);
/// "[a, b]", a list of the items.
ProgramText list_text(const std::vector<ProgramText>& items);

}  // namespace pxl::onnx
