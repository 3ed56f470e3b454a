// Values of a model as literals of a program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/tensor/array.hpp"

namespace pxl::onnx {

/// A string literal.
std::string quoted(std::string_view text);
/// A float literal; `narrow`: with the digits of a float32.
std::string float_text(double value, bool narrow);
/// The element at row-major position `i`.
std::string element_text(const Array& a, int64_t i);
/// Whether an array is written out in the text: finite elements, few of them, of at most two axes.
bool is_writable(const Array& a);
/// "array([1, 2], int64)".
std::string array_text(const Array& a);
/// "[a, b]" of texts.
std::string list_text(const std::vector<std::string>& items);

}  // namespace pxl::onnx
