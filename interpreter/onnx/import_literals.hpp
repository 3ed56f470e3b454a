// Values of a model as literals of a program.
#pragma once

#include "interpreter/syntax/program_text.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl::onnx {

/// The element at row-major position `i`.
ProgramText element_text(const Array& a, int64_t i);
/// Whether an array is written out in the text: finite elements, few of them, of at most two axes.
bool is_writable(const Array& a);
/// "array([1, 2], int64)".
ProgramText array_text(const Array& a);
/// "[a, b]" of pieces.
ProgramText list_text(const std::vector<ProgramText>& items);

}  // namespace pxl::onnx
